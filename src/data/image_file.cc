#include "src/data/image_file.h"

#include <jerror.h>
#include <jpeglib.h>
#include <png.h>

#include <csetjmp>
#include <cstdio>
#include <cstring>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "src/base/status.h"
#include "src/data/input_file.h"

namespace lanista::data {
namespace {

// The size of the largest image, stored uncompressed with 16 bits and four channels.
constexpr uint64_t kMaxFileBytes = uint64_t{kMaxImagePixels} * 8;

// No format packs more pixels into a byte: deflate unpacks a byte to at most 1032 bytes of eight pixels; JPEG packs
// less.
constexpr int64_t kMaxPixelsPerByte = 10000;

// Called before memory is allocated for the size in the header. `bytes`: size of the file.
absl::Status CheckSize(int64_t height, int64_t width, size_t bytes) {
  if (height < 1 || width < 1 || height > kMaxImagePixels / width) {
    return absl::InvalidArgumentError(absl::StrCat("an image of ", height, " x ", width,
                                                   " pixels is not supported: 1 to ", kMaxImagePixels, " pixels are"));
  }
  if (height * width / kMaxPixelsPerByte > static_cast<int64_t>(bytes)) {
    return absl::InvalidArgumentError(absl::StrCat("corrupt: the header says ", height, " x ", width,
                                                   " pixels, which its ", bytes, " bytes cannot hold"));
  }
  return absl::OkStatus();
}

absl::StatusOr<RgbImage> DecodePng(const std::string& bytes) {
  png_image png;
  std::memset(&png, 0, sizeof(png));
  png.version = PNG_IMAGE_VERSION;
  if (png_image_begin_read_from_memory(&png, bytes.data(), bytes.size()) == 0) {
    return absl::InvalidArgumentError(absl::StrCat("corrupt PNG: ", png.message));
  }
  if (absl::Status size = CheckSize(png.height, png.width, bytes.size()); !size.ok()) {
    png_image_free(&png);
    return size;
  }
  png.format = PNG_FORMAT_RGB;
  // Else 16 bits would be taken as linear, and made brighter.
  png.flags |= PNG_IMAGE_FLAG_16BIT_sRGB;
  RgbImage image{png.height, png.width, std::vector<uint8_t>(PNG_IMAGE_SIZE(png))};
  const png_color black = {0, 0, 0};
  if (png_image_finish_read(&png, &black, image.pixels.data(), 0, nullptr) == 0) {
    return absl::InvalidArgumentError(absl::StrCat("corrupt PNG: ", png.message));
  }
  return image;
}

// libjpeg's error handler, with the message of the error.
struct JpegErrors {
  jpeg_error_mgr base;
  std::jmp_buf jump;
  char message[JMSG_LENGTH_MAX] = "";
};

// Leaves libjpeg by longjmp on fatal errors: it is C, and an exception must not pass through it.
[[noreturn]] void OnJpegError(j_common_ptr jpeg) {
  auto* errors = reinterpret_cast<JpegErrors*>(jpeg->err);
  errors->base.format_message(jpeg, errors->message);
  std::longjmp(errors->jump, 1);
}

// If compressed data is missing or corrupt, libjpeg only warns and invents grey pixels, so these warnings are errors
// here. Other warnings are harmless.
void OnJpegMessage(j_common_ptr jpeg, int level) {
  const int code = jpeg->err->msg_code;
  if (level < 0 && (code == JWRN_JPEG_EOF || code == JWRN_HIT_MARKER || code == JWRN_HUFF_BAD_CODE)) OnJpegError(jpeg);
}

// Decodes into `image`. No object with a destructor may live in this function: longjmp would skip it.
bool DecodeJpegInto(const std::string& bytes, JpegErrors& errors, jpeg_decompress_struct& jpeg, RgbImage& image,
                    absl::Status& size) {
  if (setjmp(errors.jump) != 0) return false;
  jpeg_create_decompress(&jpeg);
  jpeg_mem_src(&jpeg, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  jpeg_read_header(&jpeg, TRUE);
  size = CheckSize(jpeg.image_height, jpeg.image_width, bytes.size());
  if (!size.ok()) return false;
  jpeg.out_color_space = JCS_RGB;
  jpeg_start_decompress(&jpeg);
  image.height = jpeg.output_height;
  image.width = jpeg.output_width;
  image.pixels.resize(static_cast<size_t>(image.height) * image.width * 3);
  while (jpeg.output_scanline < jpeg.output_height) {
    JSAMPROW row = image.pixels.data() + static_cast<size_t>(jpeg.output_scanline) * image.width * 3;
    jpeg_read_scanlines(&jpeg, &row, 1);
  }
  jpeg_finish_decompress(&jpeg);
  return true;
}

absl::StatusOr<RgbImage> DecodeJpeg(const std::string& bytes) {
  JpegErrors errors;
  jpeg_decompress_struct jpeg;
  std::memset(&jpeg, 0, sizeof(jpeg));
  jpeg.err = jpeg_std_error(&errors.base);
  errors.base.error_exit = OnJpegError;
  errors.base.emit_message = OnJpegMessage;
  RgbImage image;
  absl::Status size;
  const std::unique_ptr<jpeg_decompress_struct, decltype(&jpeg_destroy_decompress)> destroy(&jpeg,
                                                                                            jpeg_destroy_decompress);
  const bool decoded = DecodeJpegInto(bytes, errors, jpeg, image, size);
  LANISTA_RETURN_IF_ERROR(size);
  if (!decoded) return absl::InvalidArgumentError(absl::StrCat("corrupt JPEG: ", errors.message));
  return image;
}

absl::StatusOr<RgbImage> Decode(const std::string& bytes) {
  if (absl::StartsWith(bytes, "\x89PNG\r\n\x1a\n")) return DecodePng(bytes);
  if (absl::StartsWith(bytes, "\xff\xd8")) return DecodeJpeg(bytes);
  return absl::InvalidArgumentError(bytes.empty() ? "the file is empty" : "neither a JPEG nor a PNG image");
}

}  // namespace

absl::StatusOr<RgbImage> ReadImage(const std::string& path) {
  LANISTA_ASSIGN_OR_RETURN(InputFile file, InputFile::Open(path));
  if (file.compressed()) return file.Corrupt("neither a JPEG nor a PNG image, but gzip: unpack it");
  LANISTA_ASSIGN_OR_RETURN(const std::string bytes, file.ReadAll(kMaxFileBytes));
  absl::StatusOr<RgbImage> image = Decode(bytes);
  if (!image.ok()) return Annotate(image.status(), path);
  return image;
}

}  // namespace lanista::data

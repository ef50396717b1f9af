// JPEG and PNG files as pixels.
#ifndef LANISTA_SRC_DATA_IMAGE_FILE_H_
#define LANISTA_SRC_DATA_IMAGE_FILE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace lanista::data {

// Pixels in row-major order, 3 bytes each (red, green, blue), the top row first, without padding.
struct RgbImage {
  int64_t height = 0;
  int64_t width = 0;
  std::vector<uint8_t> pixels;
};

// Most pixels of an image: a file that claims more is refused before memory is allocated.
constexpr int64_t kMaxImagePixels = int64_t{1} << 26;

// Reads the JPEG or PNG file at `path`; its first bytes decide the format. Grey becomes equal red, green and blue;
// transparent pixels are blended with black; 16 bits become 8. Thread-safe. Errors name the file: INVALID_ARGUMENT if
// it is corrupt, truncated, larger than kMaxImagePixels or of another format.
absl::StatusOr<RgbImage> ReadImage(const std::string& path);

}  // namespace lanista::data

#endif  // LANISTA_SRC_DATA_IMAGE_FILE_H_

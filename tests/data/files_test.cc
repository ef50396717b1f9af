// Files from outside: gzip, CSV, PNG, JPEG; and digits drawn by code.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "src/data/csv_file.h"
#include "src/data/digit_drawing.h"
#include "src/data/image_file.h"
#include "src/data/input_file.h"
#include "tests/data/status_matchers.h"
#include "tests/data/test_files.h"

namespace lanista::data {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Pair;

TEST(InputFile, ReadsPlainAndGzipAlike) {
  const TestFolder folder;
  for (const std::string& bytes : {std::string("hello world"), Gzip("hello world")}) {
    absl::StatusOr<InputFile> file = InputFile::Open(folder.Write("file", bytes));
    ASSERT_TRUE(file.ok()) << file.status();
    EXPECT_EQ(file->Read(5).value(), "hello");
    EXPECT_THAT(file->ExpectEnd(), IsInvalid("unexpected data from byte 5 on"));
    EXPECT_EQ(file->ReadAll().value(), "world");
    EXPECT_TRUE(file->ExpectEnd().ok());
  }
}

TEST(InputFile, SaysWhatIsTruncatedWithoutAllocatingWhatIsClaimed) {
  const TestFolder folder;
  absl::StatusOr<InputFile> file = InputFile::Open(folder.Write("short", "hello"));
  EXPECT_THAT(file->Read(uint64_t{1} << 60), IsInvalid("short: truncated: 1152921504606846976 bytes expected"));
}

TEST(InputFile, SaysThatGzipIsTruncatedOrCorrupt) {
  const TestFolder folder;
  std::string text;
  for (int i = 0; i < 10000; ++i) text += std::to_string(i * 7919);
  const std::string good = Gzip(text);
  absl::StatusOr<InputFile> cut = InputFile::Open(folder.Write("cut.gz", good.substr(0, good.size() / 2)));
  EXPECT_THAT(cut->ReadAll(), IsInvalid("cut.gz: truncated: the gzip stream ends"));
  std::string bad = good;
  bad[bad.size() - 6] ^= 1;
  absl::StatusOr<InputFile> checksum = InputFile::Open(folder.Write("bad.gz", bad));
  EXPECT_THAT(checksum->ReadAll(), IsInvalid("bad.gz: corrupt gzip stream"));
}

TEST(InputFile, RefusesAGzipBombAndWhatIsTooLarge) {
  const TestFolder folder;
  absl::StatusOr<InputFile> bomb = InputFile::Open(folder.Write("bomb.gz", Gzip(std::string(70 << 20, '0'))));
  EXPECT_THAT(bomb->ReadAll(), IsInvalid("bomb.gz: refused: its "));
  // A plain file of any size is what it is; small files may pack well.
  absl::StatusOr<InputFile> dense = InputFile::Open(folder.Write("dense.gz", Gzip(std::string(1 << 20, '0'))));
  EXPECT_EQ(dense->ReadAll().value().size(), size_t{1} << 20);
  for (const std::string& bytes : {std::string("hello world"), Gzip("hello world")}) {
    EXPECT_EQ(InputFile::Open(folder.Write("file", bytes))->ReadAll(11).value(), "hello world");
    EXPECT_THAT(InputFile::Open(folder.Path("file"))->ReadAll(10), IsInvalid("larger than the 10 bytes"));
  }
}

TEST(InputFile, RefusesWhatIsMissingOrNotAFile) {
  const TestFolder folder;
  EXPECT_THAT(InputFile::Open(folder.Path("none")), IsError(absl::StatusCode::kNotFound, ::testing::HasSubstr("none")));
  EXPECT_THAT(InputFile::Open(folder.path()), IsInvalid("not a regular file"));
  ASSERT_EQ(mkfifo(folder.Path("pipe").c_str(), 0600), 0);
  EXPECT_THAT(InputFile::Open(folder.Path("pipe")), IsInvalid("not a regular file"));
}

// ---- CSV

using Rows = std::vector<std::pair<int64_t, std::vector<std::string>>>;

absl::StatusOr<Rows> ParseCsv(const std::string& text, char delimiter = ',') {
  const TestFolder folder;
  Rows rows;
  const absl::Status status = ReadCsv(folder.Write("table.csv", text), delimiter,
                                      [&](int64_t line, std::vector<std::string>& fields) -> absl::Status {
                                        rows.emplace_back(line, fields);
                                        return absl::OkStatus();
                                      });
  if (!status.ok()) return status;
  return rows;
}

TEST(ReadCsv, SplitsFieldsAndKnowsLines) {
  EXPECT_THAT(
      ParseCsv("a,b\r\n\n1,\n,2").value(),
      ElementsAre(Pair(1, ElementsAre("a", "b")), Pair(3, ElementsAre("1", "")), Pair(4, ElementsAre("", "2"))));
  EXPECT_THAT(ParseCsv("a;b,c\n", ';').value(), ElementsAre(Pair(1, ElementsAre("a", "b,c"))));
  EXPECT_THAT(ParseCsv("").value(), ElementsAre());
}

TEST(ReadCsv, QuotesHoldDelimitersLineBreaksAndQuotes) {
  EXPECT_THAT(ParseCsv("\"a,\"\"b\"\"\",\"two\nlines\"\nx,\"\"\n").value(),
              ElementsAre(Pair(1, ElementsAre("a,\"b\"", "two\nlines")), Pair(3, ElementsAre("x", ""))));
}

TEST(ReadCsv, SkipsAByteOrderMarkAndReadsGzip) {
  EXPECT_THAT(ParseCsv("\xef\xbb\xbf"
                       "a\n")
                  .value(),
              ElementsAre(Pair(1, ElementsAre("a"))));
  EXPECT_THAT(ParseCsv(Gzip("a\nb\n")).value(), ElementsAre(Pair(1, ElementsAre("a")), Pair(2, ElementsAre("b"))));
}

TEST(ReadCsv, NamesTheLineOfABadQuote) {
  EXPECT_THAT(ParseCsv("a\n\"b\n"), IsInvalid("table.csv:2: a quote opens and never closes"));
  EXPECT_THAT(ParseCsv("a\n\"b\"c\n"), IsInvalid("table.csv:2: text follows a closing quote"));
}

// ---- images

TEST(ReadImage, DecodesPngExactly) {
  const TestFolder folder;
  const std::vector<uint8_t> rgb = {255, 0, 0, 0, 255, 0, 0, 0, 255, 1, 2, 3, 250, 128, 7, 9, 9, 9};
  const absl::StatusOr<RgbImage> image = ReadImage(folder.Write("image.png", EncodePng(2, 3, rgb)));
  ASSERT_TRUE(image.ok()) << image.status();
  EXPECT_EQ(image->height, 2);
  EXPECT_EQ(image->width, 3);
  EXPECT_EQ(image->pixels, rgb);
}

TEST(ReadImage, SixteenBitsOfAPngAreScaledToEight) {
  const TestFolder folder;
  const absl::StatusOr<RgbImage> image =
      ReadImage(folder.Write("image.png", EncodeGreyPng16({0, 0x00ff, 0x4040, 0xc800, 0xffff})));
  ASSERT_TRUE(image.ok()) << image.status();
  EXPECT_THAT(image->pixels, ElementsAre(0, 0, 0, 1, 1, 1, 64, 64, 64, 199, 199, 199, 255, 255, 255));
}

TEST(ReadImage, DecodesJpegNearly) {
  const TestFolder folder;
  const absl::StatusOr<RgbImage> image =
      ReadImage(folder.Write("image.jpg", EncodeJpeg(9, 17, Plain(9, 17, 90, 90, 90))));
  ASSERT_TRUE(image.ok()) << image.status();
  EXPECT_EQ(image->height, 9);
  EXPECT_EQ(image->width, 17);
  EXPECT_EQ(image->pixels.size(), 9u * 17 * 3);
  EXPECT_THAT(image->pixels, Each(::testing::AllOf(::testing::Ge(88), ::testing::Le(92))));
}

TEST(ReadImage, EveryTruncationIsAnErrorThatNamesTheFile) {
  const TestFolder folder;
  std::vector<uint8_t> noisy = Plain(24, 24, 0, 0, 0);
  for (size_t i = 0; i < noisy.size(); ++i) noisy[i] = static_cast<uint8_t>(i * 131 + i * i);
  for (const std::string& good : {EncodePng(24, 24, noisy), EncodeJpeg(24, 24, noisy)}) {
    // Only a picture's last bytes (its end mark) can be missing without loss.
    for (size_t size = 0; size + 16 < good.size(); size += 7) {
      EXPECT_THAT(ReadImage(folder.Write("cut", good.substr(0, size))), IsInvalid("/cut: ")) << size;
    }
  }
}

TEST(ReadImage, FlippedBitsNeverCrash) {
  const TestFolder folder;
  for (const std::string& good : {EncodePng(8, 8, Plain(8, 8, 1, 2, 3)), EncodeJpeg(8, 8, Plain(8, 8, 1, 2, 3))}) {
    for (size_t i = 0; i < good.size() * 8; i += 5) {
      std::string bad = good;
      bad[i / 8] = static_cast<char>(bad[i / 8] ^ (1 << i % 8));
      const absl::StatusOr<RgbImage> image = ReadImage(folder.Write("flipped", bad));
      if (image.ok()) {
        EXPECT_EQ(image->pixels.size(), static_cast<size_t>(image->height * image->width * 3));
      }
    }
  }
}

TEST(ReadImage, RefusesHugeClaimsAndOtherFormats) {
  const TestFolder folder;
  EXPECT_THAT(ReadImage(folder.Write("image.png", "GIF89a")), IsInvalid("image.png: neither a JPEG nor a PNG"));
  // The frame header of a JPEG holds its height and width.
  std::string jpeg = EncodeJpeg(8, 8, Plain(8, 8, 0, 0, 0));
  const size_t frame = jpeg.find("\xff\xc0");
  jpeg.replace(frame + 5, 4, "\xea\x60\xea\x60");
  EXPECT_THAT(ReadImage(folder.Write("image.jpg", jpeg)), IsInvalid("60000 x 60000 pixels is not supported"));
  jpeg.replace(frame + 5, 4, "\x1f\x40\x1f\x40");
  EXPECT_THAT(ReadImage(folder.Write("image.jpg", jpeg)), IsInvalid("8000 x 8000 pixels, which its "));
  EXPECT_THAT(ReadImage(folder.Write("image.png", Gzip(EncodePng(8, 8, Plain(8, 8, 0, 0, 0))))),
              IsInvalid("image.png: neither a JPEG nor a PNG image, but gzip"));
}

// ---- digits

std::vector<float> Digit(int digit, uint64_t seed, double noise) {
  std::vector<float> pixels(kDigitSize * kDigitSize);
  DrawDigit(digit, seed, noise, pixels.data());
  return pixels;
}

TEST(DrawDigit, DependsOnItsArgumentsAlone) {
  EXPECT_EQ(Digit(3, 7, 0.1), Digit(3, 7, 0.1));
  EXPECT_NE(Digit(3, 7, 0.1), Digit(3, 8, 0.1));
  EXPECT_NE(Digit(3, 7, 0.1), Digit(4, 7, 0.1));
}

TEST(DrawDigit, EveryDigitHasInkWithinThePicture) {
  for (int digit = 0; digit < 10; ++digit) {
    for (uint64_t seed = 0; seed < 50; ++seed) {
      const std::vector<float> pixels = Digit(digit, seed, 0);
      EXPECT_THAT(pixels, Each(::testing::AllOf(::testing::Ge(0.0f), ::testing::Le(1.0f))));
      const auto inked = std::count_if(pixels.begin(), pixels.end(), [](float pixel) { return pixel > 0.5f; });
      EXPECT_GT(inked, 12) << digit << " " << seed;
      EXPECT_LT(inked, 300) << digit << " " << seed;
    }
  }
}

TEST(DrawDigit, NoiseIsWhatWasAskedFor) {
  // Where there is no ink, noise is cut at 0: half of it is left.
  double sum = 0;
  int count = 0;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    const std::vector<float> clean = Digit(1, seed, 0);
    const std::vector<float> noisy = Digit(1, seed, 0.2);
    for (size_t i = 0; i < clean.size(); ++i) {
      if (clean[i] == 0) {
        sum += noisy[i] * noisy[i];
        ++count;
      }
    }
  }
  EXPECT_NEAR(sum / count, 0.2 * 0.2 / 2, 0.002);
}

}  // namespace
}  // namespace lanista::data

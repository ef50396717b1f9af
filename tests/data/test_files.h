// Small files for the tests of datasets.
#ifndef LANISTA_TESTS_DATA_TEST_FILES_H_
#define LANISTA_TESTS_DATA_TEST_FILES_H_

#include <cstdint>
#include <string>
#include <vector>

namespace lanista::data {

// A folder of the current test's own, emptied when made.
class TestFolder {
 public:
  TestFolder();

  // Writes `bytes` to `name` below the folder, making sub-folders; returns the path.
  std::string Write(const std::string& name, const std::string& bytes) const;

  std::string Path(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// `bytes` as a gzip file.
std::string Gzip(const std::string& bytes);

// An IDX file of images: `count` times rows x columns bytes, the i-th byte being i modulo 256.
std::string IdxImages(uint32_t count, uint32_t rows, uint32_t columns);

// An IDX file of labels.
std::string IdxLabels(const std::vector<uint8_t>& labels);

// Images of height x width pixels; `rgb` holds 3 bytes a pixel.
std::string EncodePng(int height, int width, const std::vector<uint8_t>& rgb);
// A PNG of one row with 16 bits a pixel.
std::string EncodeGreyPng16(const std::vector<uint16_t>& levels);
std::string EncodeJpeg(int height, int width, const std::vector<uint8_t>& rgb);

// An image of one colour.
std::vector<uint8_t> Plain(int height, int width, uint8_t red, uint8_t green, uint8_t blue);

}  // namespace lanista::data

#endif  // LANISTA_TESTS_DATA_TEST_FILES_H_

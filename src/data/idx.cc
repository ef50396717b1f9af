// MNIST's file format (LeCun, Cortes, Burges: http://yann.lecun.com/exdb/mnist): a big-endian header, then bytes.
//
//   images: 00 00 08 03 | count | rows | columns | one byte a pixel
//   labels: 00 00 08 01 | count | one byte a label
#include <ATen/ops/empty.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "src/base/status.h"
#include "src/data/dataset.h"
#include "src/data/input_file.h"
#include "src/data/missing.h"
#include "src/data/rows.h"
#include "src/data/split.h"

namespace lanista::data {
namespace {

constexpr uint32_t kImagesMagic = 0x00000803;
constexpr uint32_t kLabelsMagic = 0x00000801;
// Larger images are not real; a corrupt header easily claims them.
constexpr uint32_t kMaxSide = 1 << 14;

absl::StatusOr<uint32_t> ReadNumber(InputFile& file) {
  LANISTA_ASSIGN_OR_RETURN(const std::string bytes, file.Read(4));
  uint32_t number = 0;
  for (const char byte : bytes) number = number << 8 | static_cast<unsigned char>(byte);
  return number;
}

// Reads the magic number, which must be `magic`, and then `dimensions` numbers. The first of them is the number of
// samples.
absl::StatusOr<std::vector<uint32_t>> ReadHeader(InputFile& file, uint32_t magic, int dimensions) {
  LANISTA_ASSIGN_OR_RETURN(const uint32_t found, ReadNumber(file));
  if (found != magic) {
    return file.Corrupt(absl::StrFormat("not an IDX file of %s: it begins with %08x, not %08x",
                                        magic == kImagesMagic ? "images" : "labels", found, magic));
  }
  std::vector<uint32_t> numbers(dimensions);
  for (uint32_t& number : numbers) {
    LANISTA_ASSIGN_OR_RETURN(number, ReadNumber(file));
  }
  if (numbers[0] == 0) return file.Corrupt("the header says that there are no samples");
  return numbers;
}

absl::StatusOr<at::Tensor> ReadImages(const std::string& path) {
  LANISTA_ASSIGN_OR_RETURN(InputFile file, InputFile::Open(path));
  LANISTA_ASSIGN_OR_RETURN(const std::vector<uint32_t> header, ReadHeader(file, kImagesMagic, 3));
  const uint64_t count = header[0], rows = header[1], columns = header[2];
  if (rows < 1 || columns < 1 || rows > kMaxSide || columns > kMaxSide) {
    return file.Corrupt(absl::StrCat("the header says images of ", rows, " x ", columns, " pixels"));
  }
  LANISTA_ASSIGN_OR_RETURN(const std::string pixels, file.Read(count * rows * columns));
  LANISTA_RETURN_IF_ERROR(file.ExpectEnd());
  return PixelsToTensor(pixels.data(),
                        {static_cast<int64_t>(count), 1, static_cast<int64_t>(rows), static_cast<int64_t>(columns)});
}

absl::StatusOr<at::Tensor> ReadLabels(const std::string& path) {
  LANISTA_ASSIGN_OR_RETURN(InputFile file, InputFile::Open(path));
  LANISTA_ASSIGN_OR_RETURN(const std::vector<uint32_t> header, ReadHeader(file, kLabelsMagic, 1));
  LANISTA_ASSIGN_OR_RETURN(const std::string bytes, file.Read(header[0]));
  LANISTA_RETURN_IF_ERROR(file.ExpectEnd());
  at::Tensor labels = at::empty({static_cast<int64_t>(bytes.size())}, at::kLong);
  int64_t* to = labels.data_ptr<int64_t>();
  for (size_t i = 0; i < bytes.size(); ++i) to[i] = static_cast<unsigned char>(bytes[i]);
  return labels;
}

absl::StatusOr<Example> ReadPair(const std::string& images, const std::string& labels) {
  Example all;
  LANISTA_ASSIGN_OR_RETURN(all.input, ReadImages(images));
  LANISTA_ASSIGN_OR_RETURN(all.target, ReadLabels(labels));
  if (all.input.size(0) != all.target.size(0)) {
    return absl::InvalidArgumentError(absl::StrCat(images, " holds ", all.input.size(0), " images, but ", labels,
                                                   " holds ", all.target.size(0), " labels"));
  }
  return all;
}

// The two files of a part below `root`, by their standard names; adds missing ones to `missing`.
std::pair<std::string, std::string> FindPair(const std::string& root, const std::string& part,
                                             std::vector<std::string>& missing) {
  std::pair<std::string, std::string> found;
  const auto find = [&](const std::string& name, std::string& path) {
    path = FindFile(root, {name, name + ".gz"});
    if (path.empty()) missing.push_back(name);
  };
  find(part + "-images-idx3-ubyte", found.first);
  find(part + "-labels-idx1-ubyte", found.second);
  return found;
}

absl::StatusOr<std::pair<Example, Example>> ReadRoot(const std::string& root) {
  std::vector<std::string> missing;
  const auto train = FindPair(root, "train", missing);
  const auto validation = FindPair(root, "t10k", missing);
  if (!missing.empty()) {
    const absl::Status error =
        MissingImages(absl::StrCat("IDX files ", absl::StrJoin(missing, ", "), " (each as it is or with .gz)"), root);
    // With half of the files, the other way to configure the dataset may work.
    if (missing.size() > 2) return error;
    return absl::NotFoundError(absl::StrCat(
        error.message(), "; to divide one pair of files: idx { images: ... labels: ... split { train: 0.8 } }"));
  }
  std::pair<Example, Example> parts;
  LANISTA_ASSIGN_OR_RETURN(parts.first, ReadPair(train.first, train.second));
  LANISTA_ASSIGN_OR_RETURN(parts.second, ReadPair(validation.first, validation.second));
  if (parts.first.input.sizes().slice(1) != parts.second.input.sizes().slice(1)) {
    return absl::InvalidArgumentError(
        absl::StrCat(train.first, " and ", validation.first, " hold images of different sizes"));
  }
  return parts;
}

absl::StatusOr<std::pair<Example, Example>> ReadAndSplit(const v1::IdxConfig& config, uint64_t order_seed) {
  for (const std::string* path : {&config.images(), &config.labels()}) {
    std::error_code error;
    if (!std::filesystem::exists(*path, error)) {
      const std::filesystem::path file(*path);
      return MissingImages(absl::StrCat("IDX file ", file.filename().string()),
                           file.parent_path().empty() ? "." : file.parent_path().string());
    }
  }
  LANISTA_ASSIGN_OR_RETURN(const Example all, ReadPair(config.images(), config.labels()));
  LANISTA_ASSIGN_OR_RETURN(const SplitIndices indices,
                           Split(all.input.size(0), config.split(), order_seed, config.images()));
  return std::make_pair(GatherRows(all, indices.train), GatherRows(all, indices.validation));
}

absl::StatusOr<std::unique_ptr<DataSplits>> OpenIdx(const v1::IdxConfig& config, const DatasetRequest& request) {
  LANISTA_ASSIGN_OR_RETURN(auto parts,
                           config.has_root() ? ReadRoot(config.root()) : ReadAndSplit(config, request.order_seed));
  auto splits = std::make_unique<DataSplits>();
  splits->input_shape = parts.first.input.sizes().slice(1).vec();
  const int64_t largest = std::max(parts.first.target.max().item<int64_t>(), parts.second.target.max().item<int64_t>());
  splits->outputs = config.has_classes() ? config.classes() : largest + 1;
  if (splits->outputs <= largest) {
    return absl::InvalidArgumentError(absl::StrCat("idx.classes is ", splits->outputs, ", but there is a label ",
                                                   largest, "; labels are 0 to classes - 1"));
  }
  splits->train = MakeInMemoryDataset(std::move(parts.first));
  splits->validation = MakeInMemoryDataset(std::move(parts.second));
  return splits;
}

}  // namespace

LANISTA_REGISTER_BUILT_IN(DatasetRegistry, idx, v1::IdxConfig, OpenIdx);

}  // namespace lanista::data

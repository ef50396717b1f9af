// CIFAR-10, binary version (Krizhevsky 2009): records of one label byte and 3 x 32 x 32 pixel bytes, without a header.
#include <ATen/ops/empty.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "src/base/status.h"
#include "src/data/dataset.h"
#include "src/data/input_file.h"
#include "src/data/missing.h"
#include "src/data/rows.h"

namespace lanista::data {
namespace {

constexpr int64_t kSide = 32;
constexpr int64_t kPixels = 3 * kSide * kSide;
constexpr int64_t kRecord = 1 + kPixels;
constexpr int kClasses = 10;

// Appends a file's records to `pixels` and `labels`.
absl::Status ReadBatch(const std::string& path, std::string& pixels, std::vector<int64_t>& labels) {
  LANISTA_ASSIGN_OR_RETURN(InputFile file, InputFile::Open(path));
  LANISTA_ASSIGN_OR_RETURN(const std::string bytes, file.ReadAll());
  const auto size = static_cast<int64_t>(bytes.size());
  if (size == 0 || size % kRecord != 0) {
    return file.Corrupt(absl::StrCat("truncated or not CIFAR-10: its ", size, " bytes are not a multiple of ", kRecord,
                                     ", the size of a record"));
  }
  for (int64_t start = 0; start < size; start += kRecord) {
    const int label = static_cast<unsigned char>(bytes[start]);
    if (label >= kClasses) {
      return file.Corrupt(absl::StrCat("byte ", start, ": label ", label, "; labels are 0 to ", kClasses - 1));
    }
    labels.push_back(label);
    pixels.append(bytes, start + 1, kPixels);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<const Dataset>> ReadBatches(const std::vector<std::string>& paths) {
  std::string pixels;
  std::vector<int64_t> labels;
  for (const std::string& path : paths) LANISTA_RETURN_IF_ERROR(ReadBatch(path, pixels, labels));
  const auto count = static_cast<int64_t>(labels.size());
  at::Tensor target = at::empty({count}, at::kLong);
  std::copy(labels.begin(), labels.end(), target.data_ptr<int64_t>());
  return MakeInMemoryDataset({PixelsToTensor(pixels.data(), {count, 3, kSide, kSide}), std::move(target)});
}

absl::StatusOr<std::unique_ptr<DataSplits>> OpenCifar10(const v1::Cifar10Config& config, const DatasetRequest&) {
  std::vector<std::string> missing;
  std::vector<std::string> paths;
  for (const char* name : {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin",
                           "data_batch_5.bin", "test_batch.bin"}) {
    paths.push_back(FindFile(config.root(), {name}));
    if (paths.back().empty()) missing.push_back(name);
  }
  if (!missing.empty()) {
    return MissingImages(absl::StrCat("CIFAR-10 files (binary version) ", absl::StrJoin(missing, ", ")), config.root());
  }
  auto splits = std::make_unique<DataSplits>();
  LANISTA_ASSIGN_OR_RETURN(splits->validation, ReadBatches({paths.back()}));
  paths.pop_back();
  LANISTA_ASSIGN_OR_RETURN(splits->train, ReadBatches(paths));
  splits->input_shape = {3, kSide, kSide};
  splits->outputs = kClasses;
  splits->class_names = {"airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"};
  return splits;
}

}  // namespace

LANISTA_REGISTER_BUILT_IN(DatasetRegistry, cifar10, v1::Cifar10Config, OpenCifar10);

}  // namespace lanista::data

// One folder per class with JPEG and PNG files, which the loader's threads decode when a sample is needed.
#include <ATen/ops/empty.h>
#include <ATen/ops/upsample_bilinear2d.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "src/base/status.h"
#include "src/base/utf8.h"
#include "src/data/dataset.h"
#include "src/data/image_file.h"
#include "src/data/missing.h"
#include "src/data/split.h"

namespace lanista::data {
namespace {

namespace fs = std::filesystem;

struct File {
  std::string path;
  int64_t label = 0;
};

// The shape of the samples.
struct ImageShape {
  int64_t channels = 3;
  int64_t height = 0;
  int64_t width = 0;
  // Whether images of another size are resized; if not, they are errors.
  bool resize = false;
};

at::Tensor ToTensor(const RgbImage& image, int64_t channels) {
  const int64_t area = image.height * image.width;
  at::Tensor tensor = at::empty({channels, image.height, image.width}, at::kFloat);
  float* to = tensor.data_ptr<float>();
  for (int64_t i = 0; i < area; ++i) {
    const uint8_t* rgb = &image.pixels[i * 3];
    if (channels == 1) {
      // Luma of ITU-R BT.601 with 16 bits, the usual conversion. The weights add up to one, so grey stays the same.
      to[i] = static_cast<float>((19595 * rgb[0] + 38470 * rgb[1] + 7471 * rgb[2] + 0x8000) >> 16) / 255.0f;
    } else {
      for (int64_t c = 0; c < 3; ++c) to[c * area + i] = static_cast<float>(rgb[c]) / 255.0f;
    }
  }
  return tensor;
}

class ImageFolder : public Dataset {
 public:
  ImageFolder(std::vector<File> files, const ImageShape& shape) : files_(std::move(files)), shape_(shape) {}

  int64_t size() const override { return static_cast<int64_t>(files_.size()); }

  absl::StatusOr<Example> Get(int64_t index) const override {
    const File& file = files_[index];
    LANISTA_ASSIGN_OR_RETURN(const RgbImage image, ReadImage(file.path));
    at::Tensor input = ToTensor(image, shape_.channels);
    if (image.height != shape_.height || image.width != shape_.width) {
      if (!shape_.resize) {
        return absl::InvalidArgumentError(absl::StrCat(
            file.path, ": ", image.height, " x ", image.width, " pixels, but the first image has ", shape_.height,
            " x ", shape_.width, "; name the `height` and `width` to which image_folder resizes"));
      }
      input =
          at::upsample_bilinear2d(input.unsqueeze(0), at::IntArrayRef({shape_.height, shape_.width}), false).squeeze(0);
    }
    at::Tensor target = at::empty({}, at::kLong);
    *target.data_ptr<int64_t>() = file.label;
    return Example{std::move(input), std::move(target)};
  }

 private:
  const std::vector<File> files_;
  const ImageShape shape_;
};

// The sub-folders or the image files in `folder`, sorted bytewise, without hidden ones.
absl::StatusOr<std::vector<std::string>> List(const fs::path& folder, bool folders) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    const std::string extension = absl::AsciiStrToLower(entry->path().extension().string());
    std::error_code ignored;
    if (name[0] == '.' || entry->is_directory(ignored) != folders) continue;
    if (folders || extension == ".jpg" || extension == ".jpeg" || extension == ".png") names.push_back(name);
  }
  if (error) return ErrnoToStatus(error.value(), folder.string());
  std::sort(names.begin(), names.end());
  return names;
}

// All images below `folder`, class by class. If `classes` is not empty, other classes are an error.
absl::StatusOr<std::vector<File>> ListImages(const fs::path& folder, std::vector<std::string>& classes) {
  LANISTA_ASSIGN_OR_RETURN(const std::vector<std::string> found, List(folder, /*folders=*/true));
  if (classes.empty()) classes = found;
  std::vector<File> files;
  for (const std::string& name : found) {
    if (!IsUtf8(name)) {
      return absl::InvalidArgumentError(
          absl::StrCat(ToUtf8((folder / name).string()), ": the class's name is not UTF-8: rename the folder"));
    }
    const auto position = std::find(classes.begin(), classes.end(), name);
    if (position == classes.end()) {
      return absl::InvalidArgumentError(absl::StrCat((folder / name).string(),
                                                     ": the training images have no such class; they have ",
                                                     absl::StrJoin(classes, ", ")));
    }
    LANISTA_ASSIGN_OR_RETURN(const std::vector<std::string> images, List(folder / name, /*folders=*/false));
    for (const std::string& image : images)
      files.push_back({(folder / name / image).string(), position - classes.begin()});
  }
  if (files.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(folder.string(), ": no images; one folder a class is expected, with .jpg, .jpeg or .png files"));
  }
  return files;
}

// Training and validation files: from folders of their own, or divided as `split` says.
absl::StatusOr<std::pair<std::vector<File>, std::vector<File>>> ListSplits(const v1::ImageFolderConfig& config,
                                                                           uint64_t order_seed,
                                                                           std::vector<std::string>& classes) {
  const fs::path root(config.root());
  std::error_code error;
  if (!fs::is_directory(root, error)) return MissingImages("image folder", config.root());
  std::pair<std::vector<File>, std::vector<File>> parts;
  if (fs::is_directory(root / "train", error)) {
    if (config.has_split()) {
      return absl::InvalidArgumentError(absl::StrCat(
          config.root(), " has a folder train/ of its own: leave `split` out, or name that folder as root"));
    }
    const std::string validation = FindFile(config.root(), {"val", "validation", "test"});
    if (validation.empty()) return MissingImages("beside train/, a folder val/, validation/ or test/", config.root());
    LANISTA_ASSIGN_OR_RETURN(parts.first, ListImages(root / "train", classes));
    LANISTA_ASSIGN_OR_RETURN(parts.second, ListImages(validation, classes));
    return parts;
  }
  LANISTA_ASSIGN_OR_RETURN(const std::vector<File> files, ListImages(root, classes));
  LANISTA_ASSIGN_OR_RETURN(const SplitIndices indices,
                           Split(static_cast<int64_t>(files.size()), config.split(), order_seed, config.root()));
  for (const int64_t i : indices.train) parts.first.push_back(files[i]);
  for (const int64_t i : indices.validation) parts.second.push_back(files[i]);
  return parts;
}

absl::StatusOr<ImageShape> ChooseShape(const v1::ImageFolderConfig& config, const File& first) {
  ImageShape shape;
  if (config.has_channels()) shape.channels = config.channels();
  shape.resize = config.has_height();
  if (shape.resize) {
    shape.height = config.height();
    shape.width = config.width();
    return shape;
  }
  LANISTA_ASSIGN_OR_RETURN(const RgbImage image, ReadImage(first.path));
  shape.height = image.height;
  shape.width = image.width;
  return shape;
}

absl::StatusOr<std::unique_ptr<DataSplits>> OpenImageFolder(const v1::ImageFolderConfig& config,
                                                            const DatasetRequest& request) {
  auto splits = std::make_unique<DataSplits>();
  LANISTA_ASSIGN_OR_RETURN(auto parts, ListSplits(config, request.order_seed, splits->class_names));
  LANISTA_ASSIGN_OR_RETURN(const ImageShape shape, ChooseShape(config, parts.first.front()));
  splits->input_shape = {shape.channels, shape.height, shape.width};
  splits->outputs = static_cast<int64_t>(splits->class_names.size());
  if (shape.resize) {
    v1::Resizing& step = *splits->preprocessing.emplace_back().mutable_resizing();
    step.set_height(shape.height);
    step.set_width(shape.width);
  }
  splits->train = std::make_shared<ImageFolder>(std::move(parts.first), shape);
  splits->validation = std::make_shared<ImageFolder>(std::move(parts.second), shape);
  return splits;
}

}  // namespace

LANISTA_REGISTER_BUILT_IN(DatasetRegistry, image_folder, v1::ImageFolderConfig, OpenImageFolder);

}  // namespace lanista::data

// What the options of single fields (protos/options.proto) do not say of datasets and transforms. Without LibTorch,
// because `lanista` checks configurations, too.
#include <string>

#include "absl/strings/str_cat.h"
#include "protos/experiment.pb.h"
#include "src/base/field_rules.h"

namespace lanista::data {
namespace {

std::optional<Violation> CheckIdx(const v1::IdxConfig& idx, const std::string& path) {
  if (!idx.has_root() && !(idx.has_images() && idx.has_labels())) {
    return Violation{path, "set 'root' (a folder with the four standard files) or both 'images' and 'labels'"};
  }
  return std::nullopt;
}

std::optional<Violation> CheckCsv(const v1::CsvConfig& csv, const std::string& path) {
  const std::string& delimiter = csv.delimiter();
  if (csv.has_delimiter() && (delimiter.size() != 1 || delimiter.find_first_of("\"\n\r") == 0)) {
    return Violation{JoinPath(path, "delimiter"),
                     "must be one character and no quote or line break, for example \",\" or \"\\t\""};
  }
  return std::nullopt;
}

std::optional<Violation> CheckImageFolder(const v1::ImageFolderConfig& images, const std::string& path) {
  if (images.has_height() != images.has_width()) {
    return Violation{JoinPath(path, "height"), "'height' and 'width' go together"};
  }
  if (images.has_channels() && images.channels() != 1 && images.channels() != 3) {
    return Violation{JoinPath(path, "channels"), absl::StrCat("must be 1 (grey) or 3 (RGB), got ", images.channels())};
  }
  return std::nullopt;
}

std::optional<Violation> CheckNormalize(const v1::NormalizeConfig& normalize, const std::string& path) {
  if (normalize.mean_size() == normalize.std_size()) return std::nullopt;
  return Violation{JoinPath(path, "std"), "needs as many values as 'mean', one for each channel"};
}

}  // namespace

LANISTA_REGISTER_CHECK(v1::IdxConfig, CheckIdx);
LANISTA_REGISTER_CHECK(v1::CsvConfig, CheckCsv);
LANISTA_REGISTER_CHECK(v1::ImageFolderConfig, CheckImageFolder);
LANISTA_REGISTER_CHECK(v1::NormalizeConfig, CheckNormalize);

}  // namespace lanista::data

#include "src/data/missing.h"

#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"

namespace lanista::data {
namespace fs = std::filesystem;

std::string FindFile(const std::string& folder, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    const fs::path path = fs::path(folder) / name;
    std::error_code error;
    if (fs::exists(path, error)) return path.string();
  }
  return "";
}

absl::Status MissingImages(const std::string& what, const std::string& sought) {
  std::error_code error;
  const fs::path absolute = fs::absolute(sought, error);
  return absl::NotFoundError(absl::StrCat(
      what, " not found; sought in ", error ? sought : absolute.lexically_normal().string(),
      fs::exists(sought, error) ? "" : " (which does not exist)",
      ". Put the data there or correct the path; to try without any data: dataset { synthetic_digits {} }"));
}

}  // namespace lanista::data

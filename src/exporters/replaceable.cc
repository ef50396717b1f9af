#include "src/exporters/replaceable.h"

#include <filesystem>
#include <fstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "src/base/status.h"

namespace lanista::exporters {
namespace {

// Lanista's exports contain the mark within this many bytes.
constexpr std::streamsize kHeadBytes = 512;

bool Exists(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored);
}

absl::Status Refuse(const std::string& path, absl::string_view why) {
  return absl::FailedPreconditionError(
      absl::StrCat(path, " is not replaced: ", why, "; name another folder or file, or remove it"));
}

absl::Status CheckMark(const std::string& path, absl::string_view mark) {
  if (!Exists(path)) return absl::OkStatus();
  std::string head(kHeadBytes, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(&head[0], kHeadBytes);
  if (absl::StrContains(head, mark)) return absl::OkStatus();
  return Refuse(path, "Lanista did not write it");
}

}  // namespace

absl::Status CheckReplaceable(const std::string& format, const std::string& stem) {
  const std::string source = stem + ".py", weights = stem + ".pt";
  if (format == "python") {
    LANISTA_RETURN_IF_ERROR(CheckMark(source, "written by Lanista"));
    if (Exists(weights) && !Exists(source)) return Refuse(weights, absl::StrCat("it is not the weights of ", source));
  } else if (format == "torchscript") {
    if (Exists(weights) && Exists(source)) return Refuse(weights, absl::StrCat("it is the weights of ", source));
  } else if (format == "cpp") {
    return CheckMark(stem + ".h", "written by Lanista");
  } else if (format == "onnx") {
    return CheckMark(stem + ".onnx", "lanista");
  }
  return absl::OkStatus();
}

}  // namespace lanista::exporters

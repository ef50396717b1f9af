#include "src/space/file_digests.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace lanista {

absl::Status FileHasChanged(const v1::FileDigest& file) {
  return absl::FailedPreconditionError(
      absl::StrCat(file.path(), " has changed since the experiment began: put back the file with SHA-256 ",
                   file.sha256(), ", or start a new experiment"));
}

absl::Status CheckSameFiles(const google::protobuf::RepeatedPtrField<v1::FileDigest>& here,
                            const google::protobuf::RepeatedPtrField<v1::FileDigest>& expected) {
  for (const v1::FileDigest& file : expected) {
    const bool unchanged = std::any_of(here.begin(), here.end(), [&file](const v1::FileDigest& one) {
      return one.path() == file.path() && one.sha256() == file.sha256();
    });
    if (!unchanged) return FileHasChanged(file);
  }
  return absl::OkStatus();
}

}  // namespace lanista

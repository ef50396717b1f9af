#include "src/trial/space_files.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engines/model_builder.h"
#include "src/base/status.h"

namespace lanista {

absl::Status CheckSpaceFiles(const v1::SpaceConfig& space, const v1::EngineConfig& engine,
                             const google::protobuf::RepeatedPtrField<v1::FileDigest>& expected) {
  if (expected.empty()) return absl::OkStatus();
  LANISTA_ASSIGN_OR_RETURN(const auto builder, ModelBuilderRegistry::Get().Create(engine));
  const absl::StatusOr<std::vector<v1::FileDigest>> here = builder->Files(space);
  if (!here.ok()) {
    return absl::FailedPreconditionError(
        absl::StrCat("the space can no longer be read as the experiment began with it: ", here.status().message()));
  }
  for (const v1::FileDigest& file : expected) {
    const bool unchanged = std::any_of(here->begin(), here->end(), [&file](const v1::FileDigest& one) {
      return one.path() == file.path() && one.sha256() == file.sha256();
    });
    if (unchanged) continue;
    return absl::FailedPreconditionError(
        absl::StrCat(file.path(), " has changed since the experiment began: put back the file with SHA-256 ",
                     file.sha256(), ", or start a new experiment"));
  }
  return absl::OkStatus();
}

}  // namespace lanista

#include "src/trial/space_files.h"

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engines/model_builder.h"
#include "src/base/read_file.h"
#include "src/base/sha256.h"
#include "src/base/status.h"
#include "src/space/file_digests.h"

namespace lanista {

absl::Status CheckSpaceFiles(const v1::SpaceConfig& space, const v1::EngineConfig& engine,
                             const google::protobuf::RepeatedPtrField<v1::FileDigest>& expected,
                             const std::vector<v1::FileDigest>& evaluator_files) {
  if (expected.empty()) return absl::OkStatus();
  LANISTA_ASSIGN_OR_RETURN(const auto builder, ModelBuilderRegistry::Get().Create(engine));
  absl::StatusOr<std::vector<v1::FileDigest>> here = builder->Files(space);
  if (!here.ok()) {
    // A space that cannot be opened does not list its files. A changed file is the most likely reason.
    for (const v1::FileDigest& file : expected) {
      const absl::StatusOr<std::string> content = ReadWholeFile(file.path(), kMostWeightsBytes);
      if (content.ok() && Sha256(*content) != file.sha256()) return FileHasChanged(file);
    }
    return absl::FailedPreconditionError(
        absl::StrCat("the space can no longer be read as the experiment began with it: ", here.status().message()));
  }
  here->insert(here->end(), evaluator_files.begin(), evaluator_files.end());
  return CheckSameFiles({here->begin(), here->end()}, expected);
}

}  // namespace lanista

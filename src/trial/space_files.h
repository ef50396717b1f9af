// Whether the files of a space are still those that the experiment began with.
#ifndef LANISTA_SRC_TRIAL_SPACE_FILES_H_
#define LANISTA_SRC_TRIAL_SPACE_FILES_H_

#include <vector>

#include "absl/status/status.h"
#include "google/protobuf/repeated_field.h"
#include "protos/experiment.pb.h"
#include "protos/space.pb.h"

namespace lanista {

// OK if this process reads `space` from files of the contents `expected` (SpaceSpec.files; none: not checked), or its
// evaluator has read them (`evaluator_files`). FAILED_PRECONDITION names the first file that has changed or cannot be
// read.
absl::Status CheckSpaceFiles(const v1::SpaceConfig& space, const v1::EngineConfig& engine,
                             const google::protobuf::RepeatedPtrField<v1::FileDigest>& expected,
                             const std::vector<v1::FileDigest>& evaluator_files = {});

}  // namespace lanista

#endif  // LANISTA_SRC_TRIAL_SPACE_FILES_H_

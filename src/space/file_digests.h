// The files that a space was read from, then and now.
#ifndef LANISTA_SRC_SPACE_FILE_DIGESTS_H_
#define LANISTA_SRC_SPACE_FILE_DIGESTS_H_

#include "absl/status/status.h"
#include "google/protobuf/repeated_field.h"
#include "protos/space.pb.h"

namespace lanista {

// The refusal of a space because this file is not what it was: names the file and the content that is wanted.
absl::Status FileHasChanged(const v1::FileDigest& file);

// FileHasChanged for the first of `expected` that is not in `here` with the same content.
absl::Status CheckSameFiles(const google::protobuf::RepeatedPtrField<v1::FileDigest>& here,
                            const google::protobuf::RepeatedPtrField<v1::FileDigest>& expected);

}  // namespace lanista

#endif  // LANISTA_SRC_SPACE_FILE_DIGESTS_H_

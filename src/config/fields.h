// Fields of messages by their path, and the words with which errors speak of them.
#ifndef LANISTA_SRC_CONFIG_FIELDS_H_
#define LANISTA_SRC_CONFIG_FIELDS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"

namespace lanista {

// One step of a path: `name`, or `name[index]`.
struct FieldStep {
  std::string name;
  // -1: none given.
  int index = -1;
};

// training_service[0].local.cpu_slots in steps. INVALID_ARGUMENT if it is malformed.
absl::StatusOr<std::vector<FieldStep>> ParseFieldPath(absl::string_view path);

// "unknown field 'x'; did you mean 'y'? allowed here: ...".
std::string UnknownFieldMessage(const google::protobuf::Descriptor& message, absl::string_view name);

// "'f' wants an integer, got x".
std::string WrongTypeMessage(const google::protobuf::FieldDescriptor& field, absl::string_view got);

// Sets the field at `path` from text, as `--set path=value` does:
//  - messages on the way are made; a member of a oneof replaces the one that was set;
//  - an element of a repeated field is named by its index (the number of elements appends one; without an index there
//    must be at most one); a repeated field as a whole takes `[a, b]` or one value, and is replaced;
//  - an entry of a map is named like a field: space.params.width=64;
//  - values are protobuf text; strings need no quotes, durations may read 90s, and a Value (of params) may be written
//    as a plain number, truth value or string.
// INVALID_ARGUMENT says what is allowed instead, without the path.
absl::Status SetField(google::protobuf::Message& message, absl::string_view path, absl::string_view value);

}  // namespace lanista

#endif  // LANISTA_SRC_CONFIG_FIELDS_H_

// Checks messages by the options of their fields (protos/options.proto), and by checks over several fields of a
// message, which stand beside the component that the message is for:
//
//   std::optional<Violation> CheckAnnealing(const v1::AnnealingConfig& config, const std::string& path) {
//     if (config.start() >= config.end()) return std::nullopt;
//     return Violation{JoinPath(path, "end"), "must be at most 'start'"};
//   }
//   LANISTA_REGISTER_CHECK(v1::AnnealingConfig, CheckAnnealing);
//
// Checks are registered before main; afterwards any thread may check messages.
#ifndef LANISTA_SRC_BASE_FIELD_RULES_H_
#define LANISTA_SRC_BASE_FIELD_RULES_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "protos/options.pb.h"
#include "src/base/register.h"

namespace lanista {

// What is wrong, and where.
struct Violation {
  // training_service[0].local.cpu_slots. The last step may be a field that is not set.
  std::string path;
  // For the user: what the field must be.
  std::string message;
};

// "path.field", or "field" where the path is empty.
std::string JoinPath(absl::string_view path, absl::string_view field);

// The options of a field; without any, their defaults.
const v1::FieldRules& RulesOf(const google::protobuf::FieldDescriptor& field);
// The options of a message; without any, their defaults.
const v1::MessageRules& RulesOf(const google::protobuf::Descriptor& message);

// Checks one path of a configuration, beyond what holds for all of them: `value` stands in `field`, at `path`.
using PathCheck = std::function<std::optional<Violation>(const google::protobuf::FieldDescriptor& field,
                                                         const std::string& value, const std::string& path)>;

// The first thing that is wrong with `message` and the messages in it, which `path` leads to; nullopt if they are fine.
// The parameters of `custom` components are checked where the component has a message for them (component.h).
// `check_path` may be empty.
std::optional<Violation> FindRuleViolation(const google::protobuf::Message& message, const std::string& path,
                                           const PathCheck& check_path = nullptr);

// What stands in a field of numbers or of truth values (1 and 0), or is there where it is not set; nullopt: the field
// holds something else. `index`: which one of a repeated field, where there must be as many.
std::optional<double> NumberIn(const google::protobuf::Message& message, const google::protobuf::FieldDescriptor& field,
                               int index = 0);

// The integer of `message` with this meaning, or the truth value (1 and 0): what it is, or is where it is not set.
// nullopt: there is none.
std::optional<int64_t> NumberWithMeaning(const google::protobuf::Message& message, v1::FieldRules::Meaning meaning);

// "'x' is not a value of 'f'; did you mean 'y'? allowed here: ...".
std::string UnknownEnumValueMessage(const google::protobuf::FieldDescriptor& field, absl::string_view value);

// A check over several fields of one message, which is called after each field by itself was found to be fine.
using MessageCheck =
    std::function<std::optional<Violation>(const google::protobuf::Message& message, const std::string& path)>;

// Adds a check of messages like `prototype`. They may have several: a component may check the whole experiment's
// message for what it needs of the others.
bool AddMessageCheck(const google::protobuf::Message& prototype, MessageCheck check);

}  // namespace lanista

// Registers `check`, a std::optional<Violation>(const Config&, const std::string& path).
#define LANISTA_REGISTER_CHECK(Config, check)                                                              \
  [[maybe_unused]] static const bool LANISTA_REGISTER_CONCAT_(lanista_check_, __COUNTER__) =               \
      ::lanista::AddMessageCheck(Config::default_instance(),                                               \
                                 [](const ::google::protobuf::Message& message, const std::string& path) { \
                                   return check(static_cast<const Config&>(message), path);                \
                                 })

#endif  // LANISTA_SRC_BASE_FIELD_RULES_H_

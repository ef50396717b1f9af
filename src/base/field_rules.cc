#include "src/base/field_rules.h"

#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "google/protobuf/duration.pb.h"
#include "google/protobuf/util/time_util.h"
#include "protos/experiment.pb.h"
#include "protos/graph.pb.h"
#include "src/base/component.h"
#include "src/base/spelling.h"

namespace lanista {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::Duration;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::OneofDescriptor;
using google::protobuf::Reflection;
using google::protobuf::util::TimeUtil;

// By the full name of the message.
std::multimap<std::string, MessageCheck>& MessageChecks() {
  static auto* const checks = new std::multimap<std::string, MessageCheck>;
  return *checks;
}

// "1000000" rather than "1e+06".
std::string NumberText(double x) {
  return std::floor(x) == x && std::abs(x) < 1e15 ? absl::StrCat(static_cast<int64_t>(x)) : absl::StrCat(x);
}

// NaN is in no range.
bool Holds(const v1::NumberRange& range, double x) {
  if (!std::isfinite(x)) return false;
  const bool above = range.has_above() ? x > range.above() : !range.has_at_least() || x >= range.at_least();
  const bool below = range.has_below() ? x < range.below() : !range.has_at_most() || x <= range.at_most();
  return above && below;
}

// "in [1, 1000000]".
std::string RangeText(const v1::NumberRange& range) {
  const bool has_low = range.low_case() != v1::NumberRange::LOW_NOT_SET;
  const bool has_high = range.high_case() != v1::NumberRange::HIGH_NOT_SET;
  const std::string low = NumberText(range.has_above() ? range.above() : range.at_least());
  const std::string high = NumberText(range.has_below() ? range.below() : range.at_most());
  if (!has_high) return absl::StrCat(range.has_above() ? "greater than " : "at least ", low);
  if (!has_low) return absl::StrCat(range.has_below() ? "less than " : "at most ", high);
  return absl::StrCat("in ", range.has_above() ? "(" : "[", low, ", ", high, range.has_below() ? ")" : "]");
}

bool IsSet(const Message& message, const FieldDescriptor& field) {
  const Reflection* const reflection = message.GetReflection();
  if (field.is_repeated()) return reflection->FieldSize(message, &field) > 0;
  if (!reflection->HasField(message, &field)) return false;
  return field.cpp_type() != FieldDescriptor::CPPTYPE_STRING || !reflection->GetString(message, &field).empty();
}

// A string field's value; `index` is ignored where the field is not repeated, here and below.
std::string String(const Message& message, const FieldDescriptor& field, int index) {
  const Reflection* const reflection = message.GetReflection();
  return field.is_repeated() ? reflection->GetRepeatedString(message, &field, index)
                             : reflection->GetString(message, &field);
}

bool IsNumber(const FieldDescriptor& field) {
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
    case FieldDescriptor::CPPTYPE_INT64:
    case FieldDescriptor::CPPTYPE_UINT32:
    case FieldDescriptor::CPPTYPE_UINT64:
    case FieldDescriptor::CPPTYPE_FLOAT:
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return true;
    default:
      return false;
  }
}

// Enums may come as numbers, which protobuf takes whether they stand for something or not.
std::optional<Violation> CheckEnum(const Message& message, const FieldDescriptor& field, int index,
                                   const std::string& path) {
  const Reflection* const reflection = message.GetReflection();
  const int number = field.is_repeated() ? reflection->GetRepeatedEnumValue(message, &field, index)
                                         : reflection->GetEnumValue(message, &field);
  const auto* const value = field.enum_type()->FindValueByNumber(number);
  // 0 is ..._UNSPECIFIED.
  if (value != nullptr && number != 0) return std::nullopt;
  return Violation{
      path, UnknownEnumValueMessage(field, value == nullptr ? absl::StrCat(number) : std::string(value->name()))};
}

// `zero`: what 0 means; empty: it is not allowed.
std::optional<Violation> CheckDuration(const Duration& duration, const std::string& zero, const std::string& path) {
  if (duration.seconds() > TimeUtil::kDurationMaxSeconds) return Violation{path, "is too long"};
  const bool is_zero = duration.seconds() == 0 && duration.nanos() == 0;
  if (is_zero && !zero.empty()) return std::nullopt;
  const bool positive = duration.seconds() >= 0 && duration.nanos() >= 0 && duration.nanos() < 1000000000 && !is_zero;
  if (!positive) {
    return Violation{path, absl::StrCat("must be a positive duration", zero.empty() ? "" : ", or 0 for ", zero)};
  }
  if (duration.seconds() == 0 && duration.nanos() < 1000000) return Violation{path, "must be at least 0.001s"};
  return std::nullopt;
}

std::optional<Violation> CheckNumber(const Message& message, const FieldDescriptor& field, int index,
                                     const std::string& path) {
  const double number = *NumberIn(message, field, index);
  const v1::FieldRules& rules = RulesOf(field);
  if (!rules.has_range()) {
    if (std::isfinite(number)) return std::nullopt;
    return Violation{path, absl::StrCat("must be a finite number, got ", number)};
  }
  if (Holds(rules.range(), number)) return std::nullopt;
  return Violation{path, absl::StrCat("must be ", RangeText(rules.range()), ", got ", NumberText(number))};
}

// The parameters of a `custom` component that has a message for them. `kind`: the message that holds `custom`.
std::optional<Violation> CheckParams(const Descriptor& kind, const v1::Custom& custom, const std::string& path,
                                     const PathCheck& check_path) {
  const Message* const prototype = Components::Get().Find(kind, custom.name());
  if (prototype == nullptr) return std::nullopt;
  if (std::optional<std::string> problem = ProblemWithMessage(*prototype->GetDescriptor())) {
    return Violation{JoinPath(path, "name"), absl::StrCat("'", custom.name(), "' cannot be used: ", *problem)};
  }
  const std::unique_ptr<Message> params(prototype->New());
  const std::string params_path = JoinPath(path, "params");
  if (auto violation = ReadParams(custom.params(), params_path, params.get())) return violation;
  return FindRuleViolation(*params, params_path, check_path);
}

// One value of a set field.
std::optional<Violation> CheckValue(const Message& message, const FieldDescriptor& field, int index,
                                    const std::string& path, const PathCheck& check_path) {
  if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
    const Reflection* const reflection = message.GetReflection();
    const Message& value = field.is_repeated() ? reflection->GetRepeatedMessage(message, &field, index)
                                               : reflection->GetMessage(message, &field);
    if (field.message_type() == Duration::descriptor()) {
      return CheckDuration(static_cast<const Duration&>(value), RulesOf(field).zero(), path);
    }
    if (auto violation = FindRuleViolation(value, path, check_path)) return violation;
    if (field.message_type() != v1::Custom::descriptor()) return std::nullopt;
    return CheckParams(*message.GetDescriptor(), static_cast<const v1::Custom&>(value), path, check_path);
  }
  if (field.cpp_type() == FieldDescriptor::CPPTYPE_ENUM) return CheckEnum(message, field, index, path);
  if (IsNumber(field)) return CheckNumber(message, field, index, path);
  if (!RulesOf(field).path()) return std::nullopt;
  const std::string value = String(message, field, index);
  if (value.find('\0') != std::string::npos) return Violation{path, "a path has no NUL byte"};
  return check_path == nullptr ? std::nullopt : check_path(field, value, path);
}

// Of a field with the option `unique`: the first value that comes a second time.
std::optional<Violation> FindTwice(const Message& message, const FieldDescriptor& field, const std::string& path) {
  std::set<std::string> seen;
  for (int i = 0; i < message.GetReflection()->FieldSize(message, &field); ++i) {
    const std::string value = IsNumber(field) ? NumberText(*NumberIn(message, field, i)) : String(message, field, i);
    if (seen.insert(value).second) continue;
    const std::string& what = RulesOf(field).unique().value();
    return Violation{absl::StrCat(JoinPath(path, field.name()), "[", i, "]"),
                     absl::StrCat(what, what.empty() ? "" : " ", value, " is named twice; keep one")};
  }
  return std::nullopt;
}

// Options of a field that are about more than one value.
std::optional<Violation> CheckTogether(const Message& message, const FieldDescriptor& field, const std::string& path) {
  const v1::FieldRules& rules = RulesOf(field);
  if (rules.has_unique()) {
    if (auto twice = FindTwice(message, field, path)) return twice;
  }
  const Reflection* const reflection = message.GetReflection();
  const auto has = [&](const FieldDescriptor& one) {
    return one.is_repeated() ? reflection->FieldSize(message, &one) > 0 : reflection->HasField(message, &one);
  };
  for (const v1::ExclusiveRule& rule : rules.not_with()) {
    if (!has(field)) break;
    for (const std::string& name : rule.field()) {
      const FieldDescriptor* const other = message.GetDescriptor()->FindFieldByName(name);
      if (other != nullptr && has(*other)) return Violation{JoinPath(path, field.name()), rule.because()};
    }
  }
  return std::nullopt;
}

}  // namespace

std::string JoinPath(absl::string_view path, absl::string_view field) {
  return path.empty() ? std::string(field) : absl::StrCat(path, ".", field);
}

const v1::FieldRules& RulesOf(const FieldDescriptor& field) { return field.options().GetExtension(v1::rules); }

const v1::MessageRules& RulesOf(const Descriptor& message) { return message.options().GetExtension(v1::message_rules); }

std::optional<Violation> FindRuleViolation(const Message& message, const std::string& path,
                                           const PathCheck& check_path) {
  const Descriptor& descriptor = *message.GetDescriptor();
  // The user's own: whoever takes them checks them.
  if (&descriptor == v1::Value::descriptor()) return std::nullopt;
  const Reflection* const reflection = message.GetReflection();
  const OneofDescriptor* const kind = descriptor.FindOneofByName("kind");
  if (kind != nullptr && !reflection->HasOneof(message, kind)) {
    std::vector<std::string> names;
    for (int i = 0; i < kind->field_count(); ++i) names.emplace_back(kind->field(i)->name());
    return Violation{path, absl::StrCat("nothing is set; set one of: ", absl::StrJoin(names, ", "))};
  }
  for (int i = 0; i < descriptor.field_count(); ++i) {
    const FieldDescriptor& field = *descriptor.field(i);
    const std::string field_path = JoinPath(path, field.name());
    // Another one of its kind is set.
    if (kind != nullptr && field.real_containing_oneof() == kind && !reflection->HasField(message, &field)) continue;
    const std::string& required = RulesOf(field).required();
    if (!required.empty() && !IsSet(message, field)) {
      return Violation{field_path, absl::StrCat("is required: ", required)};
    }
    if (field.is_map()) continue;
    const int size = field.is_repeated() ? reflection->FieldSize(message, &field) : 0;
    for (int index = 0; index < size; ++index) {
      auto violation = CheckValue(message, field, index, absl::StrCat(field_path, "[", index, "]"), check_path);
      if (violation) return violation;
    }
    if (!field.is_repeated() && reflection->HasField(message, &field)) {
      if (auto violation = CheckValue(message, field, -1, field_path, check_path)) return violation;
    }
  }
  for (int i = 0; i < descriptor.field_count(); ++i) {
    if (auto violation = CheckTogether(message, *descriptor.field(i), path)) return violation;
  }
  const auto checks = MessageChecks().equal_range(descriptor.full_name());
  for (auto check = checks.first; check != checks.second; ++check) {
    if (auto violation = check->second(message, path)) return violation;
  }
  return std::nullopt;
}

std::optional<double> NumberIn(const Message& message, const FieldDescriptor& field, int index) {
  const Reflection& get = *message.GetReflection();
  const bool repeated = field.is_repeated();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_BOOL:
      return repeated ? get.GetRepeatedBool(message, &field, index) : get.GetBool(message, &field);
    case FieldDescriptor::CPPTYPE_INT32:
      return repeated ? get.GetRepeatedInt32(message, &field, index) : get.GetInt32(message, &field);
    case FieldDescriptor::CPPTYPE_INT64:
      return static_cast<double>(repeated ? get.GetRepeatedInt64(message, &field, index)
                                          : get.GetInt64(message, &field));
    case FieldDescriptor::CPPTYPE_UINT32:
      return repeated ? get.GetRepeatedUInt32(message, &field, index) : get.GetUInt32(message, &field);
    case FieldDescriptor::CPPTYPE_UINT64:
      return static_cast<double>(repeated ? get.GetRepeatedUInt64(message, &field, index)
                                          : get.GetUInt64(message, &field));
    case FieldDescriptor::CPPTYPE_FLOAT:
      return static_cast<double>(repeated ? get.GetRepeatedFloat(message, &field, index)
                                          : get.GetFloat(message, &field));
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return repeated ? get.GetRepeatedDouble(message, &field, index) : get.GetDouble(message, &field);
    default:
      return std::nullopt;
  }
}

std::optional<int64_t> NumberWithMeaning(const Message& message, v1::FieldRules::Meaning meaning) {
  const Descriptor& descriptor = *message.GetDescriptor();
  for (int i = 0; i < descriptor.field_count(); ++i) {
    const FieldDescriptor& field = *descriptor.field(i);
    if (RulesOf(field).meaning() != meaning || field.is_repeated()) continue;
    if (!IsNumber(field) && field.cpp_type() != FieldDescriptor::CPPTYPE_BOOL) continue;
    if (!message.GetReflection()->HasField(message, &field)) return RulesOf(field).if_not_set();
    return static_cast<int64_t>(*NumberIn(message, field));
  }
  return std::nullopt;
}

std::string UnknownEnumValueMessage(const FieldDescriptor& field, absl::string_view value) {
  std::vector<std::string> names;
  for (int i = 0; i < field.enum_type()->value_count(); ++i) {
    const auto* const candidate = field.enum_type()->value(i);
    if (candidate->number() != 0) names.emplace_back(candidate->name());  // 0 is ..._UNSPECIFIED.
  }
  return absl::StrCat("'", value, "' is not a value of '", field.name(), "'", AllowedHere(value, names));
}

bool AddMessageCheck(const Message& prototype, MessageCheck check) {
  MessageChecks().emplace(prototype.GetDescriptor()->full_name(), std::move(check));
  return true;
}

}  // namespace lanista

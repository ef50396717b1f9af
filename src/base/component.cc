#include "src/base/component.h"

#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "google/protobuf/duration.pb.h"
#include "google/protobuf/util/time_util.h"
#include "src/base/spelling.h"
#include "src/base/value.h"

namespace lanista {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::Duration;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

bool IsDuration(const FieldDescriptor& field) {
  return field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE && field.message_type() == Duration::descriptor();
}

// How one value of the field is written in `params`.
std::string HowToWrite(const FieldDescriptor& field) {
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_BOOL:
      return "a truth value: value { b: true }";
    case FieldDescriptor::CPPTYPE_STRING:
      return "a string: value { s: \"text\" }";
    case FieldDescriptor::CPPTYPE_ENUM:
      return "a name: value { s: \"NAME\" }";
    case FieldDescriptor::CPPTYPE_FLOAT:
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return "a number: value { f: 0.5 }";
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return "a duration: value { s: \"90s\" }";
    case FieldDescriptor::CPPTYPE_INT32:
      return "an integer of 32 bits: value { i: 1 }";
    default:
      return "an integer: value { i: 1 }";
  }
}

// Sets a field that is not repeated, or appends to one that is. What is wrong with the value; nullopt: nothing.
class ValueSetter {
 public:
  ValueSetter(const FieldDescriptor& field, Message* message) : field_(field), message_(*message) {}

  std::optional<std::string> Set(const v1::Value& value) {
    switch (field_.cpp_type()) {
      case FieldDescriptor::CPPTYPE_BOOL:
        return Put(FromValue<bool>(value), value, &Reflection::SetBool, &Reflection::AddBool);
      case FieldDescriptor::CPPTYPE_INT32:
        return PutInteger<int32_t>(value, &Reflection::SetInt32, &Reflection::AddInt32);
      case FieldDescriptor::CPPTYPE_INT64:
        return PutInteger<int64_t>(value, &Reflection::SetInt64, &Reflection::AddInt64);
      case FieldDescriptor::CPPTYPE_UINT32:
        return PutInteger<uint32_t>(value, &Reflection::SetUInt32, &Reflection::AddUInt32);
      case FieldDescriptor::CPPTYPE_UINT64:
        return PutInteger<uint64_t>(value, &Reflection::SetUInt64, &Reflection::AddUInt64);
      case FieldDescriptor::CPPTYPE_FLOAT: {
        std::optional<float> number;
        if (const std::optional<double> wide = FromValue<double>(value)) number = static_cast<float>(*wide);
        return Put(number, value, &Reflection::SetFloat, &Reflection::AddFloat);
      }
      case FieldDescriptor::CPPTYPE_DOUBLE:
        return Put(FromValue<double>(value), value, &Reflection::SetDouble, &Reflection::AddDouble);
      case FieldDescriptor::CPPTYPE_STRING:
        return Put(FromValue<std::string>(value), value, &Reflection::SetString, &Reflection::AddString);
      case FieldDescriptor::CPPTYPE_ENUM:
        return SetEnum(value);
      case FieldDescriptor::CPPTYPE_MESSAGE:
        return SetDuration(value);
    }
    return WrongType(value);
  }

 private:
  std::string WrongType(const v1::Value& value) const {
    return absl::StrCat("is { ", value.ShortDebugString(), " }; it must be ", HowToWrite(field_));
  }

  template <typename T, typename SetOne, typename AddOne>
  std::optional<std::string> Put(const std::optional<T>& value, const v1::Value& given, SetOne set, AddOne add) {
    if (!value.has_value()) return WrongType(given);
    const Reflection& reflection = *message_.GetReflection();
    if (field_.is_repeated()) {
      (reflection.*add)(&message_, &field_, *value);
    } else {
      (reflection.*set)(&message_, &field_, *value);
    }
    return std::nullopt;
  }

  template <typename T, typename SetOne, typename AddOne>
  std::optional<std::string> PutInteger(const v1::Value& given, SetOne set, AddOne add) {
    std::optional<T> integer;
    if (const std::optional<int64_t> wide = FromValue<int64_t>(given)) {
      if (static_cast<int64_t>(static_cast<T>(*wide)) == *wide && (*wide >= 0) == (static_cast<T>(*wide) >= T{0})) {
        integer = static_cast<T>(*wide);
      }
    }
    return Put(integer, given, set, add);
  }

  std::optional<std::string> SetEnum(const v1::Value& given) {
    const std::optional<std::string> name = FromValue<std::string>(given);
    if (!name.has_value()) return WrongType(given);
    const auto* const value = field_.enum_type()->FindValueByName(*name);
    if (value == nullptr || value->number() == 0) return UnknownEnumValueMessage(field_, *name);
    return Put(std::optional(value), given, &Reflection::SetEnum, &Reflection::AddEnum);
  }

  std::optional<std::string> SetDuration(const v1::Value& given) {
    const std::optional<std::string> text = FromValue<std::string>(given);
    Duration duration;
    if (!text.has_value() || !google::protobuf::util::TimeUtil::FromString(*text, &duration)) return WrongType(given);
    const Reflection& reflection = *message_.GetReflection();
    Message* const place = field_.is_repeated() ? reflection.AddMessage(&message_, &field_)
                                                : reflection.MutableMessage(&message_, &field_);
    place->CopyFrom(duration);
    return std::nullopt;
  }

  const FieldDescriptor& field_;
  Message& message_;
};

}  // namespace

Components& Components::Get() {
  static auto* const components = new Components;
  return *components;
}

void Components::Add(const Message& kind, const std::string& name, const Message& config) {
  messages_[{std::string(kind.GetDescriptor()->full_name()), name}] = &config;
}

const Message* Components::Find(const Descriptor& kind, const std::string& name) const {
  const auto found = messages_.find({std::string(kind.full_name()), name});
  return found == messages_.end() ? nullptr : found->second;
}

std::optional<std::string> ProblemWithMessage(const Descriptor& config) {
  // Fields whose values need a rule to be checked by, and whether any field has one.
  bool needs_rules = false;
  bool has_rules = RulesOf(config).any_value();
  for (int i = 0; i < config.field_count(); ++i) {
    const FieldDescriptor& field = *config.field(i);
    const bool is_bytes = field.type() == FieldDescriptor::TYPE_BYTES;
    if (is_bytes || (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE && !IsDuration(field))) {
      return absl::StrCat("the field '", field.name(), "' of its message ", config.full_name(), " is a ",
                          is_bytes ? "bytes field" : "message",
                          "; parameters are numbers, truth values, strings, enums and durations, or lists of them: "
                          "give the message a field for each value");
    }
    has_rules = has_rules || field.options().HasExtension(v1::rules);
    needs_rules = needs_rules || (field.cpp_type() != FieldDescriptor::CPPTYPE_BOOL &&
                                  field.cpp_type() != FieldDescriptor::CPPTYPE_ENUM && !IsDuration(field));
  }
  if (has_rules || !needs_rules) return std::nullopt;
  return absl::StrCat("its message ", config.full_name(),
                      " does not say what its fields may hold: import \"protos/options.proto\" in its .proto file and "
                      "give fields options, for example [(lanista.v1.rules).range = {at_least: 1}]; if any value is "
                      "fine, write option (lanista.v1.message_rules).any_value = true; in the message");
}

std::optional<Violation> ReadParams(const google::protobuf::Map<std::string, v1::Value>& params,
                                    const std::string& path, Message* config) {
  const Descriptor& descriptor = *config->GetDescriptor();
  // A map has no order: the first violation is the same each time.
  const std::map<std::string, v1::Value> sorted(params.begin(), params.end());
  for (const auto& [name, value] : sorted) {
    const FieldDescriptor* const field = descriptor.FindFieldByName(name);
    const std::string at = JoinPath(path, name);
    if (field == nullptr) {
      std::vector<std::string> names;
      for (int i = 0; i < descriptor.field_count(); ++i) names.emplace_back(descriptor.field(i)->name());
      return Violation{at, absl::StrCat("there is no such parameter", AllowedHere(name, names))};
    }
    ValueSetter setter(*field, config);
    if (!field->is_repeated()) {
      if (auto problem = setter.Set(value)) return Violation{at, *problem};
      continue;
    }
    if (!value.has_list()) {
      if (auto problem = setter.Set(value)) return Violation{at, *problem};
    }
    for (int i = 0; i < value.list().values_size(); ++i) {
      if (auto problem = setter.Set(value.list().values(i))) return Violation{absl::StrCat(at, "[", i, "]"), *problem};
    }
  }
  return std::nullopt;
}

absl::Status ReadComponent(const v1::Custom& custom, Message* config) {
  if (const std::optional<std::string> problem = ProblemWithMessage(*config->GetDescriptor())) {
    return absl::FailedPreconditionError(absl::StrCat("'", custom.name(), "' cannot be used: ", *problem));
  }
  std::optional<Violation> violation = ReadParams(custom.params(), "params", config);
  if (!violation) violation = FindRuleViolation(*config, "params");
  if (!violation) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("'", custom.name(), "': ", violation->path, ": ", violation->message));
}

const FieldDescriptor* ChosenKind(const Message& component) {
  const auto* const kind = component.GetDescriptor()->FindOneofByName("kind");
  return kind == nullptr ? nullptr : component.GetReflection()->GetOneofFieldDescriptor(component, kind);
}

std::shared_ptr<const Message> MessageOf(const Message& component) {
  const FieldDescriptor* const field = ChosenKind(component);
  if (field == nullptr || field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) return nullptr;
  const Message& chosen = component.GetReflection()->GetMessage(component, field);
  // Shares nothing, because `component` owns it.
  if (field->message_type() != v1::Custom::descriptor()) return {std::shared_ptr<const Message>(), &chosen};
  const auto& custom = static_cast<const v1::Custom&>(chosen);
  const Message* const prototype = Components::Get().Find(*component.GetDescriptor(), custom.name());
  if (prototype == nullptr) return nullptr;
  std::shared_ptr<Message> config(prototype->New());
  return ReadComponent(custom, config.get()).ok() ? config : nullptr;
}

v1::MessageRules RulesOfComponent(const Message& component) {
  v1::MessageRules rules;
  const FieldDescriptor* const field = ChosenKind(component);
  if (field == nullptr || field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) return rules;
  rules = RulesOf(*field->message_type());
  if (field->message_type() != v1::Custom::descriptor()) return rules;
  if (const std::shared_ptr<const Message> own = MessageOf(component)) rules.MergeFrom(RulesOf(*own->GetDescriptor()));
  return rules;
}

std::optional<int64_t> NumberOfComponent(const Message& component, v1::FieldRules::Meaning meaning) {
  const std::shared_ptr<const Message> config = MessageOf(component);
  return config == nullptr ? std::nullopt : NumberWithMeaning(*config, meaning);
}

void MapParamPaths(const Descriptor& kind,
                   const std::function<std::string(const std::string& param, const std::string& path)>& map,
                   v1::Custom* custom) {
  const Message* const prototype = Components::Get().Find(kind, custom->name());
  if (prototype == nullptr) return;
  const Descriptor& config = *prototype->GetDescriptor();
  for (int i = 0; i < config.field_count(); ++i) {
    const FieldDescriptor& field = *config.field(i);
    const auto found = custom->mutable_params()->find(std::string(field.name()));
    if (!RulesOf(field).path() || found == custom->mutable_params()->end()) continue;
    v1::Value& value = found->second;
    if (value.has_s()) value.set_s(map(found->first, value.s()));
    for (int j = 0; field.is_repeated() && j < value.list().values_size(); ++j) {
      v1::Value& element = *value.mutable_list()->mutable_values(j);
      if (element.has_s()) element.set_s(map(absl::StrCat(found->first, "[", j, "]"), element.s()));
    }
  }
}

}  // namespace lanista

#include "src/config/fields.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "google/protobuf/duration.pb.h"
#include "google/protobuf/text_format.h"
#include "google/protobuf/util/time_util.h"
#include "protos/graph.pb.h"
#include "src/base/field_rules.h"
#include "src/base/spelling.h"
#include "src/base/status.h"
#include "src/config/parse.h"

namespace lanista {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using google::protobuf::TextFormat;

std::string TypeName(const FieldDescriptor& field) {
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_BOOL:
      return "true or false";
    case FieldDescriptor::CPPTYPE_STRING:
      return "a string";
    case FieldDescriptor::CPPTYPE_DOUBLE:
    case FieldDescriptor::CPPTYPE_FLOAT:
      return "a number";
    case FieldDescriptor::CPPTYPE_ENUM:
      return "a name";
    case FieldDescriptor::CPPTYPE_MESSAGE:
      if (field.message_type() == google::protobuf::Duration::descriptor()) return "a duration such as \"90s\"";
      return "a block { ... }";
    default:
      return "an integer";
  }
}

// A plain value as text of a v1::Value.
std::string ValueText(absl::string_view value) {
  int64_t integer;
  double number;
  if (absl::StartsWith(value, "{")) return std::string(value);
  if (value == "true" || value == "false") return absl::StrCat("{ b: ", value, " }");
  if (absl::SimpleAtoi(value, &integer)) return absl::StrCat("{ i: ", integer, " }");
  if (absl::SimpleAtod(value, &number)) return absl::StrCat("{ f: ", value, " }");
  const bool quoted = absl::StartsWith(value, "\"") || absl::StartsWith(value, "'");
  return absl::StrCat("{ s: ", quoted ? std::string(value) : absl::StrCat("\"", absl::CEscape(value), "\""), " }");
}

// What a user may write for `field`, as protobuf text.
std::string FieldText(const FieldDescriptor& field, absl::string_view value) {
  if (field.cpp_type() == FieldDescriptor::CPPTYPE_STRING && !absl::StartsWith(value, "\"") &&
      !absl::StartsWith(value, "'") && !(field.is_repeated() && absl::StartsWith(value, "["))) {
    return absl::StrCat("\"", absl::CEscape(value), "\"");
  }
  if (field.cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) return std::string(value);
  if (field.message_type() == v1::Value::descriptor()) return ValueText(value);
  google::protobuf::Duration duration;
  if (field.message_type() == google::protobuf::Duration::descriptor() && !absl::StartsWith(value, "{") &&
      google::protobuf::util::TimeUtil::FromString(std::string(value), &duration)) {
    return absl::StrCat("{ ", duration.ShortDebugString(), " }");
  }
  return std::string(value);
}

// A message like `parent` in which `field` alone is set, from `text`.
absl::StatusOr<std::unique_ptr<Message>> ParseField(const Message& parent, const FieldDescriptor& field,
                                                    const std::string& text, absl::string_view value) {
  std::unique_ptr<Message> parsed(parent.New());
  const std::string assignment = absl::StrCat(field.name(), ": ", text);
  const std::string problem = ProblemInText(assignment, parent);
  if (problem.empty() && TextFormat::ParseFromString(assignment, parsed.get())) {
    std::vector<const FieldDescriptor*> set;
    parsed->GetReflection()->ListFields(*parsed, &set);
    if (std::all_of(set.begin(), set.end(), [&](const FieldDescriptor* one) { return one == &field; })) return parsed;
  }
  if (field.cpp_type() == FieldDescriptor::CPPTYPE_ENUM) {
    return absl::InvalidArgumentError(UnknownEnumValueMessage(field, value));
  }
  // A block: what is wrong is in it.
  if (!problem.empty() && absl::StartsWith(value, "{")) return absl::InvalidArgumentError(problem);
  return absl::InvalidArgumentError(WrongTypeMessage(field, value));
}

absl::Status SetMapEntry(Message& parent, const FieldDescriptor& map, const std::string& key, absl::string_view value) {
  const FieldDescriptor& value_field = *map.message_type()->FindFieldByName("value");
  LANISTA_ASSIGN_OR_RETURN(auto parsed, ParseField(parent, map,
                                                   absl::StrCat("{ key: \"", absl::CEscape(key),
                                                                "\" value: ", FieldText(value_field, value), " }"),
                                                   value));
  parent.MergeFrom(*parsed);
  return absl::OkStatus();
}

absl::Status SetLeaf(Message& parent, const FieldDescriptor& field, int index, absl::string_view value) {
  LANISTA_ASSIGN_OR_RETURN(auto parsed, ParseField(parent, field, FieldText(field, value), value));
  const Reflection* const reflection = parent.GetReflection();
  if (index < 0) {
    reflection->ClearField(&parent, &field);
    parent.MergeFrom(*parsed);
    return absl::OkStatus();
  }
  const int size = reflection->FieldSize(parent, &field);
  if (reflection->FieldSize(*parsed, &field) != 1) {
    return absl::InvalidArgumentError(WrongTypeMessage(field, value));
  }
  parent.MergeFrom(*parsed);  // Appends.
  if (index < size) {
    reflection->SwapElements(&parent, &field, index, size);
    reflection->RemoveLast(&parent, &field);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<FieldStep>> ParseFieldPath(absl::string_view path) {
  std::vector<FieldStep> steps;
  for (absl::string_view part : absl::StrSplit(path, '.')) {
    FieldStep step;
    const size_t bracket = part.find('[');
    step.name = std::string(part.substr(0, bracket));
    if (bracket != absl::string_view::npos) {
      absl::string_view index = part.substr(bracket + 1);
      if (!absl::ConsumeSuffix(&index, "]") || !absl::SimpleAtoi(index, &step.index) || step.index < 0) {
        return absl::InvalidArgumentError(absl::StrCat("'", part, "': write name[0] for the first element"));
      }
    }
    if (step.name.empty()) return absl::InvalidArgumentError("a name is missing; write path.to.field=value");
    steps.push_back(std::move(step));
  }
  return steps;
}

std::string UnknownFieldMessage(const Descriptor& message, absl::string_view name) {
  std::vector<std::string> names;
  for (int i = 0; i < message.field_count(); ++i) names.emplace_back(message.field(i)->name());
  return absl::StrCat("unknown field '", name, "'", AllowedHere(name, names));
}

std::string WrongTypeMessage(const FieldDescriptor& field, absl::string_view got) {
  return absl::StrCat("'", field.name(), "' wants ", TypeName(field), ", got ", got.empty() ? "nothing" : got);
}

absl::Status SetField(Message& message, absl::string_view path, absl::string_view value) {
  LANISTA_ASSIGN_OR_RETURN(const std::vector<FieldStep> steps, ParseFieldPath(path));
  Message* parent = &message;
  for (size_t i = 0; i < steps.size(); ++i) {
    const FieldStep& step = steps[i];
    const bool last = i + 1 == steps.size();
    const FieldDescriptor* const field = parent->GetDescriptor()->FindFieldByName(step.name);
    if (field == nullptr) {
      return absl::InvalidArgumentError(UnknownFieldMessage(*parent->GetDescriptor(), step.name));
    }
    const Reflection* const reflection = parent->GetReflection();
    if (field->is_map() && i + 2 == steps.size()) return SetMapEntry(*parent, *field, steps.back().name, value);
    if (field->is_map()) {
      return absl::InvalidArgumentError(absl::StrCat("name one entry: ", step.name, ".KEY=VALUE"));
    }
    if (step.index >= 0 && !field->is_repeated()) {
      return absl::InvalidArgumentError(absl::StrCat("'", step.name, "' is not a list: leave out the index"));
    }
    const int size = field->is_repeated() ? reflection->FieldSize(*parent, field) : 0;
    if (step.index > size) {
      return absl::InvalidArgumentError(
          absl::StrCat("'", step.name, "' has ", size, " elements; [", size, "] adds one"));
    }
    if (last) return SetLeaf(*parent, *field, step.index, value);
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) {
      return absl::InvalidArgumentError(absl::StrCat("'", step.name, "' has no fields: it is ", TypeName(*field)));
    }
    if (!field->is_repeated()) {
      parent = reflection->MutableMessage(parent, field);
    } else if (step.index < 0 && size > 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("'", step.name, "' has ", size, " elements: name one, [0] to [", size - 1, "]"));
    } else if (size == std::max(step.index, 0)) {
      parent = reflection->AddMessage(parent, field);
    } else {
      parent = reflection->MutableRepeatedMessage(parent, field, std::max(step.index, 0));
    }
  }
  return absl::OkStatus();
}

}  // namespace lanista

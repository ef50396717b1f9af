#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/duration.pb.h"
#include "google/protobuf/util/json_util.h"
#include "google/protobuf/util/time_util.h"
#include "nlohmann/json.hpp"
#include "src/base/bounded_message.h"
#include "src/base/field_rules.h"
#include "src/base/shallow_json.h"
#include "src/base/status.h"
#include "src/config/fields.h"
#include "src/config/parse.h"

namespace lanista {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::Duration;
using google::protobuf::FieldDescriptor;
using google::protobuf::OneofDescriptor;
using google::protobuf::util::TimeUtil;
using Json = nlohmann::ordered_json;

absl::Status ErrorAt(const std::string& path, const std::string& message) {
  return absl::InvalidArgumentError(path.empty() ? message : absl::StrCat(path, ": ", message));
}

bool IsInteger(const Json& json) {
  if (json.is_number_integer()) return true;
  int64_t integer;
  return json.is_string() && absl::SimpleAtoi(json.get_ref<const std::string&>(), &integer);
}

bool IsNumber(const Json& json) {
  if (json.is_number()) return true;
  double number;
  return json.is_string() && absl::SimpleAtod(json.get_ref<const std::string&>(), &number);
}

// Whether an integer fits into an Integer, which is signed.
template <typename Integer>
bool Fits(const Json& json) {
  if (json.is_number_unsigned()) {
    return json.get<uint64_t>() <= static_cast<uint64_t>(std::numeric_limits<Integer>::max());
  }
  if (!json.is_number_integer()) return true;
  return json.get<int64_t>() >= std::numeric_limits<Integer>::min();
}

// Reads JSON without keeping it, and says where it cannot be kept: nlohmann's own parser throws where a number is
// beyond double, and drops all but the last of equal keys.
class JsonScan : public nlohmann::json_sax<Json> {
 public:
  // Empty if there was nothing to say.
  const std::string& error() const { return error_; }

  bool null() override { return EndValue(); }
  bool boolean(bool) override { return EndValue(); }
  bool number_integer(number_integer_t) override { return EndValue(); }
  bool number_unsigned(number_unsigned_t) override { return EndValue(); }
  bool number_float(number_float_t, const string_t&) override { return EndValue(); }
  bool string(string_t&) override { return EndValue(); }
  bool binary(binary_t&) override { return EndValue(); }
  bool start_object(size_t) override { return Open(/*is_list=*/false); }
  bool start_array(size_t) override { return Open(/*is_list=*/true); }
  bool end_object() override { return Close(); }
  bool end_array() override { return Close(); }

  bool key(string_t& name) override {
    Level& level = levels_.back();
    if (!level.keys.insert(name).second) {
      error_ = absl::StrCat(Path(levels_.size() - 1), Path(levels_.size() - 1).empty() ? "'" : ": '", name,
                            "' is set twice; keep one");
      return false;
    }
    level.key = name;
    return true;
  }

  bool parse_error(size_t, const std::string& token, const nlohmann::detail::exception& error) override {
    if (dynamic_cast<const Json::out_of_range*>(&error) != nullptr) {
      error_ = absl::StrCat(Path(levels_.size()), levels_.empty() ? "" : ": ", token,
                            " is out of range: the largest number is about 1.8e308");
      return false;
    }
    // "[json.exception.parse_error.101] parse error at line 1, column 2: ...".
    const std::string what = error.what();
    const size_t prefix = what.find("] ");
    error_ = absl::StrCat("not JSON: ", prefix == std::string::npos ? what : what.substr(prefix + 2));
    return false;
  }

 private:
  struct Level {
    bool is_list;
    // Of the value that is being read.
    int index = 0;
    std::string key;
    std::set<std::string> keys;
  };

  bool Open(bool is_list) {
    if (levels_.size() >= kMaxJsonDepth) {
      error_ = std::string(TooDeepJson().message());
      return false;
    }
    levels_.push_back({is_list, 0, "", {}});
    return true;
  }
  bool Close() {
    levels_.pop_back();
    return EndValue();
  }
  bool EndValue() {
    if (!levels_.empty()) ++levels_.back().index;
    return true;
  }

  // Of the value that is being read `depth` levels down: training_service[0].local.
  std::string Path(size_t depth) const {
    std::string path;
    for (size_t i = 0; i < depth; ++i) {
      const Level& level = levels_[i];
      absl::StrAppend(&path, level.is_list ? absl::StrCat("[", level.index, "]")
                                           : absl::StrCat(path.empty() ? "" : ".", level.key));
    }
    return path;
  }

  std::vector<Level> levels_;
  std::string error_;
};

// Checks JSON against descriptors, which protobuf's own parser does as well, but without telling the path and what is
// allowed. Rewrites {"seconds": 90} to the "90s" that protobuf wants.
class Checker {
 public:
  absl::Status CheckMessage(Json& json, const Descriptor& message, const std::string& path, int depth) const {
    if (!json.is_object()) return ErrorAt(path, "must be an object { ... }");
    if (depth > kMaxNesting) return ErrorAt(path, "is nested too deeply");
    const FieldDescriptor* set[64] = {};  // By oneof: the member that is set.
    std::set<const FieldDescriptor*> seen;
    for (auto& item : json.items()) {
      const FieldDescriptor* field = message.FindFieldByName(item.key());
      if (field == nullptr) field = message.FindFieldByCamelcaseName(item.key());
      if (field == nullptr) return ErrorAt(path, UnknownFieldMessage(message, item.key()));
      if (!seen.insert(field).second) {
        return ErrorAt(path, absl::StrCat("'", field->name(), "' is set twice; keep one"));
      }
      if (item.value().is_null()) continue;
      const OneofDescriptor* const oneof = field->real_containing_oneof();
      if (oneof != nullptr && oneof->index() < 64) {
        const FieldDescriptor*& other = set[oneof->index()];
        if (other != nullptr) {
          return ErrorAt(path,
                         absl::StrCat("'", field->name(), "' and '", other->name(), "' exclude each other; keep one"));
        }
        other = field;
      }
      const std::string field_path = path.empty() ? std::string(field->name()) : absl::StrCat(path, ".", field->name());
      LANISTA_RETURN_IF_ERROR(CheckField(item.value(), *field, field_path, depth));
    }
    return absl::OkStatus();
  }

 private:
  absl::Status CheckField(Json& json, const FieldDescriptor& field, const std::string& path, int depth) const {
    if (field.is_map()) {
      if (!json.is_object()) return ErrorAt(path, WrongTypeMessage(field, Shown(json)));
      for (auto& item : json.items()) {
        const FieldDescriptor& value = *field.message_type()->FindFieldByName("value");
        LANISTA_RETURN_IF_ERROR(CheckValue(item.value(), value, absl::StrCat(path, ".", item.key()), depth));
      }
      return absl::OkStatus();
    }
    if (!field.is_repeated()) return CheckValue(json, field, path, depth);
    if (!json.is_array()) {
      return ErrorAt(path, absl::StrCat("'", field.name(), "' wants a list [ ... ], got ", Shown(json)));
    }
    for (size_t i = 0; i < json.size(); ++i) {
      LANISTA_RETURN_IF_ERROR(CheckValue(json[i], field, absl::StrCat(path, "[", i, "]"), depth));
    }
    return absl::OkStatus();
  }

  absl::Status CheckValue(Json& json, const FieldDescriptor& field, const std::string& path, int depth) const {
    bool right = true;
    switch (field.cpp_type()) {
      case FieldDescriptor::CPPTYPE_MESSAGE:
        if (field.message_type() == Duration::descriptor()) return CheckDuration(json, field, path);
        if (json.is_object()) return CheckMessage(json, *field.message_type(), path, depth + 1);
        right = false;
        break;
      case FieldDescriptor::CPPTYPE_ENUM:
        if (json.is_string()) {
          const auto& name = json.get_ref<const std::string&>();
          if (field.enum_type()->FindValueByName(name) != nullptr) return absl::OkStatus();
          return ErrorAt(path, UnknownEnumValueMessage(field, name));
        }
        right = json.is_number_integer();
        if (right && (!Fits<int32_t>(json) || field.enum_type()->FindValueByNumber(json.get<int>()) == nullptr)) {
          return ErrorAt(path, UnknownEnumValueMessage(field, json.dump()));
        }
        break;
      case FieldDescriptor::CPPTYPE_BOOL:
        right = json.is_boolean();
        break;
      case FieldDescriptor::CPPTYPE_STRING:
        right = json.is_string();
        break;
      case FieldDescriptor::CPPTYPE_DOUBLE:
      case FieldDescriptor::CPPTYPE_FLOAT:
        right = IsNumber(json);
        break;
      case FieldDescriptor::CPPTYPE_INT32:
        if (!Fits<int32_t>(json)) return ErrorAt(path, OutOfRange(field, json));
        right = IsInteger(json);
        break;
      default:
        if (!Fits<int64_t>(json)) return ErrorAt(path, OutOfRange(field, json));
        right = IsInteger(json);
    }
    return right ? absl::OkStatus() : ErrorAt(path, WrongTypeMessage(field, Shown(json)));
  }

  absl::Status CheckDuration(Json& json, const FieldDescriptor& field, const std::string& path) const {
    if (json.is_object()) {
      LANISTA_RETURN_IF_ERROR(CheckMessage(json, *Duration::descriptor(), path, 0));
      json = absl::StrFormat("%d.%09ds", Integer(json, "seconds"), Integer(json, "nanos"));
    }
    Duration duration;
    if (json.is_string() && TimeUtil::FromString(json.get<std::string>(), &duration)) return absl::OkStatus();
    return ErrorAt(path, WrongTypeMessage(field, Shown(json)));
  }

  // A checked integer field: a number, a number in a string, or absent.
  static int64_t Integer(const Json& json, const char* name) {
    int64_t integer = 0;
    const auto found = json.find(name);
    if (found == json.end()) return 0;
    if (found->is_number()) return found->get<int64_t>();
    if (found->is_string()) (void)absl::SimpleAtoi(found->get<std::string>(), &integer);
    return integer;
  }

  static std::string Shown(const Json& json) { return BoundedMessage(json.dump()); }
  static std::string OutOfRange(const FieldDescriptor& field, const Json& json) {
    return absl::StrCat("'", field.name(), "' is out of range: ", json.dump());
  }
};

}  // namespace

absl::Status ParseJsonConfig(const std::string& text, google::protobuf::Message& message) {
  JsonScan scan;
  if (!Json::sax_parse(text, &scan)) return absl::InvalidArgumentError(scan.error());
  Json json = Json::parse(text, /*cb=*/nullptr, /*allow_exceptions=*/false);
  LANISTA_RETURN_IF_ERROR(Checker().CheckMessage(json, *message.GetDescriptor(), "", 0));
  const auto status = google::protobuf::util::JsonStringToMessage(json.dump(), &message);
  if (status.ok()) return absl::OkStatus();
  return absl::InvalidArgumentError(std::string(status.message().data(), status.message().size()));
}

}  // namespace lanista

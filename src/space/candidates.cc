#include "src/space/candidates.h"

#include <cmath>
#include <cstring>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "nlohmann/json.hpp"
#include "src/base/json_line.h"
#include "src/space/space.h"

namespace lanista {

OrderedJson ValueToJson(const v1::Value& value) {
  switch (value.kind_case()) {
    case v1::Value::kI:
      return value.i();
    case v1::Value::kF:
      if (std::isnan(value.f())) return "nan";
      if (std::isinf(value.f())) return value.f() > 0 ? "inf" : "-inf";
      return value.f();
    case v1::Value::kB:
      return value.b();
    case v1::Value::kS:
      return value.s();
    case v1::Value::kList: {
      OrderedJson list = OrderedJson::array();
      for (const v1::Value& element : value.list().values()) list.push_back(ValueToJson(element));
      return list;
    }
    case v1::Value::kTensor:      // No candidate is a tensor
    case v1::Value::kExpression:  // or an expression.
    case v1::Value::KIND_NOT_SET:
      break;
  }
  return nullptr;
}

std::string CanonicalText(const v1::Value& value) {
  switch (value.kind_case()) {
    case v1::Value::kI:
      return absl::StrCat("i", value.i());
    case v1::Value::kF: {
      uint64_t bits;
      const double f = value.f();
      std::memcpy(&bits, &f, sizeof(bits));
      return absl::StrCat("f", absl::Hex(bits));
    }
    case v1::Value::kB:
      return value.b() ? "true" : "false";
    case v1::Value::kS:
      return absl::StrCat("\"", absl::CHexEscape(value.s()), "\"");
    case v1::Value::kList:
      return absl::StrCat("[",
                          absl::StrJoin(value.list().values(), ",",
                                        [](std::string* out, const v1::Value& v) { out->append(CanonicalText(v)); }),
                          "]");
    case v1::Value::kTensor:      // No candidate is a tensor
    case v1::Value::kExpression:  // or an expression.
    case v1::Value::KIND_NOT_SET:
      break;
  }
  return "none";
}

int FindCandidate(const v1::Choice& choice, const v1::Value& value) {
  const std::string text = CanonicalText(value);
  for (int i = 0; i < choice.candidates_size(); ++i) {
    if (CanonicalText(choice.candidates(i)) == text) return i;
  }
  return -1;
}

int FindCandidate(const v1::Choice& choice, const OrderedJson& json) {
  int equal = -1;
  for (int i = 0; i < choice.candidates_size(); ++i) {
    const OrderedJson candidate = ValueToJson(choice.candidates(i));
    if (candidate != json) continue;
    if (candidate.is_number_float() == json.is_number_float()) return i;
    equal = i;
  }
  return equal;
}

absl::Status JsonToValue(const OrderedJson& json, v1::Value* value) {
  switch (json.type()) {
    case OrderedJson::value_t::number_integer:
    case OrderedJson::value_t::number_unsigned:
      value->set_i(json.get<int64_t>());
      return absl::OkStatus();
    case OrderedJson::value_t::number_float:
      value->set_f(json.get<double>());
      return absl::OkStatus();
    case OrderedJson::value_t::boolean:
      value->set_b(json.get<bool>());
      return absl::OkStatus();
    case OrderedJson::value_t::string:
      value->set_s(json.get<std::string>());
      return absl::OkStatus();
    default:
      return absl::InvalidArgumentError(
          absl::StrCat("a candidate is a number, a string or a truth value, not ", JsonLine(json)));
  }
}

std::string ValueToText(const v1::Value& value) { return JsonLine(ValueToJson(value)); }

std::string DecisionToCell(const v1::Decision& decision) {
  if (decision.value_size() != 1) {
    return absl::StrCat(
        "[",
        absl::StrJoin(decision.value(), ",", [](std::string* out, const v1::Value& v) { out->append(ValueToText(v)); }),
        "]");
  }
  const v1::Value& value = decision.value(0);
  return value.has_s() ? value.s() : ValueToText(value);
}

}  // namespace lanista

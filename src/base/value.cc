#include "src/base/value.h"

#include <utility>

namespace lanista {

v1::Value ToValue(bool value) {
  v1::Value result;
  result.set_b(value);
  return result;
}

v1::Value ToValue(int64_t value) {
  v1::Value result;
  result.set_i(value);
  return result;
}

v1::Value ToValue(double value) {
  v1::Value result;
  result.set_f(value);
  return result;
}

v1::Value ToValue(std::string value) {
  v1::Value result;
  result.set_s(std::move(value));
  return result;
}

template <>
std::optional<bool> FromValue(const v1::Value& value) {
  return value.has_b() ? std::make_optional(value.b()) : std::nullopt;
}

template <>
std::optional<int64_t> FromValue(const v1::Value& value) {
  return value.has_i() ? std::make_optional<int64_t>(value.i()) : std::nullopt;
}

template <>
std::optional<double> FromValue(const v1::Value& value) {
  if (value.has_i()) return static_cast<double>(value.i());
  return value.has_f() ? std::make_optional(value.f()) : std::nullopt;
}

template <>
std::optional<std::string> FromValue(const v1::Value& value) {
  return value.has_s() ? std::make_optional(value.s()) : std::nullopt;
}

template <>
std::optional<std::vector<int64_t>> FromValue(const v1::Value& value) {
  if (!value.has_list()) return std::nullopt;
  std::vector<int64_t> result;
  for (const v1::Value& element : value.list().values()) {
    if (!element.has_i()) return std::nullopt;
    result.push_back(element.i());
  }
  return result;
}

}  // namespace lanista

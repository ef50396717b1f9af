// Attribute values as C++ types: what ValueChoice chooses between and what Params holds.
#ifndef LANISTA_SRC_BASE_VALUE_H_
#define LANISTA_SRC_BASE_VALUE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "protos/graph.pb.h"

namespace lanista {

v1::Value ToValue(bool value);
v1::Value ToValue(int64_t value);
v1::Value ToValue(double value);
v1::Value ToValue(std::string value);

// The type that stands for all like `T`: bool, int64_t, double, or std::string for what makes one.
template <typename T>
using ValueType =
    std::conditional_t<std::is_same_v<T, bool>, bool,
                       std::conditional_t<std::is_integral_v<T>, int64_t,
                                          std::conditional_t<std::is_floating_point_v<T>, double, std::string>>>;

// Returns `value` as a T; nullopt if it has another type. An integer can be read as a double.
template <typename T>
std::optional<T> FromValue(const v1::Value& value);
template <>
std::optional<bool> FromValue(const v1::Value& value);
template <>
std::optional<int64_t> FromValue(const v1::Value& value);
template <>
std::optional<double> FromValue(const v1::Value& value);
template <>
std::optional<std::string> FromValue(const v1::Value& value);
template <>
std::optional<std::vector<int64_t>> FromValue(const v1::Value& value);

}  // namespace lanista

#endif  // LANISTA_SRC_BASE_VALUE_H_

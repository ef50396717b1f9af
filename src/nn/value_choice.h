// A value chosen out of several.
#ifndef LANISTA_SRC_NN_VALUE_CHOICE_H_
#define LANISTA_SRC_NN_VALUE_CHOICE_H_

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "src/base/value.h"
#include "src/nn/construction.h"

namespace lanista::nn {

// Asks for one of `candidates`: at least one, all different.
v1::Value ChooseValue(const std::vector<v1::Value>& candidates, const std::string& label, Location where);

// Chooses one of `candidates` and returns it as a plain int64_t, double, bool or std::string, which arithmetic,
// conditions and any other C++ code can use. Throws SpaceError (see Ask).
//
//   auto features = nn::ValueChoice({64, 128, 256}, "features");
//   torch::nn::Dropout dropout(nn::ValueChoice({0.25, 0.5, 0.75}));
//   torch::nn::Linear wide(features, 4 * features);
//   if (nn::ValueChoice({false, true}, "skip")) { ... }
template <typename T>
ValueType<T> ValueChoice(const std::vector<T>& candidates, const std::string& label = "",
                         Location where = Location::Here()) {
  std::vector<v1::Value> values;
  for (const auto& candidate : candidates) values.push_back(ToValue(ValueType<T>(candidate)));
  return *FromValue<ValueType<T>>(ChooseValue(values, label, where));
}

template <typename T>
ValueType<T> ValueChoice(std::initializer_list<T> candidates, const std::string& label = "",
                         Location where = Location::Here()) {
  return ValueChoice(std::vector<T>(candidates), label, where);
}

}  // namespace lanista::nn

#endif  // LANISTA_SRC_NN_VALUE_CHOICE_H_

#include "src/nn/params.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "src/nn/construction.h"

namespace lanista::nn {
namespace {

template <typename T>
const char* const kTypeName = nullptr;
template <>
const char* const kTypeName<bool> = "a truth value: value { b: true }";
template <>
const char* const kTypeName<int64_t> = "an integer: value { i: 1 }";
template <>
const char* const kTypeName<double> = "a number: value { f: 0.5 }";
template <>
const char* const kTypeName<std::string> = "a string: value { s: \"text\" }";
template <>
const char* const kTypeName<std::vector<int64_t>> =
    "a list of integers: value { list { values { i: 1 } values { i: 2 } } }";

}  // namespace

template <typename T>
T Params::Get(const std::string& key) const {
  const v1::Value* const value = Find(key);
  if (value == nullptr) {
    throw SpaceError(absl::StrCat("parameter '", key, "' of the space is missing; it is ", kTypeName<T>));
  }
  std::optional<T> result = FromValue<T>(*value);
  if (!result.has_value()) {
    throw SpaceError(absl::StrCat("parameter '", key, "' of the space is { ", value->ShortDebugString(),
                                  " }; it must be ", kTypeName<T>));
  }
  return *std::move(result);
}

template bool Params::Get(const std::string& key) const;
template int64_t Params::Get(const std::string& key) const;
template double Params::Get(const std::string& key) const;
template std::string Params::Get(const std::string& key) const;
template std::vector<int64_t> Params::Get(const std::string& key) const;

void Params::CheckAllRead() const {
  for (const auto& [key, value] : values_) {
    if (read_->count(key) == 0) {
      throw SpaceError(absl::StrCat("the space has no parameter '", key,
                                    "'; it takes: ", read_->empty() ? "none" : absl::StrJoin(*read_, ", ")));
    }
  }
}

const v1::Value* Params::Find(const std::string& key) const {
  read_->insert(key);
  const auto found = values_.find(key);
  return found == values_.end() ? nullptr : &found->second;
}

}  // namespace lanista::nn

#include "src/base/params.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "src/base/spelling.h"

namespace lanista {
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
    const auto name = [](std::string* out, const auto& given) { absl::StrAppend(out, given.first); };
    throw ParamError(absl::StrCat(Name(key), " is missing; it is ", kTypeName<T>,
                                  values_.empty() ? "" : "; given: ", absl::StrJoin(values_, ", ", name)));
  }
  std::optional<T> result = FromValue<T>(*value);
  if (!result.has_value()) {
    throw ParamError(absl::StrCat(Name(key), " is { ", value->ShortDebugString(), " }; it must be ", kTypeName<T>));
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
    if (read_->count(key) > 0) continue;
    const std::vector<std::string> known(read_->begin(), read_->end());
    const std::string guess = DidYouMean(key, known);
    throw ParamError(absl::StrCat(owner_.empty() ? "there is" : absl::StrCat(owner_, " has"), " no parameter '", key,
                                  "'", guess.empty() ? ";" : guess,
                                  " it takes: ", known.empty() ? "none" : absl::StrJoin(known, ", ")));
  }
}

std::string Params::Name(const std::string& key) const {
  return absl::StrCat("parameter '", key, "'", owner_.empty() ? "" : " of ", owner_);
}

const v1::Value* Params::Find(const std::string& key) const {
  read_->insert(key);
  const auto found = values_.find(key);
  return found == values_.end() ? nullptr : &found->second;
}

}  // namespace lanista

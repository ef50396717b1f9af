// What a configuration hands to a space: space { registered: "mlp" params { key: "outputs" value { i: 3 } } }.
#ifndef LANISTA_SRC_NN_PARAMS_H_
#define LANISTA_SRC_NN_PARAMS_H_

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "google/protobuf/map.h"
#include "protos/graph.pb.h"
#include "src/nn/value.h"

namespace lanista::nn {

// Named values. Get<T> works for int64_t, double, bool, std::string and std::vector<int64_t>; it throws SpaceError,
// with the key and the type that belongs there. Copies share the record of what was read. Used by one thread.
//
//   explicit Net(const nn::Params& params) : classes_(params.Get<int64_t>("classes", 10)) {}
//   auto net = std::make_shared<Net>(nn::Params().Set("classes", 100));
class Params {
 public:
  Params() = default;
  explicit Params(const google::protobuf::Map<std::string, v1::Value>& values)
      : values_(values.begin(), values.end()) {}

  template <typename T>
  Params& Set(const std::string& key, T value) {
    values_[key] = ToValue(ValueType<T>(std::move(value)));
    return *this;
  }

  // The value of `key`, which must be there.
  template <typename T>
  T Get(const std::string& key) const;
  // The value of `key`, or `fallback` if it is not there.
  template <typename T>
  T Get(const std::string& key, T fallback) const {
    return Find(key) == nullptr ? std::move(fallback) : Get<T>(key);
  }

  // Throws SpaceError for a key that nobody has asked for: it is misspelt, or meant for something else.
  void CheckAllRead() const;

 private:
  // The value, or nullptr; either way `key` is one that the space takes.
  const v1::Value* Find(const std::string& key) const;

  std::map<std::string, v1::Value> values_;
  std::shared_ptr<std::set<std::string>> read_ = std::make_shared<std::set<std::string>>();
};

}  // namespace lanista::nn

#endif  // LANISTA_SRC_NN_PARAMS_H_

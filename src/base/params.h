// Parameters of things that users register, from a configuration: space { registered: "mlp" params { key: "outputs"
// value { i: 3 } } }, evaluator { custom { name: "mine" params { ... } } }.
#ifndef LANISTA_SRC_BASE_PARAMS_H_
#define LANISTA_SRC_BASE_PARAMS_H_

#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "google/protobuf/map.h"
#include "protos/graph.pb.h"
#include "protos/space.pb.h"
#include "src/base/value.h"

namespace lanista {

// A parameter is missing, is of another type, or is not known: a mistake in the configuration.
class ParamError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Named values. Get<T> works for int64_t, double, bool, std::string and std::vector<int64_t>; it throws ParamError,
// with the key and the type that belongs there. Copies share the record of what was read. Used by one thread.
//
//   explicit Net(const nn::Params& params) : classes_(params.Get<int64_t>("classes", 10)) {}
//   auto net = std::make_shared<Net>(nn::Params().Set("classes", 100));
class Params {
 public:
  // As a configuration has them.
  using Values = google::protobuf::Map<std::string, v1::Value>;

  Params() = default;
  // `owner` is the thing that gets the parameters, for messages: "the evaluator 'mine'".
  explicit Params(const Values& values, std::string owner = "")
      : owner_(std::move(owner)), values_(values.begin(), values.end()) {}

  // Sets a parameter, and returns this object.
  template <typename T>
  Params& Set(const std::string& key, T value) {
    values_[key] = ToValue(ValueType<T>(std::move(value)));
    return *this;
  }

  // For spaces only: describes the models' inputs and outputs, which follow from the evaluator's data; nullptr if the
  // evaluator does not know them.
  const v1::DataSpec* data() const { return data_.get(); }
  // Sets what data() returns, and returns this object.
  Params& SetData(v1::DataSpec data) {
    data_ = std::make_shared<v1::DataSpec>(std::move(data));
    return *this;
  }

  // Whether `key` is there, with any value.
  bool Has(const std::string& key) const { return Find(key) != nullptr; }
  // The value of `key`, which must be there.
  template <typename T>
  T Get(const std::string& key) const;
  // The value of `key`, or `fallback` if it is not there.
  template <typename T>
  T Get(const std::string& key, T fallback) const {
    return Has(key) ? Get<T>(key) : std::move(fallback);
  }

  // Throws ParamError if there is a key that was never read: it is misspelt, or meant for something else.
  void CheckAllRead() const;

 private:
  // The value, or nullptr. Records that the owner takes `key`.
  const v1::Value* Find(const std::string& key) const;
  // "parameter 'key' of the space".
  std::string Name(const std::string& key) const;

  std::string owner_;
  std::map<std::string, v1::Value> values_;
  std::shared_ptr<const v1::DataSpec> data_;
  std::shared_ptr<std::set<std::string>> read_ = std::make_shared<std::set<std::string>>();
};

// Returns the result of `make(params)`, an absl::StatusOr. INVALID_ARGUMENT if a parameter is missing, has another
// type, or was not read by `make`.
template <typename Make>
auto MakeWithParams(const Params::Values& values, std::string owner, const Make& make)
    -> decltype(make(std::declval<const Params&>())) {
  const Params params(values, std::move(owner));
  try {
    auto made = make(params);
    if (made.ok()) params.CheckAllRead();
    return made;
  } catch (const ParamError& error) {
    return absl::InvalidArgumentError(error.what());
  }
}

}  // namespace lanista

#endif  // LANISTA_SRC_BASE_PARAMS_H_

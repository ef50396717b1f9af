// Model spaces written in C++, and the registry that makes them known by name.
#ifndef LANISTA_SRC_NN_MODEL_SPACE_H_
#define LANISTA_SRC_NN_MODEL_SPACE_H_

#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "protos/experiment.pb.h"
#include "src/base/named_things.h"
#include "src/base/register.h"
#include "src/base/taken_names.h"
#include "src/nn/model.h"
#include "src/nn/params.h"

namespace lanista::nn {

// Base class of model spaces. The constructor takes nothing or `const Params&`; while it runs it asks the primitives
// for its choices and builds the chosen parts with any LibTorch modules. So one class describes all models of the
// space. The constructor must ask the same choices whenever it gets the same answers.
//
//   class Net : public lanista::nn::ModelSpace {
//    public:
//     Net() {
//       const int64_t width = lanista::nn::ValueChoice({64, 128, 256}, "width");
//       hidden_ = register_module("hidden", torch::nn::Linear(784, width));
//       output_ = register_module("output", torch::nn::Linear(width, 10));
//     }
//     torch::Tensor forward(torch::Tensor x) override { return output_(torch::relu(hidden_(x.flatten(1)))); }
//
//    private:
//     torch::nn::Linear hidden_{nullptr}, output_{nullptr};
//   };
//   LANISTA_REGISTER(model_space, "my_net", lanista::nn::MakeModelSpace<Net>);
class ModelSpace : public Model {};

// Makes a space from the configuration's parameters.
using ModelSpaceFactory = std::function<std::shared_ptr<ModelSpace>(const Params& params)>;

// The spaces of this program. "no model space 'x' is registered in this program; known: a, b" is what is said of an
// unknown one.
class ModelSpaceRegistry : public NamedThings<ModelSpaceFactory> {
 public:
  using Factory = ModelSpaceFactory;

  // The one registry.
  static ModelSpaceRegistry& Get();

 private:
  ModelSpaceRegistry() : NamedThings("model space", &TakenNames<v1::SpaceConfig>()) {}
};

// Makes a space of type Net from `params`, or without them if Net's constructor takes nothing.
template <typename Net>
std::shared_ptr<Net> MakeModelSpace(const Params& params) {
  static_assert(std::is_base_of_v<ModelSpace, Net>, "a model space derives from lanista::nn::ModelSpace");
  if constexpr (std::is_constructible_v<Net, const Params&>) {
    return std::make_shared<Net>(params);
  } else {
    return std::make_shared<Net>();
  }
}

}  // namespace lanista::nn

namespace lanista::kinds {
// For LANISTA_REGISTER(model_space, "name", make).
struct model_space {
  // Makes `make` known as `space { registered: "NAME" }`: a std::shared_ptr<ModelSpace>(const Params&), called once for
  // each model. nn::MakeModelSpace<Net> is one for the class Net.
  static bool Register(const std::string&, const std::string& name, nn::ModelSpaceRegistry::Factory make) {
    return nn::ModelSpaceRegistry::Get().Add(name, std::move(make));
  }
};
}  // namespace lanista::kinds

#endif  // LANISTA_SRC_NN_MODEL_SPACE_H_

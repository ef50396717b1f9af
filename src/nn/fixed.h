// Fixed architectures: one model of a space, given by the JSON of its sample.
#ifndef LANISTA_SRC_NN_FIXED_H_
#define LANISTA_SRC_NN_FIXED_H_

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "protos/space.pb.h"
#include "src/nn/construction.h"
#include "src/nn/model_space.h"

namespace lanista::nn {

// Answers choices from the JSON of a sample, {"conv2": "separable", "dropout": 0.25, "feature": 64}, as Space::ToJson
// writes it, or from JSON that contains one as its "sample": the file that `export` writes, or a model of `trials
// --json`. The constructor throws SpaceError if `json` is neither.
class FixedArchitecture {
 public:
  explicit FixedArchitecture(const std::string& json);

  // Throws SpaceError: the JSON has no value for the choice, or one that is no candidate.
  v1::Decision operator()(const v1::Choice& choice) const;

  // Throws SpaceError if the JSON has a label that was not asked: then it belongs to another space.
  void CheckAllAsked(const Construction& construction) const;

 private:
  // Label -> JSON text of its value.
  std::map<std::string, std::string> values_;
};

// The model that `json` describes, an object of class `Net`, constructed with `args`. Its initial weights come from
// LibTorch's default generator. Throws SpaceError, which names the label, if the JSON and the space disagree;
// exceptions of the constructor pass through.
//
//   auto net = nn::BuildFixed<Net>(R"({"conv2": "conv", "dropout": 0.5, "feature": 128})");
//   nn::LoadWeights(*net, "1-model-17.weights.pt");
template <typename Net, typename... Args>
std::shared_ptr<Net> BuildFixed(const std::string& json, Args&&... args) {
  const FixedArchitecture architecture(json);
  Construction construction(architecture);
  auto net = std::make_shared<Net>(std::forward<Args>(args)...);
  architecture.CheckAllAsked(construction);
  return net;
}

// The same for the registered space `name`. Throws SpaceError, with the known names, if there is no such space, and
// ParamError if `params` do not fit the space.
std::shared_ptr<ModelSpace> BuildFixed(const std::string& name, const std::string& json, const Params& params);

// The same; if `json` was written by `export`, the constructor gets the experiment's parameters and data sizes, else no
// parameters. Throws SpaceError if `json` was exported from another space.
std::shared_ptr<ModelSpace> BuildFixed(const std::string& name, const std::string& json);

}  // namespace lanista::nn

#endif  // LANISTA_SRC_NN_FIXED_H_

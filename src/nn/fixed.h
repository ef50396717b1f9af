// Fixed architectures: one model out of a space, from the JSON of its sample.
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
// writes it, or from JSON that has one as its "sample": the file that `export` writes, a model of `trials --json`. The
// constructor throws SpaceError if it is no such JSON.
class FixedArchitecture {
 public:
  explicit FixedArchitecture(const std::string& json);

  // Throws SpaceError: the JSON has no value for the choice, or one that is no candidate.
  v1::Decision operator()(const v1::Choice& choice) const;

  // Throws SpaceError for a label that was not asked: the JSON is another space's.
  void CheckAllAsked(const Construction& construction) const;

 private:
  // Label to its value's JSON text.
  std::map<std::string, std::string> values_;
};

// The model that `json` describes, of the class `Net`, constructed with `args`. Its weights come from LibTorch's
// default generator. Throws SpaceError where JSON and space disagree, naming the label, and what the constructor
// throws.
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

// The same for the registered space `name`. Throws SpaceError with the known names if there is none, and ParamError
// where `params` are not the space's.
std::shared_ptr<ModelSpace> BuildFixed(const std::string& name, const std::string& json, const Params& params);

// The same with the parameters and the data's sizes of the experiment, where `json` is what `export` has written; else
// without parameters. Throws SpaceError if it was written for another space.
std::shared_ptr<ModelSpace> BuildFixed(const std::string& name, const std::string& json);

}  // namespace lanista::nn

#endif  // LANISTA_SRC_NN_FIXED_H_

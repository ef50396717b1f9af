// A layer chosen out of several.
#ifndef LANISTA_SRC_NN_LAYER_CHOICE_H_
#define LANISTA_SRC_NN_LAYER_CHOICE_H_

#include <torch/arg.h>
#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>

#include <cstdint>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "src/nn/any_layer.h"
#include "src/nn/construction.h"

namespace lanista::nn {

// Options for LayerChoice. Either all candidates have names, all different, or none has. Names contain no dot.
struct LayerChoiceOptions {
  LayerChoiceOptions(std::vector<LayerCandidate<>> candidates, Location where = Location::Here())
      : candidates_(std::move(candidates)), where_(where) {}

  // The candidates.
  TORCH_ARG(std::vector<LayerCandidate<>>, candidates);
  // The choice's label. Default: automatic.
  TORCH_ARG(std::string, label);
  // Where the choice stands in the source, for messages.
  TORCH_ARG(Location, where);
};

// A layer chosen out of several. Only the chosen candidate is built; it is a submodule under its name (or number).
// Choices that a candidate's factory asks exist only if that candidate is chosen.
//
//   conv2 = register_module("conv2", nn::LayerChoice(nn::LayerChoiceOptions({
//       {"conv", [] { return torch::nn::Conv2d(32, 64, 3); }},
//       {"separable", [] { return DepthwiseSeparableConv(32, 64); }},
//   }).label("conv2")));
//   x = conv2->forward(x);
class LayerChoiceImpl : public torch::nn::Module {
 public:
  // Throws SpaceError (see Ask).
  explicit LayerChoiceImpl(const LayerChoiceOptions& options);

  torch::Tensor forward(torch::Tensor input) { return layer_.forward(std::move(input)); }

  void pretty_print(std::ostream& stream) const override;

  // The chosen candidate's number.
  int64_t chosen() const { return chosen_; }
  // The chosen layer: choice->layer()->as<torch::nn::Conv2d>().
  const std::shared_ptr<torch::nn::Module>& layer() const { return layer_.module(); }

 private:
  std::string label_;
  int64_t chosen_;
  AnyLayer layer_;
};

TORCH_MODULE(LayerChoice);

}  // namespace lanista::nn

#endif  // LANISTA_SRC_NN_LAYER_CHOICE_H_

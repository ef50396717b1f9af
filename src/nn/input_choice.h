// Inputs chosen out of several.
#ifndef LANISTA_SRC_NN_INPUT_CHOICE_H_
#define LANISTA_SRC_NN_INPUT_CHOICE_H_

#include <torch/arg.h>
#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>

#include <cstdint>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "src/nn/construction.h"

namespace lanista::nn {

// How several chosen inputs are combined.
enum class Reduction {
  kSum,
  kMean,
  // Concatenated along dimension 1.
  kConcat,
  // Not combined: use InputChoiceImpl::select.
  kNone,
};

// Options for InputChoice.
struct InputChoiceOptions {
  // Candidates known by their numbers, 0 to n_candidates - 1.
  explicit InputChoiceOptions(int64_t n_candidates, Location where = Location::Here())
      : n_candidates_(n_candidates), where_(where) {}
  // Candidates known by their names, each different.
  explicit InputChoiceOptions(std::vector<std::string> names, Location where = Location::Here())
      : n_candidates_(static_cast<int64_t>(names.size())), names_(std::move(names)), where_(where) {}

  // Number of inputs to choose from.
  TORCH_ARG(int64_t, n_candidates);
  // Names of the inputs, or empty.
  TORCH_ARG(std::vector<std::string>, names);
  // Number of inputs that are chosen together.
  TORCH_ARG(int64_t, n_chosen) = 1;
  TORCH_ARG(Reduction, reduction) = Reduction::kSum;
  // The choice's label. Default: automatic.
  TORCH_ARG(std::string, label);
  // Where the choice stands in the source, for messages.
  TORCH_ARG(Location, where);
};

// Chooses `n_chosen` different inputs of several and combines them.
//
//   skip = register_module("skip", nn::InputChoice(nn::InputChoiceOptions(3).n_chosen(2).label("skip")));
//   x = skip->forward({a, b, c});
class InputChoiceImpl : public torch::nn::Module {
 public:
  // Throws SpaceError (see Ask).
  explicit InputChoiceImpl(const InputChoiceOptions& options);

  // From all n_candidates inputs to the combination of the chosen ones, whose shapes must allow it. Throws c10::Error
  // if the number of inputs is not n_candidates, or if several inputs are chosen and the reduction is kNone.
  torch::Tensor forward(const std::vector<torch::Tensor>& inputs);

  // From all n_candidates inputs to the chosen ones, in ascending order. Throws c10::Error if the number of inputs is
  // not n_candidates.
  std::vector<torch::Tensor> select(const std::vector<torch::Tensor>& inputs) const;

  void pretty_print(std::ostream& stream) const override;

  // Numbers of the chosen inputs, ascending.
  const std::vector<int64_t>& chosen() const { return chosen_; }

 private:
  int64_t n_candidates_;
  Reduction reduction_;
  std::string label_;
  std::vector<int64_t> chosen_;
};

TORCH_MODULE(InputChoice);

}  // namespace lanista::nn

#endif  // LANISTA_SRC_NN_INPUT_CHOICE_H_

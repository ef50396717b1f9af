// The primitives that are modules, in one file: each file that includes LibTorch takes long to compile.
#include <torch/types.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "src/base/value.h"
#include "src/nn/cell.h"
#include "src/nn/input_choice.h"
#include "src/nn/layer_choice.h"
#include "src/nn/repeat.h"

namespace lanista::nn {
namespace {

std::string At(Location where) { return absl::StrCat(where.file, ":", where.line); }

// Prints "(label=...)" as LibTorch's modules print themselves.
void Print(std::ostream& stream, const char* name, const std::string& label) {
  stream << "lanista::nn::" << name << "(label=" << label << ")";
}

}  // namespace

// ---- LayerChoice ----

LayerChoiceImpl::LayerChoiceImpl(const LayerChoiceOptions& options) {
  const auto& candidates = options.candidates();
  v1::Choice choice;
  choice.set_label(options.label());
  choice.set_kind(v1::Choice::LAYER_CHOICE);
  choice.set_n_chosen(1);
  for (size_t i = 0; i < candidates.size(); ++i) {
    const std::string& name = candidates[i].name();
    if (name.find('.') != std::string::npos) {
      throw SpaceError(absl::StrCat("the LayerChoice at ", At(options.where()), " has a candidate named '", name,
                                    "': names of layers hold no dot"));
    }
    *choice.add_candidates() = name.empty() ? ToValue(static_cast<int64_t>(i)) : ToValue(name);
  }
  const v1::Decision decision = Ask(std::move(choice), options.where());
  label_ = decision.label();
  chosen_ = decision.index(0);
  const auto& candidate = candidates[chosen_];
  const std::string name = candidate.name().empty() ? absl::StrCat(chosen_) : candidate.name();
  LabelScope scope(absl::StrCat(label_, "/", name));
  layer_ = candidate.Make();
  if (layer_.module() != nullptr) register_module(name, layer_.module());
}

void LayerChoiceImpl::pretty_print(std::ostream& stream) const { Print(stream, "LayerChoice", label_); }

// ---- InputChoice ----

InputChoiceImpl::InputChoiceImpl(const InputChoiceOptions& options)
    : n_candidates_(options.n_candidates()), reduction_(options.reduction()) {
  v1::Choice choice;
  choice.set_label(options.label());
  choice.set_kind(v1::Choice::INPUT_CHOICE);
  choice.set_n_chosen(static_cast<int32_t>(std::clamp<int64_t>(options.n_chosen(), -1, INT32_MAX)));
  if (options.names().empty()) {
    for (int64_t i = 0; i < n_candidates_; ++i) *choice.add_candidates() = ToValue(i);
  } else {
    for (const std::string& name : options.names()) *choice.add_candidates() = ToValue(name);
  }
  const v1::Decision decision = Ask(std::move(choice), options.where());
  label_ = decision.label();
  chosen_.assign(decision.index().begin(), decision.index().end());
}

torch::Tensor InputChoiceImpl::forward(const std::vector<torch::Tensor>& inputs) {
  const std::vector<torch::Tensor> chosen = select(inputs);
  if (chosen.size() == 1) return chosen[0];
  switch (reduction_) {
    case Reduction::kConcat:
      return torch::cat(chosen, 1);
    case Reduction::kNone:
      TORCH_CHECK(false, "InputChoice '", label_, "' chooses ", chosen.size(),
                  " inputs without a reduction: call select instead of forward");
    default: {
      torch::Tensor sum = chosen[0];
      for (size_t i = 1; i < chosen.size(); ++i) sum = sum + chosen[i];
      return reduction_ == Reduction::kSum ? sum : sum / static_cast<double>(chosen.size());
    }
  }
}

std::vector<torch::Tensor> InputChoiceImpl::select(const std::vector<torch::Tensor>& inputs) const {
  TORCH_CHECK(static_cast<int64_t>(inputs.size()) == n_candidates_, "InputChoice '", label_, "' has ", n_candidates_,
              " candidates but was given ", inputs.size(), " inputs");
  std::vector<torch::Tensor> chosen;
  for (int64_t index : chosen_) chosen.push_back(inputs[index]);
  return chosen;
}

void InputChoiceImpl::pretty_print(std::ostream& stream) const { Print(stream, "InputChoice", label_); }

// ---- Repeat ----

RepeatOptions::RepeatOptions(int64_t min_depth, int64_t max_depth, BlockFactory block, Location where)
    : block_(std::move(block)), where_(where) {
  for (int64_t depth = min_depth; depth <= max_depth; ++depth) depths_.push_back(depth);
}

RepeatImpl::RepeatImpl(const RepeatOptions& options) {
  const auto& depths = options.depths();
  for (int64_t depth : depths) {
    if (depth < 0) {
      throw SpaceError(absl::StrCat("the Repeat at ", At(options.where()), " has the negative depth ", depth));
    }
  }
  int64_t depth = 0;
  if (options.fixed()) {
    depth = depths.at(0);
    label_ = LabelOr(options.label(), "repeat");
  } else {
    v1::Choice choice;
    choice.set_label(options.label());
    choice.set_kind(v1::Choice::REPEAT);
    choice.set_n_chosen(1);
    for (int64_t candidate : depths) *choice.add_candidates() = ToValue(candidate);
    const v1::Decision decision = Ask(std::move(choice), options.where());
    label_ = decision.label();
    depth = depths[decision.index(0)];
  }
  for (int64_t i = 0; i < depth; ++i) {
    LabelScope scope(absl::StrCat(label_, "/", i));
    blocks_.push_back(options.block()(i));
    if (blocks_.back().module() != nullptr) register_module(absl::StrCat(i), blocks_.back().module());
  }
}

torch::Tensor RepeatImpl::forward(torch::Tensor input) {
  for (const AnyLayer& block : blocks_) input = block.forward(std::move(input));
  return input;
}

void RepeatImpl::pretty_print(std::ostream& stream) const { Print(stream, "Repeat", label_); }

// ---- Cell ----

CellImpl::CellImpl(const CellOptions& options)
    : num_predecessors_(options.num_predecessors()),
      concat_dim_(options.concat_dim()),
      preprocessor_(options.preprocessor()),
      postprocessor_(options.postprocessor()) {
  if (options.num_nodes() < 1 || options.num_ops_per_node() < 1 || num_predecessors_ < 1) {
    throw SpaceError(absl::StrCat("the Cell at ", At(options.where()), " has num_nodes ", options.num_nodes(),
                                  ", num_ops_per_node ", options.num_ops_per_node(), " and num_predecessors ",
                                  num_predecessors_, ": each must be at least 1"));
  }
  label_ = LabelOr(options.label(), "cell");
  if (preprocessor_.module() != nullptr) register_module("preprocessor", preprocessor_.module());
  std::vector<bool> is_read(num_predecessors_ + options.num_nodes(), false);
  for (int64_t node = num_predecessors_; node < num_predecessors_ + options.num_nodes(); ++node) {
    std::vector<Op>& ops = nodes_.emplace_back();
    for (int64_t k = 0; k < options.num_ops_per_node(); ++k) {
      const InputChoice input(
          InputChoiceOptions(node, options.where()).label(absl::StrCat(label_, "/input_", node, "_", k)));
      const CellPosition position{node, k, input->chosen()[0]};
      is_read[position.input] = true;
      std::vector<LayerCandidate<>> candidates;
      for (const CellOptions::Candidate& candidate : options.candidates()) {
        candidates.emplace_back(candidate.name(), [&] { return candidate.Make(position); });
      }
      const std::string name = absl::StrCat("op_", node, "_", k);
      const LayerChoice layer(
          LayerChoiceOptions(std::move(candidates), options.where()).label(absl::StrCat(label_, "/", name)));
      ops.push_back({position.input, register_module(name, layer)});
    }
  }
  if (postprocessor_.module() != nullptr) register_module("postprocessor", postprocessor_.module());
  for (int64_t node = num_predecessors_; node < num_predecessors_ + options.num_nodes(); ++node) {
    if (options.merge_op() == MergeOp::kAll || !is_read[node]) output_nodes_.push_back(node);
  }
}

torch::Tensor CellImpl::forward(std::vector<torch::Tensor> predecessors) {
  TORCH_CHECK(static_cast<int64_t>(predecessors.size()) == num_predecessors_, "Cell '", label_, "' has ",
              num_predecessors_, " predecessors but was given ", predecessors.size(), " inputs");
  std::vector<torch::Tensor> states = preprocessor_ ? preprocessor_.forward(predecessors) : predecessors;
  TORCH_CHECK(static_cast<int64_t>(states.size()) == num_predecessors_, "the preprocessor of Cell '", label_, "' made ",
              states.size(), " tensors of ", num_predecessors_);
  for (std::vector<Op>& ops : nodes_) {
    torch::Tensor sum;
    for (Op& op : ops) {
      torch::Tensor output = op.layer->forward(states[op.input]);
      sum = sum.defined() ? sum + output : output;
    }
    states.push_back(sum);
  }
  std::vector<torch::Tensor> outputs;
  for (int64_t node : output_nodes_) outputs.push_back(states[node]);
  const torch::Tensor merged = outputs.size() == 1 ? outputs[0] : torch::cat(outputs, concat_dim_);
  return postprocessor_ ? postprocessor_.forward(merged, std::move(predecessors)) : merged;
}

void CellImpl::pretty_print(std::ostream& stream) const { Print(stream, "Cell", label_); }

}  // namespace lanista::nn

// A block repeated a chosen number of times.
#ifndef LANISTA_SRC_NN_REPEAT_H_
#define LANISTA_SRC_NN_REPEAT_H_

#include <torch/arg.h>
#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>

#include <cstdint>
#include <functional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "src/nn/any_layer.h"
#include "src/nn/construction.h"

namespace lanista::nn {

// Makes block `index` (from 0).
using BlockFactory = std::function<AnyLayer(int64_t index)>;

// Options for Repeat.
struct RepeatOptions {
  // Always `depth` blocks: there is nothing to choose.
  RepeatOptions(int64_t depth, BlockFactory block, Location where = Location::Here())
      : depths_({depth}), fixed_(true), block_(std::move(block)), where_(where) {}
  // `min_depth` to `max_depth` blocks, both included.
  RepeatOptions(int64_t min_depth, int64_t max_depth, BlockFactory block, Location where = Location::Here());
  // One of `depths` blocks.
  RepeatOptions(std::vector<int64_t> depths, BlockFactory block, Location where = Location::Here())
      : depths_(std::move(depths)), block_(std::move(block)), where_(where) {}

  // The depths to choose from, none negative. With depth 0 the input passes through unchanged.
  TORCH_ARG(std::vector<int64_t>, depths);
  // True if there is only one depth, so that no choice is asked.
  TORCH_ARG(bool, fixed) = false;
  // Makes one block.
  TORCH_ARG(BlockFactory, block);
  // The choice's label. Default: automatic.
  TORCH_ARG(std::string, label);
  // Where the choice stands in the source, for messages.
  TORCH_ARG(Location, where);
};

// A block repeated a chosen number of times, in sequence. The blocks are submodules "0", "1", .... Choices that the
// factory asks for block i exist only if the depth is greater than i. Each block has its own choices, unless they have
// labels.
//
//   body = register_module("body", nn::Repeat(nn::RepeatOptions(1, 4, [](int64_t index) {
//     return torch::nn::Linear(64, 64);
//   }).label("depth")));
//   x = body->forward(x);
class RepeatImpl : public torch::nn::Module {
 public:
  // Throws SpaceError: no depth, a negative depth, equal depths (and see Ask).
  explicit RepeatImpl(const RepeatOptions& options);

  torch::Tensor forward(torch::Tensor input);

  void pretty_print(std::ostream& stream) const override;

  // The number of blocks.
  int64_t depth() const { return static_cast<int64_t>(blocks_.size()); }

 private:
  std::string label_;
  std::vector<AnyLayer> blocks_;
};

TORCH_MODULE(Repeat);

}  // namespace lanista::nn

#endif  // LANISTA_SRC_NN_REPEAT_H_

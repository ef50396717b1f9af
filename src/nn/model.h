// A concrete network: what evaluators train.
#ifndef LANISTA_SRC_NN_MODEL_H_
#define LANISTA_SRC_NN_MODEL_H_

#include <torch/nn/module.h>

namespace lanista::nn {

// Base class of everything that an evaluator can train: spaces written in C++ (`ModelSpace`) and instantiated graphs
// (`runtime::GraphModule`). Like LibTorch's modules, owned by a shared_ptr and used by one thread at a time.
class Model : public torch::nn::Module {
 public:
  // From one batch, [N, ...], to its predictions, [N, ...]. Throws c10::Error on operators' errors, as LibTorch's
  // modules do.
  virtual torch::Tensor forward(torch::Tensor input) = 0;
};

}  // namespace lanista::nn

#endif  // LANISTA_SRC_NN_MODEL_H_

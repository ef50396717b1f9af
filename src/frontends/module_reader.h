// torch.nn modules in a TorchScript file, as operators.
#ifndef LANISTA_SRC_FRONTENDS_MODULE_READER_H_
#define LANISTA_SRC_FRONTENDS_MODULE_READER_H_

#include <torch/csrc/jit/api/module.h>

#include <optional>
#include <string>

#include "protos/graph.pb.h"

namespace lanista::frontends {

// "__torch__.torch.nn.modules.conv.___torch_mangle_7.Conv2d" -> "torch.nn.modules.conv.Conv2d".
std::string ClassPath(const torch::jit::Module& module);
// "Conv2d".
std::string ClassName(const torch::jit::Module& module);

// A module as an operator.
struct ModuleOperator {
  v1::Operator op;
  // Whether it has parameters or buffers.
  bool has_weights = false;
  // Whether it has parameters and none of them gets a gradient.
  bool frozen = false;
};

// The module as an operator, if its class is from torch.nn (or torchvision's StochasticDepth) and known to the
// registry, all attributes can be read, and it has exactly the parameters that follow from them, in their usual dtypes.
// nullopt: the module's own code must be read.
std::optional<ModuleOperator> ReadOperator(const torch::jit::Module& module);

// Numbers of torch.nn modules with and without their hyper-parameters: torch.jit.trace drops those.
struct ModuleCounts {
  int scripted = 0;
  int traced = 0;
  // The path of the first traced module.
  std::string traced_path;
};
ModuleCounts CountModules(const torch::jit::Module& module);

}  // namespace lanista::frontends

#endif  // LANISTA_SRC_FRONTENDS_MODULE_READER_H_

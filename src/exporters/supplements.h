// Modules that models of the world use and torch.nn does not have: exported source brings its own classes for them.
#ifndef LANISTA_SRC_EXPORTERS_SUPPLEMENTS_H_
#define LANISTA_SRC_EXPORTERS_SUPPLEMENTS_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "src/graph/op_schema.h"

namespace lanista::exporters {

struct Supplement {
  // The class in Python, and in C++ (inside namespace model_parts). Both are named as the operator.
  std::string python;
  std::string cpp;
  // The arguments of both constructors.
  std::function<std::string(const graph::Attributes& attributes)> arguments;
  // The class's place in Python: "torchvision.ops.stochastic_depth.StochasticDepth".
  std::string qualified_name;
  // The body of its forward in TorchScript, of `input`; $0 stands for the training flag.
  std::function<std::string(const graph::Attributes& attributes)> torchscript;
};

// Their operators.
std::vector<std::string> SupplementTypes();

// nullptr: torch.nn has it, or nobody.
const Supplement* FindSupplement(absl::string_view type);

}  // namespace lanista::exporters

#endif  // LANISTA_SRC_EXPORTERS_SUPPLEMENTS_H_

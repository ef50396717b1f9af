// Modules that existing models use but torch.nn lacks: exported source brings its own classes for them.
#ifndef LANISTA_SRC_EXPORTERS_COMMON_SUPPLEMENTS_H_
#define LANISTA_SRC_EXPORTERS_COMMON_SUPPLEMENTS_H_

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
  // The arguments of the constructor, the same in both languages.
  std::function<std::string(const graph::Attributes& attributes)> arguments;
  // The qualified name of the original class in Python: "torchvision.ops.stochastic_depth.StochasticDepth".
  std::string qualified_name;
  // The body of its forward in TorchScript, which reads `input`; $0 stands for the training flag.
  std::function<std::string(const graph::Attributes& attributes)> torchscript;
};

// The operators that have a supplement.
std::vector<std::string> SupplementTypes();

// nullptr: the operator has no supplement.
const Supplement* FindSupplement(absl::string_view type);

}  // namespace lanista::exporters

#endif  // LANISTA_SRC_EXPORTERS_COMMON_SUPPLEMENTS_H_

// Module operators with attributes and inputs that they take: at least one row for each.
#ifndef LANISTA_TESTS_OPS_MODULE_ROWS_H_
#define LANISTA_TESTS_OPS_MODULE_ROWS_H_

#include <ATen/core/Tensor.h>

#include <ostream>
#include <string>
#include <vector>

#include "protos/graph.pb.h"

namespace lanista::ops {

struct ModuleRow {
  std::string type;
  // "in_channels=4 padding=[1,2] mode='nearest' p=0.5 bias=false size=none"
  std::string attributes;
  // Shapes: "2x4x8 2x4x8"; "7:2x3": indices below 7; "bool:2x3"; "attn_mask=3x3": the input names its argument.
  std::string inputs;
  // Inputs of the same kind that do not fit; empty: any fit.
  std::string misfits = "";
};

// For messages of GoogleTest.
inline void PrintTo(const ModuleRow& row, std::ostream* out) {
  *out << row.type << " " << row.attributes << " (" << row.inputs << ")";
}

const std::vector<ModuleRow>& ModuleRows();

// The operator of a row, and a node that has it and edges for `inputs`.
v1::Node NodeOf(const ModuleRow& row, const std::string& inputs);

// Random tensors for `inputs`; floating-point ones require gradients.
std::vector<at::Tensor> TensorsOf(const std::string& inputs);

// The type of a tensor; no type if it is not defined.
v1::ValueType TypeOf(const at::Tensor& tensor);

}  // namespace lanista::ops

#endif  // LANISTA_TESTS_OPS_MODULE_ROWS_H_

// The operators that Lanista knows: schemas by type. Each family has a file for its schemas (modules/conv.cc) and, if
// it is one of modules, a file that builds and runs them (modules/conv_torch.cc, src/ops/registry_torch.h).
#ifndef LANISTA_SRC_OPS_REGISTRY_H_
#define LANISTA_SRC_OPS_REGISTRY_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "src/base/register.h"
#include "src/graph/op_schema.h"

namespace lanista::ops {

// The schema of `type` ("Conv2d", "aten::add.Tensor"); nullptr if there is none. Thread-safe. Can be used as
// graph::OpLookup.
const graph::OpSchema* FindOp(absl::string_view type);

// All types, sorted.
std::vector<std::string> OpTypes();

// Registers a schema. Called before main; ends the program if the type is already registered: that is a programmer's
// error.
bool RegisterOp(std::unique_ptr<graph::OpSchema> schema);

}  // namespace lanista::ops

// Registers `std::make_unique<...>(...)`, or any other expression that gives a unique_ptr to a schema. One line per
// operator.
#define LANISTA_REGISTER_OP(schema)                                                       \
  [[maybe_unused]] static const bool LANISTA_REGISTER_CONCAT_(lanista_op_, __COUNTER__) = \
      ::lanista::ops::RegisterOp(schema)

#endif  // LANISTA_SRC_OPS_REGISTRY_H_

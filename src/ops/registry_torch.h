// Operators that can run: the LibTorch half of the registry.
#ifndef LANISTA_SRC_OPS_REGISTRY_TORCH_H_
#define LANISTA_SRC_OPS_REGISTRY_TORCH_H_

#include <ATen/core/ivalue.h>

#include <functional>
#include <memory>
#include <string>

#include "absl/strings/string_view.h"
#include "src/base/register.h"
#include "src/graph/op_schema.h"

namespace torch::nn {
class Module;
}  // namespace torch::nn

namespace lanista::ops {

// A module operator that has been built. Used by one thread.
class OpModule {
 public:
  virtual ~OpModule() = default;

  // `inputs` are in the order of the node's edges, or of Position. `outputs` has room for as many values as the
  // operator has outputs. Throws c10::Error as LibTorch does.
  virtual void Run(c10::ArrayRef<c10::IValue> inputs, c10::IValue* outputs) = 0;

  // The index in Run's inputs for an edge with this argument name (attn_mask); -1: there is no such argument. If an
  // edge of a node names an argument, inputs that are not given are none.
  virtual int Position(absl::string_view argument) const {
    static_cast<void>(argument);
    return -1;
  }

  // The underlying module; its parameters and buffers have the names and shapes of OpSchema::Parameters.
  virtual std::shared_ptr<torch::nn::Module> module() const = 0;
};

// Builds a module operator from checked attributes. Draws the parameters from LibTorch's default generator as torch.nn
// does.
using OpBuilder = std::function<std::unique_ptr<OpModule>(const graph::Attributes& attributes)>;

// The builder of a module operator; nullptr if none is registered.
const OpBuilder* FindOpBuilder(absl::string_view type);

// Registers a builder for a type that has a schema. Called before main.
bool RegisterOpBuilder(const std::string& type, OpBuilder builder);

}  // namespace lanista::ops

// Registers `builder` for the operator `type`.
#define LANISTA_REGISTER_OP_BUILDER(type, builder)                                                \
  [[maybe_unused]] static const bool LANISTA_REGISTER_CONCAT_(lanista_op_builder_, __COUNTER__) = \
      ::lanista::ops::RegisterOpBuilder(type, builder)

#endif  // LANISTA_SRC_OPS_REGISTRY_TORCH_H_

// A call of an aten or prim operator, with its arguments bound.
#ifndef LANISTA_SRC_RUNTIME_ATEN_CALL_TORCH_H_
#define LANISTA_SRC_RUNTIME_ATEN_CALL_TORCH_H_

#include <ATen/core/ivalue.h>
#include <ATen/core/stack.h>
#include <torch/csrc/jit/runtime/operator.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "protos/graph.pb.h"

namespace lanista::runtime {

// The operator with a node's type as its name: "aten::add.Tensor". nullptr: LibTorch has none with this name and
// overload.
std::shared_ptr<torch::jit::Operator> FindAtenOperator(const std::string& type);

// OK if AtenCall can call an operator of this name. INVALID_ARGUMENT: LibTorch has none, or models must not use it
// (graph::CheckOperatorAllowed).
absl::Status CheckAtenOperator(const std::string& type);

// A node's operator with its constants and default values bound. Used by one thread.
class AtenCall {
 public:
  // INVALID_ARGUMENT: an error of CheckAtenOperator, an argument that the operator does not have, a missing argument, a
  // constant of the wrong kind. Errors do not name the node.
  static absl::StatusOr<AtenCall> Create(const v1::Node& node);

  // `inputs` are in the order of the node's edges. Replaces `outputs` by the values that the operator returns. Throws
  // c10::Error.
  void Run(c10::ArrayRef<c10::IValue> inputs, std::vector<c10::IValue>* outputs) const;

 private:
  // An argument: a constant, one input, or a list of inputs.
  struct Argument {
    c10::IValue constant;
    std::vector<int> inputs;
    bool is_list = false;
    // A list whose elements may be none (`indices`): LibTorch needs a list type that says so.
    bool of_optionals = false;
  };

  AtenCall() = default;

  std::vector<Argument> arguments_;
  // Takes its arguments from the stack and leaves its results there.
  std::function<void(torch::jit::Stack&)> operation_;
};

// Converts a constant of a graph to a value of `type` (TensorType, IntType, a list, an optional, ...). INVALID_ARGUMENT
// says what was expected.
absl::StatusOr<c10::IValue> ToIValue(const v1::Value& value, const c10::TypePtr& type);

// Converts a constant of a graph to the type that its kind suggests. The elements of a list must be of one kind.
absl::StatusOr<c10::IValue> ToIValue(const v1::Value& value);

// Converts a constant tensor; the result owns its data, on the CPU.
absl::StatusOr<at::Tensor> ToTensor(const v1::Tensor& tensor);

}  // namespace lanista::runtime

#endif  // LANISTA_SRC_RUNTIME_ATEN_CALL_TORCH_H_

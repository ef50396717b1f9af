// Finds layers that a model's constructor made and did not register: no optimizer would ever train them.
#ifndef LANISTA_SRC_NN_REGISTRATION_CHECK_H_
#define LANISTA_SRC_NN_REGISTRATION_CHECK_H_

#include <ATen/core/Tensor.h>
#include <ATen/record_function.h>
#include <torch/nn/module.h>

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace lanista::nn {

// Watches the tensors that LibTorch's operators make and fill on this thread, from this object's making to its end.
// They are not kept alive.
//
//   RegistrationCheck check;
//   auto net = std::make_shared<Net>();
//   check.RequireRegistered(*net);
class RegistrationCheck {
 public:
  RegistrationCheck();
  ~RegistrationCheck();
  RegistrationCheck(const RegistrationCheck&) = delete;
  RegistrationCheck& operator=(const RegistrationCheck&) = delete;

  // Throws SpaceError with the shapes of tensors that were made meanwhile, are still held by somebody and require
  // gradients, but are no parameters of `model`.
  void RequireRegistered(const torch::nn::Module& model) const;

 private:
  using Weak = c10::weak_intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>;

  static std::unique_ptr<at::ObserverContext> OnStart(const at::RecordFunction& function);
  static void OnEnd(const at::RecordFunction& function, at::ObserverContext* context);
  void Add(const c10::IValue& value);

  RegistrationCheck* const outer_;
  const at::RecordFunctionGuard enabled_;
  at::CallbackHandle handle_;
  std::unordered_map<const c10::TensorImpl*, Weak> seen_;
  // In the order in which they were seen.
  std::vector<const c10::TensorImpl*> order_;
};

// "[64, 784], [64]": the shapes of `tensors`, the first few of them.
std::string DescribeShapes(const std::vector<at::Tensor>& tensors);

// The class of a model as its author wrote it, where the compiler tells: "Net".
std::string ClassName(const torch::nn::Module& model);

}  // namespace lanista::nn

#endif  // LANISTA_SRC_NN_REGISTRATION_CHECK_H_

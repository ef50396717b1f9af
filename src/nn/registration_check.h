// Finds layers that a model's constructor made but did not register: no optimizer would ever train them.
#ifndef LANISTA_SRC_NN_REGISTRATION_CHECK_H_
#define LANISTA_SRC_NN_REGISTRATION_CHECK_H_

#include <ATen/core/Tensor.h>
#include <ATen/record_function.h>

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace torch::nn {
class Module;
}  // namespace torch::nn

namespace lanista::nn {

// Watches the tensors that LibTorch's operators make and fill on this thread during the lifetime of this object. Does
// not keep them alive.
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

  // Throws SpaceError, with their shapes, if there are tensors that were made since construction, are still alive, are
  // leaves that require gradients, and are not parameters of `model`.
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
  // The keys of seen_ in the order of their insertion.
  std::vector<const c10::TensorImpl*> order_;
};

// "[64, 784], [64]": the shapes of the first few of `tensors`.
std::string DescribeShapes(const std::vector<at::Tensor>& tensors);

// The class of a model as its author wrote it, as far as the compiler tells: "Net".
std::string ClassName(const torch::nn::Module& model);

}  // namespace lanista::nn

#endif  // LANISTA_SRC_NN_REGISTRATION_CHECK_H_

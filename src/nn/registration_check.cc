#include "src/nn/registration_check.h"

#include <torch/nn/module.h>

#include <algorithm>
#include <memory>
#include <unordered_set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "src/nn/construction.h"

namespace lanista::nn {
namespace {

// The callbacks are plain functions, so the object is found through this variable.
thread_local RegistrationCheck* current = nullptr;

constexpr size_t kMostShapes = 4;

}  // namespace

RegistrationCheck::RegistrationCheck() : outer_(current) {
  current = this;
  handle_ =
      at::addThreadLocalCallback(at::RecordFunctionCallback(&RegistrationCheck::OnStart, &RegistrationCheck::OnEnd)
                                     .needsInputs(true)
                                     .needsOutputs(true)
                                     .scopes({at::RecordScope::FUNCTION}));
}

RegistrationCheck::~RegistrationCheck() {
  at::removeCallback(handle_);
  current = outer_;
}

// A parameter appears where it is made (as an output) or where its first values are written (as an input).
std::unique_ptr<at::ObserverContext> RegistrationCheck::OnStart(const at::RecordFunction& function) {
  for (const c10::IValue& input : function.inputs()) current->Add(input);
  return nullptr;
}

void RegistrationCheck::OnEnd(const at::RecordFunction& function, at::ObserverContext*) {
  for (const c10::IValue& output : function.outputs()) current->Add(output);
}

void RegistrationCheck::Add(const c10::IValue& value) {
  if (!value.isTensor() || !value.toTensor().defined()) return;
  const auto& tensor = value.toTensor().getIntrusivePtr();
  if (seen_.emplace(tensor.get(), Weak(tensor)).second) order_.push_back(tensor.get());
}

void RegistrationCheck::RequireRegistered(const torch::nn::Module& model) const {
  std::unordered_set<const c10::TensorImpl*> registered;
  for (const at::Tensor& parameter : model.parameters()) registered.insert(parameter.unsafeGetTensorImpl());
  std::vector<at::Tensor> lost;
  for (const c10::TensorImpl* const impl : order_) {
    if (registered.count(impl) > 0) continue;
    auto alive = seen_.at(impl).lock();
    if (!alive) continue;
    const at::Tensor tensor(std::move(alive));
    if (tensor.requires_grad() && tensor.is_leaf()) lost.push_back(tensor);
  }
  if (lost.empty()) return;
  throw SpaceError(absl::StrCat(
      "the constructor of ", ClassName(model),
      " made tensors that require gradients and are no parameters of the model (", DescribeShapes(lost),
      "): no optimizer would train them. Register the layer that holds them, as in hidden_ = "
      "register_module(\"hidden\", torch::nn::Linear(784, 64)), or call requires_grad_(false) on what is to stay as it "
      "is"));
}

std::string DescribeShapes(const std::vector<at::Tensor>& tensors) {
  std::vector<std::string> shapes;
  for (size_t i = 0; i < std::min(tensors.size(), kMostShapes); ++i) {
    shapes.push_back(absl::StrCat("[", absl::StrJoin(tensors[i].sizes(), ", "), "]"));
  }
  if (tensors.size() > kMostShapes) shapes.push_back(absl::StrCat("and ", tensors.size() - kMostShapes, " more"));
  return absl::StrJoin(shapes, ", ");
}

std::string ClassName(const torch::nn::Module& model) {
  std::string name = model.name();
  name = name.substr(0, name.find('<'));
  if (const size_t scope = name.rfind("::"); scope != std::string::npos) name = name.substr(scope + 2);
  return std::string(absl::StripSuffix(name, "Impl"));
}

}  // namespace lanista::nn

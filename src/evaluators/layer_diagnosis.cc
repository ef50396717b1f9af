#include "src/evaluators/layer_diagnosis.h"

#include <ATen/record_function.h>
#include <torch/nn/module.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "src/nn/model.h"

namespace lanista {
namespace {

std::string Shape(const at::Tensor& tensor) { return absl::StrCat("[", absl::StrJoin(tensor.sizes(), ", "), "]"); }

std::string TypeOf(at::ScalarType type) { return absl::StrCat(" of ", c10::toString(type)); }

// A tensor that belongs to a layer.
struct LayerTensor {
  // "layer 'fc1' (Linear)"
  std::string layer;
  // "weight"
  std::string name;
  at::Tensor tensor;
};

// "torch::nn::Conv2dImpl" -> "Conv2d".
std::string TypeName(const torch::nn::Module& module) {
  std::string name = module.name();
  name = name.substr(0, name.find('<'));
  if (const size_t scope = name.rfind("::"); scope != std::string::npos) name = name.substr(scope + 2);
  return std::string(absl::StripSuffix(name, "Impl"));
}

// All parameters and buffers of a model, found by their memory: operators also see views (`weight.t()`).
class LayerTensors {
 public:
  explicit LayerTensors(const torch::nn::Module& model) {
    Add(absl::StrCat("the model (", TypeName(model), ")"), model);
    for (const auto& module : model.named_modules("", /*include_self=*/false)) {
      Add(absl::StrCat("layer '", module.key(), "' (", TypeName(*module.value()), ")"), *module.value());
    }
  }

  // nullptr if `tensor` belongs to no layer.
  const LayerTensor* Find(const at::Tensor& tensor) const {
    if (!tensor.has_storage()) return nullptr;
    const auto found = by_storage_.find(tensor.storage().unsafeGetStorageImpl());
    return found == by_storage_.end() ? nullptr : &found->second;
  }

 private:
  void Add(const std::string& layer, const torch::nn::Module& module) {
    const auto add = [&](const auto& tensors) {
      for (const auto& tensor : tensors) {
        if (!tensor.value().defined() || !tensor.value().has_storage()) continue;
        by_storage_.emplace(tensor.value().storage().unsafeGetStorageImpl(),
                            LayerTensor{layer, tensor.key(), tensor.value()});
      }
    };
    add(module.named_parameters(/*recurse=*/false));
    add(module.named_buffers(/*recurse=*/false));
  }

  std::unordered_map<const void*, LayerTensor> by_storage_;
};

// One operator that runs.
struct Operator : public at::ObserverContext {
  std::string name;
  // Of the inputs that belong to no layer: shapes, and types.
  std::vector<std::string> inputs;
  std::vector<at::ScalarType> types;
  // The layer's tensor with the most dimensions (the weight, not the bias); nullptr if there is none.
  const LayerTensor* weight = nullptr;
  int exceptions_before = 0;
};

// Watches the operators of the thread it is made on, as long as it lives.
class Observer {
 public:
  explicit Observer(const LayerTensors& layers) : layers_(layers) {
    current = this;
    handle_ = at::addThreadLocalCallback(at::RecordFunctionCallback(&Observer::OnStart, &Observer::OnEnd)
                                             .needsInputs(true)
                                             .scopes({at::RecordScope::FUNCTION}));
  }
  ~Observer() {
    at::removeCallback(handle_);
    current = nullptr;
  }
  Observer(const Observer&) = delete;
  Observer& operator=(const Observer&) = delete;

  // Describes where forward failed with this message: text that ends in ": ", or empty if that is not known.
  std::string Describe(absl::string_view message) const {
    if (failed_ != nullptr && failed_->weight != nullptr) {
      const LayerTensor& weight = *failed_->weight;
      const at::ScalarType type = weight.tensor.scalar_type();
      // Shapes that fit would mislead where LibTorch complains about types. An embedding's input has another type than
      // its weight, and may.
      const bool other_type = std::any_of(failed_->types.begin(), failed_->types.end(),
                                          [type](at::ScalarType input) { return input != type; }) &&
                              absl::StrContains(message, "type");
      std::vector<std::string> inputs = failed_->inputs;
      for (size_t i = 0; other_type && i < inputs.size(); ++i) inputs[i] += TypeOf(failed_->types[i]);
      return absl::StrCat(weight.layer, ": input ", absl::StrJoin(inputs, ", "), " does not fit ", weight.name, " ",
                          Shape(weight.tensor), other_type ? TypeOf(type) : "", ": ");
    }
    std::vector<std::string> places;
    if (failed_ != nullptr) {
      places.push_back(absl::StrCat("operator '", failed_->name, "'", failed_->inputs.empty() ? "" : " on ",
                                    absl::StrJoin(failed_->inputs, " and ")));
    }
    if (last_layer_ != nullptr) places.push_back(absl::StrCat("after ", last_layer_->layer));
    return places.empty() ? "" : absl::StrCat(absl::StrJoin(places, ", "), ": ");
  }

 private:
  static std::unique_ptr<at::ObserverContext> OnStart(const at::RecordFunction& function) {
    auto op = std::make_unique<Operator>();
    op->name = std::string(absl::StripPrefix(function.name(), "aten::"));
    op->exceptions_before = std::uncaught_exceptions();
    for (const c10::IValue& input : function.inputs()) {
      if (input.isTensor()) {
        current->AddInput(*op, input.toTensor());
      } else if (input.isTensorList()) {
        for (const at::Tensor& tensor : input.toTensorVector()) current->AddInput(*op, tensor);
      }
    }
    return op;
  }

  // The end callback also runs while an exception unwinds the operator: that is how the failing one is known. Operators
  // nest (linear calls addmm); the outermost one with a weight comes last and tells most.
  static void OnEnd(const at::RecordFunction&, at::ObserverContext* context) {
    auto& op = static_cast<Operator&>(*context);
    if (std::uncaught_exceptions() > op.exceptions_before) {
      if (op.weight != nullptr || current->failed_ == nullptr || current->failed_->weight == nullptr) {
        current->failed_ = std::make_unique<Operator>(std::move(op));
      }
    } else if (op.weight != nullptr) {
      current->last_layer_ = op.weight;
    }
  }

  void AddInput(Operator& op, const at::Tensor& tensor) const {
    if (!tensor.defined()) return;
    const LayerTensor* weight = layers_.Find(tensor);
    if (weight == nullptr) {
      op.inputs.push_back(Shape(tensor));
      op.types.push_back(tensor.scalar_type());
    } else if (op.weight == nullptr || weight->tensor.dim() > op.weight->tensor.dim()) {
      op.weight = weight;
    }
  }

  // Callbacks are plain functions.
  static thread_local Observer* current;

  const LayerTensors& layers_;
  at::CallbackHandle handle_;
  std::unique_ptr<Operator> failed_;
  const LayerTensor* last_layer_ = nullptr;
};

thread_local Observer* Observer::current = nullptr;

}  // namespace

std::string DescribeForwardError(nn::Model& model, const at::Tensor& input, const c10::Error& error) {
  const LayerTensors layers(model);
  const at::RecordFunctionGuard enabled;
  const Observer observer(layers);
  std::string where;
  try {
    model.forward(input);
  } catch (const std::exception&) {
    where = observer.Describe(error.what_without_backtrace());
  }
  return absl::StrCat(where, error.what_without_backtrace());
}

}  // namespace lanista

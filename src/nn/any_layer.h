// The type that layer factories return: a layer of any class.
#ifndef LANISTA_SRC_NN_ANY_LAYER_H_
#define LANISTA_SRC_NN_ANY_LAYER_H_

#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>

#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

namespace lanista::nn {

namespace internal {

template <typename Impl>
std::shared_ptr<Impl> ModuleOf(const torch::nn::ModuleHolder<Impl>& holder) {
  return holder.ptr();
}
template <typename Impl, typename = std::enable_if_t<std::is_base_of_v<torch::nn::Module, Impl>>>
std::shared_ptr<Impl> ModuleOf(const std::shared_ptr<Impl>& module) {
  TORCH_CHECK(module != nullptr, "a factory returned an empty module");
  return module;
}

template <typename T, typename = void>
struct IsModule : std::false_type {};
template <typename T>
struct IsModule<T, std::void_t<decltype(ModuleOf(std::declval<const T&>()))>> : std::true_type {};

}  // namespace internal

// A module whose `forward` has this signature, or a plain function. A function has no parameters: modules that it
// captures are not registered. Unlike torch::nn::AnyModule, the signature is checked by the compiler, and a
// torch::nn::Sequential fits too. Copies share the module.
template <typename Signature>
class AnyForward;

template <typename Result, typename... Args>
class AnyForward<Result(Args...)> {
 public:
  // Holds nothing.
  AnyForward() = default;

  // From a module holder (torch::nn::Conv2d), a std::shared_ptr to a module, or a function.
  template <typename T,
            typename = std::enable_if_t<!std::is_same_v<T, AnyForward> &&
                                        (internal::IsModule<T>::value || std::is_invocable_r_v<Result, T&, Args...>)>>
  AnyForward(T layer) {  // NOLINT(google-explicit-constructor): factories return the layer itself.
    if constexpr (internal::IsModule<T>::value) {
      auto module = internal::ModuleOf(layer);
      module_ = module;
      forward_ = [impl = module.get()](Args... args) -> Result { return impl->forward(std::forward<Args>(args)...); };
    } else {
      forward_ = std::move(layer);
    }
  }

  explicit operator bool() const { return forward_ != nullptr; }

  // Runs the module's forward, or the function. REQUIRES: it holds something.
  Result forward(Args... args) const { return forward_(std::forward<Args>(args)...); }

  // The module; nullptr for a plain function.
  const std::shared_ptr<torch::nn::Module>& module() const { return module_; }

 private:
  std::shared_ptr<torch::nn::Module> module_;
  std::function<Result(Args...)> forward_;
};

// One tensor in, one tensor out.
using AnyLayer = AnyForward<torch::Tensor(torch::Tensor)>;

// One candidate of a choice between layers: a name, and a factory that runs only if the candidate is chosen. The
// factory takes `Args`, or nothing.
//
//   {"conv", [] { return torch::nn::Conv2d(32, 64, 3); }}
//   [] { return torch::nn::Identity(); }
template <typename... Args>
class LayerCandidate {
 public:
  // A candidate without a name is known by its number.
  template <typename Factory,
            typename = std::enable_if_t<std::is_invocable_v<Factory&, Args...> || std::is_invocable_v<Factory&>>>
  LayerCandidate(Factory factory)  // NOLINT(google-explicit-constructor): candidates are written as lists of lambdas.
      : LayerCandidate(std::string(), std::move(factory)) {}

  template <typename Factory,
            typename = std::enable_if_t<std::is_invocable_v<Factory&, Args...> || std::is_invocable_v<Factory&>>>
  LayerCandidate(std::string name, Factory factory) : name_(std::move(name)) {
    if constexpr (std::is_invocable_v<Factory&, Args...>) {
      make_ = std::move(factory);
    } else {
      make_ = [factory = std::move(factory)](Args...) mutable -> AnyLayer { return factory(); };
    }
  }

  const std::string& name() const { return name_; }
  AnyLayer Make(Args... args) const { return make_(args...); }

 private:
  std::string name_;
  std::function<AnyLayer(Args...)> make_;
};

}  // namespace lanista::nn

#endif  // LANISTA_SRC_NN_ANY_LAYER_H_

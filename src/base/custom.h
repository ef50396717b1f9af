// How users' own strategies, evaluators, datasets and the like are registered, and get the parameters that the
// configuration gives them: as Params, or as a message of their own (component.h).
#ifndef LANISTA_SRC_BASE_CUSTOM_H_
#define LANISTA_SRC_BASE_CUSTOM_H_

#include <cstddef>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "google/protobuf/message.h"
#include "src/base/component.h"
#include "src/base/params.h"
#include "src/base/register.h"
#include "src/base/registry.h"

namespace lanista {

// MakeWithParams of what a configuration calls `custom`; `kind` is for messages: "evaluator".
template <typename Make>
auto MakeCustom(const std::string& kind, const v1::Custom& custom, const Make& make) {
  return MakeWithParams(custom.params(), absl::StrCat("the ", kind, " '", custom.name(), "'"), make);
}

namespace internal {

// The type of a factory's first parameter; Params where that cannot be told (a generic lambda).
template <typename Make, typename = void>
struct FirstParameter {
  using Type = Params;
};
template <typename Result, typename First, typename... Rest>
struct FirstParameter<Result (*)(First, Rest...), void> {
  using Type = std::decay_t<First>;
};
template <typename Class, typename Result, typename First, typename... Rest>
struct FirstParameter<Result (Class::*)(First, Rest...) const, void> {
  using Type = std::decay_t<First>;
};
template <typename Make>
struct FirstParameter<Make, std::void_t<decltype(&Make::operator())>> : FirstParameter<decltype(&Make::operator())> {};

// Whether the parameters of a factory's component are a message.
template <typename Make>
constexpr bool kTakesMessage = std::is_base_of_v<google::protobuf::Message, typename FirstParameter<Make>::Type>;

// What a factory returns as what its registry wants: an absl::StatusOr<T> becomes one of a std::unique_ptr<T>.
template <typename Result, typename Made>
Result ToResult(Made made) {
  if constexpr (std::is_constructible_v<Result, Made>) {
    return Result(std::move(made));
  } else {
    if (!made.ok()) return made.status();
    return std::make_unique<typename Result::value_type::element_type>(*std::move(made));
  }
}

// Calls `make` with as many of `args`, from the first on, as it takes.
template <typename Make, typename Tuple, size_t... kIndices>
auto CallFactory(const Make& make, const Tuple& args, std::index_sequence<kIndices...>) {
  if constexpr (std::is_invocable_v<const Make&, std::tuple_element_t<kIndices, Tuple>...>) {
    return make(std::get<kIndices>(args)...);
  } else {
    static_assert(sizeof...(kIndices) > 1,
                  "a factory takes a const lanista::Params&, or a const reference to a message of its own, and then "
                  "what factories of its kind take; it may leave out the last ones");
    return CallFactory(make, args, std::make_index_sequence<sizeof...(kIndices) - (sizeof...(kIndices) > 1)>());
  }
}

}  // namespace internal

// Registers `make(parameters, Args...)` for `custom { name: "NAME" params { ... } }`. Its first parameter is a
// `const Params&`, or a const reference to a protobuf message whose fields the parameters are. It may leave out the
// last of `Args`. `kind` is for messages: "evaluator".
template <typename RegistryType, typename Make>
bool RegisterComponent(const std::string& kind, const std::string& name, Make make) {
  using Result = typename RegistryType::Result;
  using google::protobuf::Message;
  if constexpr (internal::kTakesMessage<Make>) {
    RegistryType::Get().Add(name, /*custom=*/true, [make](const Message& custom, auto&&... args) -> Result {
      typename internal::FirstParameter<Make>::Type config;
      const absl::Status status = ReadComponent(static_cast<const v1::Custom&>(custom), &config);
      if (!status.ok()) return status;
      return internal::ToResult<Result>(internal::CallFactory(make,
                                                              std::forward_as_tuple(std::as_const(config), args...),
                                                              std::make_index_sequence<1 + sizeof...(args)>()));
    });
    Components::Get().Add(RegistryType::KindConfig::default_instance(), name,
                          internal::FirstParameter<Make>::Type::default_instance());
  } else {
    RegistryType::Get().Add(name, /*custom=*/true, [kind, make](const Message& custom, auto&&... args) -> Result {
      return MakeCustom(kind, static_cast<const v1::Custom&>(custom), [&](const Params& params) -> Result {
        return internal::ToResult<Result>(internal::CallFactory(make, std::forward_as_tuple(params, args...),
                                                                std::make_index_sequence<1 + sizeof...(args)>()));
      });
    });
  }
  return true;
}

// What LANISTA_REGISTER does for a kind whose components a configuration names by `custom { name: "NAME" params { ... }
// }`: kinds::strategy and the like derive from it.
template <typename RegistryType>
struct CustomKind {
  // RegisterComponent.
  template <typename Make>
  static bool Register(const std::string& kind, const std::string& name, Make make) {
    return RegisterComponent<RegistryType>(kind, name, std::move(make));
  }
};

}  // namespace lanista

#endif  // LANISTA_SRC_BASE_CUSTOM_H_

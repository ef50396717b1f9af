// Registers components at run time: the templates behind the functions of include/lanista.
#ifndef LANISTA_SRC_API_REGISTER_H_
#define LANISTA_SRC_API_REGISTER_H_

#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "src/base/custom.h"
#include "src/base/params.h"
#include "src/base/registrations.h"
#include "src/base/taken_names.h"

namespace lanista::api {

// Registers `make(parameters, Args...)`, which returns a RegistryType::Result, for `custom { name: "NAME" }`; its first
// parameter is a `const Params&` or a message of the component's own (component.h). What is wrong with the name is told
// by Registrations. `kind` is for messages: "evaluator".
template <typename RegistryType, typename Make>
void Register(const std::string& kind, const std::string& name, Make make) {
  if (!Registrations::Get().Admit(kind, name, TakenNames<typename RegistryType::KindConfig>())) return;
  RegisterComponent<RegistryType>(kind, name, std::move(make));
}

// Makes an Object by the constructor that its class has: of (params, rest...), of (params), of (rest...) or of nothing.
// `rest` is what the factories of its kind get beside the parameters.
template <typename Object, typename... Rest>
std::unique_ptr<Object> Construct(const Params& params, const Rest&... rest) {
  if constexpr (std::is_abstract_v<Object>) {
    // The compiler then names the functions that the class lacks, or has under another signature.
    return std::make_unique<Object>();
  } else if constexpr (std::is_constructible_v<Object, const Params&, const Rest&...>) {
    return std::make_unique<Object>(params, rest...);
  } else if constexpr (std::is_constructible_v<Object, const Params&>) {
    return std::make_unique<Object>(params);
  } else if constexpr (std::is_constructible_v<Object, const Rest&...>) {
    return std::make_unique<Object>(rest...);
  } else {
    static_assert(std::is_default_constructible_v<Object>,
                  "the constructor of a registered class takes what its header says, const lanista::Params& first, a "
                  "part of that, or nothing");
    return std::make_unique<Object>();
  }
}

}  // namespace lanista::api

#endif  // LANISTA_SRC_API_REGISTER_H_

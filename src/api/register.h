// Registers components at run time: the templates behind the functions of include/lanista.
#ifndef LANISTA_SRC_API_REGISTER_H_
#define LANISTA_SRC_API_REGISTER_H_

#include <string>
#include <utility>
#include <vector>

#include "src/api/registrations.h"
#include "src/base/custom.h"

namespace lanista::api {

// Registers `make(parameters, Args...)`, which returns a RegistryType::Result, for `custom { name: "NAME" }`; its first
// parameter is a `const Params&` or a message of the component's own (component.h). What is wrong with the name is told
// by Registrations. `kind` is for messages: "evaluator".
template <typename RegistryType, typename Make>
void Register(const std::string& kind, const std::string& name, Make make) {
  std::vector<std::string> taken;
  constexpr char kCustom[] = "custom:";
  for (const std::string& known : RegistryType::Get().Names()) {
    if (known.rfind(kCustom, 0) == 0) taken.push_back(known.substr(sizeof(kCustom) - 1));
  }
  if (!Registrations::Get().Admit(kind, name, taken)) return;
  RegisterComponent<RegistryType>(kind, name, std::move(make));
}

}  // namespace lanista::api

#endif  // LANISTA_SRC_API_REGISTER_H_

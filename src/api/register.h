// Registers components at run time: the templates behind the functions of include/lanista.
#ifndef LANISTA_SRC_API_REGISTER_H_
#define LANISTA_SRC_API_REGISTER_H_

#include <set>
#include <string>
#include <utility>

#include "src/api/registrations.h"
#include "src/base/custom.h"

namespace lanista::api {

// Registers `make(parameters, Args...)`, which returns a RegistryType::Result, for `custom { name: "NAME" }`; its first
// parameter is a `const Params&` or a message of the component's own (component.h). What is wrong with the name is told
// by Registrations. `kind` is for messages: "evaluator".
template <typename RegistryType, typename Make>
void Register(const std::string& kind, const std::string& name, Make make) {
  const std::set<std::string>& taken = CustomNamesOf<typename RegistryType::KindConfig>();
  if (!Registrations::Get().Admit(kind, name, {taken.begin(), taken.end()})) return;
  RegisterComponent<RegistryType>(kind, name, std::move(make));
}

}  // namespace lanista::api

#endif  // LANISTA_SRC_API_REGISTER_H_

// Registers components at run time: the templates behind the functions of include/lanista.
#ifndef LANISTA_SRC_API_REGISTER_H_
#define LANISTA_SRC_API_REGISTER_H_

#include <string>
#include <utility>
#include <vector>

#include "src/api/registrations.h"
#include "src/base/custom.h"
#include "src/base/registry.h"

namespace lanista::api {

// Registers `make(const Params&, Args...)`, which returns a RegistryType::Result, for `custom { name: "NAME" }`. What
// is wrong with the name is told by Registrations. `kind` is for messages: "evaluator".
template <typename RegistryType, typename Make>
void Register(const std::string& kind, const std::string& name, Make make) {
  std::vector<std::string> taken;
  constexpr char kCustom[] = "custom:";
  for (const std::string& known : RegistryType::Get().Names()) {
    if (known.rfind(kCustom, 0) == 0) taken.push_back(known.substr(sizeof(kCustom) - 1));
  }
  if (!Registrations::Get().Admit(kind, name, taken)) return;
  using Result = typename RegistryType::Result;
  RegistryType::Get().Add(
      name, /*custom=*/true,
      [kind, make = std::move(make)](const google::protobuf::Message& config, auto&&... args) -> Result {
        return MakeCustom(kind, static_cast<const v1::Custom&>(config),
                          [&](const Params& params) -> Result { return make(params, args...); });
      });
}

}  // namespace lanista::api

#endif  // LANISTA_SRC_API_REGISTER_H_

// How users' own strategies, evaluators, datasets and the like get the parameters that the configuration gives them.
#ifndef LANISTA_SRC_BASE_CUSTOM_H_
#define LANISTA_SRC_BASE_CUSTOM_H_

#include <string>

#include "absl/strings/str_cat.h"
#include "src/base/params.h"
#include "src/base/registry.h"

namespace lanista {

// MakeWithParams of what a configuration calls `custom`; `kind` is for messages: "evaluator".
template <typename Make>
auto MakeCustom(const std::string& kind, const v1::Custom& custom, const Make& make) {
  return MakeWithParams(custom.params(), absl::StrCat("the ", kind, " '", custom.name(), "'"), make);
}

}  // namespace lanista

// Registers `make(const lanista::Params&, Args...)` for `custom { name: "NAME" params { ... } }`. Parameters that
// `make` misses, or that it does not read, are errors of the configuration. `kind` is for messages: "evaluator".
#define LANISTA_REGISTER_WITH_PARAMS(RegistryType, kind, name, make)                                              \
  LANISTA_REGISTER_CUSTOM(                                                                                        \
      RegistryType, name, ([](const ::lanista::v1::Custom& custom, auto&&... args) -> RegistryType::Result {      \
        return ::lanista::MakeCustom(kind, custom, [&](const ::lanista::Params& params) -> RegistryType::Result { \
          return make(params, args...);                                                                           \
        });                                                                                                       \
      }))

#endif  // LANISTA_SRC_BASE_CUSTOM_H_

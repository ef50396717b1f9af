// Stoppers end models that lead nowhere, after any step that they report (docs/early_stopping.md).
//
//   class Impatient : public lanista::Stopper { ... };        // Report
//
//   lanista::RegisterStopper<Impatient>("impatient");         // in main, before lanista::Init
//
// and in the configuration: early_stopping { custom { name: "impatient" } }. The same at namespace scope:
// LANISTA_REGISTER(stopper, "impatient", MakeImpatient).
//
// A stopper runs in the process of the experiment, which owns it, used by one thread at a time, and is deterministic:
// Resume replays its calls. What its factory returns as an error is told when the experiment starts; what the stopper
// throws fails the experiment, with its text as the reason.
#ifndef LANISTA_INCLUDE_LANISTA_STOPPER_H_
#define LANISTA_INCLUDE_LANISTA_STOPPER_H_

#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "src/api/register.h"
#include "src/stopping/stopper.h"

namespace lanista {

// Registers `make`, which returns a std::unique_ptr of a Stopper, or an absl::StatusOr of one, and takes (const
// Params&, const StoppingContext&), for `early_stopping { custom { name: NAME } }`. REQUIRES: before lanista::Init.
template <typename Make>
void RegisterStopper(const std::string& name, Make make) {
  api::Register<StopperRegistry>("stopper", name, std::move(make));
}

// Registers a class of stoppers, whose constructor takes (const Params&, const StoppingContext&), one of both, or
// nothing.
template <typename MyStopper>
void RegisterStopper(const std::string& name) {
  static_assert(std::is_base_of_v<Stopper, MyStopper>, "a stopper derives from lanista::Stopper");
  RegisterStopper(name, [](const Params& params, const StoppingContext& context) -> StopperRegistry::Result {
    return api::Construct<MyStopper>(params, context);
  });
}

}  // namespace lanista

#endif  // LANISTA_INCLUDE_LANISTA_STOPPER_H_

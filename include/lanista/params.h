// What a configuration hands to the components that a program registers.
//
// lanista::Params, by name:
//
//   space { registered: "net" params { key: "classes" value { i: 100 } } }
//
//   explicit Net(const lanista::Params& params) : classes_(params.Get<int64_t>("classes", 10)) {}
//
// A parameter that is missing or of another type, and one that nobody reads, is an error of the configuration, which
// names it: nothing starts. Get throws for the first two, which Lanista turns into that error. Used by one thread.
//
// Or a message of the component's own, whose fields say what they may hold (protos/options.proto), and a check over
// several fields:
//
//   std::optional<lanista::Violation> CheckAnnealing(const AnnealingConfig& config, const std::string& path) {
//     if (config.start() >= config.end()) return std::nullopt;
//     return lanista::Violation{lanista::JoinPath(path, "end"), "must be at most 'start'"};
//   }
//   LANISTA_REGISTER_CHECK(AnnealingConfig, CheckAnnealing);
//
// What is wrong is an error of the configuration, too, before anything starts. Registered before lanista::Init.
#ifndef LANISTA_INCLUDE_LANISTA_PARAMS_H_
#define LANISTA_INCLUDE_LANISTA_PARAMS_H_

#include "src/base/component.h"
#include "src/base/field_rules.h"
#include "src/base/params.h"

#endif  // LANISTA_INCLUDE_LANISTA_PARAMS_H_

// Spaces that are written in the configuration: space { choices { choice { ... } } }.
#ifndef LANISTA_SRC_CONFIG_CHOICES_H_
#define LANISTA_SRC_CONFIG_CHOICES_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "protos/experiment.pb.h"
#include "protos/space.pb.h"
#include "src/config/validate.h"

namespace lanista {

// The first thing that is wrong with `choices`, whose path is `path`: a choice without label or candidates, a label or
// candidate twice, a candidate that is no plain value, n_chosen out of range, a condition on a choice that is unknown
// or comes later, or on a candidate that is not there. nullopt: it is a space.
std::optional<Violation> FindViolationInChoices(const v1::ChoicesConfig& choices, const std::string& path);

// The space of `choices`, complete, with its fingerprint; INVALID_ARGUMENT says what is wrong, and where.
absl::StatusOr<v1::SpaceSpec> SpaceOfChoices(const v1::ChoicesConfig& choices);

}  // namespace lanista

#endif  // LANISTA_SRC_CONFIG_CHOICES_H_

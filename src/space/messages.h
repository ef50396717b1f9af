// How choices and conditions are named in messages, and what is wrong with a sample.
#ifndef LANISTA_SRC_SPACE_MESSAGES_H_
#define LANISTA_SRC_SPACE_MESSAGES_H_

#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "protos/space.pb.h"

namespace lanista {

// Choices by label.
using LabelIndex = absl::flat_hash_map<std::string, const v1::Choice*>;
LabelIndex ByLabel(const v1::SpaceSpec& spec);

// "layer choice".
std::string KindName(v1::Choice::Kind kind);

// "[1, 2, 3]"; of a long list only the first ones.
std::string CandidatesText(const v1::Choice& choice);

// "a = 1 and b in {2, 3}".
std::string ConditionText(const v1::Condition& condition, const LabelIndex& choices);

// "a = 1 and b in {2, 3}, or c = 0"; empty if the choice is always active.
std::string ConditionText(const v1::Choice& choice, const LabelIndex& choices);

// ---- INVALID_ARGUMENT: why a sample does not fit a space ----

// The sample lacks an active choice.
absl::Status Missing(const v1::Choice& choice);
// The sample has a choice that its other choices make inactive.
absl::Status NotActive(const v1::Choice& choice, const LabelIndex& choices);
// `given`, as the user wrote it, is no candidate.
absl::Status WrongCandidate(const v1::Choice& choice, const std::string& given);
// The space has no choice of this label.
absl::Status UnknownLabel(const std::string& label, const v1::SpaceSpec& spec);

}  // namespace lanista

#endif  // LANISTA_SRC_SPACE_MESSAGES_H_

// Answers to single choices, for code that installs a Construction. All functions throw SpaceError, which names the
// label.
#ifndef LANISTA_SRC_NN_DECIDE_H_
#define LANISTA_SRC_NN_DECIDE_H_

#include <cstdint>
#include <string>

#include "protos/space.pb.h"

namespace lanista::nn {

// `decision`, if its indices and values agree with the choice's candidates. A decision with values only (from the JSON
// of a label that the space did not list) gets its indices.
v1::Decision CheckedDecision(const v1::Choice& choice, const v1::Decision& decision);

// The decision for the choice in a sample's JSON object.
v1::Decision DecisionFromJson(const v1::Choice& choice, const std::string& json);

// A random option, uniformly distributed; it depends on `seed` and the label only.
v1::Decision DrawnDecision(const v1::Choice& choice, uint64_t seed);

}  // namespace lanista::nn

#endif  // LANISTA_SRC_NN_DECIDE_H_

// Answers to single choices, for those who install a Construction. All throw SpaceError, which names the label.
#ifndef LANISTA_SRC_NN_DECIDE_H_
#define LANISTA_SRC_NN_DECIDE_H_

#include <cstdint>
#include <string>

#include "protos/space.pb.h"

namespace lanista::nn {

// `decision` if index and value agree with the choice's candidates. One that has values alone (as from the JSON of a
// label that the space did not list) gets its indices.
v1::Decision CheckedDecision(const v1::Choice& choice, const v1::Decision& decision);

// The decision that a sample's JSON object has for the choice.
v1::Decision DecisionFromJson(const v1::Choice& choice, const std::string& json);

// One option, each equally likely, by `seed` and the label alone.
v1::Decision DrawnDecision(const v1::Choice& choice, uint64_t seed);

}  // namespace lanista::nn

#endif  // LANISTA_SRC_NN_DECIDE_H_

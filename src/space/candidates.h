// Candidates as values: in JSON, and as a text that is the same for equal ones.
#ifndef LANISTA_SRC_SPACE_CANDIDATES_H_
#define LANISTA_SRC_SPACE_CANDIDATES_H_

#include <algorithm>
#include <string>

#include "absl/status/status.h"
#include "nlohmann/json_fwd.hpp"
#include "protos/space.pb.h"

namespace lanista {

// Keeps members in the order of insertion.
using OrderedJson = nlohmann::ordered_json;

// How many candidates a model takes.
inline int ChosenOf(const v1::Choice& choice) { return std::max(choice.n_chosen(), 1); }

// Null for what no candidate is: a tensor, an expression.
OrderedJson ValueToJson(const v1::Value& value);

// A text that is the same for equal values only, on every platform: doubles are written as bits.
std::string CanonicalText(const v1::Value& value);

// The index of the candidate that equals `value`, or -1.
int FindCandidate(const v1::Choice& choice, const v1::Value& value);

// The index of the candidate that the JSON value names: an equal value of the same type, else an equal number. -1:
// none.
int FindCandidate(const v1::Choice& choice, const OrderedJson& json);

// INVALID_ARGUMENT: the JSON is no number, string or truth value.
absl::Status JsonToValue(const OrderedJson& json, v1::Value* value);

}  // namespace lanista

#endif  // LANISTA_SRC_SPACE_CANDIDATES_H_

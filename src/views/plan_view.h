// An engine's plan as JSON and as text.
#ifndef LANISTA_SRC_VIEWS_PLAN_VIEW_H_
#define LANISTA_SRC_VIEWS_PLAN_VIEW_H_

#include <string>

#include "nlohmann/json_fwd.hpp"
#include "protos/messages.pb.h"

namespace lanista {

// `validate --explain-cgo`: {
//   "samples": [{label: candidate}]: those of models 1, 2, ...,
//   "trials": [{
//     "models": [numbers], "alone_because": null, or why it is one model, "memory": estimated bytes, null: not known,
//     "work": [{"models": [those that it is done for, once], "steps": in a row; 0: loading the batch,
//               "first", "last": "conv1 (Conv2d)"; null: the batch, or a model of which no more is known,
//               "own_because": null, or why its first step is not shared, while the steps before it are}]
//   }]
// }
nlohmann::ordered_json PlanDocument(const v1::PlanExplanation& plan);

// `work` of a trial.
nlohmann::ordered_json WorkJson(const google::protobuf::RepeatedPtrField<v1::ExplainedWork>& work);

// PlanDocument for a terminal.
std::string PlanText(const nlohmann::ordered_json& document);

}  // namespace lanista

#endif  // LANISTA_SRC_VIEWS_PLAN_VIEW_H_

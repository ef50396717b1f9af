// A model as a list of operators in execution order, with cells inlined.
#ifndef LANISTA_SRC_GRAPH_SCHEDULE_H_
#define LANISTA_SRC_GRAPH_SCHEDULE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "protos/graph.pb.h"

namespace lanista::graph {

// The number of a value while a model runs: from 0, in the order of inputs and steps.
using Slot = int;

struct Schedule;

// One node that runs.
struct ScheduledStep {
  // An operator, an opaque module or a training switch of the scheduled model.
  const v1::Node* node = nullptr;
  // The node's path, "layer1.0.relu_2", and the path of the module that it calls, "layer1.0.relu".
  std::string path;
  std::string module;
  // The node, or a cell around it, is frozen.
  bool frozen = false;
  // The slots of node->inputs(), in their order.
  std::vector<Slot> reads;
  // At least one output, as many as the node declares or others read; none for an "Assert".
  std::vector<Slot> writes;
  // Training switches: the steps of each branch.
  std::unique_ptr<Schedule> training;
  std::unique_ptr<Schedule> evaluation;
};

// Steps in execution order.
struct Schedule {
  std::vector<ScheduledStep> steps;
  std::vector<Slot> inputs;
  std::vector<Slot> outputs;
  // For the whole model: all its slots are below this, those of switch branches included.
  int num_slots = 0;
};

// The result refers to `model`, which must outlive it. INVALID_ARGUMENT names a choice that is still open. REQUIRES:
// Validate is OK.
absl::StatusOr<Schedule> MakeSchedule(const v1::ModelGraph& model);

}  // namespace lanista::graph

#endif  // LANISTA_SRC_GRAPH_SCHEDULE_H_

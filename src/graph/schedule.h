// A model as what runs: its operators in order, cells dissolved.
#ifndef LANISTA_SRC_GRAPH_SCHEDULE_H_
#define LANISTA_SRC_GRAPH_SCHEDULE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "protos/graph.pb.h"

namespace lanista::graph {

// Where a value lies while a model runs: numbered from 0, in the order of inputs and steps.
using Slot = int;

struct Schedule;

// One node.
struct ScheduledStep {
  // An operator, an opaque module or a training switch, of the model that was scheduled.
  const v1::Node* node = nullptr;
  // "layer1.0.relu_2", and the module that it calls: "layer1.0.relu".
  std::string path;
  std::string module;
  // The node is frozen, or a cell around it.
  bool frozen = false;
  // As node->inputs().
  std::vector<Slot> reads;
  // One or more outputs, as many as are known of or read; none of an "Assert".
  std::vector<Slot> writes;
  // A switch's arms.
  std::unique_ptr<Schedule> training;
  std::unique_ptr<Schedule> evaluation;
};

// Steps in an order in which they can run.
struct Schedule {
  std::vector<ScheduledStep> steps;
  std::vector<Slot> inputs;
  std::vector<Slot> outputs;
  // Of a model: all its slots are below, those of arms included.
  int num_slots = 0;
};

// Refers to `model`, which must outlive it. INVALID_ARGUMENT names a choice that is not decided. REQUIRES: Validate is
// OK.
absl::StatusOr<Schedule> MakeSchedule(const v1::ModelGraph& model);

}  // namespace lanista::graph

#endif  // LANISTA_SRC_GRAPH_SCHEDULE_H_

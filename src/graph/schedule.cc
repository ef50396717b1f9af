#include "src/graph/schedule.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "src/base/status.h"
#include "src/graph/built_in.h"
#include "src/graph/graph.h"

namespace lanista::graph {
namespace {

class Scheduler {
 public:
  explicit Scheduler(const v1::ModelGraph& model) {
    for (const v1::Graph& graph : model.graphs()) graphs_[graph.name()] = &graph;
  }

  // Adds a graph whose inputs get slots of their own.
  absl::Status AddWhole(const v1::Graph& graph, const std::string& prefix, bool frozen, Schedule* schedule) {
    for (int i = 0; i < graph.inputs_size(); ++i) schedule->inputs.push_back(slots_++);
    LANISTA_RETURN_IF_ERROR(AddGraph(graph, prefix, schedule->inputs, frozen, schedule, &schedule->outputs));
    schedule->num_slots = slots_;
    return absl::OkStatus();
  }

 private:
  // Adds the graph's steps to `schedule`. `inputs`, `outputs`: the slots of its values.
  absl::Status AddGraph(const v1::Graph& graph, const std::string& prefix, const std::vector<Slot>& inputs, bool frozen,
                        Schedule* schedule, std::vector<Slot>* outputs) {
    std::unordered_map<std::string, std::vector<Slot>> values;
    for (int i = 0; i < graph.inputs_size(); ++i) values[graph.inputs(i).name()] = {inputs[i]};
    LANISTA_ASSIGN_OR_RETURN(const std::vector<int> order, ExecutionOrder(graph));
    // The number of slots of each node, as far as its readers show.
    std::unordered_map<std::string, int> read_slots;
    const auto note = [&](const v1::Edge& edge) {
      read_slots[edge.node()] = std::max(read_slots[edge.node()], edge.slot() + 1);
    };
    for (const v1::Node& node : graph.nodes()) {
      for (const v1::Edge& edge : node.inputs()) note(edge);
    }
    for (const v1::Edge& edge : graph.outputs()) note(edge);

    for (const int index : order) {
      const v1::Node& node = graph.nodes(index);
      std::vector<Slot> reads;
      for (const v1::Edge& edge : node.inputs()) reads.push_back(values.at(edge.node()).at(edge.slot()));
      const int count = std::max({1, node.outputs_size(), read_slots[node.name()]});
      LANISTA_RETURN_IF_ERROR(
          AddNode(node, prefix, std::move(reads), count, frozen || node.frozen(), schedule, &values[node.name()]));
    }
    for (const v1::Edge& edge : graph.outputs()) outputs->push_back(values.at(edge.node()).at(edge.slot()));
    return absl::OkStatus();
  }

  absl::Status AddNode(const v1::Node& node, const std::string& prefix, std::vector<Slot> reads, int num_outputs,
                       bool frozen, Schedule* schedule, std::vector<Slot>* writes) {
    ScheduledStep step;
    step.node = &node;
    step.path = JoinPath(prefix, node.name());
    step.module = JoinPath(prefix, ModuleOf(node));
    step.frozen = frozen;
    switch (node.kind_case()) {
      case v1::Node::kCell:
        return AddGraph(*graphs_.at(node.cell().graph()), step.module, reads, frozen, schedule, writes);
      case v1::Node::kOp:
        if (BuiltInOf(node) == BuiltIn::kAssert) num_outputs = 0;
        break;
      case v1::Node::kOpaque:
        break;
      case v1::Node::kTrainingSwitch:
        step.training = std::make_unique<Schedule>();
        step.evaluation = std::make_unique<Schedule>();
        LANISTA_RETURN_IF_ERROR(
            AddWhole(*graphs_.at(node.training_switch().training()), prefix, frozen, step.training.get()));
        LANISTA_RETURN_IF_ERROR(
            AddWhole(*graphs_.at(node.training_switch().evaluation()), prefix, frozen, step.evaluation.get()));
        num_outputs = static_cast<int>(step.training->outputs.size());
        break;
      default:
        return absl::InvalidArgumentError(absl::StrCat("node '", step.path, "': it is a choice: decide it first"));
    }
    step.reads = std::move(reads);
    for (int i = 0; i < num_outputs; ++i) step.writes.push_back(slots_++);
    *writes = step.writes;
    schedule->steps.push_back(std::move(step));
    return absl::OkStatus();
  }

  std::unordered_map<std::string, const v1::Graph*> graphs_;
  int slots_ = 0;
};

}  // namespace

absl::StatusOr<Schedule> MakeSchedule(const v1::ModelGraph& model) {
  Schedule schedule;
  LANISTA_RETURN_IF_ERROR(Scheduler(model).AddWhole(RootGraph(model), "", /*frozen=*/false, &schedule));
  return schedule;
}

}  // namespace lanista::graph

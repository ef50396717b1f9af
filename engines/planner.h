// The planning half of an engine: decides which samples share a trial. No torch, no actors.
#ifndef LANISTA_ENGINES_PLANNER_H_
#define LANISTA_ENGINES_PLANNER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "protos/messages.pb.h"
#include "src/base/registry.h"

namespace lanista {

// The part of an experiment that a planner knows.
struct PlannerContext {
  // Whether the evaluator can train several models in one trial.
  bool multi_model_evaluator = false;
  v1::SpaceConfig space;
  // Absent if the space is not a space of graphs.
  std::optional<v1::PreparedGraphSpace> graph_space;
  v1::EvaluatorConfig evaluator;
  // Memory of a device in bytes (see PlanningMemory); 0: unknown.
  int64_t device_memory = 0;
};

// How long models wait for others, so that they can be planned together.
struct ModelWindow {
  // The window closes when this many models wait, ...
  int max_models = 1;
  // ... or when the oldest has waited this long.
  absl::Duration waiting_time;
};

// A trial that is to be started.
struct PlannedTrial {
  std::vector<v1::TrialModel> models;
  // As in v1::TrialSpec.
  std::string alone_because;
  // Estimated bytes of its models; for ObserveMemory.
  int64_t estimated_memory = 0;
  // The same, corrected by what earlier trials took: TrialSpec.estimated_memory. 0: unknown.
  int64_t expected_memory = 0;
  // Of several models: who shares what.
  std::vector<v1::ExplainedWork> work = {};
};

// Decides which models share a trial. Used by one thread.
class Planner {
 public:
  virtual ~Planner() = default;

  // Most models in one trial. The experiment keeps this many models in flight for each trial that may run.
  virtual int max_models_per_trial() const { return 1; }

  // nullopt: models never wait.
  virtual std::optional<ModelWindow> window() const { return std::nullopt; }

  // A remark for the user about the plans; may be empty.
  virtual std::string note() const { return ""; }

  // Puts each model into exactly one trial. `free_trials`: number of trials that could start at once.
  virtual std::vector<PlannedTrial> Plan(std::vector<v1::TrialModel> models, int free_trials) = 0;

  // Devices come and go: trials are planned for this memory from now on (PlannerContext.device_memory).
  virtual void SetDeviceMemory(int64_t /*bytes*/) {}

  // Reports that the models of a trial with this estimate took `measured` bytes together.
  virtual void ObserveMemory(int64_t /*estimated*/, int /*models*/, int64_t /*measured*/) {}

  // The plan that Plan would make for models number 1, 2, ... with these samples, with reasons. UNIMPLEMENTED: there is
  // nothing to explain.
  virtual absl::StatusOr<v1::PlanExplanation> Explain(const std::vector<v1::Sample>& /*samples*/, int /*free_trials*/) {
    return absl::UnimplementedError("each model is a trial of its own: this engine shares nothing between models");
  }
};

// One trial per model.
class SinglePlanner final : public Planner {
 public:
  std::vector<PlannedTrial> Plan(std::vector<v1::TrialModel> models, int /*free_trials*/) override {
    std::vector<PlannedTrial> trials;
    for (v1::TrialModel& model : models) trials.emplace_back().models.push_back(std::move(model));
    return trials;
  }
};

using PlannerRegistry = Registry<Planner, v1::EngineConfig, const PlannerContext&>;

}  // namespace lanista

#endif  // LANISTA_ENGINES_PLANNER_H_

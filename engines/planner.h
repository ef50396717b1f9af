// The planning half of an engine: samples to trials. No torch, no actors.
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

// What a planner knows of its experiment.
struct PlannerContext {
  // The evaluator can train several models in one trial.
  bool multi_model_evaluator = false;
  v1::SpaceConfig space;
  // Absent where the space is none of graphs.
  std::optional<v1::PreparedGraphSpace> graph_space;
  v1::EvaluatorConfig evaluator;
  // Memory of the smallest device, bytes; 0: not known.
  int64_t device_memory = 0;
};

// How long models wait for others, so that they can be planned together.
struct ModelWindow {
  // Closes when so many wait, ...
  int max_models = 1;
  // ... or when the oldest has waited so long.
  absl::Duration waiting_time;
};

// A trial to be.
struct PlannedTrial {
  std::vector<v1::TrialModel> models;
  // As in v1::TrialSpec.
  std::string alone_because;
  int64_t estimated_memory = 0;
};

// Decides which models go together. Used by one thread.
class Planner {
 public:
  virtual ~Planner() = default;

  // Most models of one trial: the experiment keeps so many in flight for each trial that may run.
  virtual int max_models_per_trial() const { return 1; }

  // nullopt: models never wait.
  virtual std::optional<ModelWindow> window() const { return std::nullopt; }

  // What the user should know of these plans; empty: nothing.
  virtual std::string note() const { return ""; }

  // Each model in exactly one trial. `free_trials`: so many could start at once.
  virtual std::vector<PlannedTrial> Plan(std::vector<v1::TrialModel> models, int free_trials) = 0;

  // The models of a trial that was planned with this estimate took so many bytes.
  virtual void ObserveMemory(int64_t /*estimated*/, int /*models*/, int64_t /*measured*/) {}

  // What Plan would make of models number 1, 2, ... with these samples, and why. UNIMPLEMENTED: there is nothing to
  // explain.
  virtual absl::StatusOr<v1::PlanExplanation> Explain(const std::vector<v1::Sample>& /*samples*/, int /*free_trials*/) {
    return absl::UnimplementedError("each model is a trial of its own: this engine shares nothing between models");
  }
};

// One trial a model.
class SinglePlanner final : public Planner {
 public:
  std::vector<PlannedTrial> Plan(std::vector<v1::TrialModel> models, int /*free_trials*/) override {
    std::vector<PlannedTrial> trials;
    for (v1::TrialModel& model : models) trials.emplace_back().models.push_back(std::move(model));
    return trials;
  }
};

using PlannerRegistry = Registry<Planner, const PlannerContext&>;

}  // namespace lanista

#endif  // LANISTA_ENGINES_PLANNER_H_

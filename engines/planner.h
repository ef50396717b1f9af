// The planning half of an engine: samples to trials. No torch, no actors.
#ifndef LANISTA_ENGINES_PLANNER_H_
#define LANISTA_ENGINES_PLANNER_H_

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "protos/messages.pb.h"
#include "src/base/registry.h"

namespace lanista {

// What a planner knows of its experiment.
struct PlannerContext {
  // The evaluator can train several models in one trial.
  bool multi_model_evaluator = false;
};

// How long models wait for others, so that they can be planned together.
struct ModelWindow {
  // So many need not wait any longer.
  int max_models = 1;
  // Nor does one that has waited so long.
  absl::Duration waiting_time;
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

  // One group of models a trial, each model in exactly one. `free_trials`: so many could start at once.
  virtual std::vector<std::vector<v1::TrialModel>> Plan(std::vector<v1::TrialModel> models, int free_trials) = 0;
};

// One trial a model.
class SinglePlanner final : public Planner {
 public:
  std::vector<std::vector<v1::TrialModel>> Plan(std::vector<v1::TrialModel> models, int /*free_trials*/) override {
    std::vector<std::vector<v1::TrialModel>> trials;
    for (v1::TrialModel& model : models) trials.push_back({std::move(model)});
    return trials;
  }
};

using PlannerRegistry = Registry<Planner, const PlannerContext&>;

}  // namespace lanista

#endif  // LANISTA_ENGINES_PLANNER_H_

// The planning half of an engine: samples to trials. No torch, no actors.
#ifndef LANISTA_ENGINES_PLANNER_H_
#define LANISTA_ENGINES_PLANNER_H_

#include <memory>
#include <utility>
#include <vector>

#include "protos/messages.pb.h"
#include "src/base/registry.h"

namespace lanista {

// Decides which models go together. Used by one thread.
class Planner {
 public:
  virtual ~Planner() = default;

  // One group of models a trial, each model in exactly one.
  virtual std::vector<std::vector<v1::TrialModel>> Plan(std::vector<v1::TrialModel> models) = 0;
};

// One trial a model.
class SinglePlanner final : public Planner {
 public:
  std::vector<std::vector<v1::TrialModel>> Plan(std::vector<v1::TrialModel> models) override {
    std::vector<std::vector<v1::TrialModel>> trials;
    for (v1::TrialModel& model : models) trials.push_back({std::move(model)});
    return trials;
  }
};

using PlannerRegistry = Registry<Planner>;

}  // namespace lanista

#endif  // LANISTA_ENGINES_PLANNER_H_

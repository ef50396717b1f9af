// The CGO engine's planner: models that wait together become merged trials.
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "engines/cgo/assembler.h"
#include "engines/cgo/explain.h"
#include "engines/cgo/logical_plan.h"
#include "engines/cgo/memory.h"
#include "engines/cgo/sharing_passes.h"
#include "engines/graph_maker.h"
#include "engines/planner.h"
#include "src/graph/schedule.h"

namespace lanista {
namespace {

// Models with their graphs and schedules.
class PlannedModels {
 public:
  void Add(int model, std::optional<v1::ModelGraph> graph) {
    models_.push_back(model);
    if (!graph.has_value()) return;
    const v1::ModelGraph& kept = graphs_.emplace(model, *std::move(graph)).first->second;
    auto schedule = graph::MakeSchedule(kept);
    if (schedule.ok()) schedules_.emplace(model, *std::move(schedule));
  }

  // The optimised plan for some of the models.
  LogicalPlan PlanOf(const std::vector<int>& models) const {
    LogicalPlan plan;
    for (const int model : models) {
      const auto schedule = schedules_.find(model);
      if (schedule == schedules_.end()) {
        plan.AddModel(model);
      } else {
        plan.AddModel(model, graphs_.at(model), schedule->second);
      }
    }
    Optimise(&plan);
    return plan;
  }

  const std::vector<int>& models() const { return models_; }

 private:
  std::vector<int> models_;
  std::map<int, v1::ModelGraph> graphs_;
  std::map<int, graph::Schedule> schedules_;
};

class CgoPlanner final : public Planner {
 public:
  CgoPlanner(const v1::CgoEngineConfig& config, const PlannerContext& context)
      : multi_model_evaluator_(context.multi_model_evaluator),
        graphs_(GraphMaker::Create(context)),
        training_(TrainingMemoryOf(context.evaluator)),
        budget_(context.device_memory) {
    if (config.has_max_concurrency_cgo()) max_models_ = config.max_concurrency_cgo();
    if (!multi_model_evaluator_) max_models_ = 1;
    if (config.has_batch_waiting_time()) waiting_time_ = absl::Seconds(config.batch_waiting_time());
  }

  int max_models_per_trial() const override { return max_models_; }

  std::optional<ModelWindow> window() const override { return ModelWindow{max_models_, waiting_time_}; }

  std::string note() const override {
    return multi_model_evaluator_ ? "" : "models are not merged: the evaluator trains one model at a time";
  }

  std::vector<PlannedTrial> Plan(std::vector<v1::TrialModel> models, int free_trials) override {
    PlannedModels planned;
    std::map<int, v1::TrialModel> waiting;
    for (v1::TrialModel& model : models) {
      planned.Add(model.model(), MakeGraph(model.sample()));
      waiting[model.model()] = std::move(model);
    }
    std::vector<PlannedTrial> trials;
    for (const AssembledTrial& assembled : AssembleAll(planned, free_trials)) {
      PlannedTrial& trial = trials.emplace_back();
      for (const int model : assembled.models) trial.models.push_back(std::move(waiting.at(model)));
      trial.alone_because = assembled.alone_because;
      trial.estimated_memory = assembled.memory;
      trial.expected_memory = budget_.Corrected(assembled.memory, static_cast<int>(assembled.models.size()));
      if (assembled.models.size() > 1) trial.work = WorkOf(planned, assembled.models);
    }
    return trials;
  }

  void SetDeviceMemory(int64_t bytes) override { budget_.SetDeviceMemory(bytes); }

  void ObserveMemory(int64_t estimated, int models, int64_t measured) override {
    budget_.Observe(estimated, models, measured);
  }

  absl::StatusOr<v1::PlanExplanation> Explain(const std::vector<v1::Sample>& samples, int free_trials) override {
    PlannedModels planned;
    v1::PlanExplanation explanation;
    for (const v1::Sample& sample : samples) {
      *explanation.add_samples() = sample;
      planned.Add(explanation.samples_size(), MakeGraph(sample));
    }
    for (const AssembledTrial& assembled : AssembleAll(planned, free_trials)) {
      v1::ExplainedTrial& trial = *explanation.add_trials();
      trial.mutable_models()->Add(assembled.models.begin(), assembled.models.end());
      trial.set_alone_because(assembled.alone_because);
      trial.set_memory(assembled.memory);
      for (v1::ExplainedWork& work : WorkOf(planned, assembled.models)) *trial.add_work() = std::move(work);
    }
    return explanation;
  }

 private:
  // A trial can share only the work of its own models.
  static std::vector<v1::ExplainedWork> WorkOf(const PlannedModels& planned, const std::vector<int>& models) {
    return ExplainWork(planned.PlanOf(models));
  }

  // Returns nullopt for unmerged models: no pass uses their graphs.
  std::optional<v1::ModelGraph> MakeGraph(const v1::Sample& sample) const {
    return max_models_ > 1 && graphs_.has_value() ? graphs_->Make(sample) : std::nullopt;
  }

  std::vector<AssembledTrial> AssembleAll(const PlannedModels& planned, int free_trials) const {
    std::vector<AssembledTrial> trials =
        Assemble(planned.PlanOf(planned.models()), max_models_, free_trials, training_, budget_);
    for (AssembledTrial& trial : trials) {
      if (!multi_model_evaluator_) trial.alone_because = "the evaluator trains one model at a time";
    }
    return trials;
  }

  const bool multi_model_evaluator_;
  const std::optional<GraphMaker> graphs_;
  const TrainingMemory training_;
  MemoryBudget budget_;
  int max_models_ = 8;
  absl::Duration waiting_time_ = absl::Seconds(60);
};

PlannerRegistry::Result MakeCgoPlanner(const v1::CgoEngineConfig& config, const PlannerContext& context) {
  return std::make_unique<CgoPlanner>(config, context);
}

LANISTA_REGISTER_BUILT_IN(PlannerRegistry, cgo, v1::CgoEngineConfig, MakeCgoPlanner);

}  // namespace
}  // namespace lanista

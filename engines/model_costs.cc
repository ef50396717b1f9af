#include "engines/model_costs.h"

#include "engines/cgo/logical_plan.h"
#include "src/base/metric_names.h"
#include "src/graph/schedule.h"
#include "src/ops/registry.h"
#include "src/views/graph_view.h"

namespace lanista {
namespace {

// nullopt: the model cannot run.
std::optional<int64_t> MemoryOf(const v1::ModelGraph& model, const TrainingMemory& training) {
  const auto schedule = graph::MakeSchedule(model);
  if (!schedule.ok()) return std::nullopt;
  constexpr int kModel = 1;
  LogicalPlan plan;
  plan.AddModel(kModel, model, *schedule);
  return EstimateMemory(plan, {kModel}, training);
}

void Set(const char* metric, std::optional<int64_t> value, v1::Metrics* costs) {
  if (value.has_value()) (*costs->mutable_values())[metric] = static_cast<double>(*value);
}

}  // namespace

std::optional<ModelCosts> ModelCosts::Create(const PlannerContext& context, const std::set<std::string>& metrics) {
  const bool counts_params = metrics.count(kParamsMetric) > 0;
  const bool counts_flops = metrics.count(kFlopsMetric) > 0;
  const bool estimates_memory = metrics.count(kMemoryMetric) > 0;
  if (!counts_params && !counts_flops && !estimates_memory) return std::nullopt;
  std::optional<GraphMaker> graphs = GraphMaker::Create(context);
  if (!graphs.has_value()) return std::nullopt;
  ModelCosts costs(*std::move(graphs), TrainingMemoryOf(context.evaluator));
  costs.counts_params_ = counts_params;
  costs.counts_flops_ = counts_flops;
  costs.estimates_memory_ = estimates_memory;
  return costs;
}

std::optional<v1::Metrics> ModelCosts::Of(const v1::Sample& sample) const {
  const std::optional<v1::ModelGraph> model = graphs_.Make(sample);
  if (!model.has_value()) return std::nullopt;
  v1::Metrics costs;
  if (counts_params_ || counts_flops_) {
    const auto counted = CountGraphCosts(*model, ops::FindOp);
    if (!counted.ok()) return std::nullopt;
    if (counts_params_) Set(kParamsMetric, counted->parameters, &costs);
    if (counts_flops_) Set(kFlopsMetric, counted->flops, &costs);
  }
  if (estimates_memory_) Set(kMemoryMetric, MemoryOf(*model, training_), &costs);
  return costs;
}

}  // namespace lanista

#include "engines/cgo/logical_plan.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "src/graph/built_in.h"
#include "src/ops/registry.h"

namespace lanista {
namespace {

using graph::ScheduledStep;

// The reason why a step's values do not depend only on its inputs and the mode (training or evaluation); empty: they
// do.
std::string WhyNotShareable(const ScheduledStep& step, bool keeps_weights) {
  const v1::Node& node = *step.node;
  if (node.has_opaque()) return "it is kept whole: what it does is not known";
  if (node.has_training_switch()) return "what it does in training is its own";
  const std::string& type = node.op().type();
  const graph::BuiltIn built_in = graph::BuiltInOf(type);
  if (built_in == graph::BuiltIn::kParameter) return "it is a parameter of the model's own";
  if (built_in != graph::BuiltIn::kNone) return "";
  const graph::OpSchema* const schema = ops::FindOp(type);
  if (schema == nullptr) return "whether it depends on chance is not known";
  const graph::Attributes attributes(*schema, node.op());
  if (!schema->is_module() || schema->Parameters(attributes).empty()) {
    // Even if it is frozen: some operators draw random numbers in evaluation mode too.
    return schema->IsStateful() ? "it depends on chance or state" : "";
  }
  if (!step.frozen) return "its weights are the model's own";
  return node.has_weights() && keeps_weights ? "" : "it is frozen, but with weights of the model's own";
}

// Slots are numbered in the order of the steps, so equal keys from the first step on mean equal values.
std::string KeyOf(const v1::ModelGraph& graph, const ScheduledStep& step) {
  const v1::Node& node = *step.node;
  v1::Node content;
  *content.mutable_op() = node.op();
  std::string key = absl::StrCat(content.SerializeAsString(), "\n", step.frozen);
  for (int i = 0; i < node.inputs_size(); ++i) absl::StrAppend(&key, " ", node.inputs(i).arg(), "=", step.reads[i]);
  absl::StrAppend(&key, " ->");
  for (const graph::Slot slot : step.writes) absl::StrAppend(&key, " ", slot);
  if (node.has_weights()) {
    const v1::Archive& archive = graph.archives(node.weights().archive());
    absl::StrAppend(&key, " ", archive.path(), " ", archive.sha256(), " ", node.weights().path());
  }
  return key;
}

}  // namespace

void LogicalPlan::AddModel(int model) {
  AddWork(model, {});
  Work all;
  all.own_because = "its steps are not known";
  AddWork(model, std::move(all));
}

void LogicalPlan::AddModel(int model, const v1::ModelGraph& graph, const graph::Schedule& schedule,
                           const std::function<bool(int)>& keeps_weights) {
  AddWork(model, {});
  for (size_t i = 0; i < schedule.steps.size(); ++i) {
    Work work;
    work.step = &schedule.steps[i];
    work.own_because = WhyNotShareable(*work.step, keeps_weights == nullptr || keeps_weights(static_cast<int>(i)));
    if (work.own_because.empty()) work.key = KeyOf(graph, *work.step);
    AddWork(model, std::move(work));
  }
}

void LogicalPlan::AddWork(int model, Work work) {
  std::vector<int>& chain = chains_[model];
  work.after = chain.empty() ? -1 : chain.back();
  work.position = static_cast<int>(chain.size());
  work.models = {model};
  chain.push_back(static_cast<int>(works_.size()));
  works_.push_back(std::move(work));
}

void LogicalPlan::Merge(int into, int from) {
  if (into == from) return;
  Work& taken = works_[static_cast<size_t>(from)];
  Work& kept = works_[static_cast<size_t>(into)];
  const auto position = static_cast<size_t>(taken.position);
  for (const int model : taken.models) {
    std::vector<int>& chain = chains_.at(model);
    chain[position] = into;
    if (position + 1 < chain.size()) works_[static_cast<size_t>(chain[position + 1])].after = into;
  }
  std::vector<int> models;
  std::merge(kept.models.begin(), kept.models.end(), taken.models.begin(), taken.models.end(),
             std::back_inserter(models));
  kept.models = std::move(models);
  taken.models.clear();
}

}  // namespace lanista

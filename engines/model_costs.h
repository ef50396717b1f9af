// What models cost, known before they are trained.
#ifndef LANISTA_ENGINES_MODEL_COSTS_H_
#define LANISTA_ENGINES_MODEL_COSTS_H_

#include <optional>
#include <set>
#include <string>
#include <utility>

#include "engines/cgo/memory.h"
#include "engines/graph_maker.h"
#include "engines/planner.h"
#include "protos/space.pb.h"
#include "protos/trial.pb.h"

namespace lanista {

// Counts the costs of models from their graphs: metrics of these names.
//
//   params, flops   as the model's trial counts them
//   memory          bytes that the model takes while it trains alone, as EstimateMemory says; what trials really took
//                   changes nothing, so that a search can be repeated
//
// Immutable: the same sample always gets the same answer.
class ModelCosts {
 public:
  // `metrics`: which of these are wanted; other names are allowed. nullopt: none is wanted, or only trial processes can
  // make the models' graphs (see GraphMaker).
  static std::optional<ModelCosts> Create(const PlannerContext& context, const std::set<std::string>& metrics);

  // The costs that are wanted, without those that are not known (the FLOPs of a model with an operator that does not
  // know its own). nullopt: the graph cannot be made; the model's trial says why.
  std::optional<v1::Metrics> Of(const v1::Sample& sample) const;

 private:
  ModelCosts(GraphMaker graphs, const TrainingMemory& training) : graphs_(std::move(graphs)), training_(training) {}

  GraphMaker graphs_;
  TrainingMemory training_;
  bool counts_params_ = false;
  bool counts_flops_ = false;
  bool estimates_memory_ = false;
};

}  // namespace lanista

#endif  // LANISTA_ENGINES_MODEL_COSTS_H_

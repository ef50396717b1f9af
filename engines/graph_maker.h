// The graphs of models, outside of trial processes.
#ifndef LANISTA_ENGINES_GRAPH_MAKER_H_
#define LANISTA_ENGINES_GRAPH_MAKER_H_

#include <optional>
#include <utility>

#include "engines/planner.h"
#include "protos/graph.pb.h"
#include "protos/space.pb.h"
#include "src/graph/mutator.h"

namespace lanista {

// Makes the graphs of models where that needs no code of the user's: such code runs in trial processes only. Immutable.
class GraphMaker {
 public:
  // nullopt: the space is no space of graphs, a mutator of the user's belongs to it, or it cannot be opened here (the
  // log says why).
  static std::optional<GraphMaker> Create(const PlannerContext& context);

  // The graph of `sample` as its trial makes it: without choices, with types where the base model has them. nullopt if
  // it cannot be made, or if the sample lacks a choice: the trial reports the error, or draws the choice.
  std::optional<v1::ModelGraph> Make(const v1::Sample& sample) const;

 private:
  explicit GraphMaker(graph::GraphSpace space) : space_(std::move(space)) {}

  graph::GraphSpace space_;
};

}  // namespace lanista

#endif  // LANISTA_ENGINES_GRAPH_MAKER_H_

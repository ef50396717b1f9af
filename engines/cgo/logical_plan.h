// The work of several models as one graph: what the optimiser passes of the CGO engine change.
#ifndef LANISTA_ENGINES_CGO_LOGICAL_PLAN_H_
#define LANISTA_ENGINES_CGO_LOGICAL_PLAN_H_

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "protos/graph.pb.h"
#include "src/graph/schedule.h"

namespace lanista {

// Each model is a chain of works: its batch, then its steps in their order. At first every model has works of its own;
// passes merge those that come to the same, and what is merged is done once. So chains that begin alike become a tree.
//
// All models of a plan have the same evaluator, order of batches included: an experiment has one. The plan refers to
// the schedules that it was given, which must outlive it. Used by one thread.
class LogicalPlan {
 public:
  struct Work {
    // The step; nullptr: the batch, or all of a model whose steps are not known.
    const graph::ScheduledStep* step = nullptr;
    // What it makes of the values before it. Two works that follow the same work and have equal keys make the same.
    std::string key;
    // Why the above does not hold: it must not be merged. Empty: it may be.
    std::string own_because;
    // What it follows; -1: nothing.
    int after = -1;
    // How many works it follows: its place in the chain.
    int position = 0;
    // Those that it is done for, ascending; none: it was merged into another.
    std::vector<int> models;
  };

  // A model of which nothing is known but that it begins with the batch: a module of C++ code, or a graph that only the
  // trial process can make.
  void AddModel(int model);

  // A graph model. `keeps_weights`: whether step number i has the weights that its WeightSource names; by default all
  // that are frozen have.
  void AddModel(int model, const v1::ModelGraph& graph, const graph::Schedule& schedule,
                const std::function<bool(int)>& keeps_weights = nullptr);

  // Numbers of works are indices; those that were merged into others stay, without models.
  const std::vector<Work>& works() const { return works_; }
  // A model's works, in order.
  const std::vector<int>& chain(int model) const { return chains_.at(model); }
  const std::map<int, std::vector<int>>& chains() const { return chains_; }

  // The models of `from` take what `into` makes. REQUIRES: both may be merged, follow the same work and have equal
  // keys.
  void Merge(int into, int from);

 private:
  void AddWork(int model, Work work);

  std::vector<Work> works_;
  // By model.
  std::map<int, std::vector<int>> chains_;
};

}  // namespace lanista

#endif  // LANISTA_ENGINES_CGO_LOGICAL_PLAN_H_

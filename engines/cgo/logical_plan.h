// The work of several models as one graph, which the optimiser passes of the CGO engine change.
#ifndef LANISTA_ENGINES_CGO_LOGICAL_PLAN_H_
#define LANISTA_ENGINES_CGO_LOGICAL_PLAN_H_

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "protos/graph.pb.h"
#include "src/graph/schedule.h"

namespace lanista {

// Each model is a chain of works: its batch, then its steps in order. At first every model has its own works. Passes
// merge equal works, and merged work is done once; so chains with an equal beginning become a tree.
//
// All models of a plan have the same evaluator and the same order of batches, because an experiment has one. The plan
// refers to the schedules that it was given; they must outlive it. Used by one thread.
class LogicalPlan {
 public:
  struct Work {
    // The step; nullptr: the batch, or all work of a model whose steps are unknown.
    const graph::ScheduledStep* step = nullptr;
    // Identifies the computation on the values before it. Two works that follow the same work and have equal keys give
    // the same values.
    std::string key;
    // The reason why the work must not be merged; then `key` is not set. Empty: it may be merged.
    std::string own_because;
    // The work that it follows; -1: none.
    int after = -1;
    // Its index in the chain.
    int position = 0;
    // The models that it is done for, ascending; empty: it was merged into another work.
    std::vector<int> models;
  };

  // Adds a model of which only the batch is known: a C++ module, or a graph that only the trial process can make.
  void AddModel(int model);

  // Adds a graph model. `keeps_weights` tells whether step number i has the weights that its WeightSource names; by
  // default all frozen steps have them.
  void AddModel(int model, const v1::ModelGraph& graph, const graph::Schedule& schedule,
                const std::function<bool(int)>& keeps_weights = nullptr);

  // All works by number. Works that were merged into others stay in the list, without models.
  const std::vector<Work>& works() const { return works_; }
  // The works of a model, in order.
  const std::vector<int>& chain(int model) const { return chains_.at(model); }
  const std::map<int, std::vector<int>>& chains() const { return chains_; }

  // Merges `from` into `into`: its models use the values of `into`. REQUIRES: both may be merged, follow the same work
  // and have equal keys.
  void Merge(int into, int from);

 private:
  void AddWork(int model, Work work);

  std::vector<Work> works_;
  // Keyed by model.
  std::map<int, std::vector<int>> chains_;
};

}  // namespace lanista

#endif  // LANISTA_ENGINES_CGO_LOGICAL_PLAN_H_

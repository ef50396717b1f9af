// Mutators change a graph; the choices that they ask for make up the space.
//
// A graph space is not declared but executed: `Materialise` applies the mutators in order, then decides every choice
// that is left in the graph, asking a Chooser each time. Discovery learns the space with a chooser that records; a
// sample's model is made with a chooser that follows the sample.
#ifndef LANISTA_SRC_GRAPH_MUTATOR_H_
#define LANISTA_SRC_GRAPH_MUTATOR_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "protos/experiment.pb.h"
#include "protos/graph.pb.h"
#include "protos/space.pb.h"
#include "protos/trial.pb.h"
#include "src/base/custom.h"
#include "src/base/registry.h"
#include "src/graph/mutable_model.h"
#include "src/graph/op_schema.h"

namespace lanista::graph {

// Answers choices. Used by one thread.
class Chooser {
 public:
  // Decides a choice (its label, kind, candidates and n_chosen are set) that has not been asked in this model. The
  // decision must be one of the choice's options.
  using Answer = std::function<absl::StatusOr<v1::Decision>(const v1::Choice& choice)>;

  // Asks `answer` for each decision, of each label once.
  explicit Chooser(Answer answer) : answer_(std::move(answer)) {}

  // Asks, or repeats the answer that this label got before. INVALID_ARGUMENT: no label, no candidates, equal
  // candidates, n_chosen out of range, or the label was used before with other candidates or another kind (the error
  // names both places).
  absl::StatusOr<v1::Decision> Choose(const v1::Choice& choice);

  // Chooses one of `candidates`; returns its index.
  absl::StatusOr<int> ChooseIndex(const std::string& label, v1::Choice::Kind kind,
                                  const std::vector<v1::Value>& candidates);
  // Chooses one of `candidates`; returns its value. For user mutators (NNI: Mutator.choice).
  absl::StatusOr<v1::Value> ChooseValue(const std::string& label, const std::vector<v1::Value>& candidates);

  // A choice, and what became of it.
  struct Asked {
    // As it was asked.
    v1::Choice choice;
    // The answer.
    v1::Decision decision;
  };
  // The choices asked so far, each label once, in the order of their first use.
  const std::vector<Asked>& asked() const { return asked_; }
  // Their decisions.
  v1::Sample sample() const;

 private:
  const Answer answer_;
  std::vector<Asked> asked_;
};

// Changes a graph (NNI: Mutator). One object serves many models: Mutate must not change the mutator. An exception fails
// the model (in discovery it counts as a candidate that cannot be built).
class Mutator {
 public:
  virtual ~Mutator() = default;

  // Changes `model`; asks `chooser` for each decision. INVALID_ARGUMENT: the mutator does not fit the model.
  virtual absl::Status Mutate(MutableModel& model, Chooser& chooser) const = 0;
};

// Reads the TorchScript file of a `module` candidate as a model of its own. Implemented by src/frontends: no LibTorch
// here.
using ModuleReader = std::function<absl::StatusOr<v1::ModelGraph>(const std::string& path)>;

// Built-in mutators are registered under their field in v1::MutatorConfig, users' under a name
// (LANISTA_REGISTER). Each gets the whole MutatorConfig, for its `also`, and a reader of modules.
using MutatorRegistry = Registry<Mutator, v1::MutatorConfig, const v1::MutatorConfig&, const ModuleReader&>;

// The base model with its mutators, ready to be materialised many times.
class GraphSpace {
 public:
  // Checks `base` (Validate), `config.mutator` and `config.frozen`. Errors are the mutators'; NOT_FOUND if a target
  // matches nothing (lists similar names).
  static absl::StatusOr<GraphSpace> Create(v1::ModelGraph base, const v1::SpaceConfig& config, OpLookup find_op,
                                           const ModuleReader& read_module);

  // The base model with the choices that built-in mutators declare in it.
  const v1::ModelGraph& base() const { return base_; }

  // With this, Create makes the same space again on a machine that lacks the files: pass it `base`, and `mutator` in
  // place of `config.mutator`.
  v1::PreparedGraphSpace Prepared() const;

  // The model of the choices that `chooser` makes: without choices and expressions, valid, with types where the base
  // has them. Errors name the node or label, and both shapes if the model's parts do not fit together.
  absl::StatusOr<v1::ModelGraph> Materialise(Chooser& chooser) const;

 private:
  GraphSpace() = default;

  // Calls Mutate and turns exceptions into a status.
  static absl::Status Apply(const Mutator& mutator, MutableModel& model, Chooser& chooser);
  static absl::Status Freeze(const std::vector<v1::FrozenConfig>& frozen, bool must_match, MutableModel& model);

  v1::ModelGraph base_;
  // Mutators that are not yet applied in base_.
  std::vector<std::shared_ptr<const Mutator>> mutators_;
  std::vector<v1::MutatorConfig> mutator_configs_;
  std::vector<v1::FrozenConfig> frozen_;
  OpLookup find_op_ = nullptr;
};

}  // namespace lanista::graph

namespace lanista::kinds {
// For LANISTA_REGISTER(mutator, "name", make): an absl::StatusOr<std::unique_ptr<graph::Mutator>>(const Params&, const
// v1::MutatorConfig&, const graph::ModuleReader&), which reads all of its parameters.
struct mutator : CustomKind<graph::MutatorRegistry> {};
}  // namespace lanista::kinds

#endif  // LANISTA_SRC_GRAPH_MUTATOR_H_

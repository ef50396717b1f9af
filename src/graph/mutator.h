// Mutators change a graph; the choices that they ask for make the space.
//
// A graph space is run, not described: `Materialise` applies the mutators in their order, then decides every choice
// that is left in the graph, asking a Chooser each time. With a chooser that records, this is how discovery learns the
// space; with one that follows a sample, it makes that sample's model.
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

  explicit Chooser(Answer answer) : answer_(std::move(answer)) {}

  // Asks, or repeats the answer that this label got before. INVALID_ARGUMENT: no label, no candidates, equal
  // candidates, n_chosen out of range, or other candidates or another kind than the same label had before (names both
  // places).
  absl::StatusOr<v1::Decision> Choose(const v1::Choice& choice);

  // One of `candidates`: the index.
  absl::StatusOr<int> ChooseIndex(const std::string& label, v1::ChoiceKind kind,
                                  const std::vector<v1::Value>& candidates);
  // One of `candidates`: the value (user mutators: NNI's Mutator.choice).
  absl::StatusOr<v1::Value> ChooseValue(const std::string& label, const std::vector<v1::Value>& candidates);

  struct Asked {
    v1::Choice choice;
    v1::Decision decision;
  };
  // What was asked, each label once, in the order of the first time.
  const std::vector<Asked>& asked() const { return asked_; }
  v1::Sample sample() const;

 private:
  const Answer answer_;
  std::vector<Asked> asked_;
};

// Changes a graph (NNI: Mutator). One object serves many models: Mutate must not change it. What it throws fails the
// model (and, in discovery, counts as a candidate that cannot be built).
class Mutator {
 public:
  virtual ~Mutator() = default;

  // Changes `model`; asks `chooser` for what to choose. INVALID_ARGUMENT: the mutator does not fit the model.
  virtual absl::Status Mutate(MutableModel& model, Chooser& chooser) const = 0;
};

// Reads the TorchScript file of a `module` candidate, as a model of its own: src/frontends does it. No LibTorch here.
using ModuleReader = std::function<absl::StatusOr<v1::ModelGraph>(const std::string& path)>;

// Built-in mutators by their field in v1::MutatorConfig, users' by name: LANISTA_REGISTER_MUTATOR. Each gets the whole
// MutatorConfig, for `also`, and a reader of modules.
using MutatorRegistry = Registry<Mutator, const v1::MutatorConfig&, const ModuleReader&>;

// The base model with its mutators, ready to be materialised many times.
class GraphSpace {
 public:
  // Checks `base` (Validate), `config.mutator` and `config.frozen`. Errors as the mutators'; NOT_FOUND for a target
  // that matches nothing (lists near names).
  static absl::StatusOr<GraphSpace> Create(v1::ModelGraph base, const v1::SpaceConfig& config, OpLookup find_op,
                                           const ModuleReader& read_module);

  // The base model with the choices that built-in mutators declare in it.
  const v1::ModelGraph& base() const { return base_; }

  // What Create needs to make the same space again, where the files are not: with `config.mutator` replaced.
  v1::PreparedGraphSpace Prepared() const;

  // The model of the choices that `chooser` makes: without choices and expressions, valid, with types where the base
  // has them. Errors name the node or label, and both shapes where the model does not fit together.
  absl::StatusOr<v1::ModelGraph> Materialise(Chooser& chooser) const;

 private:
  GraphSpace() = default;

  // Mutate, with what it throws as a status.
  static absl::Status Apply(const Mutator& mutator, MutableModel& model, Chooser& chooser);
  static absl::Status Freeze(const std::vector<v1::FrozenConfig>& frozen, bool must_match, MutableModel& model);

  v1::ModelGraph base_;
  // Those that base_ does not have applied.
  std::vector<std::shared_ptr<const Mutator>> mutators_;
  std::vector<v1::MutatorConfig> mutator_configs_;
  std::vector<v1::FrozenConfig> frozen_;
  OpLookup find_op_ = nullptr;
};

}  // namespace lanista::graph

// Registers `make`, an absl::StatusOr<std::unique_ptr<lanista::graph::Mutator>>(const lanista::Params&, const
// lanista::v1::MutatorConfig&, const lanista::graph::ModuleReader&), for `mutator { custom { name: "NAME" } }`. It
// reads all of its parameters at once. At namespace scope.
#define LANISTA_REGISTER_MUTATOR(name, make) \
  LANISTA_REGISTER_WITH_PARAMS(::lanista::graph::MutatorRegistry, "mutator", name, make)

#endif  // LANISTA_SRC_GRAPH_MUTATOR_H_

// What the runs of an exploration tell about the conditions of a space.
#ifndef LANISTA_SRC_SPACE_INFERENCE_H_
#define LANISTA_SRC_SPACE_INFERENCE_H_

#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "protos/space.pb.h"
#include "src/space/condition_formula.h"
#include "src/space/exploration.h"

namespace lanista::discovery {

// Infers under which conditions each choice of an exploration is active. Used once.
class Inference {
 public:
  // Keeps the reference, and tells it where conditions could not be told.
  explicit Inference(Exploration& explored) : explored_(explored) {}

  // The space with its conditions.
  absl::StatusOr<v1::SpaceSpec> InferSpec();

  // The impossible models in as few and short conjunctions as merging gives. REQUIRES: InferSpec was called.
  Formula Simplified(Formula formula) const;

  // A conjunction with labels.
  void AddCondition(const Conjunction& conjunction, v1::Condition* condition) const;

 private:
  using Run = Exploration::Run;
  using KnownChoice = Exploration::KnownChoice;

  // The choices that may decide whether `choice_` is active: one of their options added or ended it, or added another
  // decider.
  std::vector<int> FindDeciders() const;
  // Whether `run` shows if `choice_` was active: it was asked for, or the constructor passed its position.
  bool IsCertain(const Run& run) const;
  // The condition under which `choice_` is active in models that differ from `run` only in choices that the run added,
  // and in what those lead to. nullopt: the run failed before it could show that.
  std::optional<Formula> ActiveAround(const Run& run);
  // The condition under which `choice_` is active, in terms of the options of `decider` and what they lead to. Assumes
  // that a choice has the same effect wherever it is asked for. nullopt: no effect is known.
  std::optional<Formula> EffectOf(int decider);
  // The condition, around `run`, under which `choice_` is active but `decider` is not, so that `decider` has no effect.
  Formula WhereGone(int decider, const Run& run) const;
  int LastPosition(const Run& run) const;
  // Removes terms that other terms imply: a term on a choice implies that this choice is active.
  Conjunction Prune(const Conjunction& conjunction, const std::vector<Formula>& formulas) const;
  // Sorts the choices by the order of asking, but puts each after all choices that its condition names.
  v1::SpaceSpec MakeSpec(std::vector<Formula> formulas);
  // Removes terms that always hold where the others do: they name all options of a choice that the others make active.
  void DropFreeTerms(Conjunction* conjunction) const;

  Exploration& explored_;

  // Indexed by choice: its position in the order of asking.
  std::vector<int> position_of_;
  // Indexed by choice: the choices with an option that adds it.
  std::vector<std::vector<int>> added_by_;
  // Indexed by choice: the conditions under which it is active.
  std::vector<Formula> formulas_;

  // Set for the choice whose condition is being inferred.
  int choice_ = 0;
  std::vector<int> deciders_;
  absl::flat_hash_map<int, std::optional<Formula>> effects_;
};

}  // namespace lanista::discovery

#endif  // LANISTA_SRC_SPACE_INFERENCE_H_

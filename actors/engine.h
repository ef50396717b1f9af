// EngineActor: makes trials of models, and one outcome of each model's attempts.
//
// Holds each model from RunModels until its outcome: an attempt that was LOST is made again, before new work, at most
// kMaxAttempts times; any other end of the current attempt decides. Events of earlier attempts are handed on (they are
// recorded) and decide nothing.
#ifndef LANISTA_ACTORS_ENGINE_H_
#define LANISTA_ACTORS_ENGINE_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "actors/interfaces.h"
#include "caf/stateful_actor.hpp"
#include "caf/typed_event_based_actor.hpp"
#include "engines/planner.h"

namespace lanista {

struct EngineOptions {
  // What all trials of the experiment share; models, number and files are filled in.
  v1::TrialSpec trial_template;
  // The experiment's, for telling what is different where a trial process has another one.
  v1::SpaceSpec space;
  // Folders that trials write to; the trial's number is appended.
  std::string output_folder;
  std::string log_folder;
  std::shared_ptr<Planner> planner;
};

class EngineState {
 public:
  static inline const char* name = "engine";

  explicit EngineState(EngineActor::pointer self) : self_(self) {}

  EngineActor::behavior_type MakeBehavior(EngineOptions options, ModelOwnerActor owner, TrainingServiceActor service);

 private:
  // Makes trials of groups of models, has them recorded, then queues them.
  void Launch(std::vector<std::vector<v1::TrialModel>> groups, bool retry);
  // Says how the trial process's space differs from the experiment's, if it does.
  void ExplainMismatch(v1::ModelEvent* event) const;
  void OnEnded(const v1::ModelEvent& event);
  void Decide(const v1::ModelEvent& event);

  EngineActor::pointer self_;
  EngineOptions options_;
  ModelOwnerActor owner_;
  TrainingServiceActor service_;
  int trials_ = 0;
  bool canceled_ = false;
  // Models without an outcome, in their current attempt.
  std::map<int, v1::TrialModel> open_;
};

EngineActor::behavior_type Engine(EngineActor::stateful_pointer<EngineState> self, EngineOptions options,
                                  ModelOwnerActor owner, TrainingServiceActor service);

}  // namespace lanista

#endif  // LANISTA_ACTORS_ENGINE_H_

// CgoBatcherActor: where models wait for each other before an engine plans their trials together.
//
// What waits goes to the engine
//
//   - when ModelWindow::max_models wait,
//   - when the oldest has waited for ModelWindow::waiting_time (a message to itself),
//   - at once when nothing more can come: the last model is here, or all models that may be in flight wait.
//
// RunModels.last goes on to the engine with them, or alone where none wait.
#ifndef LANISTA_ACTORS_CGO_BATCHER_H_
#define LANISTA_ACTORS_CGO_BATCHER_H_

#include "actors/alarm.h"
#include "actors/interfaces.h"
#include "caf/stateful_actor.hpp"
#include "caf/typed_event_based_actor.hpp"
#include "engines/planner.h"

namespace lanista {

// With its message to itself: the window closes, perhaps.
using CgoBatcherSelf = CgoBatcherActor::extend<caf::reacts_to<deadline_atom>>;

class CgoBatcherState {
 public:
  static inline const char* name = "cgo_batcher";

  explicit CgoBatcherState(CgoBatcherSelf::pointer self) : self_(self) {}

  CgoBatcherSelf::behavior_type MakeBehavior(const ModelWindow& window, EngineActor engine);

 private:
  void OnModels(v1::RunModels request);
  void OnStop(const v1::StopModel& stop);
  // Hands all that waits to the engine.
  void Close();

  CgoBatcherSelf::pointer self_;
  ModelWindow window_;
  EngineActor engine_;
  // What waits.
  v1::RunModels waiting_;
  // The open window's.
  Alarm deadline_;
};

// Takes the engine with it.
CgoBatcherSelf::behavior_type CgoBatcher(CgoBatcherSelf::stateful_pointer<CgoBatcherState> self,
                                         const ModelWindow& window, EngineActor engine);

}  // namespace lanista

#endif  // LANISTA_ACTORS_CGO_BATCHER_H_

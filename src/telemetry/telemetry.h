// What a head measures of itself: one object a head, which actors, storage and the gRPC server report into, and which
// exposition.h shows to Prometheus. It knows none of them.
//
// A new measurement is a member here, a line where it happens, a line in exposition.cc and one in docs/telemetry.md. No
// label may have as many values as there are experiments, trials, nodes or callers: who scrapes keeps each for ever.
#ifndef LANISTA_SRC_TELEMETRY_TELEMETRY_H_
#define LANISTA_SRC_TELEMETRY_TELEMETRY_H_

#include <memory>

#include "protos/messages.pb.h"
#include "protos/trial.pb.h"
#include "src/telemetry/instruments.h"

namespace lanista {

// What a device does; each does one of these.
enum class DeviceUse {
  kUnspecified = 0,
  // It has a trial or a discovery, or its trial process is being made ready for the next one.
  kBusy = 1,
  kIdle = 2,
  // Its node is silent or drained, and it has no work.
  kHeld = 3,
  // Its worker went down: it waits for the next one, or was given up.
  kDown = 4,
};

// As NodeCondition of node.proto, which few need.
enum class NodeCondition { kUnspecified = 0, kJoined = 1, kSilent = 2, kDraining = 3 };

// Why gRPC's check of calls refused one.
enum class Refusal {
  kUnspecified = 0,
  // No token, or one that the head does not know.
  kUnauthenticated = 1,
  // A token for something else.
  kPermissionDenied = 2,
};

struct Telemetry {
  // ---- The training service ----

  Gauge trials_queued;
  Gauge trials_running;
  Counter trials_started;
  // Their workers said so.
  Counter trials_finished;
  // They went down with their worker.
  Counter trials_lost;
  // Their nodes had not begun with them: they were queued again, or had been canceled meanwhile.
  Counter trials_returned;
  Gauge discoveries_queued;
  // The trial that has waited longest.
  Since oldest_queued;
  ByEnum<Gauge, DeviceUse, DeviceUse::kDown> devices;

  // ---- Experiments ----

  // Those that have not come to their end: CREATED, RUNNING, STOPPING.
  ByEnum<Gauge, v1::ExperimentState::State, v1::ExperimentState::STOPPING> experiments;
  // By their last state.
  ByEnum<Counter, v1::ExperimentState::State, v1::ExperimentState::FAILED> experiments_ended;
  // Once it is in the journal.
  ByEnum<Counter, v1::ModelEnded::Outcome, v1::ModelEnded::INFEASIBLE> attempts_ended;
  ByEnum<Counter, v1::ModelEnded::Outcome, v1::ModelEnded::INFEASIBLE> models_ended;

  // ---- Journals ----

  Counter journal_records;
  // One transaction that was written.
  Histogram journal_write;
  // From the moment in which an experiment hands facts to its journal until it hears that they are recorded: only then
  // are the trial process, the strategy and watchers told.
  Histogram journal_acknowledgement;
  // That wait for room on the disk.
  Gauge journals_paused;
  // Attempts to write that failed, whether they were repeated or not.
  Counter journal_errors;

  // ---- Nodes ----

  ByEnum<Gauge, NodeCondition, NodeCondition::kDraining> nodes;
  // Nothing was heard of them for too long, or they broke the protocol.
  Counter nodes_lost;

  // ---- gRPC ----

  ByEnum<Counter, Refusal, Refusal::kPermissionDenied> calls_refused;
};

// Shared by all that report, which may end in any order.
using TelemetryPtr = std::shared_ptr<Telemetry>;

}  // namespace lanista

#endif  // LANISTA_SRC_TELEMETRY_TELEMETRY_H_

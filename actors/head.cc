#include "actors/head.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "actors/cgo_batcher.h"
#include "actors/engine.h"
#include "actors/experiment.h"
#include "actors/journal.h"
#include "actors/stopper.h"
#include "actors/strategy.h"
#include "caf/event_based_actor.hpp"
#include "src/base/component.h"
#include "src/base/logging.h"
#include "src/base/status.h"
#include "src/storage/journal.h"

namespace lanista {
namespace {

// So often the discovery of a client's experiment may be lost: about a minute, with the pauses.
constexpr int kMaxLostDiscoveries = 6;

// The journal's actor owns the experiment: it ends last.
JournalSink MakeSink(const std::shared_ptr<HeldExperiment>& held, TelemetryPtr telemetry) {
  JournalSink sink;
  sink.experiment = held->id;
  sink.telemetry = std::move(telemetry);
  sink.write = [held](const v1::JournalBatch& batch) -> absl::StatusOr<int64_t> {
    LANISTA_ASSIGN_OR_RETURN(const int64_t first_number, held->writer->Write(batch));
    LANISTA_RETURN_IF_ERROR(held->lock.Check());
    return first_number;
  };
  sink.abandon = [held](const absl::Status& status) {
    const absl::Status kept = held->writer->Abandon(std::string(status.message()));
    if (kept.ok()) return;
    LogError("{}nor can the reason be kept: {}", LogTag(held->id), std::string(kept.message()));
  };
  return sink;
}

// Removes files on a thread of its own, because they are large and disks may be slow. `remove` gets `folder`.
void RemoveElsewhere(caf::actor_system& system, const std::string& folder, void (*remove)(const std::string& folder)) {
  // A trial process makes the folder before its attempt ends: where there is none, there is nothing to remove.
  std::error_code ignored;
  if (!std::filesystem::exists(folder, ignored)) return;
  system.spawn<caf::detached>([folder, remove] { remove(folder); });
}

void RemoveFolder(const std::string& folder) {
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
}

// Why an actor ended.
std::string ReasonOf(const caf::error& reason) {
  return IsStatus(reason) ? std::string(FromCafError(reason).message()) : caf::to_string(reason);
}

// Whether it has never run, nor come to an end.
bool HasNoState(const HeldExperiment& held) {
  const absl::StatusOr<JournalReader> journal = JournalReader::Open(held.folder);
  if (!journal.ok()) return false;
  const absl::StatusOr<std::vector<StateRecord>> states = journal->States();
  return states.ok() && states->empty();
}

}  // namespace

HeadSelf::behavior_type Head(HeadSelf::stateful_pointer<HeadState> self, HeadOptions options) {
  return self->state.MakeBehavior(std::move(options));
}

HeadSelf::behavior_type HeadState::MakeBehavior(HeadOptions options) {
  options_ = std::move(options);
  self_->set_down_handler([this](const caf::down_msg& down) {
    if (down.source == options_.service) return OnServiceDown(down.reason);
    OnExperimentDown(down);
  });
  self_->monitor(options_.service);
  self_->set_exit_handler([this](const caf::exit_msg& exit) {
    for (const auto& entry : experiments_) self_->send_exit(entry.second.actor, caf::exit_reason::user_shutdown);
    self_->quit(exit.reason);
  });
  return {
      [this](const v1::ValidateExperiment& request) -> caf::result<v1::Validated> {
        const uint64_t seed = ExperimentSeed(request.config());
        auto promise = self_->make_response_promise<v1::Validated>();
        v1::Discover discover = MakeDiscover(request.config(), seed);
        discover.set_asked_by(request.asked_by());
        Prepare(std::move(discover), request.config().requirements(),
                [this, promise, request, seed](const absl::StatusOr<Preparation>& preparation) mutable {
                  absl::StatusOr<v1::Validated> validated =
                      preparation.ok() ? Validate(request, seed, *preparation) : preparation.status();
                  v1::Validated failed;
                  if (!validated.ok()) *failed.mutable_error() = StatusToProto(validated.status());
                  promise.deliver(validated.ok() ? *std::move(validated) : std::move(failed));
                });
        return promise;
      },
      [this](const v1::SubmitExperiment& submit, const WatcherActor& watcher) { return Submit(submit, watcher); },
      [this](v1::ExperimentCreated& created, const WatcherActor& watcher) {
        return Create(std::move(created), watcher);
      },
      [this](const v1::ResumeExperiment& resume, const WatcherActor& watcher) { return Resume(resume, watcher); },
      [this](const v1::StopExperiment& stop) { Stop(stop); },
      [this](deadline_atom, int32_t number) { Discover(number); },
  };
}

void HeadState::Prepare(v1::Discover discover, const v1::RequirementsConfig& requirements, TakePreparation done) {
  if (!service_status_.ok()) return done(service_status_);
  const int number = ++last_preparation_;
  preparations_[number] = std::move(done);
  const auto fail = [this, number](const caf::error& error) {
    // Where CAF says that no answer will come, OnServiceDown says why.
    if (IsStatus(error)) OnPrepared(number, FromCafError(error));
  };
  self_->request(options_.service, caf::infinite, std::move(discover))
      .then(
          [this, number, requirements, fail](v1::Discovered& discovered) {
            if (const absl::Status status = StatusFromProto(discovered.error()); !status.ok()) {
              return OnPrepared(number, status);
            }
            v1::ListDevices list;
            list.set_program(discovered.program());
            *list.mutable_requirements() = requirements;
            self_->request(options_.service, caf::infinite, std::move(list))
                .then(
                    [this, number, discovered = std::move(discovered)](const v1::DeviceList& list) mutable {
                      OnPrepared(number,
                                 Preparation{std::move(discovered), {list.devices().begin(), list.devices().end()}});
                    },
                    fail);
          },
          fail);
}

void HeadState::OnPrepared(int number, absl::StatusOr<Preparation> preparation) {
  const auto found = preparations_.find(number);
  if (found == preparations_.end()) return;  // The training service went down before.
  const TakePreparation done = std::move(found->second);
  preparations_.erase(found);
  done(std::move(preparation));
}

int HeadState::CouldRun(const v1::ExperimentConfig& config, const std::vector<v1::Device>& devices) {
  const int count = static_cast<int>(devices.size());
  return std::max(1, config.has_trial_concurrency() ? std::min(config.trial_concurrency(), count) : count);
}

absl::StatusOr<v1::Validated> HeadState::Validate(const v1::ValidateExperiment& request, uint64_t seed,
                                                  const Preparation& preparation) const {
  const v1::Discovered& discovered = preparation.discovered;
  LANISTA_ASSIGN_OR_RETURN(const std::shared_ptr<GuardedStrategy> strategy,
                           MakeStrategy(request.config(), discovered, seed));
  LANISTA_RETURN_IF_ERROR(MakeStopper(request.config()).status());
  LANISTA_ASSIGN_OR_RETURN(const std::unique_ptr<Planner> planner,
                           MakePlanner(request.config(), discovered, preparation.devices));
  v1::ExperimentConfig config = request.config();
  LANISTA_RETURN_IF_ERROR(WarmStart(options_.state_dir, discovered, &config).status());
  v1::Validated validated;
  *validated.mutable_space() = discovered.space();
  if (request.plan_models() == 0) return validated;
  LANISTA_ASSIGN_OR_RETURN(const Strategy::Proposal proposal, strategy->Ask(request.plan_models()));
  LANISTA_ASSIGN_OR_RETURN(*validated.mutable_plan(),
                           planner->Explain(proposal.samples, CouldRun(request.config(), preparation.devices)));
  return validated;
}

caf::result<v1::Submitted> HeadState::Submit(const v1::SubmitExperiment& submit, const WatcherActor& watcher) {
  const uint64_t seed = ExperimentSeed(submit.config());
  auto promise = self_->make_response_promise<v1::Submitted>();
  Prepare(MakeDiscover(submit.config(), seed), submit.config().requirements(),
          [this, promise, submit, seed, watcher](const absl::StatusOr<Preparation>& preparation) mutable {
            const absl::Status status = [&]() -> absl::Status {
              LANISTA_RETURN_IF_ERROR(preparation.status());
              LANISTA_ASSIGN_OR_RETURN(ExperimentSetup setup,
                                       NewExperiment(options_.state_dir, submit.config(), seed, preparation->discovered,
                                                     preparation->devices, JournalOptions{submit.durable()}));
              v1::Submitted submitted;
              submitted.set_experiment(setup.held->id);
              Launch(std::move(setup), preparation->devices, watcher);
              promise.deliver(std::move(submitted));
              return absl::OkStatus();
            }();
            if (!status.ok()) promise.deliver(ToCafError(status));
          });
  return promise;
}

caf::result<v1::Submitted> HeadState::Create(v1::ExperimentCreated created, const WatcherActor& watcher) {
  created.set_seed(static_cast<int64_t>(ExperimentSeed(created.config())));
  created.set_served(options_.served);
  absl::StatusOr<CreatedExperiment> made = CreateExperiment(options_.state_dir, std::move(created), {});
  if (!made.ok()) return ToCafError(made.status());
  v1::Submitted submitted;
  submitted.set_experiment(made->id);
  if (std::shared_ptr<HeldExperiment> held = std::move(made->held)) {
    TellRelease(*held, watcher);
    const v1::ExperimentConfig config = held->created.config();
    Begin({held, config, watcher, [this, held, watcher](const absl::Status& status) {
             if (!status.ok()) EndUnbegun(*held, watcher, status);
           }});
  }
  return submitted;
}

caf::result<v1::Submitted> HeadState::Resume(const v1::ResumeExperiment& resume, const WatcherActor& watcher) {
  const std::string id = resume.experiment();
  // Perhaps nobody waits for the answer.
  const auto log = [id, served = options_.served](const absl::Status& status) {
    if (!status.ok() && served) LogWarning("{}does not go on: {}", LogTag(id), std::string(status.message()));
  };
  absl::StatusOr<std::shared_ptr<HeldExperiment>> held =
      HoldExperiment(options_.state_dir, id, JournalOptions{resume.durable()});
  log(held.status());
  if (!held.ok()) return ToCafError(held.status());
  TellRelease(**held, watcher);
  auto promise = self_->make_response_promise<v1::Submitted>();
  Begin({*held, resume.config(), watcher,
         [this, promise, id, log, held = *held, watcher](const absl::Status& status) mutable {
           log(status);
           if (!status.ok()) {
             // Else a head that serves clients would try again with each start.
             const bool never_began = options_.served && HasNoState(*held);
             if (absl::IsCancelled(status) || never_began) EndUnbegun(*held, watcher, status);
             held.reset();
           }
           v1::Submitted submitted;
           submitted.set_experiment(id);
           if (status.ok()) {
             promise.deliver(std::move(submitted));
           } else {
             promise.deliver(ToCafError(status));
           }
         }});
  return promise;
}

void HeadState::Stop(const v1::StopExperiment& stop) {
  for (const auto& entry : experiments_) {
    if (entry.second.id == stop.experiment()) self_->send(entry.second.actor, stop);
  }
  for (auto entry = beginnings_.begin(); entry != beginnings_.end();) {
    if (entry->second.held->id != stop.experiment()) {
      ++entry;
      continue;
    }
    const auto done = std::move(entry->second.done);
    entry = beginnings_.erase(entry);
    // Its discovery may wait for a device for long.
    GiveUpTrialsOfNodes(stop.experiment());
    done(absl::CancelledError(stop.reason()));
  }
}

void HeadState::Begin(Beginning beginning) {
  const int number = ++last_beginning_;
  Beginning& begun = beginnings_.emplace(number, std::move(beginning)).first->second;
  begun.counted = std::make_unique<CountedIn>();
  begun.counted->Move({options_.telemetry, &options_.telemetry->experiments[v1::ExperimentState::CREATED]});
  Discover(number);
}

void HeadState::Discover(int number) {
  const auto found = beginnings_.find(number);
  if (found == beginnings_.end()) return;  // It was stopped.
  const HeldExperiment& held = *found->second.held;
  v1::Discover discover = MakeDiscover(found->second.config, static_cast<uint64_t>(held.created.seed()));
  discover.set_experiment(held.id);
  Prepare(
      std::move(discover), found->second.config.requirements(),
      [this, number](absl::StatusOr<Preparation> preparation) { OnBeginningPrepared(number, std::move(preparation)); });
}

void HeadState::OnBeginningPrepared(int number, absl::StatusOr<Preparation> preparation) {
  const auto found = beginnings_.find(number);
  if (found == beginnings_.end()) return;  // It was stopped.
  // A node waits to hear what the experiment wants of it.
  if (absl::IsAborted(preparation.status())) {
    preparation = PrepareWithNodes(found->second);
    if (!preparation.ok()) {
      LogInfo("{}what nodes have of it runs again: {}", LogTag(found->second.held->id),
              std::string(preparation.status().message()));
      GiveUpTrialsOfNodes(found->second.held->id);
      return Discover(number);
    }
  }
  // The trial process was lost, and so were those after it: whatever it was, it may pass. Who waits at a terminal hears
  // of it at once.
  if (options_.served && absl::IsUnavailable(preparation.status()) && found->second.lost < kMaxLostDiscoveries) {
    const std::chrono::milliseconds pause = options_.discovery_pause * (1 << found->second.lost++);
    LogWarning("{}its space could not be discovered: {}; trying again in {}", LogTag(found->second.held->id),
               std::string(preparation.status().message()), absl::FormatDuration(absl::FromChrono(pause)));
    self_->delayed_send(self_, pause, deadline_atom_v, static_cast<int32_t>(number));
    return;
  }
  Beginning beginning = std::move(found->second);
  const std::string id = beginning.held->id;
  beginnings_.erase(found);
  beginning.counted.reset();
  const absl::Status status = [&]() -> absl::Status {
    LANISTA_RETURN_IF_ERROR(preparation.status());
    LANISTA_ASSIGN_OR_RETURN(ExperimentSetup setup,
                             ResumedExperiment(std::move(beginning.held), beginning.config, preparation->discovered,
                                               preparation->devices, options_.nodes));
    const absl::Status kept = options_.served ? KeepGraphs(*setup.held, preparation->discovered) : absl::OkStatus();
    if (!kept.ok()) {
      LogWarning("{}{}; when this head ends, what runs on nodes runs again", LogTag(setup.held->id),
                 std::string(kept.message()));
    }
    Launch(std::move(setup), preparation->devices, beginning.watcher);
    return absl::OkStatus();
  }();
  beginning.held.reset();
  if (!status.ok()) GiveUpTrialsOfNodes(id);
  beginning.done(status);
}

absl::StatusOr<HeadState::Preparation> HeadState::PrepareWithNodes(const Beginning& beginning) const {
  LANISTA_ASSIGN_OR_RETURN(v1::Discovered discovered,
                           DiscoveredBefore(*beginning.held, beginning.config, options_.nodes));
  // Its share of the devices is told when they join.
  return Preparation{std::move(discovered), {}};
}

void HeadState::GiveUpTrialsOfNodes(const std::string& experiment) {
  v1::CancelExperiment cancel;
  cancel.set_experiment(experiment);
  cancel.set_discovery(true);
  self_->send(options_.service, std::move(cancel));
}

void HeadState::EndUnbegun(HeldExperiment& held, const WatcherActor& watcher, const absl::Status& why) {
  v1::ExperimentEvent event;
  event.set_experiment(held.id);
  event.mutable_state()->set_state(absl::IsCancelled(why) ? v1::ExperimentState::STOPPED : v1::ExperimentState::FAILED);
  event.mutable_state()->set_reason(std::string(why.message()));
  LogInfo("{}did not begin: {}", LogTag(held.id), event.state().reason());
  options_.telemetry->experiments_ended[event.state().state()].Add();
  // One that was to go on may have an end already.
  if (!RecordEnd(held, event.state()).ok()) {
    const absl::Status kept = held.writer->Abandon(event.state().reason());
    if (!kept.ok()) LogError("{}the reason cannot be kept: {}", LogTag(held.id), std::string(kept.message()));
  }
  self_->send(watcher, std::move(event));
}

void HeadState::TellRelease(HeldExperiment& held, const WatcherActor& watcher) {
  if (!options_.served) return;
  held.released = std::shared_ptr<void>(nullptr, [id = held.id, watcher](void*) {
    v1::ExperimentEvent event;
    event.set_experiment(id);
    caf::anon_send(watcher, std::move(event));
  });
}

void HeadState::Launch(ExperimentSetup setup, const std::vector<v1::Device>& devices, const WatcherActor& watcher) {
  const std::string id = setup.held->id;
  if (const std::string note = setup.planner->note(); !note.empty()) LogWarning("{}{}", LogTag(id), note);

  EngineOptions engine;
  engine.trial_template = std::move(setup.trial_template);
  engine.space = setup.space;
  engine.folder = setup.held->folder;
  engine.planner = setup.planner;
  engine.trials = setup.ledger.trials();
  engine.on_nodes = std::move(setup.start.on_nodes);
  if (const int priority = setup.config.priority(); priority > options_.max_priority) {
    LogWarning("{}its priority {} is lowered to {}, the highest of this head (--max-priority)", LogTag(id), priority,
               options_.max_priority);
    engine.trial_template.set_priority(options_.max_priority);
  }
  // Until the service says what its share is: that of all experiments that are there.
  const int running = static_cast<int>(experiments_.size()) + 1;
  const int share = (static_cast<int>(devices.size()) + running - 1) / running;
  engine.share.set_trials(std::max(1, share));
  if (setup.config.has_trial_concurrency()) engine.max_trials = setup.config.trial_concurrency();

  ExperimentOptions experiment;
  experiment.id = id;
  experiment.config = setup.config;
  experiment.space = std::move(setup.space);
  experiment.ledger = std::make_shared<AttemptLedger>(std::move(setup.ledger));
  experiment.start = std::move(setup.start);
  experiment.models_per_trial = setup.planner->max_models_per_trial();
  experiment.max_trials = engine.max_trials.value_or(engine.share.trials());
  experiment.watcher = watcher;
  experiment.telemetry = options_.telemetry;
  experiment.weights_bars = options_.weights_bars;
  experiment.served = options_.served;
  experiment.journal = self_->spawn<caf::detached>(Journal, MakeSink(setup.held, options_.telemetry));
  caf::actor_system& system = self_->system();
  experiment.remove_weights = [&system](const std::string& folder) { RemoveElsewhere(system, folder, RemoveWeights); };
  experiment.remove_checkpoints = [&system](const std::string& folder) {
    RemoveElsewhere(system, folder, RemoveFolder);
  };
  // A user's may compute for seconds, and so may one that looks for models within limits, or tpe, which weighs all that
  // it was told (a chain may have it). The others answer at once, and waking a thread would take longer than the
  // answer.
  const bool computes = RulesOfComponent(setup.config.strategy()).computes() || setup.config.constraint_size() > 0;
  experiment.strategy = computes ? self_->spawn<caf::detached>(StrategyBehavior, std::move(setup.strategy), id)
                                 : self_->spawn(StrategyBehavior, std::move(setup.strategy), id);
  if (setup.stopper != nullptr) {
    experiment.stopper = RulesOfComponent(setup.config.early_stopping()).computes()
                             ? self_->spawn<caf::detached>(StopperBehavior, std::move(setup.stopper))
                             : self_->spawn(StopperBehavior, std::move(setup.stopper));
    options_.live.Add(experiment.stopper, absl::StrCat("the stopper of ", id));
  }
  experiment.make_engine = [&system, engine = std::move(engine), service = options_.service, live = options_.live,
                            id](const ModelOwnerActor& owner) mutable -> ModelRunnerActor {
    const std::optional<ModelWindow> window = engine.planner->window();
    if (!window.has_value()) return system.spawn(Engine, engine, owner, service);
    // Planning a window of large graphs takes long: nobody else waits for it.
    const EngineActor runner = system.spawn<caf::detached>(Engine, engine, owner, service);
    live.Add(runner, absl::StrCat("the engine of ", id));
    return system.spawn(CgoBatcher, *window, runner);
  };
  options_.live.Add(experiment.journal, absl::StrCat("the journal of ", id));
  options_.live.Add(experiment.strategy, absl::StrCat("the strategy of ", id));
  const ExperimentActor actor = self_->spawn(Experiment, std::move(experiment));
  self_->monitor(actor);
  experiments_[actor.address()] = {id, watcher, actor};
  LogInfo("{}started", LogTag(id));
}

void HeadState::OnServiceDown(const caf::error& reason) {
  // All ends: experiments that wait for their space go on when the next head starts.
  if (reason == caf::exit_reason::user_shutdown) return;
  service_status_ =
      absl::InternalError(absl::StrCat("an internal error ended the training service: ", ReasonOf(reason)));
  LogError("{}", std::string(service_status_.message()));
  while (!preparations_.empty()) OnPrepared(preparations_.begin()->first, service_status_);
}

void HeadState::OnExperimentDown(const caf::down_msg& down) {
  const auto found = experiments_.find(down.source);
  if (found == experiments_.end()) return;
  if (down.reason != caf::exit_reason::user_shutdown) {
    // It did not come to its end: nobody else will tell.
    v1::ExperimentEvent event;
    event.set_experiment(found->second.id);
    event.mutable_state()->set_state(v1::ExperimentState::FAILED);
    event.mutable_state()->set_reason(absl::StrCat("an internal error ended it: ", ReasonOf(down.reason)));
    LogError("{}{}", LogTag(found->second.id), event.state().reason());
    options_.telemetry->experiments_ended[v1::ExperimentState::FAILED].Add();
    self_->send(found->second.watcher, std::move(event));
  }
  experiments_.erase(found);
}

}  // namespace lanista

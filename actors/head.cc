#include "actors/head.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <random>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "actors/cgo_batcher.h"
#include "actors/engine.h"
#include "actors/experiment.h"
#include "actors/journal.h"
#include "actors/strategy.h"
#include "caf/event_based_actor.hpp"
#include "engines/planner.h"
#include "spdlog/spdlog.h"
#include "src/base/hash.h"
#include "src/base/status.h"
#include "src/space/space.h"
#include "src/storage/experiment_lock.h"
#include "src/storage/journal.h"
#include "src/strategies/strategy.h"

namespace lanista {
namespace {

uint64_t ExperimentSeed(const v1::ExperimentConfig& config) {
  // 31 bits: a number that a user can read and type.
  return config.has_seed() ? static_cast<uint64_t>(config.seed()) : std::random_device()() >> 1;
}

absl::StatusOr<std::shared_ptr<GuardedStrategy>> MakeStrategy(const v1::ExperimentConfig& config,
                                                              const v1::SpaceSpec& spec, uint64_t seed) {
  std::optional<int> max_models;
  if (config.has_max_trial_number()) max_models = config.max_trial_number();
  auto strategy = GuardedStrategy::Create(config.strategy(), spec, StrategySeed(seed), max_models);
  if (!strategy.ok()) return Annotate(strategy.status(), "strategy");
  return strategy;
}

// The open journal of an experiment and the lock that goes with it.
struct OpenJournal {
  ExperimentLock lock;
  std::unique_ptr<JournalWriter> writer;
};

absl::StatusOr<std::shared_ptr<OpenJournal>> StartJournal(const std::string& folder,
                                                          const v1::ExperimentCreated& created) {
  LANISTA_ASSIGN_OR_RETURN(ExperimentLock lock, ExperimentLock::Acquire(folder));
  LANISTA_ASSIGN_OR_RETURN(std::unique_ptr<JournalWriter> writer, JournalWriter::Create(folder, created));
  return std::make_shared<OpenJournal>(OpenJournal{std::move(lock), std::move(writer)});
}

JournalSink MakeSink(const std::shared_ptr<OpenJournal>& open) {
  JournalSink sink;
  sink.write = [open](const v1::JournalBatch& batch) {
    LANISTA_RETURN_IF_ERROR(open->writer->Write(batch));
    return open->lock.Check();
  };
  sink.abandon = [open](const absl::Status& status) {
    const absl::Status kept = open->writer->Abandon(std::string(status.message()));
    if (!kept.ok()) spdlog::error("nor can the reason be kept: {}", std::string(kept.message()));
  };
  return sink;
}

}  // namespace

HeadActor::behavior_type Head(HeadActor::stateful_pointer<HeadState> self, HeadOptions options) {
  return self->state.MakeBehavior(std::move(options));
}

HeadActor::behavior_type HeadState::MakeBehavior(HeadOptions options) {
  options_ = std::move(options);
  self_->set_down_handler([this](const caf::down_msg& down) { OnExperimentDown(down); });
  self_->set_exit_handler([this](const caf::exit_msg& exit) {
    for (const auto& entry : experiments_) self_->send_exit(entry.second.actor, caf::exit_reason::user_shutdown);
    self_->quit(exit.reason);
  });
  return {
      [this](const v1::ValidateExperiment& request) -> caf::result<v1::Validated> {
        const uint64_t seed = ExperimentSeed(request.config());
        auto promise = self_->make_response_promise<v1::Validated>();
        self_->request(options_.service, caf::infinite, MakeDiscover(request.config(), seed))
            .then(
                [this, promise, request, seed](const v1::Discovered& discovered) mutable {
                  absl::StatusOr<v1::Validated> validated = Validate(request, seed, discovered);
                  v1::Validated failed;
                  if (!validated.ok()) *failed.mutable_error() = StatusToProto(validated.status());
                  promise.deliver(validated.ok() ? *std::move(validated) : std::move(failed));
                },
                [promise](caf::error& error) mutable { promise.deliver(std::move(error)); });
        return promise;
      },
      [this](const v1::SubmitExperiment& submit, const WatcherActor& watcher) -> caf::result<v1::Submitted> {
        const uint64_t seed = ExperimentSeed(submit.config());
        auto promise = self_->make_response_promise<v1::Submitted>();
        self_->request(options_.service, caf::infinite, MakeDiscover(submit.config(), seed))
            .then(
                [this, promise, config = submit.config(), seed, watcher](const v1::Discovered& discovered) mutable {
                  const absl::StatusOr<std::string> id = Launch(config, seed, discovered, watcher);
                  if (!id.ok()) {
                    promise.deliver(ToCafError(id.status()));
                    return;
                  }
                  v1::Submitted submitted;
                  submitted.set_experiment(*id);
                  promise.deliver(std::move(submitted));
                },
                [promise](caf::error& error) mutable { promise.deliver(std::move(error)); });
        return promise;
      },
      [this](const v1::StopExperiment& stop) {
        for (const auto& entry : experiments_) {
          if (entry.second.id == stop.experiment()) self_->send(entry.second.actor, stop);
        }
      },
  };
}

v1::Discover HeadState::MakeDiscover(const v1::ExperimentConfig& config, uint64_t seed) const {
  v1::Discover discover;
  *discover.mutable_space() = config.space();
  *discover.mutable_engine() = config.engine();
  *discover.mutable_evaluator() = config.evaluator();
  discover.set_order_seed(OrderSeed(seed));
  return discover;
}

absl::StatusOr<std::unique_ptr<Planner>> HeadState::MakePlanner(const v1::ExperimentConfig& config,
                                                                const v1::Discovered& discovered) const {
  PlannerContext context;
  context.multi_model_evaluator = discovered.multi_model_evaluator();
  context.space = config.space();
  if (discovered.has_graph_space()) context.graph_space = discovered.graph_space();
  context.evaluator = config.evaluator();
  for (const v1::Device& device : options_.devices) {
    const int64_t memory = device.kind() == v1::GPU ? device.memory() : device.memory_limit();
    if (memory > 0 && (context.device_memory == 0 || memory < context.device_memory)) context.device_memory = memory;
  }
  auto planner = PlannerRegistry::Get().Create(config.engine(), context);
  if (!planner.ok()) return Annotate(planner.status(), "engine");
  return planner;
}

int HeadState::MaxTrials(const v1::ExperimentConfig& config) const {
  return config.has_trial_concurrency() ? config.trial_concurrency() : static_cast<int>(options_.devices.size());
}

absl::StatusOr<v1::Validated> HeadState::Validate(const v1::ValidateExperiment& request, uint64_t seed,
                                                  const v1::Discovered& discovered) const {
  LANISTA_RETURN_IF_ERROR(StatusFromProto(discovered.error()));
  LANISTA_ASSIGN_OR_RETURN(const std::shared_ptr<GuardedStrategy> strategy,
                           MakeStrategy(request.config(), discovered.space(), seed));
  LANISTA_ASSIGN_OR_RETURN(const std::unique_ptr<Planner> planner, MakePlanner(request.config(), discovered));
  v1::Validated validated;
  *validated.mutable_space() = discovered.space();
  if (request.plan_models() == 0) return validated;
  const int devices = static_cast<int>(options_.devices.size());
  LANISTA_ASSIGN_OR_RETURN(const Strategy::Proposal proposal, strategy->Ask(request.plan_models()));
  LANISTA_ASSIGN_OR_RETURN(*validated.mutable_plan(),
                           planner->Explain(proposal.samples, std::min(MaxTrials(request.config()), devices)));
  return validated;
}

absl::StatusOr<std::string> HeadState::Launch(const v1::ExperimentConfig& config, uint64_t seed,
                                              const v1::Discovered& discovered, const WatcherActor& watcher) {
  LANISTA_RETURN_IF_ERROR(StatusFromProto(discovered.error()));
  LANISTA_ASSIGN_OR_RETURN(std::shared_ptr<GuardedStrategy> strategy, MakeStrategy(config, discovered.space(), seed));
  LANISTA_ASSIGN_OR_RETURN(const std::shared_ptr<Planner> planner, MakePlanner(config, discovered));

  LANISTA_ASSIGN_OR_RETURN(const std::string id, options_.state_dir.NewExperimentId(config.name()));
  LANISTA_ASSIGN_OR_RETURN(const std::string folder, options_.state_dir.ExperimentFolder(id));
  v1::ExperimentCreated created;
  created.set_experiment(id);
  *created.mutable_config() = config;
  created.set_seed(static_cast<int64_t>(seed));
  absl::StatusOr<std::shared_ptr<OpenJournal>> journal = StartJournal(folder, created);
  if (!journal.ok()) {
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
    return journal.status();
  }

  EngineOptions engine;
  v1::TrialSpec& trial = engine.trial_template;
  trial.set_experiment(id);
  *trial.mutable_space() = config.space();
  *trial.mutable_engine() = config.engine();
  *trial.mutable_evaluator() = config.evaluator();
  trial.set_space_fingerprint(discovered.space().fingerprint());
  *trial.mutable_space_files() = discovered.space().files();
  trial.set_program(discovered.program());
  trial.set_order_seed(OrderSeed(seed));
  if (config.has_deterministic()) trial.set_deterministic(config.deterministic());
  if (config.has_trial_timeout()) *trial.mutable_timeout() = config.trial_timeout();
  trial.set_keep_weights(config.keep_weights().best() > 0);
  engine.space = discovered.space();
  engine.folder = folder;
  engine.planner = planner;
  engine.max_trials = MaxTrials(config);
  engine.devices = static_cast<int>(options_.devices.size());

  ExperimentOptions experiment;
  experiment.id = id;
  experiment.config = config;
  experiment.seed = seed;
  experiment.space = discovered.space();
  experiment.max_in_flight = engine.max_trials * planner->max_models_per_trial();
  experiment.watcher = watcher;
  experiment.journal = self_->spawn<caf::detached>(Journal, MakeSink(*std::move(journal)));
  if (config.keep_weights().best() > 0) {
    experiment.remove_weights = [&system = self_->system()](const std::string& folder) {
      // The trial process made the folder before the attempt ended: where there is none, there are no weights.
      std::error_code ignored;
      if (!std::filesystem::exists(folder, ignored)) return;
      // Files are large and disks may be slow: elsewhere.
      system.spawn<caf::detached>([folder] {
        std::error_code ignored;
        for (const char* file : {"/weights.pt", "/model.onnx"}) std::filesystem::remove(folder + file, ignored);
      });
    };
  }
  // A user's may compute for seconds; ours answer at once, and waking a thread would take longer than the answer.
  experiment.strategy = config.strategy().has_custom()
                            ? self_->spawn<caf::detached>(StrategyBehavior, std::move(strategy), config.objective())
                            : self_->spawn(StrategyBehavior, std::move(strategy), config.objective());
  experiment.make_engine = [&system = self_->system(), engine = std::move(engine),
                            service = options_.service](const ModelOwnerActor& owner) -> ModelRunnerActor {
    const EngineActor runner = system.spawn(Engine, engine, owner, service);
    const std::optional<ModelWindow> window = engine.planner->window();
    if (!window.has_value()) return runner;
    return system.spawn(CgoBatcher, *window, owner, runner);
  };
  options_.live.Add(experiment.journal, absl::StrCat("the journal of ", id));
  options_.live.Add(experiment.strategy, absl::StrCat("the strategy of ", id));
  const ExperimentActor actor = self_->spawn(Experiment, std::move(experiment));
  self_->monitor(actor);
  experiments_[actor.address()] = {id, watcher, actor};
  if (const std::string note = planner->note(); !note.empty()) spdlog::warn("[{}] {}", id, note);
  spdlog::info("[{}] started", id);
  return id;
}

void HeadState::OnExperimentDown(const caf::down_msg& down) {
  const auto found = experiments_.find(down.source);
  if (found == experiments_.end()) return;
  if (down.reason != caf::exit_reason::user_shutdown) {
    // It did not come to its end: nobody else will tell.
    v1::ExperimentEvent event;
    event.set_experiment(found->second.id);
    event.mutable_state()->set_state(v1::EXPERIMENT_FAILED);
    event.mutable_state()->set_reason(
        absl::StrCat("an internal error ended it: ", std::string(FromCafError(down.reason).message())));
    spdlog::error("[{}] {}", found->second.id, event.state().reason());
    self_->send(found->second.watcher, std::move(event));
  }
  experiments_.erase(found);
}

}  // namespace lanista

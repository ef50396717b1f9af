#include "src/experiment/setup.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "engines/device_memory.h"
#include "google/protobuf/util/message_differencer.h"
#include "google/protobuf/util/time_util.h"
#include "src/base/component.h"
#include "src/base/hash.h"
#include "src/base/held_folder.h"
#include "src/base/logging.h"
#include "src/base/output_files.h"
#include "src/base/read_file.h"
#include "src/base/status.h"
#include "src/config/table_columns.h"
#include "src/experiment/cost_limits.h"
#include "src/experiment/warm_start.h"
#include "src/goals/goals.h"
#include "src/space/file_digests.h"
#include "src/space/space.h"

namespace lanista {
namespace {

using google::protobuf::util::MessageDifferencer;

// The default of ExperimentConfig.output_limit.
constexpr int64_t kOutputLimit = int64_t{16} << 30;

// The part of a discovery that the journal keeps. Graphs are left out: they are large, and a resume discovers them
// again.
v1::Discovered WithoutGraphs(const v1::Discovered& discovered) {
  v1::Discovered kept;
  *kept.mutable_space() = discovered.space();
  kept.set_program(discovered.program());
  kept.set_multi_model_evaluator(discovered.multi_model_evaluator());
  return kept;
}

v1::TrialSpec MakeTrialTemplate(const std::string& id, const v1::ExperimentConfig& config, uint64_t seed,
                                const v1::Discovered& discovered) {
  v1::TrialSpec trial;
  trial.set_experiment(id);
  *trial.mutable_space() = config.space();
  *trial.mutable_engine() = config.engine();
  *trial.mutable_evaluator() = config.evaluator();
  if (trial.evaluator().has_table()) AddTableColumns(discovered.space(), trial.mutable_evaluator()->mutable_table());
  trial.set_space_fingerprint(discovered.space().fingerprint());
  *trial.mutable_space_files() = discovered.space().files();
  trial.set_program(discovered.program());
  trial.set_order_seed(OrderSeed(seed));
  if (config.has_deterministic()) trial.set_deterministic(config.deterministic());
  if (config.has_trial_timeout()) *trial.mutable_timeout() = config.trial_timeout();
  trial.set_output_limit(config.has_output_limit() ? config.output_limit() : kOutputLimit);
  *trial.mutable_objectives() = config.objectives();
  *trial.mutable_constraint() = config.constraint();
  trial.set_keep_weights(config.keep_weights().best() > 0);
  trial.set_priority(config.priority());
  // `requirements {}` requires nothing.
  if (config.requirements().ByteSizeLong() > 0) *trial.mutable_requirements() = config.requirements();
  return trial;
}

// OK if the space is the same as when the experiment began.
absl::Status CheckSameSpace(const v1::SpaceSpec& here, const v1::SpaceSpec& there) {
  if (here.fingerprint() != there.fingerprint()) {
    return absl::FailedPreconditionError(
        absl::StrCat("the space is not the one that the experiment began with; what differs (here: the program now, "
                     "there: the experiment):\n",
                     DescribeDifference(here, there)));
  }
  LANISTA_RETURN_IF_ERROR(CheckSameFiles(here.files(), there.files()));
  if (there.has_data() && !MessageDifferencer::Equals(here.data(), there.data())) {
    return absl::FailedPreconditionError(
        "the evaluator's data has changed since the experiment began (its shapes, classes or statistics): put the old "
        "data back, or start a new experiment");
  }
  return absl::OkStatus();
}

// OK if an experiment that came to its end can go on.
absl::Status CheckSomethingIsLeft(const v1::ExperimentConfig& config, const AttemptLedger& ledger,
                                  const StartingPoint& start) {
  using google::protobuf::util::TimeUtil;
  const absl::Duration limit = absl::Nanoseconds(TimeUtil::DurationToNanoseconds(config.max_duration()));
  if (config.has_max_duration() && start.ran >= limit) {
    return absl::FailedPreconditionError(
        absl::StrCat("the experiment has used up its max_duration (it ran for ",
                     absl::FormatDuration(absl::Trunc(start.ran, absl::Milliseconds(1))),
                     "): give it more, for example --set max_duration=",
                     absl::ToInt64Seconds(absl::Ceil(2 * limit, absl::Seconds(1))), "s"));
  }
  if (ledger.in_flight() > 0) return absl::OkStatus();
  if (config.has_max_trial_number() && ledger.counted_models() >= config.max_trial_number()) {
    return absl::FailedPreconditionError(
        absl::StrCat("the experiment has tried all ", ledger.counted_models(),
                     " models of its max_trial_number: give it more, for example --set max_trial_number=",
                     2 * ledger.counted_models()));
  }
  if (start.exhausted) return absl::FailedPreconditionError("nothing is left to try: the space is exhausted");
  return absl::OkStatus();
}

// Removes checkpoints of models that have their outcome: a head may end between an outcome and this.
void RemoveNeedlessCheckpoints(const std::string& folder, const AttemptLedger& ledger) {
  std::error_code error, ignored;
  for (std::filesystem::directory_iterator entry(folder + "/checkpoints", error), end; !error && entry != end;
       entry.increment(error)) {
    int model = 0;
    if (!absl::SimpleAtoi(entry->path().filename().string(), &model) || ledger.is_open(model)) continue;
    std::filesystem::remove_all(entry->path(), ignored);
  }
}

// Where KeepGraphs writes.
constexpr absl::string_view kGraphFile = "/space_graphs.pb";
constexpr uint64_t kMaxGraphBytes = 64 << 20;

// The files that keep_weights leaves in the output folder of an attempt.
constexpr const char* kWeightFiles[] = {kWeightsFile, "model.onnx"};

// Removes weights that are not among the best: a head may end between an outcome and this.
absl::Status RemoveNeedlessWeights(const JournalReader& journal, const AttemptLedger& ledger) {
  if (!ledger.keeps_weights()) return absl::OkStatus();
  // Output folders: those of trials, those of single models of merged trials, and those that evaluators made
  // themselves.
  std::set<std::string> candidates;
  std::error_code error, ignored;
  std::filesystem::recursive_directory_iterator entry(journal.folder() + "/trials", error);
  for (const std::filesystem::recursive_directory_iterator end; !error && entry != end; entry.increment(error)) {
    if (entry.depth() == 1) entry.disable_recursion_pending();
    const std::filesystem::path& path = entry->path();
    const bool has_weights = std::any_of(std::begin(kWeightFiles), std::end(kWeightFiles), [&](const char* file) {
      return std::filesystem::exists(path / file, ignored);
    });
    const std::string folder = path.lexically_relative(journal.folder()).string();
    if (has_weights && !ledger.NeedsWeights(folder)) candidates.insert(folder);
  }
  // What gives way to an outcome that is about to be recorded goes with a later restart, when it is recorded.
  LANISTA_ASSIGN_OR_RETURN(const auto recorded, journal.Weights());
  for (const auto& [model, folder] : recorded) candidates.erase(folder);
  if (candidates.empty()) return absl::OkStatus();
  LANISTA_ASSIGN_OR_RETURN(const std::vector<AttemptRecord> attempts, journal.Attempts());
  for (const AttemptRecord& attempt : attempts) {
    const std::string folder = TrialOutputFolder(attempt.trial, attempt.model, /*merged=*/attempt.members > 1);
    if (candidates.count(folder) > 0) RemoveWeights(absl::StrCat(journal.folder(), "/", folder));
  }
  return absl::OkStatus();
}

// All of the context but the devices.
PlannerContext PlannerContextOf(const v1::ExperimentConfig& config, const v1::Discovered& discovered) {
  PlannerContext context;
  context.multi_model_evaluator = discovered.multi_model_evaluator();
  context.space = config.space();
  if (discovered.has_graph_space()) context.graph_space = discovered.graph_space();
  context.evaluator = config.evaluator();
  return context;
}

// The objects that decide for an experiment.
struct Deciders {
  std::shared_ptr<GuardedStrategy> strategy;
  std::shared_ptr<GuardedStopper> stopper;
  std::shared_ptr<Planner> planner;
};

// `strategy_config`: the configuration for the strategy, which may be older than `config`.
absl::StatusOr<Deciders> MakeDeciders(const v1::ExperimentConfig& strategy_config, const v1::ExperimentConfig& config,
                                      uint64_t seed, const v1::Discovered& discovered,
                                      const std::vector<v1::Device>& devices) {
  Deciders deciders;
  LANISTA_ASSIGN_OR_RETURN(deciders.strategy, MakeStrategy(strategy_config, discovered, seed));
  LANISTA_ASSIGN_OR_RETURN(deciders.stopper, MakeStopper(config));
  LANISTA_ASSIGN_OR_RETURN(deciders.planner, MakePlanner(config, discovered, devices));
  return deciders;
}

ExperimentSetup Assemble(std::shared_ptr<HeldExperiment> held, const v1::ExperimentConfig& config,
                         const v1::Discovered& discovered, Deciders deciders, AttemptLedger ledger,
                         StartingPoint start) {
  const uint64_t seed = static_cast<uint64_t>(held->created.seed());
  v1::TrialSpec trial_template = MakeTrialTemplate(held->id, config, seed, discovered);
  return ExperimentSetup{std::move(held),
                         config,
                         seed,
                         discovered.space(),
                         std::move(deciders.strategy),
                         std::move(deciders.stopper),
                         std::move(deciders.planner),
                         std::move(ledger),
                         std::move(start),
                         std::move(trial_template)};
}

// Starts the journal of a new experiment, whose folder exists already.
absl::StatusOr<std::shared_ptr<HeldExperiment>> HoldFolder(const StateDir& state_dir,
                                                           const v1::ExperimentCreated& created,
                                                           const JournalOptions& options) {
  LANISTA_ASSIGN_OR_RETURN(const std::string folder, state_dir.ExperimentFolder(created.experiment()));
  LANISTA_ASSIGN_OR_RETURN(ExperimentLock lock, ExperimentLock::Acquire(folder));
  LANISTA_ASSIGN_OR_RETURN(std::unique_ptr<JournalWriter> writer, JournalWriter::Create(folder, created, options));
  return std::make_shared<HeldExperiment>(
      HeldExperiment{nullptr, created.experiment(), folder, created, std::move(lock), std::move(writer)});
}

// The same for a folder that was made just now. After an error it is gone, unless another process has taken it over: it
// holds the folder (FAILED_PRECONDITION), or has left a journal there (ALREADY_EXISTS).
absl::StatusOr<std::shared_ptr<HeldExperiment>> HoldNew(const StateDir& state_dir, const v1::ExperimentCreated& created,
                                                        const JournalOptions& options) {
  LANISTA_ASSIGN_OR_RETURN(const std::string folder, state_dir.ExperimentFolder(created.experiment()));
  absl::StatusOr<std::shared_ptr<HeldExperiment>> held = HoldFolder(state_dir, created, options);
  std::error_code ignored;
  const bool taken_over = absl::IsFailedPrecondition(held.status()) || absl::IsAlreadyExists(held.status());
  if (!held.ok() && !taken_over) std::filesystem::remove_all(folder, ignored);
  return held;
}

// The first field in which the configuration of a request differs from that of an earlier one; empty: in none.
std::string FirstDifference(v1::ExperimentConfig earlier, v1::ExperimentConfig now) {
  // "latest" may have become another experiment meanwhile.
  for (v1::ExperimentConfig* const config : {&earlier, &now}) {
    if (config->has_warm_start()) config->mutable_warm_start()->clear_experiment();
  }
  MessageDifferencer differencer;
  std::string difference;
  differencer.ReportDifferencesToString(&difference);
  return differencer.Compare(earlier, now) ? "" : difference.substr(0, difference.find('\n'));
}

}  // namespace

void RemoveWeights(const std::string& folder) {
  std::error_code ignored;
  for (const char* const file : kWeightFiles) std::filesystem::remove(std::filesystem::path(folder) / file, ignored);
}

uint64_t ExperimentSeed(const v1::ExperimentConfig& config) {
  // 31 bits: a number that a user can read and type.
  return config.has_seed() ? static_cast<uint64_t>(config.seed()) : std::random_device()() >> 1;
}

v1::Discover MakeDiscover(const v1::ExperimentConfig& config, uint64_t seed) {
  v1::Discover discover;
  *discover.mutable_space() = config.space();
  *discover.mutable_engine() = config.engine();
  *discover.mutable_evaluator() = config.evaluator();
  discover.set_order_seed(OrderSeed(seed));
  return discover;
}

absl::StatusOr<std::shared_ptr<GuardedStrategy>> MakeStrategy(const v1::ExperimentConfig& config,
                                                              const v1::Discovered& discovered, uint64_t seed) {
  LANISTA_ASSIGN_OR_RETURN(LimitsOfSamples limits, CostLimits(config, PlannerContextOf(config, discovered)));
  return GuardedStrategy::Create(config, discovered.space(), seed, std::move(limits));
}

absl::StatusOr<std::shared_ptr<GuardedStopper>> MakeStopper(const v1::ExperimentConfig& config) {
  if (!config.has_early_stopping()) return nullptr;
  StoppingContext context;
  if (const auto steps = NumberOfComponent(config.evaluator(), v1::FieldRules::STEPS)) {
    context.max_steps = static_cast<int>(*steps);
  }
  // Steps are reports of `default`, which is the first objective if there is a stopper.
  context.objective = Goals(config).objectives()[0].objective;
  auto stopper = GuardedStopper::Create(config.early_stopping(), context);
  if (!stopper.ok()) return Annotate(stopper.status(), "early_stopping");
  return stopper;
}

absl::StatusOr<std::unique_ptr<Planner>> MakePlanner(const v1::ExperimentConfig& config,
                                                     const v1::Discovered& discovered,
                                                     const std::vector<v1::Device>& devices) {
  PlannerContext context = PlannerContextOf(config, discovered);
  std::vector<int64_t> memories;
  for (const v1::Device& device : devices) memories.push_back(DeviceMemory(device));
  context.device_memory = PlanningMemory(std::move(memories));
  auto planner = PlannerRegistry::Get().Create(config.engine(), context);
  if (!planner.ok()) return Annotate(planner.status(), "engine");
  return planner;
}

absl::StatusOr<std::vector<v1::TellRequest>> WarmStart(const StateDir& state_dir, const v1::Discovered& discovered,
                                                       v1::ExperimentConfig* config) {
  if (!config->has_warm_start()) return std::vector<v1::TellRequest>();
  LANISTA_RETURN_IF_ERROR(FindWarmStart(state_dir, config));
  LANISTA_ASSIGN_OR_RETURN(const std::string folder, state_dir.ExperimentFolder(config->warm_start().experiment()));
  return ReadWarmStart(folder, *config, discovered.space(),
                       LimitedCosts(*config, PlannerContextOf(*config, discovered)));
}

absl::StatusOr<ExperimentSetup> NewExperiment(const StateDir& state_dir, v1::ExperimentConfig config, uint64_t seed,
                                              const v1::Discovered& discovered, const std::vector<v1::Device>& devices,
                                              const JournalOptions& options) {
  LANISTA_ASSIGN_OR_RETURN(Deciders deciders, MakeDeciders(config, config, seed, discovered, devices));

  StartingPoint start;
  LANISTA_ASSIGN_OR_RETURN(start.untold, WarmStart(state_dir, discovered, &config));

  v1::ExperimentCreated created;
  LANISTA_ASSIGN_OR_RETURN(*created.mutable_experiment(), state_dir.NewExperimentId(config.name()));
  *created.mutable_config() = config;
  created.set_seed(static_cast<int64_t>(seed));
  LANISTA_ASSIGN_OR_RETURN(std::shared_ptr<HeldExperiment> held, HoldNew(state_dir, created, options));
  *start.facts.add_records()->mutable_discovered() = WithoutGraphs(discovered);
  AttemptLedger ledger(config, seed, held->folder);
  return Assemble(std::move(held), config, discovered, std::move(deciders), std::move(ledger), std::move(start));
}

absl::StatusOr<CreatedExperiment> CreateExperiment(const StateDir& state_dir, v1::ExperimentCreated created,
                                                   const JournalOptions& options) {
  LANISTA_RETURN_IF_ERROR(FindWarmStart(state_dir, created.mutable_config()));
  const std::string& name = created.config().name();
  if (created.request_id().empty()) {
    LANISTA_ASSIGN_OR_RETURN(*created.mutable_experiment(), state_dir.NewExperimentId(name));
  }
  for (int attempt = 0; created.experiment().empty(); ++attempt) {
    const std::string id = StateDir::IdOfRequest(name, created.request_id(), attempt);
    LANISTA_ASSIGN_OR_RETURN(const bool is_new, state_dir.MakeExperimentFolder(id));
    if (is_new) {
      created.set_experiment(id);
      break;
    }
    LANISTA_ASSIGN_OR_RETURN(const std::string folder, state_dir.ExperimentFolder(id));
    const absl::StatusOr<JournalReader> earlier = JournalReader::Open(folder);
    if (earlier.ok()) {
      if (earlier->experiment().request_id() != created.request_id()) continue;
      const std::string difference = FirstDifference(earlier->first_config(), created.config());
      if (difference.empty()) return CreatedExperiment{id, nullptr};
      return absl::AlreadyExistsError(absl::StrCat("request_id: '", created.request_id(), "' has made ", id,
                                                   " of another configuration (from there to here): ", difference,
                                                   "; give another request id for another experiment"));
    }
    // It may belong to the same request, so another id could make a second experiment of that request.
    if (!absl::IsNotFound(earlier.status()) && !absl::IsDataLoss(earlier.status())) return earlier.status();
    // These two errors mean that a process was killed before it had begun the journal.
    created.set_experiment(id);
    absl::StatusOr<std::shared_ptr<HeldExperiment>> held = HoldFolder(state_dir, created, options);
    if (absl::IsAlreadyExists(held.status())) return earlier.status();
    if (!held.ok()) return held.status();
    return CreatedExperiment{id, *std::move(held)};
  }
  LANISTA_ASSIGN_OR_RETURN(std::shared_ptr<HeldExperiment> held, HoldNew(state_dir, created, options));
  return CreatedExperiment{held->id, std::move(held)};
}

absl::StatusOr<std::shared_ptr<HeldExperiment>> HoldExperiment(const StateDir& state_dir, const std::string& id,
                                                               const JournalOptions& options) {
  LANISTA_ASSIGN_OR_RETURN(const std::string folder, state_dir.ExperimentFolder(id));
  std::error_code ignored;
  if (!std::filesystem::is_directory(folder, ignored)) {
    return absl::NotFoundError(absl::StrCat("there is no experiment '", id, "' in ", state_dir.root()));
  }
  LANISTA_ASSIGN_OR_RETURN(ExperimentLock lock, ExperimentLock::Acquire(folder));
  LANISTA_ASSIGN_OR_RETURN(std::unique_ptr<JournalWriter> writer, JournalWriter::Open(folder, options));
  LANISTA_ASSIGN_OR_RETURN(const JournalReader reader, JournalReader::Open(folder));
  return std::make_shared<HeldExperiment>(
      HeldExperiment{nullptr, id, folder, reader.experiment(), std::move(lock), std::move(writer)});
}

absl::Status RecordEnd(HeldExperiment& held, v1::StateChanged end) {
  LANISTA_ASSIGN_OR_RETURN(const JournalReader journal, JournalReader::Open(held.folder));
  LANISTA_ASSIGN_OR_RETURN(const StateRecord state, journal.State());
  if (IsFinal(state.change.state())) return absl::OkStatus();
  v1::JournalBatch batch;
  LANISTA_RETURN_IF_ERROR(NoteInterruption(journal, &batch));
  *batch.add_records()->mutable_state() = std::move(end);
  return held.writer->Write(batch).status();
}

absl::Status EndStopping(const StateDir& state_dir, const std::string& id) {
  LANISTA_ASSIGN_OR_RETURN(const std::shared_ptr<HeldExperiment> held, HoldExperiment(state_dir, id, {}));
  LANISTA_ASSIGN_OR_RETURN(const JournalReader journal, JournalReader::Open(held->folder));
  LANISTA_ASSIGN_OR_RETURN(StateRecord state, journal.State());
  if (state.change.state() != v1::ExperimentState::STOPPING) return absl::OkStatus();
  state.change.set_state(v1::ExperimentState::STOPPED);
  return RecordEnd(*held, std::move(state.change));
}

absl::StatusOr<ExperimentSetup> ResumedExperiment(std::shared_ptr<HeldExperiment> held,
                                                  const v1::ExperimentConfig& config, v1::Discovered discovered,
                                                  const std::vector<v1::Device>& devices,
                                                  const std::set<std::string>& nodes) {
  const uint64_t seed = static_cast<uint64_t>(held->created.seed());
  LANISTA_ASSIGN_OR_RETURN(const JournalReader journal, JournalReader::Open(held->folder));
  LANISTA_ASSIGN_OR_RETURN(const std::optional<v1::Discovered> began, journal.Discovery());
  if (began.has_value()) {
    LANISTA_RETURN_IF_ERROR(CheckSameSpace(discovered.space(), began->space()));
    // The strategy must draw from the models that it began with.
    *discovered.mutable_space()->mutable_impossible() = began->space().impossible();
    if (!began->program().empty() && began->program() != discovered.program()) {
      LogWarning(
          "{}another build of the program began this experiment: models from here on may differ from those of that "
          "one in their last bits",
          LogTag(held->id));
    }
  }
  // The strategy gets the first configuration, because strategies choose sizes by its limit on models: another limit
  // would lead to other answers.
  LANISTA_ASSIGN_OR_RETURN(Deciders deciders, MakeDeciders(journal.first_config(), config, seed, discovered, devices));
  AttemptLedger ledger(config, seed, held->folder);
  LANISTA_ASSIGN_OR_RETURN(StartingPoint start,
                           Recover(journal, *deciders.strategy, deciders.stopper.get(), ledger, nodes));
  if (config.has_warm_start() && start.strategy_calls == 0) {
    const std::filesystem::path folder(held->folder);
    LANISTA_ASSIGN_OR_RETURN(
        start.untold, ReadWarmStart(folder.parent_path() / config.warm_start().experiment(), config, discovered.space(),
                                    LimitedCosts(config, PlannerContextOf(config, discovered))));
  }
  LANISTA_ASSIGN_OR_RETURN(const StateRecord state, journal.State());
  if (state.change.state() == v1::ExperimentState::DONE)
    LANISTA_RETURN_IF_ERROR(CheckSomethingIsLeft(config, ledger, start));
  RemoveNeedlessCheckpoints(held->folder, ledger);
  // Of a head that was killed, and not of an export that is under way.
  RemoveUnlessHeld(absl::StrCat(held->folder, "/", IncomingFolder()));
  LANISTA_RETURN_IF_ERROR(RemoveNeedlessWeights(journal, ledger));
  // The process was killed before it recorded the first facts.
  if (!began.has_value()) *start.facts.add_records()->mutable_discovered() = WithoutGraphs(discovered);
  if (!MessageDifferencer::Equals(config, journal.experiment().config())) {
    *start.facts.add_records()->mutable_config()->mutable_config() = config;
  }
  return Assemble(std::move(held), config, discovered, std::move(deciders), std::move(ledger), std::move(start));
}

absl::Status KeepGraphs(const HeldExperiment& held, const v1::Discovered& discovered) {
  if (!discovered.has_graph_space()) return absl::OkStatus();
  return WriteFile(absl::StrCat(held.folder, kGraphFile), discovered.graph_space().SerializeAsString());
}

absl::StatusOr<v1::Discovered> DiscoveredBefore(const HeldExperiment& held, const v1::ExperimentConfig& config,
                                                const std::set<std::string>& nodes) {
  LANISTA_ASSIGN_OR_RETURN(const JournalReader journal, JournalReader::Open(held.folder));
  LANISTA_ASSIGN_OR_RETURN(std::optional<v1::Discovered> discovered, journal.Discovery());
  if (!discovered.has_value() || discovered->program().empty()) {
    return absl::FailedPreconditionError("the journal does not say what was discovered by which program");
  }
  LANISTA_ASSIGN_OR_RETURN(const bool has_trials, HasTrialsOn(journal, nodes));
  if (!has_trials) return absl::FailedPreconditionError("no trial of the experiment ran on a node that may return");
  if (RulesOfComponent(config.engine()).knows_graphs()) {
    const absl::StatusOr<std::string> graphs = ReadWholeFile(absl::StrCat(held.folder, kGraphFile), kMaxGraphBytes);
    if (!graphs.ok() || !discovered->mutable_graph_space()->ParseFromString(*graphs)) {
      return absl::FailedPreconditionError("the graphs of the experiment's space were not kept");
    }
  }
  return *std::move(discovered);
}

}  // namespace lanista

// An experiment without actors: begun, cut off after any of its transactions, and gone on with.
#include "src/experiment/setup.h"

#include <algorithm>
#include <deque>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "src/base/held_folder.h"
#include "src/base/status.h"
#include "src/base/unique_fd.h"
#include "src/space/space.h"
#include "src/storage/sqlite.h"
#include "tests/storage/old_journal.h"
#include "tests/storage/storage_testing.h"

namespace lanista {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;

// As discovery does.
void SetFingerprint(v1::Discovered& discovered) {
  discovered.mutable_space()->clear_fingerprint();
  *discovered.mutable_space() = Space::FromProto(discovered.space())->spec();
}

// Three choices of four: 64 models.
v1::Discovered MakeDiscovered() {
  v1::Discovered discovered;
  discovered.set_program("build 1");
  for (const char* label : {"a", "b", "c"}) {
    v1::Choice& choice = *discovered.mutable_space()->add_choices();
    choice.set_label(label);
    choice.set_kind(v1::Choice::VALUE_CHOICE);
    choice.set_n_chosen(1);
    for (int option = 0; option < 4; ++option) choice.add_candidates()->set_i(option);
  }
  discovered.mutable_space()->set_complete(true);
  SetFingerprint(discovered);
  return discovered;
}

v1::ExperimentConfig MakeConfig(int models) {
  v1::ExperimentConfig config;
  config.set_name("search");
  config.set_seed(7);
  config.set_max_trial_number(models);
  config.mutable_strategy()->mutable_random();
  config.mutable_engine()->mutable_direct();
  config.mutable_evaluator()->mutable_constant();
  config.mutable_keep_weights()->set_best(2);
  return config;
}

// What a model's training comes to: a function of its sample. Every fifth fails.
double ValueOf(const v1::Sample& sample) {
  double value = 0;
  for (const v1::Decision& decision : sample.decisions()) value = value * 4 + decision.index(0);
  return value;
}
bool Fails(const v1::Sample& sample) { return static_cast<int>(ValueOf(sample)) % 5 == 0; }

// Does in one thread what the actors of an experiment do together: four models in flight, two a trial. A trial in which
// a model fails ends for both; they run again alone. With a stopper there is one model a trial, so that models report
// in the same order however often the experiment is cut off; every second model's steps are judged when it has ended.
class Simulation {
 public:
  explicit Simulation(ExperimentSetup setup)
      : setup_(std::move(setup)), ledger_(setup_.ledger), per_trial_(setup_.stopper == nullptr ? 2 : 1) {}

  // Runs until that many transactions are written; true once the experiment is at its end.
  bool Run(int transactions) {
    left_ = transactions;
    StartingPoint start = std::exchange(setup_.start, {});
    calls_ = start.strategy_calls;
    stopping_calls_ = start.stopping_calls;
    untold_ = std::move(start.untold);
    bool exhausted = start.exhausted;
    for (v1::TrialModel& model : start.models) waiting_.push_back(std::move(model));
    for (v1::RunAgain& again : start.alone) alone_.push_back(std::move(*again.mutable_model()));
    AddState(start.facts, v1::ExperimentState::RUNNING);
    if (!Write(start.facts)) return false;
    while (true) {
      const int room = std::min(4 - ledger_.in_flight(), setup_.config.max_trial_number() - ledger_.models());
      v1::JournalBatch batch;
      for (const v1::TellRequest& tell : std::exchange(untold_, {})) {
        EXPECT_TRUE(setup_.strategy->Tell(tell).ok());
        *AddCall(batch).mutable_tell() = tell;
      }
      if (room > 0 && !exhausted) {
        const auto proposal = setup_.strategy->Ask(room);
        EXPECT_TRUE(proposal.ok()) << proposal.status();
        v1::AskCall& ask = *AddCall(batch).mutable_ask();
        ask.set_count(room);
        ask.mutable_reply()->set_exhausted(exhausted = proposal->exhausted);
        for (const v1::Sample& sample : proposal->samples) {
          *ask.mutable_reply()->add_samples() = sample;
          waiting_.push_back(ledger_.Create(sample));
          v1::ModelCreated& created = *batch.add_records()->mutable_model();
          created.set_model(ledger_.models());
          *created.mutable_sample() = sample;
        }
      }
      if (!Write(batch)) return false;
      while (!alone_.empty() || !waiting_.empty()) {
        if (!PlanOne()) return false;
      }
      if (running_.empty()) break;
      if (!EndOne()) return false;
    }
    v1::JournalBatch batch;
    AddState(batch, v1::ExperimentState::DONE);
    return Write(batch);
  }

  const AttemptLedger& ledger() const { return ledger_; }

 private:
  static void AddState(v1::JournalBatch& batch, v1::ExperimentState::State state) {
    batch.add_records()->mutable_state()->set_state(state);
  }
  v1::StrategyCall& AddCall(v1::JournalBatch& batch) {
    v1::StrategyCall& call = *batch.add_records()->mutable_strategy_call();
    call.set_sequence(++calls_);
    return call;
  }
  bool Write(const v1::JournalBatch& batch) {
    if (left_-- == 0) return false;
    const absl::Status written = setup_.held->writer->Write(batch).status();
    EXPECT_TRUE(written.ok()) << written;
    return true;
  }

  bool PlanOne() {
    std::deque<v1::TrialModel>& from = alone_.empty() ? waiting_ : alone_;
    const size_t count = alone_.empty() ? std::min(per_trial_, waiting_.size()) : 1;
    v1::TrialQueued queued;
    queued.set_trial(ledger_.trials() + 1);
    std::vector<v1::TrialModel> models;
    for (size_t i = 0; i < count; ++i) {
      v1::TrialMember& member = *queued.add_members();
      member.set_model(from.front().model());
      member.set_attempt(from.front().attempt());
      models.push_back(std::move(from.front()));
      from.pop_front();
    }
    EXPECT_TRUE(ledger_.Plan(queued).ok());
    running_.emplace_back(queued.trial(), std::move(models));
    v1::JournalBatch batch;
    *batch.add_records()->mutable_trial() = queued;
    return Write(batch);
  }

  // Ends the oldest trial.
  bool EndOne() {
    const auto [trial, models] = running_.front();
    running_.pop_front();
    const bool breaks = models.size() > 1 && std::any_of(models.begin(), models.end(), [](const v1::TrialModel& model) {
                          return Fails(model.sample());
                        });
    for (const v1::TrialModel& model : models) {
      v1::ModelEvent event;
      event.set_trial(trial);
      event.set_model(model.model());
      event.set_attempt(model.attempt());
      const bool judged_at_the_end = model.model() % 2 == 1;
      std::vector<v1::ModelEvent> unheard;
      for (int step = 0; step < kSteps; ++step) {
        event.set_sequence(step + 1);
        event.mutable_intermediate()->set_step(step);
        auto& metrics = *event.mutable_intermediate()->mutable_metrics()->mutable_values();
        metrics["default"] = ValueOf(model.sample()) * (step + 1) / kSteps;
        v1::JournalBatch batch;
        *batch.add_records()->mutable_event() = event;
        const bool is_step = ledger_.Note(event);
        if (!Write(batch)) return false;
        if (is_step && judged_at_the_end) unheard.push_back(event);
        if (is_step && !judged_at_the_end && !Hear(event)) return false;
      }
      event.set_sequence(kSteps + 1);
      v1::ModelEnded& ended = *event.mutable_ended();
      ended.set_outcome(breaks                  ? v1::ModelEnded::UNMERGED
                        : Fails(model.sample()) ? v1::ModelEnded::FAILED
                                                : v1::ModelEnded::SUCCEEDED);
      if (ended.outcome() == v1::ModelEnded::SUCCEEDED) {
        (*ended.mutable_metrics()->mutable_values())["default"] = ValueOf(model.sample());
        ended.set_left_weights(true);
      } else {
        ended.mutable_failure()->set_reason(breaks ? v1::Failure::MERGED_TRIAL_FAILED : v1::Failure::EXCEPTION);
        ended.mutable_failure()->set_message("boom");
      }
      v1::JournalBatch batch;
      *batch.add_records()->mutable_event() = event;
      if (!Follow(std::move(batch), ledger_.EndAttempt(event))) return false;
      for (const v1::ModelEvent& report : unheard) {
        if (!Hear(report)) return false;
      }
    }
    return true;
  }

  // Writes what was decided.
  bool Follow(v1::JournalBatch batch, const AttemptLedger::Decision& decision) {
    if (decision.outcome.has_value()) ledger_.Describe(*decision.outcome, batch.add_records());
    if (!Write(batch)) return false;
    if (decision.again.has_value()) alone_.push_back(decision.again->model());
    if (!decision.outcome.has_value()) return true;
    untold_.push_back(ledger_.Close(*decision.outcome).tell);
    if (setup_.stopper == nullptr) return true;
    EXPECT_TRUE(setup_.stopper->Ended(untold_.back()).ok());
    v1::JournalBatch ended;
    *AddStoppingCall(ended).mutable_ended() = untold_.back();
    return Write(ended);
  }

  // A report is in the journal: the stopper hears what it may hear now.
  bool Hear(const v1::ModelEvent& event) {
    std::optional<v1::StepReport> next = ledger_.Recorded(event);
    while (next.has_value()) {
      const auto verdict = setup_.stopper->Report(*next);
      EXPECT_TRUE(verdict.ok()) << verdict.status();
      v1::JournalBatch batch;
      v1::ReportCall& call = *AddStoppingCall(batch).mutable_report();
      *call.mutable_report() = *next;
      *call.mutable_verdict() = *verdict;
      const AttemptLedger::Judgement judgement = ledger_.Judge(*next, *verdict);
      next = judgement.next;
      if (!Follow(std::move(batch), judgement.decision)) return false;
    }
    return true;
  }
  v1::StoppingCall& AddStoppingCall(v1::JournalBatch& batch) {
    v1::StoppingCall& call = *batch.add_records()->mutable_stopping_call();
    call.set_sequence(++stopping_calls_);
    return call;
  }

  static constexpr int kSteps = 3;

  ExperimentSetup setup_;
  AttemptLedger& ledger_;
  const size_t per_trial_;
  int left_ = 0;
  int calls_ = 0;
  int stopping_calls_ = 0;
  std::vector<v1::TellRequest> untold_;
  std::deque<v1::TrialModel> waiting_;
  std::deque<v1::TrialModel> alone_;
  std::deque<std::pair<int, std::vector<v1::TrialModel>>> running_;
};

class SetupTest : public ::testing::Test {
 protected:
  SetupTest() : state_dir_(*StateDir::Open(temp_.path())), devices_(2) {}

  absl::StatusOr<ExperimentSetup> New(const v1::ExperimentConfig& config) {
    return NewExperiment(state_dir_, config, ExperimentSeed(config), MakeDiscovered(), devices_, {});
  }
  absl::StatusOr<ExperimentSetup> Resume(const std::string& id, const v1::ExperimentConfig& config,
                                         const v1::Discovered& discovered = MakeDiscovered(),
                                         const std::set<std::string>& nodes = {}) {
    LANISTA_ASSIGN_OR_RETURN(std::shared_ptr<HeldExperiment> held, HoldExperiment(state_dir_, id, {}));
    return ResumedExperiment(std::move(held), config, discovered, devices_, nodes);
  }
  // A new experiment of four models. Trial 1 has models 1 and 2 and runs on node n, trial 2 has model 3 and runs on
  // node m; model 4 waits.
  std::string RunOnNodes(const v1::ExperimentConfig& config) {
    const std::string id = RunNew(config, 2);
    const absl::StatusOr<std::shared_ptr<HeldExperiment>> held = HoldExperiment(state_dir_, id, {});
    EXPECT_TRUE(held.ok()) << held.status();
    v1::JournalBatch batch;
    for (const int trial : {1, 2}) {
      v1::TrialQueued& queued = *batch.add_records()->mutable_trial();
      queued.set_trial(trial);
      for (const int model : trial == 1 ? std::vector<int>{1, 2} : std::vector<int>{3}) {
        v1::TrialMember& member = *queued.add_members();
        member.set_model(model);
        member.set_attempt(1);
      }
    }
    v1::ModelEvent event;
    event.set_attempt(1);
    event.set_sequence(1);
    for (const int model : {1, 3}) {
      event.set_trial(model == 1 ? 1 : 2);
      event.set_model(model);
      event.mutable_started()->mutable_device()->set_node(model == 1 ? "n" : "m");
      *batch.add_records()->mutable_event() = event;
    }
    event.set_trial(1);
    event.set_model(1);
    event.set_sequence(2);
    (*event.mutable_intermediate()->mutable_metrics()->mutable_values())["default"] = 0.5;
    *batch.add_records()->mutable_event() = event;
    EXPECT_TRUE((*held)->writer->Write(batch).ok());
    return id;
  }
  JournalReader Read(const std::string& id) { return *JournalReader::Open(*state_dir_.ExperimentFolder(id)); }

  // Each model's sample and outcome.
  std::map<int, std::string> Models(const std::string& id) {
    std::map<int, std::string> models;
    const std::vector<ModelRecord> records = Read(id).Models().value();
    for (const ModelRecord& model : records) {
      models[model.model] =
          absl::StrCat(model.sample_json, " ",
                       model.outcome.has_value() ? v1::ModelEnded::Outcome_Name(model.outcome->outcome()) : "none", " ",
                       model.outcome.has_value() && model.outcome->metrics().values().count("default") > 0
                           ? absl::StrCat(model.outcome->metrics().values().at("default"))
                           : "");
      if (model.outcome.has_value() && model.outcome->stopped_step() > 0) {
        absl::StrAppend(&models[model.model], " step ", model.outcome->stopped_step(), ": ",
                        model.outcome->stopped_because());
      }
    }
    return models;
  }

  // Runs a new experiment, cut off after so many transactions; returns its id.
  std::string RunNew(const v1::ExperimentConfig& config, int transactions) {
    absl::StatusOr<ExperimentSetup> setup = New(config);
    EXPECT_TRUE(setup.ok()) << setup.status();
    const std::string id = setup->held->id;
    Simulation(*std::move(setup)).Run(transactions);
    return id;
  }

  TempFolder temp_;
  StateDir state_dir_;
  std::vector<v1::Device> devices_;
};

constexpr int kToTheEnd = 1 << 30;

TEST_F(SetupTest, AnExperimentThatIsCutOffAnywhereGoesOnAsIfItHadNotBeen) {
  const v1::ExperimentConfig config = MakeConfig(12);
  const std::map<int, std::string> undisturbed = Models(RunNew(config, kToTheEnd));
  ASSERT_EQ(undisturbed.size(), 12u);
  bool at_its_end = false;
  for (int cut = 0; !at_its_end; ++cut) {
    SCOPED_TRACE(absl::StrCat("cut off after ", cut, " transactions"));
    const std::string id = RunNew(config, cut);
    at_its_end = Read(id).State()->change.state() == v1::ExperimentState::DONE;
    if (at_its_end) break;
    // Odd ones are cut off once more, by a version 2 of Lanista.
    if (cut % 2 == 1) {
      absl::StatusOr<ExperimentSetup> again = Resume(id, config);
      ASSERT_TRUE(again.ok()) << again.status();
      if (Simulation(*std::move(again)).Run(3)) continue;
      MakeVersion2(*state_dir_.ExperimentFolder(id) + "/journal.db");
    }
    absl::StatusOr<ExperimentSetup> setup = Resume(id, config);
    ASSERT_TRUE(setup.ok()) << setup.status();
    Simulation simulation(*std::move(setup));
    ASSERT_TRUE(simulation.Run(kToTheEnd));
    ASSERT_EQ(Models(id), undisturbed);
    EXPECT_EQ(simulation.ledger().succeeded() + simulation.ledger().failed(), 12);
    const std::vector<AttemptRecord> attempts = Read(id).Attempts().value();
    for (const AttemptRecord& attempt : attempts) EXPECT_TRUE(attempt.ended.has_value());
  }
}

v1::ExperimentConfig MakeStoppingConfig(int models) {
  v1::ExperimentConfig config = MakeConfig(models);
  config.mutable_strategy()->mutable_tpe()->set_startup(4);
  config.mutable_early_stopping()->mutable_asha()->set_reduction_factor(2);
  return config;
}

// The stopper's calls, without their numbers.
std::vector<std::string> StoppingCalls(const JournalReader& journal) {
  std::vector<std::string> calls;
  int last = 0;
  const absl::Status visited = journal.VisitStoppingCalls([&](v1::StoppingCall call) {
    EXPECT_EQ(call.sequence(), ++last);
    call.clear_sequence();
    calls.push_back(call.ShortDebugString());
    return absl::OkStatus();
  });
  EXPECT_TRUE(visited.ok()) << visited;
  return calls;
}

TEST_F(SetupTest, WithAStopperItGoesOnAsIfItHadNotBeenCutOff) {
  const v1::ExperimentConfig config = MakeStoppingConfig(12);
  const std::string whole = RunNew(config, kToTheEnd);
  const std::map<int, std::string> undisturbed = Models(whole);
  const std::vector<std::string> calls = StoppingCalls(Read(whole));
  ASSERT_EQ(undisturbed.size(), 12u);
  EXPECT_GT(Read(whole).CountModels()->stopped_early, 3);
  EXPECT_GT(Read(whole).CountModels()->succeeded, 1);
  EXPECT_GT(Read(whole).CountModels()->failed, 0);
  bool at_its_end = false;
  for (int cut = 0; !at_its_end; ++cut) {
    SCOPED_TRACE(absl::StrCat("cut off after ", cut, " transactions"));
    const std::string id = RunNew(config, cut);
    at_its_end = Read(id).State()->change.state() == v1::ExperimentState::DONE;
    if (at_its_end) break;
    // Every third is cut off once more.
    if (cut % 3 == 1) {
      absl::StatusOr<ExperimentSetup> again = Resume(id, config);
      ASSERT_TRUE(again.ok()) << again.status();
      if (Simulation(*std::move(again)).Run(cut % 4)) continue;
    }
    absl::StatusOr<ExperimentSetup> setup = Resume(id, config);
    ASSERT_TRUE(setup.ok()) << setup.status();
    for (const v1::TrialModel& model : setup->start.models) {
      EXPECT_EQ(Models(id)[model.model()].find("STOPPED_EARLY"), std::string::npos) << "what is decided runs again";
    }
    ASSERT_TRUE(Simulation(*std::move(setup)).Run(kToTheEnd));
    ASSERT_EQ(Models(id), undisturbed);
    ASSERT_EQ(StoppingCalls(Read(id)), calls) << "each step and each end is told once, in the same order";
  }
}

TEST_F(SetupTest, AModelThatAVerdictHasStoppedIsNotAttemptedAgain) {
  const v1::ExperimentConfig config = MakeStoppingConfig(12);
  // Cut off just behind each verdict that stops a model.
  int verdicts = 0;
  for (int cut = 1;; ++cut) {
    const std::string id = RunNew(config, cut);
    if (Read(id).State()->change.state() == v1::ExperimentState::DONE) break;
    std::vector<std::string> calls = StoppingCalls(Read(id));
    if (calls.empty() || calls.back().find("stop: true") == std::string::npos) continue;
    int model = 0;
    ASSERT_TRUE(Read(id)
                    .VisitStoppingCalls([&model](const v1::StoppingCall& call) {
                      model = call.report().report().model();
                      return absl::OkStatus();
                    })
                    .ok());
    if (Read(id).Models()->at(static_cast<size_t>(model) - 1).outcome.has_value()) continue;
    ++verdicts;
    absl::StatusOr<ExperimentSetup> setup = Resume(id, config);
    ASSERT_TRUE(setup.ok()) << setup.status();
    EXPECT_FALSE(setup->ledger.is_open(model));
    for (const v1::TrialModel& next : setup->start.models) EXPECT_NE(next.model(), model);
    for (const v1::RunAgain& again : setup->start.alone) EXPECT_NE(again.model().model(), model);
    ASSERT_FALSE(setup->start.untold.empty());
    EXPECT_EQ(setup->start.untold.back().model(), model);
    EXPECT_EQ(setup->start.untold.back().outcome(), v1::ModelEnded::STOPPED_EARLY);
  }
  EXPECT_GT(verdicts, 3);
}

TEST_F(SetupTest, AStopperThatDecidesOtherwiseIsRefusedWithBothVerdicts) {
  const v1::ExperimentConfig config = MakeStoppingConfig(12);
  const std::string id = RunNew(config, 30);
  const std::string file = *state_dir_.ExperimentFolder(id) + "/journal.db";
  ASSERT_TRUE(SqliteDatabase::Open(file, SQLITE_OPEN_READWRITE)
                  ->Execute("UPDATE stopping_call SET stop = 1, because = 'it is bad' WHERE sequence = 1")
                  .ok());
  const absl::Status status = Resume(id, config).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("call 1 of the stopper, on step 1 of model 1, is decided otherwise than it was: it goes on "
                        "here, it stops (it is bad) in the journal"));
}

// The calls of the strategy, one word each: "told" of a model of another experiment, "tell", "ask".
std::vector<std::string> CallsOf(const JournalReader& journal) {
  std::vector<std::string> calls;
  const absl::Status read = journal.VisitStrategyCalls([&calls](const v1::StrategyCall& call) {
    calls.push_back(call.has_ask() ? "ask" : call.tell().model() == 0 ? "told" : "tell");
    return absl::OkStatus();
  });
  EXPECT_TRUE(read.ok()) << read;
  return calls;
}

TEST_F(SetupTest, AWarmStartIsToldBeforeTheFirstAskWhereverTheExperimentIsCutOff) {
  const std::string earlier = RunNew(MakeConfig(12), kToTheEnd);
  v1::ExperimentConfig config = MakeConfig(10);
  config.mutable_strategy()->mutable_tpe()->set_startup(2);
  config.mutable_warm_start()->set_experiment(earlier.substr(0, earlier.size() - 1));
  const std::string warm = RunNew(config, kToTheEnd);
  EXPECT_EQ(Read(warm).experiment().config().warm_start().experiment(), earlier) << "the whole id is recorded";
  std::vector<std::string> calls = CallsOf(Read(warm));
  ASSERT_GT(calls.size(), 13u);
  std::vector<std::string> first(12, "told");
  first.push_back("ask");
  EXPECT_EQ(std::vector<std::string>(calls.begin(), calls.begin() + 13), first);
  EXPECT_EQ(std::count(calls.begin(), calls.end(), "told"), 12);
  const std::map<int, std::string> undisturbed = Models(warm);
  ASSERT_EQ(undisturbed.size(), 10u);
  // What is known is not tried again.
  std::set<std::string> samples;
  for (const std::string& id : {earlier, warm}) {
    const std::vector<ModelRecord> models = Read(id).Models().value();
    for (const ModelRecord& model : models) samples.insert(model.sample_json);
  }
  EXPECT_EQ(samples.size(), 22u);

  config = Read(warm).experiment().config();
  for (const int cut : {0, 1, 2, 3, 7}) {
    SCOPED_TRACE(absl::StrCat("cut off after ", cut, " transactions"));
    const std::string id = RunNew(config, cut);
    absl::StatusOr<ExperimentSetup> setup = Resume(id, config);
    ASSERT_TRUE(setup.ok()) << setup.status();
    ASSERT_TRUE(Simulation(*std::move(setup)).Run(kToTheEnd));
    EXPECT_EQ(CallsOf(Read(id))[11], "told");
    calls = CallsOf(Read(id));
    EXPECT_EQ(std::count(calls.begin(), calls.end(), "told"), 12);
    // One that is cut off later hears of what was running in another order than it would have.
    if (cut <= 2) {
      EXPECT_EQ(Models(id), undisturbed);
    }
  }
}

TEST_F(SetupTest, AWarmStartMayTakeTheBestOnly) {
  const std::string earlier = RunNew(MakeConfig(12), kToTheEnd);
  v1::ExperimentConfig config = MakeConfig(4);
  config.mutable_warm_start()->set_experiment("latest");
  config.mutable_warm_start()->set_top(3);
  const absl::StatusOr<ExperimentSetup> setup = New(config);
  ASSERT_TRUE(setup.ok()) << setup.status();
  std::set<std::string> told, best;
  for (const v1::TellRequest& tell : setup->start.untold) {
    EXPECT_EQ(tell.model(), 0);
    EXPECT_EQ(tell.outcome(), v1::ModelEnded::SUCCEEDED);
    EXPECT_EQ(tell.value(), ValueOf(tell.sample()));
    told.insert(Space::ToJson(tell.sample()));
  }
  const std::vector<ModelRecord> models = Read(earlier).BestModels(3).value();
  for (const ModelRecord& model : models) best.insert(model.sample_json);
  EXPECT_EQ(told, best);
  EXPECT_EQ(told.size(), 3u);
}

TEST_F(SetupTest, AWarmStartLeavesOutModelsOfWhichItIsNotKnownWhetherTheyKeepALimit) {
  const std::string earlier = RunNew(MakeConfig(12), kToTheEnd);
  const std::vector<ModelRecord> models = Read(earlier).Models().value();
  const auto failed = std::count_if(models.begin(), models.end(), [](const ModelRecord& model) {
    return model.outcome->outcome() == v1::ModelEnded::FAILED;
  });
  v1::ExperimentConfig config = MakeConfig(4);
  config.mutable_warm_start()->set_experiment(earlier);
  v1::ConstraintConfig& limit = *config.add_constraint();
  const auto told = [&] {
    const absl::StatusOr<ExperimentSetup> setup = New(config);
    EXPECT_TRUE(setup.ok()) << setup.status();
    return setup->start.untold;
  };
  // No model has this metric, but the failures are still told.
  limit.set_metric("latency");
  limit.set_max(1);
  std::vector<v1::TellRequest> tells = told();
  EXPECT_EQ(tells.size(), failed);
  for (const v1::TellRequest& tell : tells) EXPECT_EQ(tell.outcome(), v1::ModelEnded::FAILED);

  limit.set_metric("default");
  limit.set_max(20);
  tells = told();
  EXPECT_EQ(tells.size(), 12u) << "those that break the limit say how far they are from it";
  int broken = 0;
  for (const v1::TellRequest& tell : tells) {
    EXPECT_EQ(tell.violation() > 0, tell.value() > 20) << tell.ShortDebugString();
    broken += tell.violation() > 0 ? 1 : 0;
  }
  EXPECT_GT(broken, 0);

  // An experiment that had the limit has judged its models by it.
  limit.set_metric("latency");
  v1::ExperimentConfig limited = MakeConfig(12);
  *limited.mutable_constraint() = config.constraint();
  config.mutable_warm_start()->set_experiment(RunNew(limited, kToTheEnd));
  EXPECT_EQ(told().size(), 12u);
}

TEST_F(SetupTest, AWarmStartFromAnotherSpaceObjectiveOrEvaluatorIsRefusedWithTheDifference) {
  const std::string earlier = RunNew(MakeConfig(4), kToTheEnd);
  v1::ExperimentConfig config = MakeConfig(4);
  config.mutable_warm_start()->set_experiment(earlier);
  const auto error = [&](const v1::Discovered& discovered) {
    return std::string(NewExperiment(state_dir_, config, 7, discovered, devices_, {}).status().message());
  };
  EXPECT_EQ(error(MakeDiscovered()), "");

  v1::Discovered other = MakeDiscovered();
  other.mutable_space()->mutable_choices(0)->set_label("z");
  SetFingerprint(other);
  EXPECT_THAT(error(other),
              HasSubstr(absl::StrCat("warm_start.experiment: ", earlier, " cannot be used: it has another space")));
  EXPECT_THAT(error(other), HasSubstr("choice 'z': only here"));

  config.set_objective(v1::ObjectiveConfig::MINIMIZE);
  EXPECT_THAT(error(MakeDiscovered()), HasSubstr("its objective is MAXIMIZE, and this experiment's is MINIMIZE"));
  config.clear_objective();

  config.mutable_evaluator()->mutable_constant()->set_value(0.25);
  EXPECT_THAT(error(MakeDiscovered()),
              HasSubstr("it has another evaluator (from there to here): added: constant.value: 0.25; if"));
  config.mutable_warm_start()->set_allow_other_evaluator(true);
  EXPECT_EQ(error(MakeDiscovered()), "");
  config.mutable_evaluator()->mutable_constant()->clear_value();

  other = MakeDiscovered();
  v1::FileDigest& file = *other.mutable_space()->add_files();
  file.set_path("/net.pt");
  file.set_sha256("1234");
  EXPECT_THAT(error(other), HasSubstr("it did not read /net.pt as it is now"));

  config.mutable_warm_start()->set_experiment("nobody");
  EXPECT_THAT(error(MakeDiscovered()), HasSubstr("warm_start.experiment: "));
  EXPECT_EQ(state_dir_.List()->size(), 3u) << "the earlier one, and those two that were made; nothing else is left";
}

TEST_F(SetupTest, InitialModelsComeFirstWhereverTheExperimentIsCutOff) {
  v1::ExperimentConfig config = MakeConfig(10);
  config.add_initial()->set_sample(R"({"a": 3, "b": 3, "c": 3})");
  config.add_initial()->set_sample(R"({"b": 1})");
  config.add_initial()->set_sample(R"({"a": 0, "b": 0, "c": 1})");
  const std::map<int, std::string> undisturbed = Models(RunNew(config, kToTheEnd));
  ASSERT_EQ(undisturbed.size(), 10u);
  EXPECT_THAT(undisturbed.at(1), HasSubstr(R"({"a":3,"b":3,"c":3})"));
  EXPECT_THAT(undisturbed.at(2), HasSubstr(R"("b":1)"));
  EXPECT_THAT(undisturbed.at(3), HasSubstr(R"({"a":0,"b":0,"c":1})"));
  for (const int cut : {0, 1, 2, 5, 11}) {
    SCOPED_TRACE(absl::StrCat("cut off after ", cut, " transactions"));
    const std::string id = RunNew(config, cut);
    absl::StatusOr<ExperimentSetup> setup = Resume(id, config);
    ASSERT_TRUE(setup.ok()) << setup.status();
    ASSERT_TRUE(Simulation(*std::move(setup)).Run(kToTheEnd));
    EXPECT_EQ(Models(id), undisturbed);
  }
  config.add_initial()->set_sample(R"({"d": 1})");
  EXPECT_EQ(New(config).status().message(), "initial[3].sample: the space has no choice 'd'; it has: a, b, c");
}

TEST_F(SetupTest, ModelsThatAStopCanceledRunAgain) {
  const v1::ExperimentConfig config = MakeConfig(12);
  const std::map<int, std::string> undisturbed = Models(RunNew(config, kToTheEnd));
  // Two of the first four are planned.
  const std::string id = RunNew(config, 3);
  {
    const absl::StatusOr<std::shared_ptr<HeldExperiment>> held = HoldExperiment(state_dir_, id, {});
    ASSERT_TRUE(held.ok()) << held.status();
    v1::JournalBatch stop = Batch(R"pb(records { state { state: STOPPING } }
                                       records {
                                         event {
                                           model: 1
                                           attempt: 1
                                           sequence: 1
                                           ended { outcome: CANCELED }
                                         }
                                       }
                                       records { outcome { model: 1 attempt: 1 outcome: CANCELED } }
                                       records {
                                         event {
                                           model: 2
                                           attempt: 1
                                           sequence: 1
                                           ended { outcome: CANCELED }
                                         }
                                       }
                                       records { outcome { model: 2 attempt: 1 outcome: CANCELED } }
                                       records { outcome { model: 3 outcome: CANCELED } }
                                       records { outcome { model: 4 outcome: CANCELED } }
                                       records { state { state: STOPPED } })pb");
    ASSERT_TRUE((*held)->writer->Write(stop).ok());
  }
  absl::StatusOr<ExperimentSetup> setup = Resume(id, config);
  ASSERT_TRUE(setup.ok()) << setup.status();
  EXPECT_EQ(setup->start.models.size(), 4u);
  ASSERT_TRUE(Simulation(*std::move(setup)).Run(kToTheEnd));
  EXPECT_EQ(Models(id), undisturbed);
}

// The counts of lost nodes for each model are the same after the head was killed.
TEST_F(SetupTest, NodesThatWereLostAreRememberedAndNodesThatLeftAreNot) {
  const std::string id = RunNew(MakeConfig(12), 2);
  {
    const absl::StatusOr<std::shared_ptr<HeldExperiment>> held = HoldExperiment(state_dir_, id, {});
    ASSERT_TRUE(held.ok()) << held.status();
    v1::JournalBatch batch;
    for (int attempt = 1; attempt <= 5; ++attempt) {
      // Two are lost with their nodes, three leave in order.
      const bool lost = attempt <= 2;
      v1::TrialQueued& trial = *batch.add_records()->mutable_trial();
      trial.set_trial(attempt);
      v1::TrialMember& member = *trial.add_members();
      member.set_model(1);
      member.set_attempt(attempt);
      v1::ModelEvent event;
      event.set_trial(attempt);
      event.set_model(1);
      event.set_attempt(attempt);
      event.set_sequence(1);
      event.mutable_started()->mutable_device()->set_node(absl::StrCat("n", attempt));
      *batch.add_records()->mutable_event() = event;
      event.set_sequence(2);
      event.mutable_ended()->set_outcome(v1::ModelEnded::LOST);
      event.mutable_ended()->set_lost_cause(lost ? v1::ModelEnded::NODE_LOST : v1::ModelEnded::NODE_LEFT);
      *batch.add_records()->mutable_event() = event;
    }
    const auto written = (*held)->writer->Write(batch);
    ASSERT_TRUE(written.ok()) << written.status();
  }
  absl::StatusOr<ExperimentSetup> setup = Resume(id, MakeConfig(12));
  ASSERT_TRUE(setup.ok()) << setup.status();
  AttemptLedger& ledger = setup->ledger;
  ASSERT_TRUE(ledger.is_open(1));
  EXPECT_EQ(ledger.open_model(1).attempt(), 6);
  v1::TrialQueued trial;
  trial.set_trial(6);
  trial.add_members()->set_model(1);
  trial.mutable_members(0)->set_attempt(6);
  ASSERT_TRUE(ledger.Plan(trial).ok());
  v1::ModelEvent event;
  event.set_model(1);
  event.set_attempt(6);
  event.mutable_started()->mutable_device()->set_node("n6");
  ledger.Note(event);
  event.mutable_ended()->set_outcome(v1::ModelEnded::LOST);
  event.mutable_ended()->set_lost_cause(v1::ModelEnded::NODE_LOST);
  const AttemptLedger::Decision decision = ledger.EndAttempt(event);
  ASSERT_TRUE(decision.outcome.has_value());
  EXPECT_EQ(decision.outcome->outcome(), v1::ModelEnded::FAILED);
  EXPECT_THAT(decision.outcome->failure().message(), HasSubstr("n1, n2, n6"));
}

TEST_F(SetupTest, ATrialThatMayComeBackWithItsNodeIsNotLost) {
  const std::string id = RunOnNodes(MakeConfig(4));
  const auto numbers = [](const std::vector<v1::TrialModel>& models) {
    std::vector<std::string> lines;
    for (const v1::TrialModel& model : models) lines.push_back(absl::StrCat(model.model(), "/", model.attempt()));
    return lines;
  };
  {
    const absl::StatusOr<ExperimentSetup> setup = Resume(id, MakeConfig(4));
    ASSERT_TRUE(setup.ok()) << setup.status();
    EXPECT_TRUE(setup->start.on_nodes.empty());
    EXPECT_THAT(numbers(setup->start.models), ::testing::ElementsAre("1/2", "2/2", "3/2", "4/1"));
  }
  absl::StatusOr<ExperimentSetup> setup = Resume(id, MakeConfig(4), MakeDiscovered(), {"n", "x"});
  ASSERT_TRUE(setup.ok()) << setup.status();
  EXPECT_THAT(numbers(setup->start.models), ::testing::ElementsAre("3/2", "4/1"));
  ASSERT_EQ(setup->start.on_nodes.size(), 1u);
  const TrialOnNode& trial = setup->start.on_nodes[0];
  EXPECT_EQ(trial.trial, 1);
  EXPECT_EQ(trial.num_models, 2);
  EXPECT_EQ(trial.device.node(), "n");
  EXPECT_THAT(numbers(trial.models), ::testing::ElementsAre("1/1", "2/1")) << "of model 2 nothing was said yet";
  EXPECT_EQ(trial.models[0].reported_steps(), 1);
  EXPECT_THAT(trial.recorded, ::testing::ElementsAre(2, 0));
  std::vector<int> lost;
  for (const v1::JournalRecord& record : setup->start.facts.records()) {
    if (record.event().has_ended()) lost.push_back(record.event().model());
  }
  EXPECT_THAT(lost, ::testing::ElementsAre(3));
  // The experiment ends as if it had not been interrupted.
  v1::ModelEvent end;
  end.set_trial(1);
  end.set_model(1);
  end.set_attempt(1);
  end.mutable_ended()->set_outcome(v1::ModelEnded::SUCCEEDED);
  const AttemptLedger::Decision decision = setup->ledger.EndAttempt(end);
  ASSERT_TRUE(decision.outcome.has_value());
  EXPECT_EQ(decision.outcome->attempt(), 1);
  EXPECT_EQ(setup->ledger.Close(*decision.outcome).tell.steps(), 1);
}

TEST_F(SetupTest, WhatWasDiscoveredIsKnownWhereNodesReturnWithTrials) {
  v1::ExperimentConfig config = MakeConfig(4);
  const std::string id = RunOnNodes(config);
  const std::shared_ptr<HeldExperiment> held = *HoldExperiment(state_dir_, id, {});
  EXPECT_TRUE(absl::IsFailedPrecondition(DiscoveredBefore(*held, config, {"x"}).status())) << "nothing ran there";
  const absl::StatusOr<v1::Discovered> discovered = DiscoveredBefore(*held, config, {"n"});
  ASSERT_TRUE(discovered.ok()) << discovered.status();
  EXPECT_EQ(discovered->program(), "build 1");
  EXPECT_EQ(discovered->space().fingerprint(), MakeDiscovered().space().fingerprint());
  // Engines that plan by graphs need these.
  config.mutable_engine()->mutable_cgo();
  EXPECT_THAT(std::string(DiscoveredBefore(*held, config, {"n"}).status().message()), HasSubstr("graphs"));
  v1::Discovered with_graphs = MakeDiscovered();
  with_graphs.mutable_graph_space()->mutable_base()->set_name("net");
  ASSERT_TRUE(KeepGraphs(*held, with_graphs).ok());
  const absl::StatusOr<v1::Discovered> again = DiscoveredBefore(*held, config, {"n"});
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->graph_space().base().name(), "net");
}

TEST_F(SetupTest, AnExperimentMayBeginBeforeThereIsADevice) {
  devices_.clear();
  v1::ExperimentConfig config = MakeConfig(2);
  config.set_priority(7);
  const absl::StatusOr<ExperimentSetup> setup = New(config);
  ASSERT_TRUE(setup.ok()) << setup.status();
  EXPECT_EQ(setup->trial_template.priority(), 7);
  EXPECT_EQ(setup->trial_template.output_limit(), int64_t{16} << 30);
  EXPECT_FALSE(setup->trial_template.has_requirements());
}

TEST_F(SetupTest, TrialsHaveTheRequirementsOfTheirExperiment) {
  v1::ExperimentConfig config = MakeConfig(2);
  config.mutable_requirements()->set_device_kind(v1::DeviceKind::GPU);
  const absl::StatusOr<ExperimentSetup> setup = New(config);
  ASSERT_TRUE(setup.ok()) << setup.status();
  EXPECT_EQ(setup->trial_template.requirements().device_kind(), v1::DeviceKind::GPU);
  config.mutable_requirements()->Clear();
  const absl::StatusOr<ExperimentSetup> without = New(config);
  ASSERT_TRUE(without.ok()) << without.status();
  EXPECT_FALSE(without->trial_template.has_requirements()) << "they require nothing";
}

TEST_F(SetupTest, HigherLimitsLetAFinishedExperimentGoOn) {
  const std::string id = RunNew(MakeConfig(8), kToTheEnd);
  const absl::Status refused = Resume(id, MakeConfig(8)).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(refused));
  EXPECT_THAT(std::string(refused.message()), HasSubstr("--set max_trial_number=16"));
  absl::StatusOr<ExperimentSetup> setup = Resume(id, MakeConfig(16));
  ASSERT_TRUE(setup.ok()) << setup.status();
  ASSERT_TRUE(Simulation(*std::move(setup)).Run(kToTheEnd));
  EXPECT_EQ(Models(id).size(), 16u);
  EXPECT_EQ(Read(id).experiment().config().max_trial_number(), 16) << "what changed is recorded";
  EXPECT_EQ(Resume(id, MakeConfig(8)).status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(SetupTest, AResumeRemovesWhatAKilledHeadLeftAndNothingOfAnExport) {
  const std::string id = RunNew(MakeConfig(8), 4);
  const absl::StatusOr<std::string> folder = state_dir_.ExperimentFolder(id);
  ASSERT_TRUE(folder.ok()) << folder.status();
  const std::string incoming = *folder + "/" + IncomingFolder();
  for (const char* one : {"/left", "/export"}) std::filesystem::create_directories(incoming + one);
  const absl::StatusOr<UniqueFd> held = HoldFolder(incoming + "/export");
  ASSERT_TRUE(held.ok()) << held.status();
  EXPECT_EQ(Resume(id, MakeConfig(8)).status(), absl::OkStatus());
  EXPECT_FALSE(std::filesystem::exists(incoming + "/left"));
  EXPECT_TRUE(std::filesystem::exists(incoming + "/export"));
}

TEST_F(SetupTest, AStrategyThatSizesItselfByTheLimitGoesOnWithAHigherOne) {
  v1::ExperimentConfig config = MakeConfig(16);
  config.mutable_strategy()->mutable_evolution();
  const std::string id = RunNew(config, kToTheEnd);
  config.set_max_trial_number(60);
  absl::StatusOr<ExperimentSetup> setup = Resume(id, config);
  ASSERT_TRUE(setup.ok()) << setup.status();
  ASSERT_TRUE(Simulation(*std::move(setup)).Run(kToTheEnd));
  EXPECT_EQ(Models(id).size(), 60u);
}

TEST_F(SetupTest, AnExhaustedSpaceStaysExhausted) {
  v1::ExperimentConfig config = MakeConfig(1000);
  const std::string id = RunNew(config, kToTheEnd);
  EXPECT_EQ(Models(id).size(), 64u);
  EXPECT_THAT(std::string(Resume(id, config).status().message()), HasSubstr("the space is exhausted"));
}

TEST_F(SetupTest, MaxDurationThatIsUsedUpIsSaid) {
  v1::ExperimentConfig config = MakeConfig(1000);
  const std::string id = RunNew(config, 5);
  {
    const auto held = HoldExperiment(state_dir_, id, {});
    ASSERT_TRUE((*held)
                    ->writer
                    ->Write(Batch(R"pb(records {
                                         time { seconds: 4000000000 }
                                         state { state: STOPPING }
                                       }
                                       records {
                                         time { seconds: 4000000001 }
                                         state { state: DONE }
                                       })pb"))
                    .ok());
  }
  config.mutable_max_duration()->set_seconds(60);
  EXPECT_THAT(std::string(Resume(id, config).status().message()), HasSubstr("--set max_duration=120s"));
}

TEST_F(SetupTest, TheStrategyDrawsFromTheModelsThatItBeganWith) {
  // Discovery of an earlier build left no model out, and this one leaves out most of them.
  const v1::ExperimentConfig config = MakeConfig(12);
  const std::map<int, std::string> undisturbed = Models(RunNew(config, kToTheEnd));
  const std::string id = RunNew(config, 8);
  v1::Discovered now = MakeDiscovered();
  v1::Term& term = *now.mutable_space()->add_impossible()->add_all_of();
  term.set_label("a");
  term.mutable_chosen()->Add(1);
  term.mutable_chosen()->Add(2);
  term.mutable_chosen()->Add(3);
  absl::StatusOr<ExperimentSetup> setup = Resume(id, config, now);
  ASSERT_TRUE(setup.ok()) << setup.status();
  EXPECT_TRUE(setup->space.impossible().empty());
  ASSERT_TRUE(Simulation(*std::move(setup)).Run(kToTheEnd));
  EXPECT_EQ(Models(id), undisturbed);
}

TEST_F(SetupTest, AnotherSpaceOtherFilesAndOtherDataAreRefused) {
  const v1::ExperimentConfig config = MakeConfig(8);
  v1::Discovered began = MakeDiscovered();
  v1::FileDigest& file = *began.mutable_space()->add_files();
  file.set_path("/net.pt");
  file.set_sha256("1234");
  began.mutable_space()->mutable_data()->add_input_shape(28);
  std::string id;
  {
    auto setup = NewExperiment(state_dir_, config, 7, began, devices_, {});
    ASSERT_TRUE(setup.ok()) << setup.status();
    id = setup->held->id;
    Simulation(*std::move(setup)).Run(4);
  }
  const auto refusal = [&](const v1::Discovered& discovered) {
    const absl::Status status = Resume(id, config, discovered).status();
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
    return std::string(status.message());
  };
  v1::Discovered other = began;
  other.mutable_space()->mutable_choices(0)->set_label("z");
  SetFingerprint(other);
  EXPECT_THAT(refusal(other), HasSubstr("choice 'z': only here"));
  other = began;
  other.mutable_space()->mutable_files(0)->set_sha256("5678");
  EXPECT_THAT(refusal(other), HasSubstr("/net.pt has changed since the experiment began"));
  other = began;
  other.mutable_space()->mutable_data()->set_input_shape(0, 32);
  EXPECT_THAT(refusal(other), HasSubstr("data has changed"));
  other = began;
  other.set_program("build 2");
  EXPECT_TRUE(Resume(id, config, other).ok()) << "another build of the same space goes on, with a warning";
  EXPECT_TRUE(Resume(id, config, began).ok());
}

TEST_F(SetupTest, AStrategyThatAnswersOtherwiseIsRefusedWithBothAnswers) {
  const v1::ExperimentConfig config = MakeConfig(8);
  const std::string id = RunNew(config, 6);
  // As if its code had changed: it draws from another seed.
  ASSERT_TRUE(SqliteDatabase::Open(*state_dir_.ExperimentFolder(id) + "/journal.db", SQLITE_OPEN_READWRITE)
                  ->Execute("UPDATE experiment SET seed = 8")
                  .ok());
  const absl::Status status = Resume(id, config).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("call 1 of the strategy, which was asked for 4 models"));
  EXPECT_THAT(std::string(status.message()), ContainsRegex(R"(\{"a":.*\} here, \{"a":.*\} in the journal)"));
}

TEST_F(SetupTest, AnExperimentIsHeldOnce) {
  const absl::StatusOr<ExperimentSetup> running = New(MakeConfig(8));
  ASSERT_TRUE(running.ok());
  const absl::Status status = HoldExperiment(state_dir_, running->held->id, {}).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("in use by process"));
  EXPECT_TRUE(absl::IsNotFound(HoldExperiment(state_dir_, "nobody", {}).status()));
}

TEST_F(SetupTest, ARequestMakesOneExperimentWhereverItWasCutOff) {
  v1::ExperimentCreated created;
  *created.mutable_config() = MakeConfig(1);
  created.set_request_id("tuesday");
  const std::string id = StateDir::IdOfRequest("search", "tuesday", 0);
  const std::string folder = *state_dir_.ExperimentFolder(id), journal = folder + "/journal.db";
  // In the middle of making its folder.
  std::filesystem::create_directories(folder);
  EXPECT_EQ(CreateExperiment(state_dir_, created, {})->id, id);
  EXPECT_TRUE(std::filesystem::is_directory(folder + "/logs"));
  EXPECT_EQ(CreateExperiment(state_dir_, created, {})->held, nullptr) << "it is there";

  // Before the first transaction.
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  ASSERT_TRUE(SqliteDatabase::Open(journal, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE)
                  ->Execute("PRAGMA journal_mode = WAL; PRAGMA user_version = 0")
                  .ok());
  {
    const auto lock = ExperimentLock::Acquire(folder);
    EXPECT_TRUE(absl::IsFailedPrecondition(CreateExperiment(state_dir_, created, {}).status())) << "in the making";
  }
  EXPECT_NE(CreateExperiment(state_dir_, created, {})->held, nullptr);
  EXPECT_EQ(Read(id).experiment().request_id(), "tuesday");

  // One that cannot be read is there all the same.
  ASSERT_TRUE(SqliteDatabase::Open(journal, SQLITE_OPEN_READWRITE)->Execute("PRAGMA user_version = 1000").ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(CreateExperiment(state_dir_, created, {}).status()));
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  std::ofstream(journal) << std::string(10000, 'x');
  EXPECT_TRUE(absl::IsDataLoss(CreateExperiment(state_dir_, created, {}).status()));
  EXPECT_EQ(std::filesystem::file_size(journal), 10000u);
  // Another request's is left alone.
  std::filesystem::remove_all(folder);
  v1::ExperimentCreated other = created;
  other.set_experiment(id);
  other.set_request_id("monday");
  ASSERT_TRUE(JournalWriter::Create(folder, other).ok());
  EXPECT_EQ(CreateExperiment(state_dir_, created, {})->id, StateDir::IdOfRequest("search", "tuesday", 1));
}

TEST_F(SetupTest, ARequestWithAnotherConfigurationIsRefusedWithTheFirstDifference) {
  const std::string earlier = RunNew(MakeConfig(2), kToTheEnd);
  v1::ExperimentCreated created;
  *created.mutable_config() = MakeConfig(8);
  created.mutable_config()->mutable_warm_start()->set_experiment("latest");
  created.set_request_id("tuesday");
  const std::string id = CreateExperiment(state_dir_, created, {})->id;
  EXPECT_EQ(CreateExperiment(state_dir_, created, {})->id, id) << "though another one is the latest by now";

  created.mutable_config()->set_max_trial_number(9);
  created.mutable_config()->set_objective(v1::ObjectiveConfig::MINIMIZE);
  const absl::Status status = CreateExperiment(state_dir_, created, {}).status();
  EXPECT_TRUE(absl::IsAlreadyExists(status)) << status;
  EXPECT_EQ(status.message(),
            absl::StrCat("request_id: 'tuesday' has made ", id,
                         " of another configuration (from there to here): modified: max_trial_number: 8 -> 9; give "
                         "another request id for another experiment"));
  EXPECT_EQ(state_dir_.List()->size(), 2u) << "nothing is left of it";

  // A resume may have changed what it runs with: what it was made of counts.
  {
    const auto held = HoldExperiment(state_dir_, id, {});
    v1::JournalBatch batch;
    *batch.add_records()->mutable_config()->mutable_config() = created.config();
    ASSERT_TRUE((*held)->writer->Write(batch).ok());
  }
  EXPECT_TRUE(absl::IsAlreadyExists(CreateExperiment(state_dir_, created, {}).status()));
}

TEST_F(SetupTest, WhatWasStoppingWhenItsProcessEndedIsStopped) {
  const std::string id = RunNew(MakeConfig(10), 5);
  const auto write = [&](v1::ExperimentState::State state, const std::string& reason) {
    v1::JournalBatch batch;
    v1::StateChanged& change = *batch.add_records()->mutable_state();
    change.set_state(state);
    change.set_reason(reason);
    ASSERT_TRUE(HoldExperiment(state_dir_, id, {}).value()->writer->Write(batch).ok());
  };
  ASSERT_TRUE(EndStopping(state_dir_, id).ok());
  EXPECT_EQ(Read(id).State()->change.state(), v1::ExperimentState::RUNNING) << "it goes on";
  write(v1::ExperimentState::STOPPING, "enough");
  ASSERT_TRUE(EndStopping(state_dir_, id).ok());
  EXPECT_EQ(Read(id).State()->change.state(), v1::ExperimentState::STOPPED);
  EXPECT_EQ(Read(id).State()->change.reason(), "enough");
  const size_t states = Read(id).States()->size();
  ASSERT_TRUE(EndStopping(state_dir_, id).ok());
  EXPECT_EQ(Read(id).States()->size(), states) << "once";
}

TEST_F(SetupTest, TheBestWeightsStayTheBestAfterAResume) {
  const v1::ExperimentConfig config = MakeConfig(24);
  const std::string id = RunNew(config, 40);
  // Each attempt has left its weights, and the head was killed before it removed any.
  const auto attempts = Read(id).Attempts();
  const auto output_folder = [&](const AttemptRecord& attempt) {
    return absl::StrCat(*state_dir_.ExperimentFolder(id), "/",
                        TrialOutputFolder(attempt.trial, attempt.model, attempt.members > 1));
  };
  for (const AttemptRecord& attempt : *attempts) {
    std::filesystem::create_directories(output_folder(attempt) + "/own");
    for (const char* const file : {"/weights.pt", "/own/weights.pt"}) std::ofstream(output_folder(attempt) + file) << 1;
  }
  absl::StatusOr<ExperimentSetup> setup = Resume(id, config);
  ASSERT_TRUE(setup.ok()) << setup.status();
  const auto best = Read(id).BestModels(2);
  ASSERT_EQ(best->size(), 2u);
  int removed = 0;
  for (const AttemptRecord& attempt : *attempts) {
    const bool decided_a_best = std::any_of(best->begin(), best->end(), [&](const ModelRecord& model) {
      return model.model == attempt.model && model.outcome->attempt() == attempt.attempt;
    });
    const bool is_there = std::filesystem::exists(output_folder(attempt) + "/weights.pt");
    EXPECT_EQ(is_there, decided_a_best || setup->ledger.is_open(attempt.model)) << attempt.model;
    EXPECT_TRUE(std::filesystem::exists(output_folder(attempt) + "/own/weights.pt")) << "the evaluator's own";
    removed += is_there ? 0 : 1;
  }
  EXPECT_GT(removed, 0);
  // A model that is better than both: the weights of the worse one go.
  AttemptLedger& ledger = setup->ledger;
  const int model = ledger.Create(v1::Sample()).model();
  ledger.PlanOne(model, 1, 1000, false, "");
  v1::ModelEvent event;
  event.set_model(model);
  event.set_attempt(1);
  event.mutable_ended()->set_outcome(v1::ModelEnded::SUCCEEDED);
  (*event.mutable_ended()->mutable_metrics()->mutable_values())["default"] = 1e9;
  event.mutable_ended()->set_left_weights(true);
  const AttemptLedger::Decision decision = ledger.EndAttempt(event);
  const AttemptLedger::Closed closed = ledger.Close(*decision.outcome);
  ASSERT_EQ(closed.needless_weights.size(), 1u);
  const auto deciding = std::find_if(attempts->begin(), attempts->end(), [&](const AttemptRecord& attempt) {
    return attempt.model == best->at(1).model && attempt.attempt == best->at(1).outcome->attempt();
  });
  EXPECT_EQ(closed.needless_weights[0], output_folder(*deciding));
}

}  // namespace
}  // namespace lanista

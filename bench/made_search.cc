#include "bench/made_search.h"

#include <cmath>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "src/base/clock.h"
#include "src/base/status.h"

namespace lanista::bench {
namespace {

constexpr int kChoices = 12;
constexpr int kCandidates = 4;
// Those with a greater number are active only where the first choice has its first candidate.
constexpr int kAlwaysActive = 9;
constexpr int kSlots = 10;
// The sequence number of an attempt's first report: it has begun and built its model before.
constexpr int kFirstReport = 3;
constexpr int kModelLimit = 100000;
// Enough that a batch costs its rows and not its transaction.
constexpr int kRecordsInBatch = 2000;
constexpr const char* kFailures[] = {"expected 64 channels, got 32", "the loss is NaN", "no such file: train.bin",
                                     "out of memory: tried to allocate 2 GiB", "the kernel is larger than its input"};

std::string Label(int choice) { return absl::StrCat("cells.", choice / 3, ".choice_", choice); }

v1::SpaceSpec MakeSpace() {
  v1::SpaceSpec space;
  space.set_complete(true);
  for (int i = 0; i < kChoices; ++i) {
    v1::Choice& choice = *space.add_choices();
    choice.set_label(Label(i));
    choice.set_n_chosen(1);
    choice.set_kind(i % 2 == 0 ? v1::Choice::LAYER_CHOICE : v1::Choice::VALUE_CHOICE);
    for (int candidate = 0; candidate < kCandidates; ++candidate) {
      if (i % 2 == 0) {
        choice.add_candidates()->set_s(absl::StrCat("layer_", candidate));
      } else {
        choice.add_candidates()->set_i(8 << candidate);
      }
    }
    if (i < kAlwaysActive) continue;
    v1::Term& term = *choice.add_active_if()->add_all_of();
    term.set_label(Label(0));
    term.add_chosen(0);
  }
  return space;
}

}  // namespace

absl::StatusOr<std::unique_ptr<MadeSearch>> MadeSearch::Create(const std::string& folder, const std::string& id,
                                                               Metrics metrics) {
  v1::ExperimentCreated created;
  created.set_experiment(id);
  v1::ExperimentConfig& config = *created.mutable_config();
  config.set_name(id);
  config.mutable_space()->set_registered("mnist_cnn");
  config.mutable_engine()->mutable_direct();
  config.set_max_trial_number(kModelLimit);
  v1::ObjectiveConfig& best = *config.add_objectives();
  best.set_metric("default");
  best.set_goal(v1::ObjectiveConfig::MAXIMIZE);
  LANISTA_ASSIGN_OR_RETURN(auto writer, JournalWriter::Create(folder, created));
  std::unique_ptr<MadeSearch> search(new MadeSearch(std::move(writer), metrics));
  v1::JournalBatch batch;
  *batch.add_records()->mutable_discovered()->mutable_space() = MakeSpace();
  LANISTA_RETURN_IF_ERROR(search->Write(&batch).status());
  return search;
}

absl::StatusOr<std::unique_ptr<MadeSearch>> MadeSearch::Open(const std::string& folder) {
  int models = 0, trials = 0;
  {
    LANISTA_ASSIGN_OR_RETURN(const JournalReader reader, JournalReader::Open(folder));
    LANISTA_ASSIGN_OR_RETURN(const ModelCounts counts, reader.CountModels());
    models = counts.total;
    LANISTA_ASSIGN_OR_RETURN(trials, reader.LastTrial());
  }
  LANISTA_ASSIGN_OR_RETURN(auto writer, JournalWriter::Open(folder));
  std::unique_ptr<MadeSearch> search(new MadeSearch(std::move(writer)));
  search->models_ = models;
  search->trials_ = trials;
  search->random_.seed(static_cast<uint64_t>(models));
  return search;
}

absl::Status MadeSearch::AddPast(int models, int steps) {
  const absl::Time begin = absl::Now() - absl::Seconds(1) * (static_cast<int64_t>(models) * (steps + 1) / kSlots);
  v1::JournalBatch batch;
  Add(begin, &batch)->mutable_state()->set_state(v1::ExperimentState::RUNNING);
  for (int i = 0; i < models; ++i) {
    absl::Time time = begin + absl::Seconds(1) * (static_cast<int64_t>(i) * (steps + 1) / kSlots);
    const int model = Begin(time, &batch);
    for (int step = 0; step < steps; ++step) {
      AddReport(model, step + kFirstReport, time += absl::Seconds(1), &batch);
    }
    End(model, steps, time, &batch);
    if (batch.records_size() >= kRecordsInBatch) LANISTA_RETURN_IF_ERROR(Write(&batch).status());
  }
  return Write(&batch).status();
}

absl::Status MadeSearch::AddModel(int steps) {
  v1::JournalBatch batch;
  const int model = Begin(absl::Now(), &batch);
  LANISTA_RETURN_IF_ERROR(Write(&batch).status());
  for (int step = 0; step < steps; ++step) AddReport(model, step + kFirstReport, absl::Now(), &batch);
  End(model, steps, absl::Now(), &batch);
  return Write(&batch).status();
}

absl::Status MadeSearch::StartModels(int count) {
  v1::JournalBatch batch;
  for (int i = 0; i < count; ++i) running_.push_back({Begin(absl::Now(), &batch), kFirstReport - 1});
  return Write(&batch).status();
}

absl::StatusOr<int64_t> MadeSearch::Report(int count) {
  v1::JournalBatch batch;
  for (int i = 0; i < count; ++i) {
    Running& running = running_[next_running_++ % running_.size()];
    AddReport(running.model, ++running.sequence, absl::Now(), &batch);
  }
  LANISTA_ASSIGN_OR_RETURN(const int64_t first, Write(&batch));
  return first + count - 1;
}

v1::JournalRecord* MadeSearch::Add(absl::Time time, v1::JournalBatch* batch) {
  v1::JournalRecord* const record = batch->add_records();
  *record->mutable_time() = ToTimestamp(time);
  return record;
}

int MadeSearch::Begin(absl::Time time, v1::JournalBatch* batch) {
  const int model = ++models_;
  v1::ModelCreated& created = *Add(time, batch)->mutable_model();
  created.set_model(model);
  bool first_is_zero = false;
  for (int i = 0; i < kChoices; ++i) {
    const int index = static_cast<int>(random_() % kCandidates);
    if (i == 0) first_is_zero = index == 0;
    if (i >= kAlwaysActive && !first_is_zero) continue;
    v1::Decision& decision = *created.mutable_sample()->add_decisions();
    decision.set_label(Label(i));
    decision.add_index(index);
    if (i % 2 == 0) {
      decision.add_value()->set_s(absl::StrCat("layer_", index));
    } else {
      decision.add_value()->set_i(8 << index);
    }
  }
  v1::TrialQueued& trial = *Add(time, batch)->mutable_trial();
  trial.set_trial(++trials_);
  v1::TrialMember& member = *trial.add_members();
  member.set_model(model);
  member.set_attempt(1);
  v1::ModelEvent& event = *Add(time, batch)->mutable_event();
  event.set_model(model);
  event.set_attempt(1);
  event.set_sequence(1);
  v1::Device& device = *event.mutable_started()->mutable_device();
  device.set_kind(v1::DeviceKind::CPU);
  device.set_index(trials_ % kSlots);
  device.set_node("here");
  v1::ModelEvent& built = *Add(time, batch)->mutable_event();
  built.set_model(model);
  built.set_attempt(1);
  built.set_sequence(2);
  built.mutable_built()->set_params(static_cast<int64_t>(1e5 * (1 + Uniform())));
  built.mutable_built()->set_flops(static_cast<int64_t>(1e8 * (1 + Uniform())));
  return model;
}

void MadeSearch::AddReport(int model, int sequence, absl::Time time, v1::JournalBatch* batch) {
  v1::ModelEvent& event = *Add(time, batch)->mutable_event();
  event.set_model(model);
  event.set_attempt(1);
  event.set_sequence(sequence);
  event.mutable_intermediate()->set_step(sequence - kFirstReport);
  FillMetrics(model, sequence - kFirstReport, event.mutable_intermediate()->mutable_metrics());
}

void MadeSearch::End(int model, int steps, absl::Time time, v1::JournalBatch* batch) {
  const bool failed = model % 50 == 49;
  v1::ModelEvent& event = *Add(time, batch)->mutable_event();
  event.set_model(model);
  event.set_attempt(1);
  event.set_sequence(steps + kFirstReport);
  v1::ModelOutcome& outcome = *Add(time, batch)->mutable_outcome();
  outcome.set_model(model);
  outcome.set_attempt(1);
  outcome.set_outcome(failed ? v1::ModelEnded::FAILED : v1::ModelEnded::SUCCEEDED);
  if (failed) {
    outcome.mutable_failure()->set_reason(v1::Failure::EXCEPTION);
    outcome.mutable_failure()->set_message(kFailures[static_cast<size_t>(model / 50) % std::size(kFailures)]);
    *event.mutable_ended()->mutable_failure() = outcome.failure();
  } else {
    FillMetrics(model, steps, outcome.mutable_metrics());
    *event.mutable_ended()->mutable_metrics() = outcome.metrics();
  }
  event.mutable_ended()->set_outcome(outcome.outcome());
}

void MadeSearch::FillMetrics(int model, int step, v1::Metrics* metrics) {
  // A curve that comes up to the model's own level.
  const double level = 0.6 + 0.39 * std::fmod(model * 0.6180339887, 1.0);
  const double done = 1 - std::exp(-0.08 * (step + 1));
  auto& values = *metrics->mutable_values();
  values["default"] = level * done + 0.02 * (Uniform() - 0.5);
  if (metrics_ == Metrics::kDefault) return;
  values["loss"] = 3 * (1 - level * done) + 0.1 * Uniform();
  values["learning_rate"] = 0.1 / (1 + step);
  values["gradient_norm"] = 2 * Uniform() / (1 + step);
}

double MadeSearch::Uniform() { return std::uniform_real_distribution<double>()(random_); }

absl::StatusOr<int64_t> MadeSearch::Write(v1::JournalBatch* batch) {
  if (batch->records().empty()) return 0;
  absl::StatusOr<int64_t> first = writer_->Write(*batch);
  batch->Clear();
  return first;
}

}  // namespace lanista::bench

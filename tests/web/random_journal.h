// Journals with a bit of everything, for tests of what is read from them.
#ifndef LANISTA_TESTS_WEB_RANDOM_JOURNAL_H_
#define LANISTA_TESTS_WEB_RANDOM_JOURNAL_H_

#include <algorithm>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "src/base/clock.h"
#include "src/storage/journal.h"
#include "tests/storage/storage_testing.h"

namespace lanista {

// Writes models with conditional and multiple choices, one that the space does not list, failures of all kinds,
// attempts that were lost and went on from a checkpoint or anew, merged trials, NaN and infinities. `cgo` also has
// plans of merged trials, and such that fell back; `graph` has models that are too large to be trained, an objective
// that is minimized, and a clock that is set back now and then. `quick` is as `direct`, and nothing reports.
class RandomJournal {
 public:
  enum class Engine { kDirect, kGraph, kCgo, kQuick };

  RandomJournal(const std::string& folder, int seed, Engine engine = Engine::kDirect, const std::string& id = "made-1")
      : random_(static_cast<uint32_t>(seed)), engine_(engine) {
    v1::ExperimentCreated created;
    created.set_experiment(id);
    *created.mutable_config() = Parse<v1::ExperimentConfig>(Config(engine));
    created.mutable_config()->set_name(id);
    writer_ = JournalWriter::Create(folder, created).value();
    Write(R"(records { discovered { program: "p" space { complete: true
        choices { label: "op" kind: LAYER_CHOICE candidates { s: "conv" } candidates { s: "skip" } n_chosen: 1 }
        choices { label: "width" kind: VALUE_CHOICE candidates { i: 8 } candidates { i: 16 } candidates { f: 0.5 }
                  n_chosen: 1 active_if { all_of { label: "op" chosen: 0 } } }
        choices { label: "in" kind: INPUT_CHOICE candidates { i: 0 } candidates { i: 1 } candidates { i: 2 }
                  n_chosen: 2 } } } }
      records { state { state: RUNNING } })");
  }

  // A part of the experiment: some models begin, some end.
  void Grow(int models) {
    for (int i = 0; i < models; ++i) AddModel();
  }

  // The last fact: DONE, STOPPED or FAILED.
  void End(const std::string& state = "DONE") {
    Write(absl::StrCat("records { state { state: ", state, " reason: '", state == "DONE" ? "" : "said <i>so</i>",
                       "' } }"));
  }

  JournalWriter& writer() { return *writer_; }

 private:
  static std::string Config(Engine engine) {
    switch (engine) {
      case Engine::kGraph:
        return R"pb(
          space { registered: "mnist_cnn" }
          engine { graph {} }
          objectives { metric: "default" goal: MINIMIZE }
          constraint { metric: "params" max: 900 }
          max_trial_number: 500
        )pb";
      case Engine::kCgo:
        return R"pb(
          space { registered: "mnist_cnn" }
          engine { cgo {} }
        )pb";
      case Engine::kDirect:
      case Engine::kQuick:
        break;
    }
    return R"pb(
      space { registered: "mnist_cnn" }
      engine { direct {} }
      objectives { metric: "default" goal: MAXIMIZE }
      objectives { metric: "params" goal: MINIMIZE }
      constraint { metric: "params" max: 900 }
    )pb";
  }

  int Draw(int n) { return static_cast<int>(random_() % static_cast<uint32_t>(n)); }

  // Each fact is up to half a minute younger than the one before.
  void Write(const std::string& records) {
    v1::JournalBatch batch = Batch(records);
    for (v1::JournalRecord& record : *batch.mutable_records()) {
      clock_ += absl::Milliseconds(Draw(30000));
      if (engine_ == Engine::kGraph && Draw(60) == 0) clock_ -= absl::Minutes(10);
      *record.mutable_time() = ToTimestamp(clock_);
    }
    const auto written = writer_->Write(batch);
    ASSERT_TRUE(written.ok()) << written.status() << records;
  }

  std::string Number() {
    switch (Draw(12)) {
      case 0:
        return "nan";
      case 1:
        return "inf";
      case 2:
        return "1e308";
      default:
        return absl::StrCat(Draw(1000) / 7.0);
    }
  }

  std::string Metrics(bool with_default) {
    std::string text = absl::StrCat("metrics { values { key: 'params' value: ", 100 * Draw(12), " } ");
    if (with_default) absl::StrAppend(&text, "values { key: 'default' value: ", Number(), " } ");
    if (Draw(3) == 0) absl::StrAppend(&text, "values { key: 'loss' value: ", Number(), " } ");
    return text + "}";
  }

  std::string Sample() {
    const bool conv = Draw(2) == 0;
    std::string text = absl::StrCat("decisions { label: 'op' index: ", conv ? 0 : 1, " value { s: '",
                                    conv ? "conv" : "skip", "' } } ");
    const int width = Draw(3);
    const char* const values[] = {"i: 8", "i: 16", "f: 0.5"};
    if (conv) absl::StrAppend(&text, "decisions { label: 'width' index: ", width, " value { ", values[width], " } } ");
    const int left = Draw(2);
    absl::StrAppend(&text, "decisions { label: 'in' index: ", left, " index: 2 value { i: ", left,
                    " } value { i: 2 } } ");
    if (Draw(4) == 0) absl::StrAppend(&text, "decisions { label: 'late' value { s: 'found ", Draw(3), "' } } ");
    return text;
  }

  // Reports of one attempt, from this step on, behind its event of this sequence number; returns the last one's.
  int Report(int model, int attempt, int first_step, int sequence) {
    const int steps = engine_ == Engine::kQuick ? 0 : Draw(5);
    for (int step = first_step; step < first_step + steps; ++step) {
      Write(absl::StrCat("records { event { model: ", model, " attempt: ", attempt, " sequence: ", ++sequence,
                         " intermediate { step: ", step, " ", Metrics(Draw(5) > 0), " } } }"));
    }
    return sequence;
  }

  // The attempt begins, and mostly builds its model; returns the last sequence number.
  int Start(int model, int attempt, int resumed_steps) {
    Write(absl::StrCat("records { event { model: ", model, " attempt: ", attempt,
                       " sequence: 1 started { resumed_steps: ", resumed_steps, " device { kind: CPU index: ", Draw(2),
                       " node: 'here' } } } }"));
    if (Draw(6) == 0) return 1;
    const bool is_graph = engine_ == Engine::kGraph || engine_ == Engine::kCgo;
    const std::string flops = !is_graph ? "" : absl::StrCat(" flops: ", Draw(1 << 20), "000");
    Write(absl::StrCat("records { event { model: ", model, " attempt: ", attempt,
                       " sequence: 2 built { params: ", Draw(100000), flops, " } } }"));
    return 2;
  }

  void End(int model, int attempt, int sequence, const std::string& end) {
    Write(absl::StrCat("records { event { model: ", model, " attempt: ", attempt, " sequence: ", sequence, " ended { ",
                       end, " } } }"));
  }

  void Queue(const std::vector<int>& models, int attempt, const std::string& alone_because = "") {
    std::string members;
    for (const int model : models) absl::StrAppend(&members, "members { model: ", model, " attempt: ", attempt, " } ");
    if (engine_ == Engine::kCgo) absl::StrAppend(&members, Plan(models));
    Write(absl::StrCat("records { trial { trial: ", ++trials_, " ", members, " alone_because: '", alone_because,
                       "' } }"));
  }

  // The batch and some layers are shared, the rest is each model's own.
  std::string Plan(const std::vector<int>& models) {
    std::string plan = absl::StrCat("plan { memory: ", 1 + Draw(1 << 28), " ");
    if (models.size() > 1) {
      const std::string all = absl::StrJoin(models, ", ");
      absl::StrAppend(&plan, "work { models: [", all, "] } work { models: [", all, "] steps: ", 1 + Draw(5),
                      " first: 'conv1 (Conv2d)' last: 'relu <3>' } ");
      for (const int model : models) {
        absl::StrAppend(&plan, "work { models: [", model, "] steps: ", 1 + Draw(30),
                        " first: 'conv2 (Conv2d)' last: 'head (Linear)' own_because: 'its width differs' } ");
      }
    }
    return plan + "} ";
  }

  void AddModel() {
    std::vector<int> members;
    const int count = engine_ == Engine::kCgo ? 1 + Draw(4) : Draw(4) == 0 ? 2 : 1;
    for (int i = 0; i < count; ++i) {
      members.push_back(++models_);
      Write(absl::StrCat("records { model { model: ", models_, " sample { ", Sample(), " } } }"));
    }
    if (Draw(8) == 0) return;  // They wait.
    if (engine_ == Engine::kGraph && Draw(8) == 0) {
      for (const int member : members) {
        Write(absl::StrCat("records { outcome { model: ", member,
                           " outcome: INFEASIBLE metrics { values { key: 'params' value: ", 901 + Draw(1000),
                           " } values { key: 'flops' value: 1.5e9 } } } }"));
      }
      return;
    }
    Queue(members, 1, count == 1 && engine_ == Engine::kCgo ? "no other model waited" : "");
    if (engine_ == Engine::kCgo && count > 1 && Draw(4) == 0) {
      FallBack(members);
      return;
    }
    for (const int member : members) {
      if (Draw(8) > 0) Run(member, 1);
    }
  }

  // A merged trial that one of its models broke: each runs again alone.
  void FallBack(const std::vector<int>& members) {
    for (const int member : members) {
      const int sequence = Report(member, 1, 0, Start(member, 1, 0));
      End(member, 1, sequence + 1,
          absl::StrCat("outcome: UNMERGED models_memory: ", 1 + Draw(1 << 28),
                       " failure { reason: MERGED_TRIAL_FAILED message: 'model ", members.back(), ": bad' }"));
    }
    for (const int member : members) {
      Queue({member}, 2, absl::StrCat("model ", members.back(), " broke its trial"));
      Run(member, 2);
    }
  }

  // The end of an attempt that failed.
  std::string Failure() {
    switch (Draw(4)) {
      case 0:
        return "failure { reason: SIGNAL message: 'segmentation fault' signal: 11 }";
      case 1:
        return "failure { reason: EXIT message: 'it called exit' exit_status: 3 }";
      default:
        return absl::StrCat("failure { reason: EXCEPTION message: 'bad ", Draw(3), " <b>\\n' }");
    }
  }

  void Run(int model, int attempt) {
    const int begun = Start(model, attempt, 0);
    int sequence = Report(model, attempt, 0, begun);
    if (Draw(4) == 0) {
      End(model, attempt, sequence + 1, "outcome: LOST lost_cause: WORKER_DOWN");
      Queue({model}, ++attempt);
      // Never behind more steps than there were.
      const int resumed = std::min(Draw(3), sequence - begun);
      sequence = Report(model, attempt, resumed, Start(model, attempt, resumed));
    }
    switch (Draw(6)) {
      case 0:
        return;  // Runs.
      case 1: {
        const std::string failure = Failure();
        End(model, attempt, sequence + 1, "outcome: FAILED " + failure);
        Write(absl::StrCat("records { outcome { model: ", model, " attempt: ", attempt, " outcome: FAILED ", failure,
                           " } }"));
        return;
      }
      case 2: {
        const std::string metrics = Metrics(true);
        End(model, attempt, sequence + 1, "outcome: STOPPED_EARLY");
        Write(absl::StrCat("records { outcome { model: ", model, " attempt: ", attempt, " outcome: STOPPED_EARLY ",
                           metrics, " stopped_step: 2 stopped_because: 'slow' } }"));
        return;
      }
      default: {
        const std::string metrics = Metrics(Draw(10) > 0);
        End(model, attempt, sequence + 1,
            absl::StrCat("outcome: SUCCEEDED models_memory: ", Draw(1 << 28), " ", metrics));
        Write(absl::StrCat("records { outcome { model: ", model, " attempt: ", attempt, " outcome: SUCCEEDED ", metrics,
                           " } }"));
      }
    }
  }

  std::mt19937 random_;
  const Engine engine_;
  // No fact is older than the experiment.
  absl::Time clock_ = absl::Now();
  std::unique_ptr<JournalWriter> writer_;
  int models_ = 0;
  int trials_ = 0;
};

}  // namespace lanista

#endif  // LANISTA_TESTS_WEB_RANDOM_JOURNAL_H_

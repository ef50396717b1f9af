// Journals with a bit of everything, for tests of what is read from them.
#ifndef LANISTA_TESTS_WEB_RANDOM_JOURNAL_H_
#define LANISTA_TESTS_WEB_RANDOM_JOURNAL_H_

#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "src/base/clock.h"
#include "src/storage/journal.h"
#include "tests/storage/storage_testing.h"

namespace lanista {

// Writes models with conditional and multiple choices, one that the space does not list, failures, attempts that were
// lost and went on from a checkpoint or anew, merged trials, NaN and infinities.
class RandomJournal {
 public:
  RandomJournal(const std::string& folder, int seed) : random_(static_cast<uint32_t>(seed)) {
    v1::ExperimentCreated created;
    created.set_experiment("made-1");
    *created.mutable_config() = Parse<v1::ExperimentConfig>(R"pb(
      name: "made"
      space { registered: "mnist_cnn" }
      engine { direct {} }
      objectives { metric: "default" goal: MAXIMIZE }
      objectives { metric: "params" goal: MINIMIZE }
      constraint { metric: "params" max: 900 }
    )pb");
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

  void End() { Write("records { state { state: DONE } }"); }

  JournalWriter& writer() { return *writer_; }

 private:
  int Draw(int n) { return static_cast<int>(random_() % static_cast<uint32_t>(n)); }

  void Write(const std::string& records) {
    const auto written = writer_->Write(Batch(records));
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

  // Reports of one attempt, from this step on; returns the last sequence number.
  int Report(int model, int attempt, int first_step) {
    int sequence = 1;
    const int steps = Draw(5);
    for (int step = first_step; step < first_step + steps; ++step) {
      Write(absl::StrCat("records { event { model: ", model, " attempt: ", attempt, " sequence: ", ++sequence,
                         " intermediate { step: ", step, " ", Metrics(Draw(5) > 0), " } } }"));
    }
    return sequence;
  }

  void Start(int model, int attempt, int resumed_steps) {
    Write(absl::StrCat("records { event { model: ", model, " attempt: ", attempt,
                       " sequence: 1 started { resumed_steps: ", resumed_steps, " device { kind: CPU index: ", Draw(2),
                       " node: 'here' } } } }"));
  }

  void End(int model, int attempt, int sequence, const std::string& end) {
    Write(absl::StrCat("records { event { model: ", model, " attempt: ", attempt, " sequence: ", sequence, " ended { ",
                       end, " } } }"));
  }

  void Queue(const std::vector<int>& models, int attempt) {
    std::string members;
    for (const int model : models) absl::StrAppend(&members, "members { model: ", model, " attempt: ", attempt, " } ");
    Write(absl::StrCat("records { trial { trial: ", ++trials_, " ", members, " } }"));
  }

  void AddModel() {
    const int model = ++models_;
    Write(absl::StrCat("records { model { model: ", model, " sample { ", Sample(), " } } }"));
    if (Draw(8) == 0) return;  // Waits.
    std::vector<int> members = {model};
    if (Draw(4) == 0) {
      members.push_back(++models_);
      Write(absl::StrCat("records { model { model: ", models_, " sample { ", Sample(), " } } }"));
    }
    Queue(members, 1);
    for (const int member : members) Run(member);
  }

  void Run(int model) {
    if (Draw(8) == 0) return;
    Start(model, 1, 0);
    int sequence = Report(model, 1, 0);
    int attempt = 1;
    if (Draw(4) == 0) {
      End(model, 1, sequence + 1, "outcome: LOST lost_cause: WORKER_DOWN");
      attempt = 2;
      Queue({model}, 2);
      const int resumed = Draw(3);
      Start(model, 2, resumed);
      sequence = Report(model, 2, resumed);
    }
    switch (Draw(6)) {
      case 0:
        return;  // Runs.
      case 1: {
        const std::string failure = absl::StrCat("failure { reason: EXCEPTION message: 'bad ", Draw(3), " <b>\\n' }");
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
        End(model, attempt, sequence + 1, "outcome: SUCCEEDED " + metrics);
        Write(absl::StrCat("records { outcome { model: ", model, " attempt: ", attempt, " outcome: SUCCEEDED ", metrics,
                           " } }"));
      }
    }
  }

  std::mt19937 random_;
  std::unique_ptr<JournalWriter> writer_;
  int models_ = 0;
  int trials_ = 0;
};

}  // namespace lanista

#endif  // LANISTA_TESTS_WEB_RANDOM_JOURNAL_H_

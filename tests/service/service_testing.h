// What tests of the service share: a state folder with experiments in it, and a runner that only notes what it is told.
#ifndef LANISTA_TESTS_SERVICE_SERVICE_TESTING_H_
#define LANISTA_TESTS_SERVICE_SERVICE_TESTING_H_

#include <gtest/gtest.h>

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/service/experiment_runner.h"
#include "src/service/experiments.h"
#include "src/service/model_maker.h"
#include "src/service/news.h"
#include "src/storage/experiment_lock.h"
#include "src/storage/journal.h"
#include "src/storage/state_dir.h"
#include "tests/storage/storage_testing.h"

namespace lanista {

class FakeRunner : public ExperimentRunner {
 public:
  absl::StatusOr<v1::Validated> Validate(const v1::ExperimentConfig& config, int plan_models,
                                         const Abandoned& abandoned) override {
    if (on_validate_) return on_validate_(abandoned);
    config_ = config;
    v1::Validated validated;
    validated.mutable_space()->set_fingerprint(absl::StrCat("for ", plan_models));
    return validated;
  }
  absl::StatusOr<std::string> Create(const v1::ExperimentConfig& config, const std::string& request_id) override {
    config_ = config;
    if (lost_creations_ > 0) {
      --lost_creations_;
      return absl::UnavailableError("lost");
    }
    return absl::StrCat("made-", request_id);
  }
  absl::Status Resume(const std::string& experiment, const v1::ExperimentConfig& config, const Abandoned&) override {
    config_ = config;
    calls_.push_back("resume " + experiment);
    if (on_resume_) on_resume_();
    return absl::OkStatus();
  }
  void Stop(const std::string& experiment, const std::string& reason) override {
    calls_.push_back(absl::StrCat("stop ", experiment, ": ", reason));
  }

  bool Runs(const std::string& experiment) const override { return experiment != of_another_; }
  std::string WaitingFor(const std::string& experiment) override { return "a device for " + experiment; }

  v1::ExperimentConfig config_;
  std::vector<std::string> calls_;
  // What Validate does, on many threads at a time.
  std::function<absl::StatusOr<v1::Validated>(const Abandoned&)> on_validate_;
  // What Resume does.
  std::function<void()> on_resume_;
  // An experiment that this process holds, and another runner runs.
  std::string of_another_;
  // So many calls of Create get no answer.
  int lost_creations_ = 0;
};

// Does what the test says.
class FakeModelMaker : public ModelMaker {
 public:
  using Text = std::shared_ptr<const std::string>;

  absl::StatusOr<Text> Graph(const std::string& folder, int model, const Abandoned& abandoned) override {
    return on_graph_(folder, model, abandoned);
  }
  absl::StatusOr<Exported> Export(const std::string& folder, const ExportRequest& request, const std::string& out,
                                  const Abandoned& abandoned) override {
    return on_export_(folder, request, out, abandoned);
  }

  std::function<absl::StatusOr<Text>(const std::string&, int, const Abandoned&)> on_graph_;
  std::function<absl::StatusOr<Exported>(const std::string&, const ExportRequest&, const std::string&,
                                         const Abandoned&)>
      on_export_;
};

// An event that is awaited.
class Signal {
 public:
  void Give() {
    const std::lock_guard<std::mutex> lock(mutex_);
    given_ = true;
    changed_.notify_all();
  }
  void Wait() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return given_; });
    given_ = false;
  }
  bool given() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return given_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool given_ = false;
};

// A configuration that is fine.
inline v1::ExperimentConfig SmallConfig() {
  return Parse<v1::ExperimentConfig>(R"pb(
    name: "small"
    space { registered: "mnist_cnn" }
    strategy { random {} }
    evaluator { constant {} }
    max_trial_number: 10
  )pb");
}

class ServiceTest : public ::testing::Test {
 protected:
  // Starts a journal that this process holds until Release.
  JournalWriter& Create(const std::string& id, const v1::ExperimentConfig& config = SmallConfig()) {
    EXPECT_TRUE(state_dir_.MakeExperimentFolder(id).value());
    v1::ExperimentCreated created;
    created.set_experiment(id);
    *created.mutable_config() = config;
    locks_.emplace(id, ExperimentLock::Acquire(Folder(id)).value());
    return *(writers_[id] = JournalWriter::Create(Folder(id), created).value());
  }

  // Writes facts and tells of them.
  void Write(const std::string& id, const std::string& records) {
    const auto written = writers_.at(id)->Write(Batch(records));
    ASSERT_TRUE(written.ok()) << written.status();
    news_.Publish(id);
  }

  // A model that succeeds, in five facts, of which watchers see three.
  void WriteModel(const std::string& id, int model) {
    Write(id, absl::StrCat("records { model { model: ", model, " } } records { trial { trial: ", model,
                           " members { model: ", model, " attempt: 1 } } }"));
    Write(id, absl::StrCat("records { event { attempt: 1 sequence: 1 started {} model: ", model, " } }"));
    Write(id, absl::StrCat("records { event { attempt: 1 sequence: 2 ended { outcome: SUCCEEDED } model: ", model,
                           " } } records { outcome { attempt: 1 outcome: SUCCEEDED metrics { values { key: 'default' "
                           "value: 0.5 } } model: ",
                           model, " } }"));
  }

  // The numbers of all that watchers see.
  std::vector<int64_t> AllNumbers(const std::string& id) const {
    const auto events = *JournalReader::Open(Folder(id))->EventsAfter(0, 1 << 20, 1 << 30);
    std::vector<int64_t> numbers;
    for (const v1::ExperimentEvent& event : events) numbers.push_back(event.number());
    return numbers;
  }

  // Goes on with one that was released.
  void Hold(const std::string& id) {
    locks_.emplace(id, ExperimentLock::Acquire(Folder(id)).value());
    writers_[id] = JournalWriter::Open(Folder(id)).value();
  }

  // As the end of the process that runs it does.
  void Release(const std::string& id) {
    writers_.erase(id);
    locks_.erase(id);
    news_.Publish(id);
  }

  std::string Folder(const std::string& id) const { return state_dir_.ExperimentFolder(id).value(); }

  TempFolder temp_;
  const StateDir state_dir_ = StateDir::Open(temp_.path()).value();
  std::map<std::string, ExperimentLock> locks_;
  std::map<std::string, std::unique_ptr<JournalWriter>> writers_;
  News news_;
  FakeRunner runner_;
  FakeModelMaker model_maker_;
  Experiments experiments_{state_dir_, &runner_, &news_, {kMaxExperiments, {}, &model_maker_}};
};

}  // namespace lanista

#endif  // LANISTA_TESTS_SERVICE_SERVICE_TESTING_H_

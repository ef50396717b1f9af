#include "src/files/output_deliveries.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <condition_variable>
#include <deque>
#include <filesystem>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/files/files_testing.h"

namespace lanista {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A head that takes what comes, unless the test says otherwise.
class FakeSink : public FileSink {
 public:
  absl::Status Deliver(const v1::OutputHeader& header, FileSetReader* files, Cancellation* cancellation) override {
    std::string line = header.has_output_of()       ? absl::StrCat("output of ", header.output_of(), ":")
                       : header.has_checkpoint_of() ? absl::StrCat("checkpoint of ", header.checkpoint_of(), ":")
                                                    : "log:";
    for (const v1::SetFile& file : files->files().files()) absl::StrAppend(&line, " ", file.path());
    absl::StrAppend(&line, " = ");
    std::string piece;
    for (absl::StatusOr<bool> more = true; *more;) {
      more = files->Next(&piece);
      if (!more.ok()) return more.status();
      if (*more) line += piece;
    }
    std::unique_lock<std::mutex> lock(mutex_);
    if (!errors_.empty()) {
      const absl::Status error = errors_.front();
      errors_.pop_front();
      return error;
    }
    if (hangs_) {
      lock.unlock();
      hanging_.set_value();
      while (!cancellation->canceled()) cancellation->WaitFor(std::chrono::hours(1));
      return absl::CancelledError("");
    }
    came_.push_back(line);
    changed_.notify_all();
    return absl::OkStatus();
  }

  absl::StatusOr<v1::WeightsBar> FindWeightsBar(const std::string& assignment, Cancellation*) override {
    EXPECT_EQ(assignment, "head/1/1");
    const std::lock_guard<std::mutex> lock(mutex_);
    ++questions_;
    if (bar_errors_.empty()) return bar_;
    const absl::Status error = bar_errors_.front();
    bar_errors_.pop_front();
    return error;
  }

  // All that came since the last call.
  std::vector<std::string> Take() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return std::exchange(came_, {});
  }
  // Waits until this has come.
  void WaitFor(const std::string& line) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return std::find(came_.begin(), came_.end(), line) != came_.end(); });
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  // Protected by mutex_.
  std::deque<absl::Status> errors_;
  bool hangs_ = false;
  std::deque<absl::Status> bar_errors_;
  v1::WeightsBar bar_;
  int questions_ = 0;
  std::vector<std::string> came_;
  std::promise<void> hanging_;
};

class OutputDeliveriesTest : public ::testing::Test {
 protected:
  OutputDeliveriesTest() {
    assignment_.set_id("head/1/1");
    v1::TrialSpec& spec = *assignment_.mutable_trial();
    spec.set_experiment("x");
    spec.set_trial(7);
    for (const int number : {3, 4}) {
      v1::TrialModel& model = *spec.add_models();
      model.set_model(number);
      model.set_checkpoint_folder("/head/checkpoints");
    }
  }

  void Follow(std::chrono::milliseconds look = std::chrono::hours(1)) {
    OutputDeliveries::Options options;
    options.look_interval = look;
    options.log_interval = std::chrono::hours(1);
    options.first_delay = std::chrono::milliseconds(1);
    deliveries_.emplace(options, sink_);
    outputs_ = deliveries_->Follow(assignment_, work_);
  }
  // One that shares nothing with another thread's: ThreadSanitizer does not see the counts of references in Debian's
  // Abseil, and takes the last one's end for a race.
  static absl::Status Copy(const absl::Status& status) { return {status.code(), status.message()}; }
  absl::Status DeliverModel(const TrialOutputs::ModelEnd& end) {
    std::promise<absl::Status> done;
    outputs_->DeliverModel(end, [&](const absl::Status& status) { done.set_value(Copy(status)); });
    return done.get_future().get();
  }
  absl::Status DeliverRest() {
    std::promise<absl::Status> done;
    outputs_->DeliverRest([&](const absl::Status& status) { done.set_value(Copy(status)); });
    return done.get_future().get();
  }
  static TrialOutputs::ModelEnd End(int model, bool weights = false, bool goes_on = false) {
    TrialOutputs::ModelEnd end;
    end.model = model;
    end.weights = weights;
    end.goes_on = goes_on;
    return end;
  }

  const std::string folder_ = FreshFolder() + "/work";
  const LocalWorkPtr work_ = std::make_shared<const LocalWork>(nullptr, folder_);
  const std::shared_ptr<FakeSink> sink_ = std::make_shared<FakeSink>();
  v1::Assignment assignment_;
  std::optional<OutputDeliveries> deliveries_;
  std::unique_ptr<TrialOutputs> outputs_;
};

TEST_F(OutputDeliveriesTest, WhatAModelLeftComesOnce) {
  Follow();
  EXPECT_EQ(DeliverModel(End(3)), absl::OkStatus());
  EXPECT_THAT(sink_->Take(), IsEmpty()) << "it left nothing";
  MakeFile(folder_ + "/log", "printed");
  MakeFile(folder_ + "/output-4/plot.png", "p");
  MakeFile(folder_ + "/checkpoint-4/checkpoint", "c");
  EXPECT_EQ(DeliverModel(End(4)), absl::OkStatus());
  EXPECT_THAT(sink_->Take(), ElementsAre("output of 4: plot.png = p", "log: log = printed"));
  EXPECT_EQ(DeliverRest(), absl::OkStatus());
  EXPECT_THAT(sink_->Take(), IsEmpty()) << "the log is there, and nobody needs the checkpoint";
}

TEST_F(OutputDeliveriesTest, WeightsComeOfThoseThatAreToBeKept) {
  assignment_.mutable_trial()->set_keep_weights(true);
  Follow();
  for (const int model : {3, 4}) {
    MakeFile(absl::StrCat(folder_, "/output-", model, "/weights.pt"), "w");
    MakeFile(absl::StrCat(folder_, "/output-", model, "/a"), "a");
  }
  EXPECT_EQ(DeliverModel(End(3, /*weights=*/true)), absl::OkStatus());
  EXPECT_EQ(DeliverModel(End(4)), absl::OkStatus());
  EXPECT_THAT(sink_->Take(), ElementsAre("output of 3: weights.pt a = wa", "output of 4: a = a"));
}

TEST_F(OutputDeliveriesTest, WeightsThatAreNotAmongTheBestAreRemovedHere) {
  assignment_.mutable_trial()->set_keep_weights(true);
  Follow();
  sink_->bar_.set_metric("default");
  sink_->bar_.set_goal(v1::ObjectiveConfig::MAXIMIZE);
  sink_->bar_.set_value(0.5);
  const std::string weights = folder_ + "/output-3/weights.pt";
  const auto deliver = [&](std::optional<double> value) {
    MakeFile(weights, "w");
    MakeFile(folder_ + "/output-3/model.onnx", "o");
    MakeFile(folder_ + "/output-3/a", "a");
    TrialOutputs::ModelEnd end = End(3, /*weights=*/true);
    if (value.has_value()) (*end.metrics.mutable_values())["default"] = *value;
    EXPECT_EQ(DeliverModel(end), absl::OkStatus());
    return sink_->Take();
  };
  const std::vector<std::string> all = {"output of 3: model.onnx weights.pt a = owa"};
  EXPECT_EQ(deliver(0.6), all);
  EXPECT_EQ(deliver(0.5), all) << "which of the two is kept is the head's to say";
  EXPECT_EQ(deliver(std::nullopt), all);
  EXPECT_EQ(deliver(std::nan("")), all);
  EXPECT_TRUE(std::filesystem::exists(weights));
  EXPECT_THAT(deliver(0.4), ElementsAre("output of 3: a = a"));
  EXPECT_FALSE(std::filesystem::exists(weights));
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/output-3/model.onnx"));
  // While the head is away it is asked again.
  sink_->bar_errors_ = {absl::UnavailableError("it is away"), absl::NotFoundError("no such assignment")};
  EXPECT_THAT(deliver(0.4), ElementsAre("output of 3: a = a"));
  EXPECT_TRUE(sink_->bar_errors_.empty());
  // One that cannot say it gets them.
  sink_->bar_errors_ = {absl::FailedPreconditionError("it is older")};
  EXPECT_EQ(deliver(0.4), all);
  sink_->bar_.set_goal(v1::ObjectiveConfig::MINIMIZE);
  EXPECT_EQ(deliver(0.4), all);
  EXPECT_THAT(deliver(0.6), ElementsAre("output of 3: a = a"));
}

TEST_F(OutputDeliveriesTest, OnlyWhoHasWeightsAsksForTheBar) {
  assignment_.mutable_trial()->set_keep_weights(true);
  Follow();
  MakeFile(folder_ + "/output-3/a", "a");
  EXPECT_EQ(DeliverModel(End(3, /*weights=*/true)), absl::OkStatus());
  EXPECT_EQ(DeliverModel(End(4)), absl::OkStatus());
  EXPECT_EQ(sink_->questions_, 0);
  MakeFile(folder_ + "/output-3/weights.pt", "w");
  sink_->bar_errors_ = {absl::AbortedError("canceled")};
  EXPECT_TRUE(absl::IsAborted(DeliverModel(End(3, /*weights=*/true))));
  EXPECT_EQ(sink_->questions_, 1);
}

TEST_F(OutputDeliveriesTest, AHeadThatIsAwayOrFullIsWaitedFor) {
  Follow();
  MakeFile(folder_ + "/output-3/weights.pt", "w");
  sink_->errors_ = {absl::UnavailableError("No space left on device"), absl::NotFoundError("no such assignment"),
                    absl::DataLossError("it changed")};
  EXPECT_EQ(DeliverModel(End(3, /*weights=*/true)), absl::OkStatus());
  EXPECT_THAT(sink_->Take(), ElementsAre("output of 3: weights.pt = w"));
}

TEST_F(OutputDeliveriesTest, WhatIsRefusedMattersForWeightsOnly) {
  Follow();
  MakeFile(folder_ + "/output-3/weights.pt", "w");
  for (const bool weights : {true, false}) {
    sink_->errors_ = {absl::ResourceExhaustedError("too large")};
    EXPECT_EQ(DeliverModel(End(3, weights)), weights ? absl::ResourceExhaustedError("too large") : absl::OkStatus());
  }
  sink_->errors_ = {absl::AbortedError("canceled")};
  EXPECT_TRUE(absl::IsAborted(DeliverModel(End(3, /*weights=*/true))));
  EXPECT_THAT(sink_->Take(), IsEmpty());
}

TEST_F(OutputDeliveriesTest, OfAConversionAllFilesMatter) {
  assignment_.clear_trial();
  Follow();
  MakeFile(folder_ + "/output-1/1-model-2.py", "p");
  MakeFile(folder_ + "/output-1/1-model-2.pt", "w");
  TrialOutputs::ModelEnd end = End(kConvertedModel);
  end.all = true;
  EXPECT_EQ(DeliverModel(end), absl::OkStatus());
  EXPECT_THAT(sink_->Take(), ElementsAre("output of 1: 1-model-2.pt 1-model-2.py = wp"));
  sink_->errors_ = {absl::ResourceExhaustedError("too large")};
  EXPECT_TRUE(absl::IsResourceExhausted(DeliverModel(end)));
  EXPECT_EQ(DeliverRest(), absl::OkStatus());
  EXPECT_THAT(sink_->Take(), IsEmpty());
}

TEST_F(OutputDeliveriesTest, CheckpointsComeWhileTheTrialRuns) {
  MakeFile(folder_ + "/checkpoint-3/checkpoint", "step 1");
  Follow(std::chrono::milliseconds(1));
  sink_->WaitFor("checkpoint of 3: checkpoint = step 1");
  std::filesystem::rename(MakeFile(folder_ + "/checkpoint-3/.lanista.1", "step 2"),
                          folder_ + "/checkpoint-3/checkpoint");
  sink_->WaitFor("checkpoint of 3: checkpoint = step 2");
}

TEST_F(OutputDeliveriesTest, TheLastCheckpointComesWhereAModelGoesOn) {
  Follow();
  MakeFile(folder_ + "/checkpoint-3/checkpoint", "3");
  MakeFile(folder_ + "/checkpoint-4/checkpoint", "4");
  EXPECT_EQ(DeliverModel(End(3, false, /*goes_on=*/true)), absl::OkStatus());
  EXPECT_THAT(sink_->Take(), ElementsAre("checkpoint of 3: checkpoint = 3"));
  EXPECT_EQ(DeliverRest(), absl::OkStatus());
  EXPECT_THAT(sink_->Take(), ElementsAre("checkpoint of 4: checkpoint = 4"));
}

TEST_F(OutputDeliveriesTest, WhatNobodyWantsAnyMoreEnds) {
  Follow();
  MakeFile(folder_ + "/output-3/weights.pt", "w");
  sink_->hangs_ = true;
  std::promise<absl::Status> done;
  outputs_->DeliverModel(End(3, /*weights=*/true), [&](const absl::Status& status) { done.set_value(status); });
  sink_->hanging_.get_future().wait();
  outputs_.reset();
  EXPECT_TRUE(absl::IsCancelled(done.get_future().get()));
}

TEST_F(OutputDeliveriesTest, TheMiddleOfALargeLogIsCut) {
  const std::string log = MakeFile(folder_ + "/log", "begin" + std::string(1000, '.') + "end");
  ASSERT_TRUE(CopyLog(log, folder_ + "/copies/log", 10).ok());
  EXPECT_EQ(Content(folder_ + "/copies/log"), "begin\n[lanista: 998 bytes were cut here]\n..end");
  ASSERT_TRUE(CopyLog(log, folder_ + "/copies/log", 2000).ok());
  EXPECT_EQ(Content(folder_ + "/copies/log"), Content(log));
  EXPECT_FALSE(CopyLog(folder_ + "/nowhere", folder_ + "/copies/log", 10).ok());
}

}  // namespace
}  // namespace lanista

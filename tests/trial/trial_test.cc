// The trial half: what becomes of what user code throws, and what a trial leaves for the next one.
#include <c10/core/DefaultDtype.h>
#include <torch/nn/modules/linear.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <mutex>
#include <new>
#include <stdexcept>
#include <thread>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "src/evaluators/functional.h"
#include "src/graph/registered_graphs.h"
#include "src/nn/nn.h"
#include "src/trial/runner.h"
#include "src/trial/torch_guard.h"
#include "src/trial/trial_main.h"
#include "src/trial_process/event_window.h"

namespace lanista {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

TEST(GuardTest, OkIsASuccessAndCancelledIsNoFailure) {
  EXPECT_EQ(Guard([] { return absl::OkStatus(); }).outcome, v1::ModelEnded::SUCCEEDED);
  EXPECT_EQ(Guard([] { return absl::CancelledError(); }).outcome, v1::ModelEnded::CANCELED);
}

TEST(GuardTest, LibTorchsErrorsComeWithoutTheirBacktrace) {
  const GuardResult result = Guard([]() -> absl::Status {
    torch::mm(torch::ones({2, 3}), torch::ones({2, 3}));
    return absl::OkStatus();
  });
  EXPECT_EQ(result.failure.reason(), v1::Failure::EXCEPTION);
  EXPECT_THAT(result.failure.message(), HasSubstr("2x3 and 2x3"));
  EXPECT_THAT(result.failure.message(), ::testing::Not(HasSubstr("frame #")));
}

TEST(GuardTest, MemoryThatRanOutIsToldApart) {
  const auto reason = [](const std::function<absl::Status()>& code) { return Guard(code).failure.reason(); };
  EXPECT_EQ(reason([]() -> absl::Status { throw std::bad_alloc(); }), v1::Failure::OUT_OF_MEMORY);
  // As TorchScript passes it on, and as a factory of models may.
  EXPECT_EQ(reason([]() -> absl::Status { throw std::runtime_error("line 7: can't allocate memory: 4 bytes"); }),
            v1::Failure::OUT_OF_MEMORY);
  EXPECT_EQ(reason([] { return absl::InvalidArgumentError("the weight: can't allocate memory: 4 bytes"); }),
            v1::Failure::OUT_OF_MEMORY);
  EXPECT_EQ(reason([] { return absl::ResourceExhaustedError("cannot write x: No space left on device"); }),
            v1::Failure::EXCEPTION);
  EXPECT_EQ(reason([]() -> absl::Status {
              torch::empty({int64_t{1} << 58}, torch::kByte);
              return absl::OkStatus();
            }),
            v1::Failure::OUT_OF_MEMORY);
}

TEST(GuardTest, WhateverIsThrownBecomesAFailure) {
  EXPECT_EQ(Guard([]() -> absl::Status { throw NanMetricError("loss is NaN"); }).failure.reason(),
            v1::Failure::NAN_LOSS);
  EXPECT_EQ(Guard([]() -> absl::Status { throw std::runtime_error("boom"); }).failure.message(), "boom");
  EXPECT_EQ(Guard([]() -> absl::Status { throw 7; }).outcome, v1::ModelEnded::FAILED);
  EXPECT_EQ(GuardStatus([]() -> absl::Status { throw std::runtime_error("boom"); }), absl::InternalError("boom"));
  EXPECT_EQ(GuardStatus([] { return absl::NotFoundError("x"); }), absl::NotFoundError("x"));
}

class TinySpace : public nn::ModelSpace {
 public:
  TinySpace() {
    nn::ValueChoice({1, 2}, "known");
    layer_ = register_module("layer", torch::nn::Linear(2, 2));
  }
  torch::Tensor forward(torch::Tensor x) override { return layer_(x); }

 private:
  torch::nn::Linear layer_{nullptr};
};
LANISTA_REGISTER(model_space, "tiny", nn::MakeModelSpace<TinySpace>);

// The same for drawn digits.
class PixelsSpace : public nn::ModelSpace {
 public:
  PixelsSpace() {
    nn::ValueChoice({1, 2}, "known");
    layer_ = register_module("layer", torch::nn::Linear(784, 10));
  }
  torch::Tensor forward(torch::Tensor x) override { return layer_(x.flatten(1)); }

 private:
  torch::nn::Linear layer_{nullptr};
};
LANISTA_REGISTER(model_space, "pixels", nn::MakeModelSpace<PixelsSpace>);

struct Orders {
  explicit Orders(const Params& params) : order(params.Get<std::string>("do")) {}
  std::string order;
};

// Does what the parameter `do` says.
void Obey(TrialContext& context, const Orders& orders) {
  const std::string& order = orders.order;
  if (order == "nothing") return;
  if (order == "nan") context.ReportFinal(std::nan(""));
  if (order == "twice") {
    context.ReportFinal(1);
    context.ReportFinal(1);
  }
  if (order == "long name") context.ReportIntermediate({{std::string(1000, 'x'), 1}});
  if (order == "many") {
    MetricMap metrics;
    for (int i = 0; i < 1001; ++i) metrics[std::to_string(i)] = i;
    context.ReportIntermediate(metrics);
  }
  if (order == "no default") context.ReportFinal({{"loss", 1}});
  if (order == "spoil") {
    torch::set_default_dtype(caffe2::TypeMeta::Make<double>());
    torch::GradMode::set_enabled(false);
    torch::rand({100});
    context.ReportFinal(0);
  }
  if (order == "weights") {
    // Draws before the model is built must not matter.
    torch::rand({3});
    const torch::Tensor weight = context.model()->parameters()[0];
    context.ReportIntermediate({{"default", 1}, {"requires_grad", weight.requires_grad()}});
    context.ReportFinal(weight.to(torch::kDouble).sum().item<double>());
  }
  if (order == "own params") {
    context.model();
    context.ReportFinal({{"default", 0}, {"params", 1}});
  }
  if (order == "leave files") {
    std::ofstream(context.output_folder() + "/first") << std::string(600, 'x');
    context.ReportIntermediate(0);
    std::filesystem::create_directory(context.output_folder() + "/more");
    std::ofstream(context.output_folder() + "/more/second") << std::string(600, 'x');
    context.ReportFinal(1);
  }
  if (order == "wait") {
    context.ReportIntermediate(0);
    while (!context.canceled()) std::this_thread::yield();
  }
  if (order == "ignore a stop") {
    context.ReportIntermediate(0);
    context.ReportFinal(1);
  }
  if (order == "fail after a stop") {
    context.ReportIntermediate(0);
    throw std::runtime_error("too late");
  }
  if (order == "report") {
    for (int step = 0; step < 5000; ++step) context.ReportIntermediate(step);
    context.ReportFinal(1);
  }
}
LANISTA_REGISTER(evaluator, "obey", Obey);

class RunnerTest : public ::testing::Test {
 protected:
  RunnerTest() {
    v1::TrialRequest request;
    request.mutable_setup()->mutable_device()->set_kind(v1::DeviceKind::CPU);
    request.mutable_setup()->mutable_device()->set_threads(1);
    runner_.Handle(request);
    events_.clear();
  }

  v1::TrialSpec Trial(const std::string& order) {
    v1::TrialSpec spec;
    spec.set_experiment("e");
    spec.set_trial(++trials_);
    spec.mutable_space()->set_registered("tiny");
    spec.mutable_engine()->mutable_direct();
    spec.mutable_evaluator()->mutable_custom()->set_name("obey");
    (*spec.mutable_evaluator()->mutable_custom()->mutable_params())["do"].set_s(order);
    v1::TrialModel& model = *spec.add_models();
    model.set_model(5);
    model.set_attempt(2);
    model.set_model_seed(77);
    v1::Decision& decision = *model.mutable_sample()->add_decisions();
    decision.set_label("known");
    decision.add_index(1);
    decision.add_value()->set_i(2);
    Discover(spec);
    return spec;
  }

  // Runs a trial; returns how its model ended.
  v1::ModelEnded Run(const v1::TrialSpec& spec) {
    events_.clear();
    v1::TrialRequest request;
    *request.mutable_run() = spec;
    runner_.Handle(request);
    EXPECT_TRUE(events_.back().has_ended()) << "every trial ends";
    return events_[events_.size() - 2].model().ended();
  }

  void Stop(const v1::TrialSpec& spec, int model = 5) {
    v1::StopModel stop;
    stop.set_experiment(spec.experiment());
    stop.set_trial(spec.trial());
    stop.set_model(model);
    runner_.Stop(stop);
  }

  // As the head does: the trial carries what this program discovered.
  void Discover(v1::TrialSpec& spec) {
    v1::TrialRequest request;
    *request.mutable_discover()->mutable_space() = spec.space();
    *request.mutable_discover()->mutable_engine() = spec.engine();
    *request.mutable_discover()->mutable_evaluator() = spec.evaluator();
    events_.clear();
    runner_.Handle(request);
    const v1::Discovered& discovered = events_.back().discovered();
    ASSERT_FALSE(discovered.has_error()) << discovered.error().message();
    spec.set_program(discovered.program());
    spec.set_space_fingerprint(discovered.space().fingerprint());
    *spec.mutable_space_files() = discovered.space().files();
  }

  int trials_ = 0;
  // Called after each report.
  std::function<void()> on_report_;
  std::vector<v1::TrialEvent> events_;
  TrialRunner runner_{[this](const v1::TrialEvent& event) {
                        events_.push_back(event);
                        if (event.model().has_intermediate() && on_report_) on_report_();
                      },
                      /*redirect_output=*/false};
};

TEST_F(RunnerTest, EventsCarryModelAttemptAndARisingSequence) {
  EXPECT_EQ(Run(Trial("weights")).outcome(), v1::ModelEnded::SUCCEEDED);
  ASSERT_EQ(events_.size(), 5u) << "started, built, intermediate, ended; and the trial's end";
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(events_[i].model().model(), 5);
    EXPECT_EQ(events_[i].model().attempt(), 2);
    EXPECT_EQ(events_[i].model().sequence(), i + 1);
  }
  EXPECT_TRUE(events_[0].model().has_started());
  EXPECT_GT(events_[1].model().built().params(), 0);
  EXPECT_FALSE(events_[1].model().built().has_flops()) << "it is no graph";
  EXPECT_EQ(events_[2].model().intermediate().step(), 0);
}

TEST_F(RunnerTest, TheSameSeedGivesTheSameWeightsWhateverRanBefore) {
  const v1::ModelEnded first = Run(Trial("weights"));
  EXPECT_EQ(Run(Trial("spoil")).outcome(), v1::ModelEnded::SUCCEEDED);
  const v1::ModelEnded second = Run(Trial("weights"));
  EXPECT_EQ(first.metrics().values().at("default"), second.metrics().values().at("default"));
  EXPECT_EQ(events_[2].model().intermediate().metrics().values().at("requires_grad"), 1);
  v1::TrialSpec other = Trial("weights");
  other.mutable_models(0)->set_model_seed(78);
  EXPECT_NE(Run(other).metrics().values().at("default"), first.metrics().values().at("default"));
}

TEST_F(RunnerTest, WeightsOfModelsOfAnyEngineAreKept) {
  v1::TrialSpec spec = Trial("weights");
  spec.set_keep_weights(true);
  spec.mutable_models(0)->set_output_folder(testing::TempDir() + "/kept");
  ASSERT_EQ(Run(spec).outcome(), v1::ModelEnded::SUCCEEDED);
  const auto weights = nn::ReadStateDict(testing::TempDir() + "/kept/weights.pt");
  ASSERT_TRUE(weights.ok()) << weights.status();
  ASSERT_EQ(weights->size(), 2u);
  EXPECT_EQ((*weights)[0].first, "layer.weight");
  EXPECT_EQ((*weights)[0].second.to(torch::kDouble).sum().item<double>(),
            events_[events_.size() - 2].model().ended().metrics().values().at("default"));
  EXPECT_TRUE(events_[events_.size() - 2].model().ended().left_weights());
}

TEST_F(RunnerTest, AnEvaluatorThatBuildsNoModelLeavesNoWeights) {
  v1::TrialSpec spec = Trial("leave files");
  spec.set_keep_weights(true);
  spec.mutable_models(0)->set_output_folder(testing::TempDir() + "/none");
  const v1::ModelEnded ended = Run(spec);
  EXPECT_EQ(ended.outcome(), v1::ModelEnded::SUCCEEDED);
  EXPECT_FALSE(ended.left_weights());
  EXPECT_FALSE(std::filesystem::exists(testing::TempDir() + "/none/weights.pt"));
}

TEST_F(RunnerTest, AnEvaluatorThatReportsWronglyFailsWithThatReason) {
  EXPECT_EQ(Run(Trial("nothing")).failure().reason(), v1::Failure::NO_METRIC);
  EXPECT_EQ(Run(Trial("nan")).failure().reason(), v1::Failure::NAN_LOSS);
  EXPECT_THAT(Run(Trial("twice")).failure().message(), HasSubstr("twice"));
  EXPECT_THAT(Run(Trial("no default")).failure().message(), HasSubstr("default"));
  EXPECT_THAT(Run(Trial("long name")).failure().message(), HasSubstr("a name of 1000 bytes"));
  EXPECT_THAT(Run(Trial("many")).failure().message(), HasSubstr("a report has 1001 metrics"));
}

TEST_F(RunnerTest, FilesBeyondTheLimitFailTheirModel) {
  v1::TrialSpec spec = Trial("leave files");
  spec.mutable_models(0)->set_output_folder(testing::TempDir() + "/left");
  const auto run = [&](int64_t limit) {
    std::filesystem::remove_all(testing::TempDir() + "/left");
    spec.set_output_limit(limit);
    return Run(spec);
  };
  EXPECT_EQ(run(1200).outcome(), v1::ModelEnded::SUCCEEDED);
  // The second file is found at the end.
  EXPECT_EQ(run(1199).failure().message(), absl::StrCat("the evaluator left files of 1200 bytes in ",
                                                        testing::TempDir(), "/left; output_limit allows 1199"));
  EXPECT_TRUE(std::any_of(events_.begin(), events_.end(),
                          [](const v1::TrialEvent& event) { return event.model().has_intermediate(); }));
  // The first one is found by the first report.
  EXPECT_THAT(run(599).failure().message(), HasSubstr("files of 600 bytes"));
  EXPECT_EQ(run(0).outcome(), v1::ModelEnded::SUCCEEDED) << "no limit";
}

TEST_F(RunnerTest, ATrialCanceledBeforeItsTurnDoesNotRun) {
  const v1::TrialSpec spec = Trial("weights");
  v1::CancelTrial cancel;
  cancel.set_experiment("e");
  cancel.set_trial(spec.trial());
  runner_.Cancel(cancel);
  EXPECT_EQ(Run(spec).outcome(), v1::ModelEnded::CANCELED);
  EXPECT_EQ(Run(Trial("weights")).outcome(), v1::ModelEnded::SUCCEEDED) << "the next one does";
}

TEST_F(RunnerTest, AStoppedModelsEvaluatorIsCanceledAndItsAttemptIsStoppedEarly) {
  for (const char* const order : {"wait", "ignore a stop"}) {
    const v1::TrialSpec spec = Trial(order);
    on_report_ = [&] { Stop(spec); };
    const v1::ModelEnded ended = Run(spec);
    EXPECT_EQ(ended.outcome(), v1::ModelEnded::STOPPED_EARLY) << order;
    EXPECT_FALSE(ended.has_failure());
    EXPECT_FALSE(ended.has_metrics());
  }
  const v1::TrialSpec spec = Trial("fail after a stop");
  on_report_ = [&] { Stop(spec); };
  EXPECT_EQ(Run(spec).outcome(), v1::ModelEnded::FAILED) << "the process may have to be replaced";
}

TEST_F(RunnerTest, AStopBeforeItsTurnReachesThatModelOfThatTrialAlone) {
  const v1::TrialSpec spec = Trial("weights");
  Stop(spec);
  EXPECT_EQ(Run(spec).outcome(), v1::ModelEnded::STOPPED_EARLY);
  for (const v1::TrialEvent& event : events_) EXPECT_FALSE(event.model().has_intermediate());
  const v1::TrialSpec next = Trial("weights");
  Stop(spec);
  Stop(next, 6);
  EXPECT_EQ(Run(next).outcome(), v1::ModelEnded::SUCCEEDED);
}

TEST_F(RunnerTest, AStoppedClassificationLeavesBetweenTwoBatches) {
  v1::TrialSpec spec = Trial("nothing");
  spec.clear_evaluator();
  spec.mutable_space()->set_registered("pixels");
  v1::ClassificationConfig& classification = *spec.mutable_evaluator()->mutable_classification();
  classification.mutable_dataset()->mutable_synthetic_digits()->set_train_samples(20);
  classification.mutable_dataset()->mutable_synthetic_digits()->set_validation_samples(20);
  classification.set_max_epochs(5);
  Discover(spec);
  int reports = 0;
  on_report_ = [&] {
    if (++reports == 2) Stop(spec);
  };
  const v1::ModelEnded ended = Run(spec);
  EXPECT_EQ(ended.outcome(), v1::ModelEnded::STOPPED_EARLY) << ended.failure().message();
  EXPECT_EQ(reports, 2);
}

TEST_F(RunnerTest, ADeviceThatLibTorchCannotUseIsNamedAtOnce) {
  if (at::hasCUDA()) GTEST_SKIP() << "needs a machine without a GPU, or a LibTorch without CUDA";
  v1::TrialRequest setup;
  setup.mutable_setup()->mutable_device()->set_kind(v1::DeviceKind::GPU);
  setup.mutable_setup()->mutable_device()->set_index(3);
  setup.mutable_setup()->mutable_device()->set_uuid("GPU-1");
  runner_.Handle(setup);
  const char* const message = at::globalContext().hasCUDART() ? "finds no GPU" : "set LANISTA_LIBTORCH";
  EXPECT_THAT(events_.back().ready().error().message(), AllOf(HasSubstr("cuda:3 cannot be used"), HasSubstr(message)));
}

TEST_F(RunnerTest, AnotherProgramsSpaceIsRefused) {
  v1::TrialSpec spec = Trial("weights");
  spec.set_program("another build");
  EXPECT_EQ(Run(spec).outcome(), v1::ModelEnded::SUCCEEDED) << "with the same space it serves";
  spec.set_space_fingerprint("0123456789abcdef");
  const v1::ModelEnded ended = Run(spec);
  EXPECT_EQ(ended.failure().reason(), v1::Failure::SPACE_MISMATCH);
  EXPECT_GT(ended.actual_space().choices_size(), 0) << "for telling what differs";
}

TEST_F(RunnerTest, ChoicesThatTheSampleLacksAreDrawnFromTheSeedAndReported) {
  v1::TrialSpec spec = Trial("weights");
  spec.mutable_models(0)->mutable_sample()->clear_decisions();
  const v1::ModelEnded ended = Run(spec);
  EXPECT_EQ(ended.outcome(), v1::ModelEnded::SUCCEEDED) << ended.failure().message();
  ASSERT_EQ(ended.actual_sample().decisions_size(), 1);
  EXPECT_EQ(ended.actual_sample().decisions(0).label(), "known");
  EXPECT_EQ(Run(spec).actual_sample().SerializeAsString(), ended.actual_sample().SerializeAsString());
}

// A graph with a constant of as many bytes as the parameter says.
absl::StatusOr<v1::ModelGraph> OneConstant(const Params& params) {
  v1::ModelGraph model;
  v1::Graph& root = *model.add_graphs();
  root.set_name("OneConstant");
  v1::Node& node = *root.add_nodes();
  node.set_name("constant");
  node.mutable_op()->set_type("Constant");
  v1::Attribute& value = *node.mutable_op()->add_attr();
  value.set_key("value");
  v1::Tensor& tensor = *value.mutable_value()->mutable_tensor();
  tensor.set_data_type(v1::Tensor::UINT8);
  const auto bytes = params.Get<int64_t>("bytes");
  tensor.add_dims(bytes);
  tensor.set_data(std::string(static_cast<size_t>(bytes), '0'));
  root.add_outputs()->set_node("constant");
  return model;
}
LANISTA_REGISTER(graph_space, "one_constant", OneConstant);

// What the model of `spec` reports in the end besides `default`.
std::map<std::string, double> CostsIn(const v1::ModelEnded& ended) {
  std::map<std::string, double> costs(ended.metrics().values().begin(), ended.metrics().values().end());
  costs.erase("default");
  return costs;
}

TEST_F(RunnerTest, WhatAModelCostsIsAmongItsMetrics) {
  EXPECT_THAT(CostsIn(Run(Trial("weights"))), ElementsAre(Pair("params", 2 * 2 + 2)));
  EXPECT_THAT(CostsIn(Run(Trial("own params"))), ElementsAre(Pair("params", 1))) << "the evaluator's word stands";
  EXPECT_THAT(CostsIn(Run(Trial("spoil"))), ElementsAre()) << "no model was built";

  const std::string path = testing::TempDir() + "/costs.textproto";
  std::ofstream(path) << R"(version: 1 graphs { name: 'net'
      inputs { name: 'x' type { kind: TENSOR data_type: FLOAT32 shape { dims: [-1, 4] } } }
      nodes { name: 'fc' inputs { node: 'x' } op { type: 'Linear'
        attr { key: 'in_features' value { i: 4 } } attr { key: 'out_features' value { i: 3 } } } }
      nodes { name: 'act' inputs { node: 'fc' } op { type: 'ReLU' } }
      outputs { node: 'act' } })";
  v1::TrialSpec spec = Trial("weights");
  spec.mutable_models(0)->mutable_sample()->clear_decisions();
  spec.mutable_engine()->mutable_graph();
  spec.mutable_space()->mutable_graph()->set_path(path);
  Discover(spec);
  EXPECT_THAT(CostsIn(Run(spec)), ElementsAre(Pair("flops", 3 * (2 * 4 + 1) + 3), Pair("params", 4 * 3 + 3)));
}

TEST_F(RunnerTest, OnlyAGraphSpaceOfModerateSizeIsHandedToTheHead) {
  v1::TrialSpec spec = Trial("nothing");
  spec.mutable_engine()->mutable_graph();
  spec.mutable_space()->set_registered("one_constant");
  v1::Value& bytes = (*spec.mutable_space()->mutable_params())["bytes"];
  // The bound is 16 MiB (kMaxGraphSpaceBytes in runner.cc): a message of the socket has room for it.
  bytes.set_i(1 << 20);
  Discover(spec);
  EXPECT_TRUE(events_.back().discovered().has_graph_space());
  bytes.set_i(17 << 20);
  Discover(spec);
  EXPECT_FALSE(events_.back().discovered().has_graph_space());
}

TEST_F(RunnerTest, AFileThatChangedSinceDiscoveryIsAnotherSpace) {
  const std::string path = testing::TempDir() + "/net.textproto";
  const auto write = [&](const std::string& type) {
    std::ofstream(path) << "version: 1 graphs { name: 'net' inputs { name: 'x' type { kind: TENSOR } } "
                        << "nodes { name: 'act' op { type: '" << type << "' } inputs { node: 'x' } } "
                        << "outputs { node: 'act' } }";
  };
  write("ReLU");
  v1::TrialSpec spec = Trial("spoil");
  spec.mutable_models(0)->mutable_sample()->clear_decisions();
  spec.mutable_engine()->mutable_graph();
  spec.mutable_space()->mutable_graph()->set_path(path);
  Discover(spec);
  ASSERT_EQ(spec.space_files_size(), 1);
  EXPECT_EQ(spec.space_files(0).path(), path);
  EXPECT_EQ(spec.space_files(0).sha256().size(), 64u);
  EXPECT_EQ(Run(spec).outcome(), v1::ModelEnded::SUCCEEDED);

  // The same choices, another network.
  write("Tanh");
  EXPECT_EQ(Run(spec).outcome(), v1::ModelEnded::SUCCEEDED) << "a process goes on with what it has read";
  v1::TrialSpec other = spec;
  other.mutable_space()->set_registered("one_constant");
  (*other.mutable_space()->mutable_params())["bytes"].set_i(4);
  Discover(other);
  v1::ModelEnded ended = Run(spec);
  EXPECT_EQ(ended.failure().reason(), v1::Failure::SPACE_MISMATCH);
  EXPECT_THAT(ended.failure().message(), HasSubstr(path + " has changed since the experiment began"));
  EXPECT_FALSE(ended.has_actual_space()) << "its choices do not differ";

  Discover(other);
  std::filesystem::remove(path);
  ended = Run(spec);
  EXPECT_EQ(ended.failure().reason(), v1::Failure::SPACE_MISMATCH);
  EXPECT_THAT(ended.failure().message(), HasSubstr(path));
}

TEST_F(RunnerTest, InProcessTrialsRunAndCancelLikeProcesses) {
  const v1::TrialSpec spec = Trial("wait");
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<v1::TrialEvent> events;
  const auto wait_for = [&](auto&& seen) {
    std::unique_lock<std::mutex> lock(mutex);
    changed.wait(lock, [&] { return !events.empty() && seen(events.back()); });
  };
  const auto trial = MakeInProcessTrial();
  ASSERT_TRUE(trial
                  ->Start({}, {[&](v1::TrialEvent event) {
                                 const std::lock_guard<std::mutex> lock(mutex);
                                 events.push_back(std::move(event));
                                 changed.notify_all();
                               },
                               [](const v1::ProcessExited&) {}})
                  .ok());
  v1::TrialRequest request;
  *request.mutable_run() = spec;
  ASSERT_EQ(trial->Send(request), absl::OkStatus());
  wait_for([](const v1::TrialEvent& event) { return event.model().has_intermediate(); });
  v1::TrialRequest cancel;
  cancel.mutable_cancel()->set_experiment("e");
  cancel.mutable_cancel()->set_trial(spec.trial());
  ASSERT_EQ(trial->Send(cancel), absl::OkStatus());
  wait_for([](const v1::TrialEvent& event) { return event.has_ended(); });
  EXPECT_EQ(events[events.size() - 2].model().ended().outcome(), v1::ModelEnded::CANCELED);

  // One that reports more than may be unrecorded waits.
  const v1::TrialSpec fast = Trial("report");
  *request.mutable_run() = fast;
  {
    const std::lock_guard<std::mutex> lock(mutex);
    events.clear();
  }
  ASSERT_EQ(trial->Send(request), absl::OkStatus());
  wait_for([&](const v1::TrialEvent&) { return events.size() >= static_cast<size_t>(EventWindow::kEvents); });
  while (trial->held_up() == std::chrono::milliseconds::zero()) std::this_thread::yield();
  {
    const std::lock_guard<std::mutex> lock(mutex);
    EXPECT_LE(events.size(), static_cast<size_t>(EventWindow::kEvents + kAcknowledgedOneOf));
  }
  for (int sequence = kAcknowledgedOneOf; sequence < 5000; sequence += kAcknowledgedOneOf) {
    wait_for([&](const v1::TrialEvent&) { return events.size() >= static_cast<size_t>(sequence); });
    v1::EventsRecorded recorded;
    recorded.set_experiment("e");
    recorded.set_trial(fast.trial());
    recorded.set_model(5);
    recorded.set_attempt(2);
    recorded.set_sequence(sequence);
    trial->Recorded(recorded);
  }
  wait_for([](const v1::TrialEvent& event) { return event.has_ended(); });
  EXPECT_EQ(events.size(), 5003u) << "started, reports, ended; and the trial's end";
}

}  // namespace
}  // namespace lanista

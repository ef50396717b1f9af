// lanista::Experiment, in a program that is its own trial program.
#include "lanista/experiment.h"

#include <torch/nn/modules/dropout.h>
#include <torch/nn/modules/linear.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "lanista/client.h"
#include "lanista/dataset.h"
#include "lanista/devices.h"
#include "lanista/evaluator.h"
#include "lanista/graph.h"
#include "lanista/main.h"
#include "lanista/mutator.h"
#include "lanista/nn.h"
#include "lanista/stopper.h"
#include "lanista/strategy.h"
#include "lanista/transform.h"
#include "nlohmann/json.hpp"
#include "src/rpc/head_server.h"
#include "src/service/experiments.h"
#include "src/service/news.h"
#include "src/storage/journal.h"
#include "src/storage/state_dir.h"
#include "src/views/trials_document.h"
#include "tests/e2e/command.h"
#include "tests/service/service_testing.h"
#include "tests/storage/storage_testing.h"
#include "tests/web/http_client.h"

namespace lanista {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// ---- The components of this program ----

// Three models: hidden layers of width 4, 8 or 16, with dropout, so that results depend on random numbers.
class SmallNet : public nn::ModelSpace {
 public:
  SmallNet() {
    const int64_t width = nn::ValueChoice({4, 8, 16}, "width");
    hidden_ = register_module("hidden", torch::nn::Linear(2, width));
    dropout_ = register_module("dropout", torch::nn::Dropout(0.2));
    output_ = register_module("output", torch::nn::Linear(width, 2));
  }
  torch::Tensor forward(torch::Tensor x) override { return output_(dropout_(torch::relu(hidden_(x)))); }

 private:
  torch::nn::Linear hidden_{nullptr}, output_{nullptr};
  torch::nn::Dropout dropout_{nullptr};
};

// A SmallNet that is built once the file of parameter `while` is gone.
struct HeldUpNet : SmallNet {
  explicit HeldUpNet(const Params& params) {
    while (std::filesystem::exists(params.Get<std::string>("while"))) std::this_thread::yield();
  }
};

// Points of the plane and the side of a line on which they lie.
absl::StatusOr<data::DataSplits> Points() {
  const torch::Tensor points = torch::sin(torch::arange(0, 160) * 12.9898).mul(43758.5453).frac().reshape({80, 2});
  const torch::Tensor sides = (points.select(1, 0) > points.select(1, 1)).to(torch::kLong);
  return data::ClassificationSplits({points.slice(0, 0, 60), sides.slice(0, 0, 60)},
                                    {points.slice(0, 60), sides.slice(0, 60)});
}

// Scores a model by its width, without training it.
class WidthEvaluator : public Evaluator {
 public:
  explicit WidthEvaluator(const Params& params) : factor_(params.Get<double>("factor", 1.0)) {}
  absl::Status Prepare(uint64_t) override { return absl::OkStatus(); }
  absl::Status Evaluate(TrialContext& context) override {
    const auto model = context.model();
    context.ReportIntermediate(0.0);
    context.ReportFinal(factor_ * static_cast<double>(model->parameters()[0].size(0)));
    return absl::OkStatus();
  }

 private:
  const double factor_;
};

// From the last model of the space to the first.
class Backwards : public Strategy {
 public:
  explicit Backwards(const StrategyContext& context) : space_(context.space), next_(*context.space.size()) {}
  absl::StatusOr<Proposal> Ask(int count) override {
    Proposal proposal;
    while (next_ > 0 && proposal.samples.size() < static_cast<size_t>(count)) {
      proposal.samples.push_back(space_.Unrank(--next_));
    }
    proposal.exhausted = next_ == 0;
    return proposal;
  }
  void Tell(const v1::Sample&, const Observation&) override {}

 private:
  const Space& space_;
  mpz_class next_;
};

// Stops every model at its first step after parameter `patience`.
class Impatient : public Stopper {
 public:
  explicit Impatient(const Params& params) : patience_(params.Get<int64_t>("patience")) {}
  Verdict Report(int, int step, double) override { return {step > patience_, "no patience"}; }

 private:
  const int64_t patience_;
};

// A graph of two layers; parameter `classes`.
absl::StatusOr<v1::ModelGraph> GraphNet(const Params& params) {
  graph::Builder net("GraphNet", graph::kOperators);
  graph::Handle x = net.Input("x", graph::TensorType(v1::Tensor::FLOAT32, {-1, 2}));
  x = net.Add("hidden", graph::MakeOp("Linear", {{"in_features", 2}, {"out_features", 4}}), {x});
  x = net.Add("act", graph::MakeOp("ReLU"), {x});
  const v1::Node output =
      graph::MakeOp("Linear", {{"in_features", 4}, {"out_features", params.Get<int64_t>("classes", 2)}});
  net.Output(net.Add("output", output, {x}));
  return std::move(net).Build();
}

// Chooses the width of GraphNet.
absl::Status ChooseWidth(graph::MutableModel& model, graph::Chooser& chooser) {
  const auto width = chooser.ChooseValue("width", {graph::IntValue(4), graph::IntValue(6)});
  if (!width.ok()) return width.status();
  absl::Status status = model.SetAttribute(model.Find("hidden")->front(), "out_features", *width);
  if (status.ok()) status = model.SetAttribute(model.Find("output")->front(), "in_features", *width);
  return status;
}

// Puts an operator in place of GraphNet's activation: parameter `type`.
class Activation : public graph::Mutator {
 public:
  explicit Activation(const Params& params) : type_(params.Get<std::string>("type")) {}
  absl::Status Mutate(graph::MutableModel& model, graph::Chooser&) const override {
    return model.Replace(model.Find("act")->front(), graph::MakeOp(type_));
  }

 private:
  const std::string type_;
};

// Points, of which parameter `fewer` are left out of the training.
struct FewerPoints : data::DataSplits {
  explicit FewerPoints(const Params& params) : data::DataSplits(Points().value()) {
    const data::Example& all = *train->InMemory();
    const int64_t left = train->size() - params.Get<int64_t>("fewer");
    train = data::MakeInMemoryDataset({all.input.slice(0, 0, left), all.target.slice(0, 0, left)});
  }
};

// Adds parameter `by` to each input.
class Shift : public data::Transform {
 public:
  explicit Shift(const Params& params) : by_(params.Get<double>("by")) {}
  at::Tensor Apply(const at::Tensor& input, data::SampleRandom&) const override { return input + by_; }
  bool batchable() const override { return true; }

 private:
  const double by_;
};

// Whose only use is to be registered.
void RegisterSourcesOfOneName() {
  RegisterDeviceSource("mine", [](const Params&) -> DeviceSourceRegistry::Result { return absl::UnknownError(""); });
  RegisterNodeSource("mine", [](const Params&) -> NodeSourceRegistry::Result { return absl::UnknownError(""); });
}

void RegisterComponents() {
  RegisterSpace<SmallNet>("small_net");
  RegisterSpace<HeldUpNet>("held_up_net");
  RegisterDataset("points", Points);
  RegisterDataset<FewerPoints>("fewer_points");
  RegisterEvaluator<WidthEvaluator>("width");
  RegisterEvaluator("until_canceled", [](TrialContext& context) {
    context.ReportIntermediate(0.5);
    while (!context.canceled()) std::this_thread::yield();
  });
  RegisterEvaluator("throws", [](TrialContext&) { throw std::runtime_error("no luck today"); });
  RegisterGraphSpace("graph_net", GraphNet);
  RegisterMutator("choose_width", ChooseWidth);
  RegisterMutator<Activation>("activation");
  RegisterTransform<Shift>("shift");
  RegisterStrategy<Backwards>("backwards");
  RegisterStopper<Impatient>("impatient");
}

// ---- The tests ----

constexpr char kByWidth[] = R"pb(
  name: "by_width"
  space { registered: "small_net" }
  strategy { grid_search {} }
  evaluator { custom { name: "width" } }
  training_service { local { cpu_slots: 1 } }
  seed: 7
)pb";

constexpr char kEndless[] = R"pb(
  space { registered: "small_net" }
  strategy { random {} }
  evaluator { custom { name: "until_canceled" } }
  training_service { local { cpu_slots: 1 } }
)pb";

constexpr char kTraining[] = R"pb(
  name: "training"
  space { registered: "small_net" }
  strategy { random {} }
  evaluator {
    classification {
      dataset { custom { name: "points" } }
      batch_size: 10
      max_epochs: 3
    }
  }
  training_service { local { cpu_slots: 1 } }
  seed: 11
)pb";

std::string Self() { return std::filesystem::read_symlink("/proc/self/exe").string(); }

class ExperimentTest : public testing::Test {
 protected:
  ExperimentSettings Settings() const {
    ExperimentSettings settings;
    settings.state_dir = temp_.path() + "/state";
    return settings;
  }

  Experiment Make(const std::string& text) const { return Make(text, Settings()); }
  static Experiment Make(const std::string& text, const ExperimentSettings& settings) {
    absl::StatusOr<Experiment> experiment = Experiment::Parse(text, settings);
    EXPECT_TRUE(experiment.ok()) << experiment.status();
    return *std::move(experiment);
  }

  // Of each model: its sample, status and metrics.
  static std::vector<std::string> Results(const std::string& state_dir, const std::string& id) {
    const std::string folder = StateDir::OpenReadOnly(state_dir).ExperimentFolder(id).value();
    const absl::StatusOr<JournalReader> journal = JournalReader::Open(folder);
    EXPECT_TRUE(journal.ok()) << journal.status();
    const nlohmann::ordered_json document = TrialsDocument(*journal).value();
    std::vector<std::string> results;
    for (const auto& model : document["models"]) {
      std::string result = absl::StrCat(model["id"].dump(), " ", model["sample"].dump(), " ", model["status"].dump(),
                                        " ", model["metrics"]["final"].dump());
      for (const auto& step : model["metrics"]["intermediate"]) absl::StrAppend(&result, " ", step["metrics"].dump());
      results.push_back(std::move(result));
    }
    return results;
  }

  const TempFolder temp_;
};

TEST_F(ExperimentTest, FindsTheBestModelAndTellsOfEachModelOnce) {
  Experiment experiment = Make(kByWidth);
  std::map<int, int> outcomes;
  std::vector<v1::ExperimentState::State> states;
  int spaces = 0;
  ASSERT_TRUE(experiment
                  .OnEvent([&](const v1::ExperimentEvent& event) {
                    if (event.has_outcome()) ++outcomes[event.outcome().model()];
                    if (event.has_state()) states.push_back(event.state().state());
                    if (event.has_space()) ++spaces;
                  })
                  .ok());
  EXPECT_EQ(experiment.id(), "");
  ASSERT_TRUE(experiment.Run().ok());

  EXPECT_EQ(outcomes, (std::map<int, int>{{1, 1}, {2, 1}, {3, 1}}));
  EXPECT_EQ(spaces, 1);
  ASSERT_FALSE(states.empty());
  EXPECT_EQ(states.back(), v1::ExperimentState::DONE);
  const absl::StatusOr<ExperimentStatus> status = experiment.Status();
  ASSERT_TRUE(status.ok()) << status.status();
  EXPECT_EQ(status->id, experiment.id());
  EXPECT_EQ(status->name, "by_width");
  EXPECT_EQ(status->state, "DONE");
  EXPECT_EQ(status->space_size, "3");
  EXPECT_EQ(status->models, 3);
  EXPECT_EQ(status->succeeded, 3);

  const absl::StatusOr<std::vector<FoundModel>> top = experiment.TopModels(2);
  ASSERT_TRUE(top.ok()) << top.status();
  ASSERT_EQ(top->size(), 2u);
  EXPECT_EQ(top->at(0).sample, R"({"width":16})");
  EXPECT_EQ(top->at(0).metrics.at("default"), 16);
  EXPECT_EQ(top->at(1).sample, R"({"width":8})");
  EXPECT_EQ(nn::BuildFixed<SmallNet>(top->at(0).sample)->parameters()[0].size(0), 16);

  ExportSettings json;
  json.top = 2;
  json.out = temp_.path() + "/best";
  const absl::StatusOr<std::vector<std::string>> files = experiment.Export(json);
  ASSERT_TRUE(files.ok()) << files.status();
  ASSERT_EQ(files->size(), 2u);
  for (const std::string& file : *files) EXPECT_TRUE(std::filesystem::exists(file)) << file;
  json.format = "none";
  EXPECT_TRUE(absl::IsInvalidArgument(experiment.Export(json).status()));
}

TEST_F(ExperimentTest, AConfigurationBuiltInCodeUsesTheProgramsComponents) {
  v1::ExperimentConfig config;
  config.mutable_space()->set_registered("small_net");
  config.mutable_strategy()->mutable_custom()->set_name("backwards");
  v1::Custom& evaluator = *config.mutable_evaluator()->mutable_custom();
  evaluator.set_name("width");
  (*evaluator.mutable_params())["factor"].set_f(-1.5);
  config.add_training_service()->mutable_local()->set_cpu_slots(1);
  config.set_max_trial_number(2);
  Experiment experiment(config, Settings());
  std::vector<double> values;
  ASSERT_TRUE(experiment
                  .OnEvent([&](const v1::ExperimentEvent& event) {
                    if (event.has_outcome()) values.push_back(event.outcome().metrics().values().at("default"));
                  })
                  .ok());
  const absl::Status status = experiment.Run();
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_THAT(values, ElementsAre(-24, -12));
}

TEST_F(ExperimentTest, AStopperOfTheProgramStopsModels) {
  constexpr char kImpatient[] = R"pb(
    early_stopping {
      custom {
        name: "impatient"
        params {
          key: "patience"
          value { i: 0 }
        }
      }
    }
  )pb";
  Experiment experiment = Make(absl::StrCat(kEndless, kImpatient));
  const absl::Status status = experiment.Run();
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(experiment.Status()->stopped_early, 3);
  EXPECT_TRUE(experiment.TopModels(1)->empty());
}

TEST_F(ExperimentTest, GraphsAndMutatorsOfTheProgramMakeASpace) {
  Experiment experiment = Make(R"pb(
    space {
      registered: "graph_net"
      params {
        key: "classes"
        value { i: 3 }
      }
      mutator { custom { name: "choose_width" } }
      mutator {
        custom {
          name: "activation"
          params {
            key: "type"
            value { s: "SiLU" }
          }
        }
      }
    }
    engine { graph {} }
    strategy { grid_search {} }
    evaluator { custom { name: "width" } }
    training_service { local { cpu_slots: 1 } }
  )pb");
  const absl::Status status = experiment.Run();
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(experiment.Status()->models, 2);
  const absl::StatusOr<std::vector<FoundModel>> top = experiment.TopModels(1);
  ASSERT_TRUE(top.ok()) << top.status();
  ASSERT_EQ(top->size(), 1u);
  EXPECT_EQ(top->at(0).sample, R"({"width":6})");
  EXPECT_EQ(top->at(0).metrics.at("default"), 6);
}

TEST_F(ExperimentTest, ADatasetOfAClassGetsItsParameters) {
  const std::string points = R"(name: "fewer_points")";
  const std::string fewer = points + " params { key: 'fewer' value { i: 50 } }";
  const auto run = [this](const std::string& dataset) {
    const std::string text = absl::StrReplaceAll(kTraining, {{R"(name: "points")", dataset}});
    return Make(absl::StrCat(text, "max_trial_number: 1")).Run();
  };
  EXPECT_TRUE(run(fewer).ok()) << run(fewer);
  const absl::Status without = run(points);
  EXPECT_FALSE(without.ok());
  EXPECT_THAT(without.message(), HasSubstr("fewer"));
}

TEST_F(ExperimentTest, ATransformOfTheProgramIsPartOfTheData) {
  Experiment experiment = Make(R"pb(
    space { registered: "small_net" }
    strategy { random {} }
    evaluator {
      classification {
        dataset { custom { name: "points" } }
        transform {
          custom {
            name: "shift"
            params {
              key: "by"
              value { f: 0.5 }
            }
          }
        }
        batch_size: 20
        max_epochs: 1
      }
    }
    training_service { local { cpu_slots: 1 } }
    max_trial_number: 1
  )pb");
  const absl::Status status = experiment.Run();
  ASSERT_TRUE(status.ok()) << status;
  ExportSettings json;
  json.out = temp_.path() + "/best";
  const absl::StatusOr<std::vector<std::string>> files = experiment.Export(json);
  ASSERT_TRUE(files.ok()) << files.status();
  ASSERT_EQ(files->size(), 1u);
  std::ifstream file(files->at(0));
  const nlohmann::json exported = nlohmann::json::parse(file);
  EXPECT_EQ(exported["data"]["preprocessing"], nlohmann::json::parse(R"([{"custom": "shift"}])"));
}

TEST_F(ExperimentTest, StopEndsIt) {
  Experiment experiment = Make(kEndless);
  ASSERT_TRUE(experiment
                  .OnEvent([&](const v1::ExperimentEvent& event) {
                    if (!event.has_model() || !event.model().has_started()) return;
                    EXPECT_TRUE(experiment.Stop("seen enough").ok());
                  })
                  .ok());
  const absl::Status status = experiment.Run();
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(experiment.Status()->state, "STOPPED");
  EXPECT_EQ(experiment.Status()->reason, "seen enough");
  EXPECT_EQ(experiment.Status()->succeeded, 0);
  // After the end there is nothing to stop, and nothing to wait for.
  EXPECT_TRUE(experiment.Stop().ok());
  EXPECT_TRUE(experiment.Wait().ok());
}

TEST_F(ExperimentTest, ResumeGoesOnWithWhatIsThere) {
  std::string id;
  {
    Experiment experiment = Make(absl::StrCat(kByWidth, "max_trial_number: 2"));
    ASSERT_TRUE(experiment.Run().ok());
    id = experiment.id();
  }
  const std::vector<std::string> before = Results(Settings().state_dir, id);
  ASSERT_EQ(before.size(), 2u);

  absl::StatusOr<Experiment> again = Experiment::Resume(id, {"max_trial_number=3"}, Settings());
  ASSERT_TRUE(again.ok()) << again.status();
  // What is there can be seen without going on.
  EXPECT_EQ(again->Status()->models, 2);
  std::set<int> told;
  ASSERT_TRUE(again
                  ->OnEvent([&](const v1::ExperimentEvent& event) {
                    if (event.has_outcome()) told.insert(event.outcome().model());
                  })
                  .ok());
  const absl::Status status = again->Run();
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(again->id(), id);
  EXPECT_EQ(told, std::set<int>{3});
  std::vector<std::string> after = Results(Settings().state_dir, id);
  ASSERT_EQ(after.size(), 3u);
  after.pop_back();
  EXPECT_EQ(after, before);

  EXPECT_TRUE(absl::IsNotFound(Experiment::Resume("nobody", {}, Settings()).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(Experiment::Resume(id, {"seed=8"}, Settings()).status()));
}

// A head whose trial program is this one.
class HeadTest : public ExperimentTest {
 protected:
  HeadTest()
      : head_(Self(), {"--command-line", "--state-dir", temp_.path() + "/head", "serve", "--listen", "127.0.0.1:0",
                       "--cpu-slots", "1"}) {
    constexpr char kPrefix[] = "listening on ";
    EXPECT_TRUE(head_.WaitForLine(kPrefix));
    settings_.address = head_.line().substr(std::string(kPrefix).size());
  }

  BackgroundCommand head_;
  HeadSettings settings_;
};

TEST_F(HeadTest, RunsWhatIsSubmitted) {
  Experiment experiment = Make(kByWidth);
  std::map<int, int> outcomes;
  ASSERT_TRUE(experiment
                  .OnEvent([&](const v1::ExperimentEvent& event) {
                    if (event.has_outcome()) ++outcomes[event.outcome().model()];
                  })
                  .ok());
  absl::Status status = experiment.Submit(settings_);
  ASSERT_TRUE(status.ok()) << status;
  status = experiment.Wait();
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(outcomes, (std::map<int, int>{{1, 1}, {2, 1}, {3, 1}}));
  EXPECT_EQ(experiment.Status()->state, "DONE");
  const absl::StatusOr<std::vector<FoundModel>> top = experiment.TopModels(2);
  ASSERT_TRUE(top.ok()) << top.status();
  ASSERT_EQ(top->size(), 2u);
  EXPECT_EQ(top->at(0).sample, R"({"width":16})");
  EXPECT_EQ(top->at(0).metrics.at("default"), 16);
  EXPECT_EQ(top->at(1).sample, R"({"width":8})");
  // Nothing of it is here.
  EXPECT_FALSE(std::filesystem::exists(Settings().state_dir));
  ExportSettings json;
  json.out = temp_.path() + "/best";
  const absl::StatusOr<std::vector<std::string>> files = experiment.Export(json);
  ASSERT_TRUE(files.ok()) << files.status();
  ASSERT_EQ(files->size(), 1u);
  EXPECT_TRUE(std::filesystem::exists(files->at(0))) << files->at(0);
  EXPECT_TRUE(absl::IsFailedPrecondition(experiment.Submit(settings_)));
}

TEST_F(HeadTest, CodeAConfigurationAndGrpcGiveTheSameBits) {
  Experiment here = Make(kTraining);
  absl::Status status = here.Run();
  ASSERT_TRUE(status.ok()) << status;
  const std::vector<std::string> results = Results(Settings().state_dir, here.id());
  EXPECT_EQ(results.size(), 3u);

  const std::string config = temp_.path() + "/training.textproto";
  std::ofstream(config) << kTraining;
  const std::string other_state = temp_.path() + "/other";
  const CommandResult run = RunCommand(Self(), {"--command-line", "--state-dir", other_state, "run", config, "--json"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(results, Results(other_state, run.Json()["id"].get<std::string>()));

  Experiment there = Make(kTraining);
  status = there.Submit(settings_);
  ASSERT_TRUE(status.ok()) << status;
  status = there.Wait();
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(results, Results(temp_.path() + "/head", there.id()));
}

TEST_F(HeadTest, StopsWhatWasSubmitted) {
  Experiment experiment = Make(kEndless);
  ASSERT_TRUE(experiment.Submit(settings_).ok());
  ASSERT_TRUE(experiment.Stop("seen enough").ok());
  const absl::Status status = experiment.Wait();
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(experiment.Status()->state, "STOPPED");
}

TEST_F(HeadTest, AStopThatComesAfterTheEndChangesNothing) {
  Experiment experiment = Make(kByWidth);
  ASSERT_TRUE(experiment.Submit(settings_).ok());
  absl::StatusOr<Client> client = Client::Connect(settings_);
  ASSERT_TRUE(client.ok()) << client.status();
  ASSERT_TRUE(client->Watch(experiment.id(), [](const v1::ExperimentEvent&) { return true; }).ok());
  // Until the head has let go of it, which is some time after its end.
  absl::Status refused = client->Stop(experiment.id());
  while (refused.ok()) refused = client->Stop(experiment.id());
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  // Its own Wait has not seen the end yet.
  const absl::Status stopped = experiment.Stop();
  EXPECT_TRUE(stopped.ok()) << stopped;
  EXPECT_TRUE(experiment.Wait().ok());
  EXPECT_EQ(experiment.Status()->state, "DONE");
}

TEST_F(HeadTest, AClientRunsSearches) {
  absl::StatusOr<Client> client = Client::Connect(settings_);
  ASSERT_TRUE(client.ok()) << client.status();
  const absl::StatusOr<v1::ExperimentConfig> config = ParseConfig(kByWidth);
  ASSERT_TRUE(config.ok()) << config.status();
  const absl::StatusOr<std::string> id = client->Submit(*config, "once");
  ASSERT_TRUE(id.ok()) << id.status();
  EXPECT_EQ(client->Submit(*config, "once").value(), *id);

  std::map<int, int> outcomes;
  int64_t last = 0;
  const absl::Status watched = client->Watch(*id, [&](const v1::ExperimentEvent& event) {
    if (event.has_outcome()) ++outcomes[event.outcome().model()];
    if (event.number() > 0) last = event.number();
    return true;
  });
  EXPECT_TRUE(watched.ok()) << watched;
  EXPECT_EQ(outcomes, (std::map<int, int>{{1, 1}, {2, 1}, {3, 1}}));
  // From the middle on, and until the callback has seen enough.
  int after = 0;
  EXPECT_TRUE(
      client
          ->Watch(
              "latest", [&](const v1::ExperimentEvent& event) { return event.number() <= 0 || ++after < 1; }, last - 1)
          .ok());
  EXPECT_EQ(after, 1);

  const absl::StatusOr<ExperimentStatus> status = client->Get(*id);
  ASSERT_TRUE(status.ok()) << status.status();
  EXPECT_EQ(status->state, "DONE");
  EXPECT_EQ(status->space_size, "3");
  EXPECT_EQ(status->succeeded, 3);
  const absl::StatusOr<std::vector<ExperimentStatus>> list = client->List();
  ASSERT_TRUE(list.ok()) << list.status();
  ASSERT_EQ(list->size(), 1u);
  EXPECT_EQ(list->at(0).id, *id);
  EXPECT_EQ(list->at(0).name, "by_width");
  EXPECT_EQ(list->at(0).models, 3);
  const absl::StatusOr<std::vector<FoundModel>> top = client->TopModels(*id, 1);
  ASSERT_TRUE(top.ok()) << top.status();
  ASSERT_EQ(top->size(), 1u);
  EXPECT_EQ(top->at(0).sample, R"({"width":16})");
  ExportSettings json;
  json.top = 2;
  json.out = temp_.path() + "/best";
  const absl::StatusOr<std::vector<std::string>> files = client->Export(*id, json);
  ASSERT_TRUE(files.ok()) << files.status();
  ASSERT_EQ(files->size(), 2u);
  for (const std::string& file : *files) EXPECT_TRUE(std::filesystem::exists(file)) << file;
  json.out = files->front() + "/below_a_file";
  EXPECT_TRUE(absl::IsInvalidArgument(client->Export(*id, json).status()));
  json.out = "/sys/no_folder_of_ours";
  const absl::Status refused = client->Export(*id, json).status();
  EXPECT_TRUE(absl::IsInternal(refused)) << refused << ": the head has not refused it";

  ASSERT_TRUE(client->Delete(*id).ok());
  EXPECT_TRUE(client->List()->empty());
  EXPECT_TRUE(absl::IsNotFound(client->Get(*id).status()));
}

TEST_F(HeadTest, AClientStopsSearchesOfOthers) {
  Experiment experiment = Make(kEndless);
  ASSERT_TRUE(experiment.Submit(settings_).ok());
  absl::StatusOr<Client> client = Client::Connect(settings_);
  ASSERT_TRUE(client.ok()) << client.status();
  ASSERT_TRUE(client->Stop("latest", "seen enough").ok());
  // It was not the experiment's own Stop, and no model succeeded.
  EXPECT_TRUE(absl::IsAborted(experiment.Wait()));
  EXPECT_EQ(experiment.Status()->state, "STOPPED");
  EXPECT_EQ(client->Get(experiment.id())->reason, "seen enough");
}

TEST_F(HeadTest, AClientGoesOnWithWhatHasStopped) {
  absl::StatusOr<Client> client = Client::Connect(settings_);
  ASSERT_TRUE(client.ok()) << client.status();
  const auto to_its_end = [](const v1::ExperimentEvent&) { return true; };
  const absl::StatusOr<std::string> id =
      client->Submit(ParseConfig(absl::StrCat(kByWidth, "max_trial_number: 1")).value());
  ASSERT_TRUE(id.ok()) << id.status();
  ASSERT_TRUE(client->Watch(*id, to_its_end).ok());
  EXPECT_EQ(client->Get(*id)->models, 1);
  EXPECT_TRUE(absl::IsInvalidArgument(client->Resume(*id, {"seed=8"})));
  const absl::Status resumed = client->Resume(*id, {"max_trial_number=3"});
  ASSERT_TRUE(resumed.ok()) << resumed;
  ASSERT_TRUE(client->Watch(*id, to_its_end).ok());
  EXPECT_EQ(client->Get(*id)->models, 3);
}

TEST_F(HeadTest, AClientIsToldWhatIsWrong) {
  absl::StatusOr<Client> client = Client::Connect(settings_);
  ASSERT_TRUE(client.ok()) << client.status();
  EXPECT_TRUE(absl::IsInvalidArgument(client->Submit(v1::ExperimentConfig()).status()));
  const auto nothing = [](const v1::ExperimentEvent&) { return true; };
  EXPECT_TRUE(absl::IsNotFound(client->Watch("nobody", nothing)));
  EXPECT_TRUE(absl::IsNotFound(client->Stop("nobody")));
  EXPECT_TRUE(absl::IsNotFound(client->Export("nobody").status()));
  const absl::Status top = client->TopModels("nobody", 0).status();
  EXPECT_EQ(top, absl::InvalidArgumentError("Client::TopModels: k is 0; at least 1 is needed"));
  HeadSettings misspelt;
  misspelt.address = "nowhere";
  EXPECT_TRUE(absl::IsInvalidArgument(Client::Connect(misspelt).status()));

  const absl::StatusOr<std::string> id = client->Submit(ParseConfig(kByWidth).value());
  ASSERT_TRUE(id.ok()) << id.status();
  const absl::Status thrown =
      client->Watch(*id, [](const v1::ExperimentEvent&) -> bool { throw std::runtime_error("not my day"); });
  EXPECT_EQ(thrown, absl::InternalError("the callback of events threw: not my day"));
}

TEST_F(ExperimentTest, SubmittingSaysWhatIsWrong) {
  Experiment experiment = Make(kByWidth);
  HeadSettings nowhere;
  nowhere.address = "nowhere";
  EXPECT_TRUE(absl::IsInvalidArgument(experiment.Submit(nowhere)));
  EXPECT_EQ(experiment.id(), "");
  EXPECT_TRUE(absl::IsFailedPrecondition(experiment.Wait()));
  v1::ExperimentConfig empty;
  EXPECT_TRUE(absl::IsInvalidArgument(Experiment(empty, Settings()).Submit(nowhere)));
  HeadSettings half;
  half.address = "127.0.0.1:1";
  half.tls_key = "key.pem";
  EXPECT_EQ(experiment.Submit(half), absl::InvalidArgumentError("--tls-cert and --tls-key: name both, or none"));
}

// A head that makes nothing.
class FullHead : public FakeRunner {
 public:
  absl::StatusOr<std::string> Create(const v1::ExperimentConfig&, const std::string& request_id) override {
    request_ids_.push_back(request_id);
    return absl::ResourceExhaustedError("full");
  }

  std::vector<std::string> request_ids_;
};

TEST_F(ExperimentTest, SubmittingAgainAfterAnErrorAsksForTheSameExperiment) {
  FullHead runner;
  News news;
  Experiments experiments(StateDir::Open(temp_.path() + "/head").value(), &runner, &news);
  const auto server = HeadServer::Start(*ParseAddress("127.0.0.1:0"), &experiments);
  ASSERT_TRUE(server.ok()) << server.status();
  (*server)->Open();
  HeadSettings head;
  head.address = (*server)->address().ToText();
  Experiment experiment = Make(kByWidth);
  Experiment other = Make(kByWidth);
  for (Experiment* const submitted : {&experiment, &experiment, &other}) {
    EXPECT_TRUE(absl::IsResourceExhausted(submitted->Submit(head)));
  }
  ASSERT_EQ(runner.request_ids_.size(), 3u);
  EXPECT_EQ(runner.request_ids_[0], runner.request_ids_[1]);
  EXPECT_NE(runner.request_ids_[0], runner.request_ids_[2]);
}

TEST_F(ExperimentTest, OneThatIsDestroyedIsInterruptedAndGoesOn) {
  std::string id;
  {
    ExperimentSettings settings = Settings();
    settings.progress = true;
    Experiment experiment = Make(kEndless, settings);
    ASSERT_TRUE(experiment.Start().ok());
    id = experiment.id();
  }
  absl::StatusOr<Experiment> again = Experiment::Resume("latest", {}, Settings());
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->id(), id);
  EXPECT_EQ(again->Status()->state, "INTERRUPTED");
  ASSERT_TRUE(again->Start().ok());
  ASSERT_TRUE(again->Stop().ok());
  EXPECT_TRUE(again->Wait().ok());
  EXPECT_EQ(again->Status()->state, "STOPPED");
}

TEST_F(ExperimentTest, OneThatIsDestroyedWaitsForItsCallbackAndDropsTheOtherEvents) {
  auto experiment = std::make_unique<Experiment>(Make(kByWidth));
  std::promise<void> released, destroyed;
  const std::shared_future<void> release = released.get_future().share();
  const std::shared_future<void> gone = destroyed.get_future().share();
  bool first = true;
  std::atomic<bool> told_too_late{false};
  ASSERT_TRUE(experiment
                  ->OnEvent([&](const v1::ExperimentEvent&) {
                    if (std::exchange(first, false)) return release.wait();
                    if (gone.wait_for(std::chrono::minutes(1)) == std::future_status::ready) told_too_late = true;
                  })
                  .ok());
  ASSERT_TRUE(experiment->Start().ok());
  // All other events wait meanwhile.
  while (experiment->Status()->state != "DONE") std::this_thread::yield();
  std::thread destroyer([&] {
    experiment.reset();
    destroyed.set_value();
  });
  EXPECT_EQ(gone.wait_for(std::chrono::milliseconds(200)), std::future_status::timeout);
  released.set_value();
  destroyer.join();
  EXPECT_FALSE(told_too_late);
}

TEST_F(ExperimentTest, IsForOneThreadAtATime) {
  Experiment experiment = Make(kEndless);
  absl::Status from_callback;
  absl::Status from_thread;
  bool asked = false;
  ASSERT_TRUE(experiment
                  .OnEvent([&](const v1::ExperimentEvent& event) {
                    if (!event.has_model() || asked) return;
                    asked = true;
                    from_callback = experiment.Wait();
                    std::thread([&] { from_thread = experiment.Start(); }).join();
                    EXPECT_TRUE(experiment.Stop().ok());
                  })
                  .ok());
  EXPECT_TRUE(experiment.Run().ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(from_callback));
  EXPECT_THAT(std::string(from_callback.message()), HasSubstr("call Stop there, and Wait where"));
  EXPECT_TRUE(absl::IsFailedPrecondition(from_thread));
  EXPECT_THAT(std::string(from_thread.message()), HasSubstr("Experiment::Start: another thread is in Experiment::Run"));
}

TEST_F(ExperimentTest, CallsInTheWrongOrderSayWhatToDo) {
  Experiment experiment = Make(absl::StrCat(kByWidth, "max_trial_number: 1"));
  EXPECT_TRUE(absl::IsFailedPrecondition(experiment.Wait()));
  EXPECT_TRUE(absl::IsFailedPrecondition(experiment.Stop()));
  EXPECT_TRUE(absl::IsFailedPrecondition(experiment.Status().status()));
  EXPECT_TRUE(absl::IsInvalidArgument(experiment.TopModels(0).status()));
  ASSERT_TRUE(experiment.Run().ok());
  const absl::Status again = experiment.Start();
  EXPECT_TRUE(absl::IsFailedPrecondition(again));
  EXPECT_THAT(std::string(again.message()), HasSubstr("Experiment::Resume(id)"));
  EXPECT_TRUE(absl::IsFailedPrecondition(experiment.OnEvent({})));
}

TEST_F(ExperimentTest, BadConfigurationsNameTheirPlace) {
  const absl::Status text = Experiment::Parse("seed: 1\nmax_trials: 2").status();
  EXPECT_TRUE(absl::IsInvalidArgument(text));
  EXPECT_THAT(std::string(text.message()), HasSubstr("the configuration:2:"));
  EXPECT_THAT(std::string(text.message()), HasSubstr("max_trial_number"));
  const absl::Status range = Experiment::Parse(absl::StrCat(kByWidth, "max_trial_number: 0")).status();
  EXPECT_TRUE(absl::IsInvalidArgument(range));
  EXPECT_THAT(std::string(range.message()), HasSubstr("max_trial_number"));
  EXPECT_TRUE(absl::IsNotFound(Experiment::Load(temp_.path() + "/none.textproto").status()));

  v1::ExperimentConfig empty;
  EXPECT_TRUE(absl::IsInvalidArgument(Experiment(empty, Settings()).Start()));

  ExperimentSettings settings = Settings();
  settings.state_dir += "/caf\xe9";
  EXPECT_TRUE(absl::IsInvalidArgument(Make(kByWidth, settings).Start()));
  settings.state_dir = "";
  EXPECT_TRUE(absl::IsInvalidArgument(Make(kByWidth, settings).Start()));

  // One that was refused was not recorded.
  Experiment unknown = Make(R"pb(
    space { registered: "large_net" }
    strategy { random {} }
    evaluator { constant {} }
    training_service { local { cpu_slots: 1 } }
  )pb");
  const absl::Status status = unknown.Start();
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()), HasSubstr("small_net"));
  EXPECT_EQ(unknown.id(), "");
  EXPECT_TRUE(StateDir::OpenReadOnly(Settings().state_dir).List()->empty());
}

TEST_F(ExperimentTest, ASearchWithoutAModelIsAnError) {
  Experiment experiment = Make(R"pb(
    space { registered: "small_net" }
    strategy { grid_search {} }
    evaluator { custom { name: "throws" } }
    training_service { local { cpu_slots: 1 } }
  )pb");
  const absl::Status status = experiment.Run();
  EXPECT_TRUE(absl::IsAborted(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("no luck today"));
  EXPECT_EQ(experiment.Wait(), status);
}

TEST_F(ExperimentTest, AStopThatComesAfterTheEndChangesNothing) {
  Experiment experiment = Make(absl::StrCat(kByWidth, R"pb(constraint { metric: "default" max: -2 }
                                                           max_trial_number: 1)pb"));
  ASSERT_TRUE(experiment
                  .OnEvent([&](const v1::ExperimentEvent& event) {
                    if (event.state().state() != v1::ExperimentState::DONE) return;
                    EXPECT_TRUE(experiment.Stop().ok());
                  })
                  .ok());
  EXPECT_TRUE(absl::IsAborted(experiment.Run()));
  EXPECT_EQ(experiment.Status()->state, "DONE");
}

TEST_F(ExperimentTest, WhatACallbackThrowsHarmsNobody) {
  Experiment experiment = Make(kByWidth);
  int calls = 0;
  ASSERT_TRUE(experiment
                  .OnEvent([&](const v1::ExperimentEvent&) {
                    ++calls;
                    throw std::runtime_error("not my day");
                  })
                  .ok());
  EXPECT_TRUE(experiment.Run().ok());
  EXPECT_EQ(experiment.Status()->succeeded, 3);
  EXPECT_GT(calls, 3);
}

TEST_F(ExperimentTest, HasAPageWhereItIsAskedFor) {
  ExperimentSettings settings = Settings();
  settings.web = "0";
  Experiment experiment = Make(absl::StrCat(kByWidth, "max_trial_number: 1"), settings);
  EXPECT_EQ(experiment.page_link(), "");
  ASSERT_TRUE(experiment.Run().ok());
  EXPECT_THAT(experiment.page_link(), testing::StartsWith("http://127.0.0.1:"));

  settings.web = "nowhere";
  Experiment misspelt = Make(kByWidth, settings);
  EXPECT_TRUE(absl::IsInvalidArgument(misspelt.Start()));
  EXPECT_EQ(misspelt.id(), "");
}

TEST_F(ExperimentTest, TwoMayRunAtTheSameTime) {
  Experiment one = Make(kByWidth);
  Experiment other = Make(kByWidth);
  ASSERT_TRUE(one.Start().ok());
  ASSERT_TRUE(other.Start().ok());
  EXPECT_NE(one.id(), other.id());
  EXPECT_TRUE(one.Wait().ok());
  EXPECT_TRUE(other.Wait().ok());
  EXPECT_EQ(Results(Settings().state_dir, one.id()), Results(Settings().state_dir, other.id()));
}

// Presses Stop for an experiment on the page of this link.
ClientResponse StopOnPage(const std::string& link, const std::string& id) {
  const std::vector<std::string> address_and_token = absl::StrSplit(link, "/#token=");
  const std::string& address = address_and_token.front();
  HttpClient browser(std::stoi(address.substr(address.rfind(':') + 1)));
  EXPECT_TRUE(browser.Send(absl::StrCat("POST /api/v1/experiments/", id, "/stop HTTP/1.1\r\nHost: 127.0.0.1\r\n",
                                        "Authorization: Bearer ", address_and_token.back(), "\r\n",
                                        "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}")));
  return browser.Receive();
}

TEST_F(ExperimentTest, APageStopsItsOwnSearchAlone) {
  ExperimentSettings settings = Settings();
  settings.web = "0";
  Experiment with_page = Make(kEndless, settings);
  Experiment other = Make(kEndless);
  ASSERT_TRUE(with_page.Start().ok());
  ASSERT_TRUE(other.Start().ok());
  const ClientResponse refused = StopOnPage(with_page.page_link(), other.id());
  EXPECT_EQ(refused.status, 409) << refused.body;
  EXPECT_THAT(refused.body, HasSubstr("is another search of this process"));
  EXPECT_EQ(with_page.Status()->state, "RUNNING");
  EXPECT_EQ(other.Status()->state, "RUNNING");
  const ClientResponse stopped = StopOnPage(with_page.page_link(), with_page.id());
  EXPECT_EQ(stopped.status, 200) << stopped.body;
  EXPECT_TRUE(with_page.Wait().ok());
  EXPECT_EQ(with_page.Status()->state, "STOPPED");
  EXPECT_EQ(other.Status()->state, "RUNNING");
}

TEST_F(ExperimentTest, APageStopsASearchThatIsAboutToGoOn) {
  // Its space cannot be discovered while there is this file.
  const std::string file = temp_.path() + "/held_up";
  const std::string space =
      absl::StrCat(R"(registered: "held_up_net" params { key: "while" value { s: ")", file, R"(" } })");
  {
    Experiment experiment = Make(absl::StrReplaceAll(kEndless, {{R"(registered: "small_net")", space}}));
    ASSERT_TRUE(experiment.Start().ok());
  }
  std::ofstream(file) << "x";
  ExperimentSettings settings = Settings();
  settings.web = "0";
  absl::StatusOr<Experiment> again = Experiment::Resume("latest", {}, settings);
  ASSERT_TRUE(again.ok()) << again.status();
  std::future<absl::Status> start = std::async(std::launch::async, [&again] { return again->Start(); });
  while (again->page_link().empty()) std::this_thread::yield();
  ClientResponse stopped;
  do {  // Until this process holds it.
    stopped = StopOnPage(again->page_link(), again->id());
  } while (stopped.status == 409 && !absl::StrContains(stopped.body, "another search"));
  EXPECT_EQ(stopped.status, 200) << stopped.body;
  std::filesystem::remove(file);
  EXPECT_TRUE(start.get().ok());
  EXPECT_TRUE(again->Wait().ok());
  EXPECT_EQ(again->Status()->state, "STOPPED");
}

// What goes wrong before main comes to the tests needs a program of its own, which is this one with another argument.
std::string TellsOfStart(const std::string& argument) {
  const CommandResult result = RunCommand(Self(), {argument});
  EXPECT_EQ(result.exit_code, 1) << argument;
  return result.out;
}

TEST(InitTest, AProgramThatForgetsItIsTold) {
  EXPECT_THAT(TellsOfStart("--without-init"), HasSubstr("lanista::Init(argc, argv) was not called: call it in main"));
}

TEST(InitTest, ANameThatIsRegisteredTwiceIsTold) {
  EXPECT_THAT(TellsOfStart("--twice"), HasSubstr("the evaluator 'width' is registered twice: give one of the two"));
}

TEST(InitTest, ANameThatIsRegisteredTwiceIsToldByTheCommandLineToo) {
  for (const char* const argument : {"--version", "--trial-process"}) {
    const CommandResult result = RunCommand(Self(), {"--main-twice", argument});
    EXPECT_EQ(result.exit_code, 2) << argument;
    EXPECT_THAT(result.err, HasSubstr("lanista: error: the evaluator 'width' is registered twice: give one of the"));
  }
}

TEST(InitTest, TwoSpacesOfOneNameAreTold) {
  EXPECT_THAT(TellsOfStart("--two-spaces"), HasSubstr("the graph space 'small_net' is registered twice: give one of"));
}

TEST(InitTest, TwoGraphSpacesOrMutatorsOfOneNameAreTold) {
  EXPECT_THAT(TellsOfStart("--two-graphs"), HasSubstr("the graph space 'graph_net' is registered twice: give one of"));
  EXPECT_THAT(TellsOfStart("--two-mutators"), HasSubstr("the mutator 'activation' is registered twice: give one of"));
}

TEST(InitTest, DevicesAndNodesOfOneNameAreTold) {
  EXPECT_THAT(TellsOfStart("--two-sources"), HasSubstr("the node source 'mine' is registered twice: give one of"));
}

TEST(InitTest, AComponentThatIsRegisteredTooLateIsTold) {
  EXPECT_THAT(TellsOfStart("--late"), HasSubstr("the model space 'late' was registered after lanista::Init"));
}

// Prints what Start says.
int TellOfStart() {
  absl::StatusOr<Experiment> experiment = Experiment::Parse(kByWidth);
  const absl::Status status = experiment.ok() ? experiment->Start() : experiment.status();
  std::printf("%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}

}  // namespace
}  // namespace lanista

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  if (mode == "--without-init") return lanista::TellOfStart();
  lanista::RegisterComponents();
  if (mode == "--twice") lanista::RegisterEvaluator<lanista::WidthEvaluator>("width");
  if (mode == "--main-twice") {
    lanista::RegisterEvaluator<lanista::WidthEvaluator>("width");
    return lanista::Main(argc - 1, argv + 1);
  }
  if (mode == "--two-spaces") lanista::RegisterGraphSpace("small_net", lanista::GraphNet);
  if (mode == "--two-graphs") lanista::RegisterGraphSpace("graph_net", lanista::GraphNet);
  if (mode == "--two-mutators") lanista::RegisterMutator<lanista::Activation>("activation");
  if (mode == "--two-sources") lanista::RegisterSourcesOfOneName();
  lanista::Init(argc, argv);
  if (mode == "--late") lanista::RegisterSpace<lanista::SmallNet>("late");
  if (mode.rfind("--tw", 0) == 0 || mode == "--late") return lanista::TellOfStart();
  if (mode == "--command-line") return lanista::Main(argc - 1, argv + 1);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}

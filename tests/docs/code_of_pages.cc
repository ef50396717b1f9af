// Blocks of docs/ that are parts of programs, with what each needs around it: they compile, and scripts/check_docs.py
// finds each block here or in another file that is built. Nothing of this runs.
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>

#include "engines/cgo/logical_plan.h"
#include "lanista/client.h"
#include "lanista/dataset.h"
#include "lanista/evaluator.h"
#include "lanista/experiment.h"
#include "lanista/main.h"
#include "lanista/mutator.h"
#include "lanista/strategy.h"
#include "src/evaluators/evaluator.h"
#include "tests/docs/annealing.pb.h"
#include "tests/docs/my_net.h"

namespace pages {

// ---- docs/cgo.md ----

namespace cgo {

class Mine : public lanista::MultiModelEvaluator {
  absl::Status EvaluateTogether(lanista::ModelGroup& group) override;
};

constexpr int a = 0, b = 1;

void DedupMine(lanista::LogicalPlan* plan) {
  // Find works a and b that have the same result, then:
  plan->Merge(a, b);
}

}  // namespace cgo

// ---- docs/checkpoints.md ----

namespace checkpoints {

struct MyProgress {
  static MyProgress Read(const std::string& file, const std::string& identity);
  void Write(const std::string& file, const std::string& identity) const;
  template <typename Model>
  void TrainOneEpoch(Model& model);
  int64_t epochs() const;

  std::vector<double> accuracies;
};

void TrainMyWay(lanista::TrialContext& context) {
  auto model = context.model();
  const std::string folder = context.checkpoint_folder();
  const std::string file = folder + "/mine";
  MyProgress progress;
  if (context.resumed()) progress = MyProgress::Read(file, context.identity());
  for (const double accuracy : progress.accuracies) context.ReportIntermediate(accuracy);
  while (progress.epochs() < 100 && !context.canceled()) {
    progress.TrainOneEpoch(*model);
    if (!folder.empty()) {
      progress.Write(file + ".new", context.identity());
      std::filesystem::rename(file + ".new", file);
    }
    context.ReportIntermediate(progress.accuracies.back());
  }
  context.ReportFinal(progress.accuracies.back());
}

}  // namespace checkpoints

// ---- docs/strategies.md ----

class Mine : public lanista::Strategy {
 public:
  Mine(const lanista::StrategyContext& context, double rate);
  absl::StatusOr<Proposal> Ask(int count) override;
  void Tell(const lanista::v1::Sample& sample, const lanista::Observation& observation) override;
};

absl::StatusOr<std::unique_ptr<lanista::Strategy>> MakeMine(const lanista::Params& params,
                                                            const lanista::StrategyContext& context) {
  return std::make_unique<Mine>(context, params.Get<double>("rate", 0.1));
}
LANISTA_REGISTER(strategy, "mine", MakeMine);

// ---- docs/cpp_api.md ----

LANISTA_REGISTER(model_space, "net", lanista::nn::MakeModelSpace<Net>);
LANISTA_REGISTER(strategy, "mine", MakeMine);

absl::StatusOr<std::unique_ptr<lanista::Strategy>> MakeAnnealing(const AnnealingConfig& config,
                                                                 const lanista::StrategyContext& context);
LANISTA_REGISTER(strategy, "annealing", MakeAnnealing);

std::pair<torch::Tensor, torch::Tensor> DrawSpirals(int64_t seed);

void RegisterSpirals() {
  lanista::RegisterDataset("spirals", [] {
    auto [inputs, classes] = DrawSpirals(/*seed=*/1);
    return lanista::data::ClassificationSplits({inputs.slice(0, 0, 800), classes.slice(0, 0, 800)},
                                               {inputs.slice(0, 800), classes.slice(0, 800)});
  });
}

int UseClient() {
  lanista::HeadSettings head;
  head.address = "gpu1:7421";
  head.token_file = "token";
  auto client = lanista::Client::Connect(head);
  if (!client.ok()) return std::cerr << client.status() << "\n", 2;
  const auto config = lanista::LoadConfig("search.textproto", {"max_trial_number=20"});
  if (!config.ok()) return std::cerr << config.status() << "\n", 2;
  const auto id = client->Submit(*config);
  if (!id.ok()) return std::cerr << id.status() << "\n", 2;
  const absl::Status status = client->Watch(*id, [](const lanista::v1::ExperimentEvent& event) {
    if (event.has_outcome()) std::cout << "model " << event.outcome().model() << "\n";
    return true;
  });
  const auto files = client->Export(*id, {3, "python", "best"});
  return status.ok() && files.ok() ? 0 : 1;
}

// ---- docs/engines.md ----

void RegisterWider() {
  lanista::RegisterMutator("wider", [](lanista::graph::MutableModel& model, lanista::graph::Chooser& chooser) {
    const auto width = chooser.ChooseValue("width", {lanista::graph::IntValue(64), lanista::graph::IntValue(128)});
    if (!width.ok()) return width.status();
    const auto found = model.Find("fc1");
    if (!found.ok()) return found.status();
    return model.SetAttribute(found->front(), "out_features", *width);
  });
}

// ---- docs/spaces.md ----

class DepthwiseSeparableConvImpl : public torch::nn::Module {
 public:
  DepthwiseSeparableConvImpl(int64_t in_channels, int64_t out_channels);
  torch::Tensor forward(torch::Tensor x);
};
TORCH_MODULE(DepthwiseSeparableConv);

class Choices : public nn::ModelSpace {
 public:
  Choices() {
    torch::Tensor a, b, c, x;
    conv_ = register_module(
        "conv", nn::LayerChoice(nn::LayerChoiceOptions({
                                                           {"conv", [] { return torch::nn::Conv2d(32, 64, 3); }},
                                                           {"separable", [] { return DepthwiseSeparableConv(32, 64); }},
                                                       })
                                    .label("conv")));

    skip_ = register_module("skip", nn::InputChoice(nn::InputChoiceOptions(3).n_chosen(2).label("skip")));
    x = skip_->forward({a, b, c});

    body_ = register_module("body", nn::Repeat(nn::RepeatOptions(1, 4, [](int64_t /*index*/) {
                                                 return torch::nn::Linear(64, 64);
                                               }).label("depth")));

    cell_ = register_module(
        "cell",
        nn::Cell(
            nn::CellOptions(
                {
                    {"conv", [] { return torch::nn::Conv2d(torch::nn::Conv2dOptions(32, 32, 3).padding(1)); }},
                    {"pool", [] { return torch::nn::MaxPool2d(torch::nn::MaxPool2dOptions(3).stride(1).padding(1)); }},
                },
                /*num_nodes=*/4)
                .num_predecessors(2)
                .merge_op(nn::MergeOp::kLooseEnd)));

    if (nn::ValueChoice({false, true}, "attention")) {
      const int64_t heads = nn::ValueChoice({2, 4, 8}, "heads");
      static_cast<void>(heads);
    }
  }

 private:
  nn::LayerChoice conv_{nullptr};
  nn::InputChoice skip_{nullptr};
  nn::Repeat body_{nullptr};
  nn::Cell cell_{nullptr};
};

namespace params {

class Net {
 public:
  explicit Net(const nn::Params& params) : classes_(params.Get<int64_t>("classes", 10)) {}

 private:
  int64_t classes_;
};

}  // namespace params

void UseModel() {
  std::ifstream file("1-model-17.json");
  const std::string json((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  auto net = nn::BuildFixed<Net>(json);
  nn::LoadWeights(*net, "1-model-17.weights.pt");
  net->eval();
}

constexpr double accuracy = 0.5, seconds = 2;

struct MyParams {
  explicit MyParams(const lanista::Params& params) : epochs(params.Get<int64_t>("epochs", 5)) {}
  int64_t epochs;
};

void TrainMyWay(lanista::TrialContext& context, const MyParams& params) {
  auto model = context.model();
  for (int64_t epoch = 0; epoch < params.epochs && !context.canceled(); ++epoch) {
    context.ReportIntermediate(accuracy);
  }
  context.ReportFinal({{"default", accuracy}, {"seconds", seconds}});
}
LANISTA_REGISTER(evaluator, "my_way", TrainMyWay);

// ---- docs/tutorial/6_inference.md ----

void UseBest(const std::string& json) {
  auto net = nn::BuildFixed<Net>(json);
  nn::LoadWeights(*net, "best/1-model-3.weights.pt");
  net->eval();
}

}  // namespace pages

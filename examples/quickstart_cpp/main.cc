// The quick start of NNI's documents as one C++ program: 2 x 3 x 3 = 18 networks, a random search, its web page.
//   bazel run -c opt //examples/quickstart_cpp                      on digits that Lanista draws
//   bazel run -c opt //examples/quickstart_cpp -- FOLDER            on MNIST, whose four files are in FOLDER
#include "lanista/main.h"

#include <torch/torch.h>

#include <iostream>
#include <vector>

#include "lanista/experiment.h"
#include "lanista/nn.h"

namespace nn = lanista::nn;

// A 3x3 convolution in two steps: first within each channel, then across channels.
torch::nn::Sequential DepthwiseSeparable(int64_t in, int64_t out) {
  return torch::nn::Sequential(torch::nn::Conv2d(torch::nn::Conv2dOptions(in, in, 3).groups(in)),
                               torch::nn::Conv2d(in, out, 1));
}

class Net : public nn::ModelSpace {
 public:
  Net() {
    const auto conv = [] { return torch::nn::Conv2d(32, 64, 3); };
    const auto separable = [] { return DepthwiseSeparable(32, 64); };
    const auto layers = nn::LayerChoiceOptions({{"conv", conv}, {"separable", separable}}).label("conv2");
    const int64_t feature = nn::ValueChoice({64, 128, 256}, "feature");
    conv1 = register_module("conv1", torch::nn::Conv2d(1, 32, 3));
    conv2 = register_module("conv2", nn::LayerChoice(layers));
    dropout1 = register_module("dropout1", torch::nn::Dropout(nn::ValueChoice({0.25, 0.5, 0.75}, "dropout")));
    dropout2 = register_module("dropout2", torch::nn::Dropout(0.5));
    fc1 = register_module("fc1", torch::nn::Linear(9216, feature));
    fc2 = register_module("fc2", torch::nn::Linear(feature, 10));
  }
  torch::Tensor forward(torch::Tensor x) override {
    x = torch::max_pool2d(conv2(torch::relu(conv1(x))), 2);
    return fc2(dropout2(torch::relu(fc1(dropout1(x).flatten(1)))));
  }

 private:
  torch::nn::Conv2d conv1{nullptr};
  nn::LayerChoice conv2{nullptr};
  torch::nn::Dropout dropout1{nullptr}, dropout2{nullptr};
  torch::nn::Linear fc1{nullptr}, fc2{nullptr};
};

int main(int argc, char** argv) {
  lanista::RegisterSpace<Net>("net");
  lanista::Init(argc, argv);
  lanista::v1::ExperimentConfig config;
  config.set_name("quickstart_cpp");
  config.mutable_space()->set_registered("net");
  config.mutable_strategy()->mutable_random();
  auto& training = *config.mutable_evaluator()->mutable_classification();
  training.mutable_dataset()->mutable_synthetic_digits()->set_train_samples(2000);
  if (argc > 1) training.mutable_dataset()->mutable_idx()->set_root(argv[1]);
  training.set_batch_size(50);
  training.set_max_train_batches(200);
  training.set_max_epochs(2);
  config.add_training_service()->mutable_local()->set_cpu_slots(2);
  config.set_max_trial_number(20);
  config.set_seed(42);

  lanista::ExperimentSettings settings;
  settings.web = "0";  // A port that is free.
  lanista::Experiment experiment(config, settings);
  absl::Status status = experiment.OnEvent([](const lanista::v1::ExperimentEvent& event) {
    const auto& metrics = event.outcome().metrics().values();
    if (metrics.count("default") == 0) return;  // Of another kind, or of a model that was not trained.
    std::cout << "model " << event.outcome().model() << ": " << metrics.at("default") << std::endl;
  });
  if (status.ok()) status = experiment.Start();
  if (status.ok()) std::cout << "page: " << experiment.page_link() << std::endl;
  if (status.ok()) status = experiment.Wait();
  if (!status.ok()) return std::cerr << status << std::endl, 1;
  const std::vector<lanista::FoundModel> best = experiment.TopModels(3).value_or(std::vector<lanista::FoundModel>());
  for (const lanista::FoundModel& model : best)
    std::cout << "best: model " << model.model << " " << model.metrics.at("default") << " " << model.sample << "\n";
}

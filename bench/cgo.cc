// Measures the gain of merging: N = 1, 2, 4, 8, 16 models trained in one merged trial against one after the other, in
// this process, on one core. Merged and single trials must report the same metrics.
//
//   input-bound    small CNNs on JPEG files with random crop, flip and resize
//   frozen         a linear layer on a frozen ResNet-18
//   balanced       the MNIST network
//   tiny           two-layer perceptrons
//
// The ideal speedup is (N * load + N * train) / (load + N * train): `load` is the CPU time of what merged models share,
// `train` that of all else in a model's own trial. `load` is the time of a trial whose model does nothing else
// (input-bound: no work at all; frozen: the backbone), minus that of a trial that does not load either (input-bound:
// data in memory, as many batches; frozen: next to no data). The latter is the loss, metrics and optimizer of each
// batch, and the overhead of a trial: each model has its own, merged or not.
//
// All of these are CPU seconds on one core. There the loader's thread cannot work beside the training, so a single
// model has no advantage from it. The input-bound case is also measured on two cores, in seconds of wall time: there
// `load` is what a trial takes that only loads, and `train` is the part of training that loading does not hide.
//
// Figures: NAME_speedup_8 for each case; input_bound_of_ideal_8, frozen_of_ideal_8; two_core_of_ideal_8 (input-bound on
// two cores; absent if there is only one core); flat_adam_speedup (training steps per second of a tiny perceptron,
// Lanista's optimizer / LibTorch's: see flat_optimizer.cc); experiment_speedup (wall time of a whole experiment of 24
// models on one core and one slot, engine graph / engine cgo); two_core_speedup_8 (wall time of an experiment of 8
// models of the input-bound case on two cores, with default settings except engine and epochs, engine direct / engine
// cgo; absent if there is only one core); metrics_identical (1 if every model of every comparison reported the same
// metrics, bit for bit).
//
//   bazel run -c opt //bench:cgo -- [--quick]
#include <ATen/Parallel.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/harness.h"
#include "bench/networks.h"
#include "bench/optimizer_speed.h"
#include "google/protobuf/text_format.h"
#include "nlohmann/json.hpp"
#include "src/graph/io.h"
#include "src/nn/nn.h"
#include "src/trial/main.h"
#include "src/trial/runner.h"
#include "tests/data/test_files.h"

namespace lanista {
namespace {

using bench::CheckOk;
using bench::Median;
using bench::Stopwatch;
using bench::TempFolder;

// ---- Models ----

// A model that costs nothing, so that only loading is measured.
class NullModel : public nn::ModelSpace {
 public:
  NullModel() { bias_ = register_parameter("bias", torch::zeros({1, 10})); }
  torch::Tensor forward(torch::Tensor x) override { return bias_.expand({x.size(0), 10}); }

 private:
  torch::Tensor bias_;
};
LANISTA_REGISTER(model_space, "bench_null", nn::MakeModelSpace<NullModel>);

class SmallCnn : public nn::ModelSpace {
 public:
  SmallCnn() {
    const int64_t width = nn::ValueChoice({8, 16}, "width");
    conv1_ = register_module("conv1", torch::nn::Conv2d(torch::nn::Conv2dOptions(3, width, 3).stride(2)));
    conv2_ = register_module("conv2", torch::nn::Conv2d(torch::nn::Conv2dOptions(width, 16, 3).stride(2)));
    fc_ = register_module("fc", torch::nn::Linear(16 * 7 * 7, 10));
  }
  torch::Tensor forward(torch::Tensor x) override {
    return fc_(torch::relu(conv2_(torch::relu(conv1_(x)))).flatten(1));
  }

 private:
  torch::nn::Conv2d conv1_{nullptr}, conv2_{nullptr};
  torch::nn::Linear fc_{nullptr};
};
LANISTA_REGISTER(model_space, "bench_small_cnn", nn::MakeModelSpace<SmallCnn>);

class TinyMlp : public nn::ModelSpace {
 public:
  TinyMlp() {
    const int64_t width = nn::ValueChoice({16, 32}, "width");
    hidden_ = register_module("hidden", torch::nn::Linear(784, width));
    output_ = register_module("output", torch::nn::Linear(width, 10));
  }
  torch::Tensor forward(torch::Tensor x) override { return output_(torch::relu(hidden_(x.flatten(1)))); }

 private:
  torch::nn::Linear hidden_{nullptr}, output_{nullptr};
};
LANISTA_REGISTER(model_space, "bench_tiny_mlp", nn::MakeModelSpace<TinyMlp>);

// ---- Trials ----

struct Case {
  std::string name;
  // SpaceConfig and EvaluatorConfig as text.
  std::string space;
  std::string evaluator;
  // A space whose models do no work of their own.
  std::string load_space;
  // The same training without the work that merged models share: what a trial of `load_space` takes with it is not part
  // of loading. Empty: nothing is subtracted.
  std::string own_evaluator = "";
};

using Metrics = std::map<int, std::map<std::string, double>>;

double Seconds(clockid_t clock) {
  timespec time;
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

template <typename Message>
Message Parse(const std::string& text) {
  Message message;
  if (!google::protobuf::TextFormat::ParseFromString(text, &message)) {
    CheckOk(absl::InternalError("cannot parse " + text));
  }
  return message;
}

// How trials are measured. They train in one thread, as by default; a second core is the loader's.
struct Machine {
  int cores = 1;
  clockid_t clock = CLOCK_PROCESS_CPUTIME_ID;
};

class Trials {
 public:
  Trials(const std::string& space, const std::string& evaluator, const Machine& machine) : clock_(machine.clock) {
    v1::TrialRequest setup;
    setup.mutable_setup()->mutable_device()->set_kind(v1::DeviceKind::CPU);
    setup.mutable_setup()->mutable_device()->set_threads(1);
    runner_.Handle(setup);
    spec_.set_experiment("bench");
    *spec_.mutable_space() = Parse<v1::SpaceConfig>(space);
    *spec_.mutable_evaluator() = Parse<v1::EvaluatorConfig>(evaluator);
    spec_.mutable_engine()->mutable_cgo();
    spec_.set_order_seed(1);
    v1::TrialRequest discover;
    *discover.mutable_discover()->mutable_space() = spec_.space();
    *discover.mutable_discover()->mutable_engine() = spec_.engine();
    *discover.mutable_discover()->mutable_evaluator() = spec_.evaluator();
    discover.mutable_discover()->set_order_seed(1);
    runner_.Handle(discover);
    spec_.set_program(discovered_.program());
    spec_.set_space_fingerprint(discovered_.space().fingerprint());
  }

  // Trains models 1 to `count`, together or one after the other; returns seconds.
  double Run(int count, bool merged, Metrics* metrics) {
    metrics_ = metrics;
    const double start = Seconds(clock_);
    v1::TrialRequest request;
    for (int model = 1; model <= count; ++model) {
      if (model == 1 || !merged) *request.mutable_run() = spec_;
      v1::TrialModel& added = *request.mutable_run()->add_models();
      added.set_model(model);
      // The choices are drawn from the seed.
      added.set_model_seed(static_cast<uint64_t>(model));
      if (!merged || model == count) runner_.Handle(request);
    }
    return Seconds(clock_) - start;
  }

 private:
  void OnEvent(const v1::TrialEvent& event) {
    if (event.has_discovered()) {
      discovered_ = event.discovered();
      CheckOk(absl::Status(static_cast<absl::StatusCode>(discovered_.error().code()), discovered_.error().message()));
    }
    if (!event.model().has_ended()) return;
    const v1::ModelEnded& ended = event.model().ended();
    if (ended.outcome() != v1::ModelEnded::SUCCEEDED) CheckOk(absl::InternalError(ended.failure().message()));
    for (const auto& [name, value] : ended.metrics().values()) (*metrics_)[event.model().model()][name] = value;
  }

  const clockid_t clock_;
  v1::TrialSpec spec_;
  v1::Discovered discovered_;
  Metrics* metrics_ = nullptr;
  TrialRunner runner_{[this](const v1::TrialEvent& event) { OnEvent(event); }, /*redirect_output=*/false};
};

// Whether the first and the second run of a round are merged: rounds alternate.
std::array<bool, 2> AlternatingOrder(int round) {
  const bool merged_first = round % 2 == 1;
  return {merged_first, !merged_first};
}

struct Comparison {
  double speedup_8 = 0;
  double of_ideal_8 = 0;
  bool identical = true;
};

Comparison Compare(const Case& one, int rounds, int largest, const Machine& machine = {}) {
  Trials trials(one.space, one.evaluator, machine);
  Trials loading(one.load_space, one.evaluator, machine);
  std::optional<Trials> own;
  // By the wall, the work that is not shared is hidden behind the loading.
  if (!one.own_evaluator.empty() && machine.clock == CLOCK_PROCESS_CPUTIME_ID)
    own.emplace(one.load_space, one.own_evaluator, machine);
  const char* const unit = machine.clock == CLOCK_MONOTONIC ? "wall" : "CPU";
  std::printf("%s, %d core%s, %s seconds\n%5s %14s %14s %10s %8s %10s\n", one.name.c_str(), machine.cores,
              machine.cores == 1 ? "" : "s", unit, "N", "apart", "merged", "speed-up", "ideal", "of ideal");
  Comparison result;
  for (int count = 1; count <= largest; count *= 2) {
    std::vector<double> apart, merged, load;
    // Round 0 is a warm-up.
    for (int round = 0; round <= rounds; ++round) {
      Metrics apart_metrics, merged_metrics, ignored;
      const double own_seconds = own.has_value() ? own->Run(1, false, &ignored) : 0;
      const double load_seconds = loading.Run(1, false, &ignored) - own_seconds;
      double apart_seconds = 0, merged_seconds = 0;
      for (const bool merge : AlternatingOrder(round)) {
        (merge ? merged_seconds : apart_seconds) = trials.Run(count, merge, merge ? &merged_metrics : &apart_metrics);
      }
      result.identical = result.identical && apart_metrics == merged_metrics;
      if (round == 0) continue;
      load.push_back(load_seconds);
      apart.push_back(apart_seconds);
      merged.push_back(merged_seconds);
    }
    const double train = std::max(0.0, Median(apart) - count * Median(load));
    const double ideal = Median(apart) / (Median(load) + train);
    const double speedup = Median(apart) / Median(merged);
    std::printf("%5d %14.3f %14.3f %10.3f %8.3f %10.3f\n", count, Median(apart), Median(merged), speedup, ideal,
                speedup / ideal);
    if (count == 8) result.speedup_8 = speedup, result.of_ideal_8 = speedup / ideal;
  }
  return result;
}

// ---- Data ----

// Writes JPEG files in ten classes. Like photographs, they have gradients and noise.
void WriteJpegs(const std::string& root, int images) {
  constexpr int kHeight = 120, kWidth = 160;
  for (int image = 0; image < images; ++image) {
    torch::manual_seed(static_cast<uint64_t>(image));
    const torch::Tensor noise = torch::randint(0, 40, {kHeight, kWidth, 3}, torch::kByte);
    std::vector<uint8_t> rgb(noise.data_ptr<uint8_t>(), noise.data_ptr<uint8_t>() + noise.numel());
    for (size_t i = 0; i < rgb.size(); ++i) rgb[i] = static_cast<uint8_t>(rgb[i] + i / 3 % kWidth + 5 * (image % 10));
    const std::string folder = absl::StrCat(root, "/", image % 10);
    std::filesystem::create_directory(folder);
    const std::string jpeg = data::EncodeJpeg(kHeight, kWidth, rgb);
    std::ofstream(absl::StrCat(folder, "/", image, ".jpg"), std::ios::binary) << jpeg;
  }
}

std::string Classification(const std::string& dataset, int batch_size, const std::string& more = "") {
  return absl::StrCat("classification { dataset { ", dataset, " } batch_size: ", batch_size,
                      " max_epochs: 1 export_onnx: false optimizer { adam {} } ", more, " }");
}

std::string Digits(int samples) {
  return absl::StrCat("synthetic_digits { train_samples: ", samples, " validation_samples: ", samples / 5, " }");
}

// ResNet-18 without its last layer, frozen, and a head of one linear layer, the same for all models.
std::string FrozenSpace(const bench::ScriptFile& file, const std::string& mutators) {
  return absl::StrCat("torchscript { path: '", file.path(), "' input_shape { dims: [-1, 1, 28, 28] } } ", mutators,
                      "frozen { target: 'conv1' } frozen { target: 'bn1' } frozen { target: 'layer1.*' } "
                      "frozen { target: 'layer2.*' } frozen { target: 'layer3.*' } frozen { target: 'layer4.*' }");
}

// ---- A whole experiment ----

struct Experiment {
  double seconds = 0;
  // The metrics of each model, by number.
  nlohmann::json metrics;
};

// Runs a search with a command of `program`.
Experiment RunExperiment(const std::string& program, const std::string& config) {
  const TempFolder state;
  std::ofstream(state.path() + "/config.textproto") << config;
  const std::string options = absl::StrCat(" --json --state-dir '", state.path(), "'");
  Stopwatch stopwatch;
  const std::string run = absl::StrCat("'", program, "' run '", state.path(), "/config.textproto'", options, " > '",
                                       state.path(), "/run.json'");
  if (std::system(run.c_str()) != 0) CheckOk(absl::InternalError("`run` failed: see " + state.path()));
  Experiment result;
  result.seconds = stopwatch.Seconds();
  const nlohmann::json document = nlohmann::json::parse(std::ifstream(state.path() + "/run.json"));
  const std::string trials = absl::StrCat("'", program, "' trials ", document["id"].get<std::string>(), options, " > '",
                                          state.path(), "/trials.json'");
  if (std::system(trials.c_str()) != 0) CheckOk(absl::InternalError("`trials` failed: see " + state.path()));
  const nlohmann::json listed = nlohmann::json::parse(std::ifstream(state.path() + "/trials.json"));
  for (const auto& model : listed["models"]) {
    result.metrics.push_back({model["id"], model["metrics"]["final"]});
  }
  return result;
}

struct ExperimentComparison {
  // Wall time apart / merged, median of the rounds.
  double speedup = 0;
  bool identical = true;
};

// Runs the same search with the engines `apart` and `merged`; `config` is the rest of its configuration.
ExperimentComparison CompareExperiments(const std::string& name, const std::string& program, const std::string& config,
                                        const std::string& apart, const std::string& merged, int rounds) {
  ExperimentComparison comparison;
  std::vector<double> ratios;
  for (int round = 0; round < rounds; ++round) {
    Experiment experiments[2];
    for (const bool merge : AlternatingOrder(round)) {
      experiments[merge] = RunExperiment(program, absl::StrCat(config, " engine { ", merge ? merged : apart, " }"));
    }
    comparison.identical = comparison.identical && experiments[0].metrics == experiments[1].metrics;
    ratios.push_back(experiments[0].seconds / experiments[1].seconds);
    std::printf("%s: %.2f s with %s, %.2f s with %s, ratio %.3f\n", name.c_str(), experiments[0].seconds, apart.c_str(),
                experiments[1].seconds, merged.c_str(), ratios.back());
  }
  comparison.speedup = Median(ratios);
  return comparison;
}

void RunBench(bool quick) {
  torch::set_num_threads(1);
  const int rounds = quick ? 1 : 3;
  const int largest = quick ? 8 : 16;
  const TempFolder jpegs;
  const int images = quick ? 100 : 300;
  const int train_images = images * 4 / 5;
  WriteJpegs(jpegs.path(), images);
  const bench::ScriptFile resnet(bench::ResNet18Graph(1, 28));
  const std::string head =
      "mutator { layer_choice { target: 'fc' candidate { op { type: 'Linear' attr { key: 'in_features' value { i: 512 "
      "} } "
      "attr { key: 'out_features' value { i: 10 } } } } } } ";
  const std::string jpeg_dataset =
      absl::StrCat("image_folder { root: '", jpegs.path(), "' height: 120 width: 160 split { train: 0.8 } }");
  const std::string jpeg_transforms =
      "augmentation { random_crop { height: 96 width: 96 } } augmentation { random_flip {} } "
      "augmentation { resize { height: 32 width: 32 } } transform { resize { height: 32 width: 32 } }";
  const std::string jpeg_evaluator = Classification(jpeg_dataset, 20, jpeg_transforms);
  const std::string frozen_digits = Digits(quick ? 200 : 300);
  const std::string frozen_evaluator = Classification(frozen_digits, 10);
  const std::vector<Case> cases = {
      {"input_bound", "registered: 'bench_small_cnn'", jpeg_evaluator, "registered: 'bench_null'",
       Classification(Digits(train_images), 20)},
      // A linear head costs almost nothing, so its trial measures the backbone.
      {"frozen", FrozenSpace(resnet, head), frozen_evaluator, FrozenSpace(resnet, head),
       Classification(frozen_digits, 10, "max_train_batches: 1 limit_validation_batches: 0.01")},
      {"balanced", "registered: 'mnist_cnn'", Classification(Digits(quick ? 100 : 300), 50),
       "registered: 'bench_null'"},
      {"tiny", "registered: 'bench_tiny_mlp'", Classification(Digits(quick ? 500 : 2000), 20),
       "registered: 'bench_null'"},
  };
  std::map<std::string, Comparison> results;
  bool identical = true;
  for (const Case& one : cases) {
    results[one.name] = Compare(one, rounds, largest);
    identical = identical && results[one.name].identical;
  }
  const TempFolder graphs;
  CheckOk(graph::WriteFile(graphs.path() + "/net.textproto", bench::MnistSpaceGraph()));
  const std::string random = " strategy { random { dedup: false } } seed: 1 ";
  const ExperimentComparison one_core =
      CompareExperiments("24 models, one slot", bench::Program("lanista"),
                         absl::StrCat("space { graph { path: '", graphs.path(), "/net.textproto' } } evaluator { ",
                                      Classification(Digits(quick ? 100 : 500), 50),
                                      " } training_service { local { cpu_slots: 1 } } max_trial_number: 24", random),
                         "graph {}", "cgo {}", quick ? 1 : 3);
  identical = identical && one_core.identical;
  std::string two_core_figure;
  if (const bench::CoresForChildren cores(2); cores.count() == 2) {
    // Uses this program, because the search's spaces are registered in it.
    const ExperimentComparison two_cores = CompareExperiments(
        "8 models, two cores", std::filesystem::read_symlink("/proc/self/exe").string(),
        absl::StrCat("space { registered: 'bench_small_cnn' } evaluator { classification { dataset { ", jpeg_dataset,
                     " } ", jpeg_transforms, " max_epochs: ", quick ? 2 : 10, " } } max_trial_number: 8", random),
        "direct {}", "cgo {}", quick ? 1 : 3);
    identical = identical && two_cores.identical;
    const Comparison ideal = Compare(cases[0], rounds, 8, {2, CLOCK_MONOTONIC});
    identical = identical && ideal.identical;
    two_core_figure = absl::StrFormat("\"two_core_speedup_8\": %.4f, \"two_core_of_ideal_8\": %.4f, ",
                                      two_cores.speedup, ideal.of_ideal_8);
  }
  v1::OptimizerConfig adam;
  adam.mutable_adam();
  const bench::OptimizerSpeed flat_adam =
      bench::CompareOptimizers("MLP 784-32-10, Adam", bench::MakeTinyMlp, adam, torch::randn({32, 1, 28, 28}),
                               quick ? 3 : 11, quick ? 100 : 300);
  std::printf("metrics %s\n", identical ? "identical" : "DIFFER");
  std::printf(
      "{\"bench\": \"cgo\", \"figures\": {\"input_bound_speedup_8\": %.4f, \"input_bound_of_ideal_8\": %.4f, "
      "\"frozen_speedup_8\": %.4f, \"frozen_of_ideal_8\": %.4f, \"balanced_speedup_8\": %.4f, \"tiny_speedup_8\": "
      "%.4f, \"flat_adam_speedup\": %.4f, \"experiment_speedup\": %.4f, %s\"metrics_identical\": %d}}\n",
      results["input_bound"].speedup_8, results["input_bound"].of_ideal_8, results["frozen"].speedup_8,
      results["frozen"].of_ideal_8, results["balanced"].speedup_8, results["tiny"].speedup_8, flat_adam.speedup,
      one_core.speedup, two_core_figure.c_str(), identical ? 1 : 0);
}

}  // namespace
}  // namespace lanista

int main(int argc, char** argv) {
  const bool quick = argc == 2 && std::strcmp(argv[1], "--quick") == 0;
  // With other arguments, this program is a Lanista program of its own: the searches above start it.
  if (argc > 1 && !quick) return lanista::Main(argc, argv);
  lanista::bench::UseOneCore(argv);
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // Minutes pass between lines.
  lanista::RunBench(quick);
  return 0;
}

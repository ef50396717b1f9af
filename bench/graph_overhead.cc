// Measures the cost of the graph engine: forward and backward of a ResNet-18 and of a small CNN, imported from
// TorchScript and run by GraphModule, against torch::jit::Module and against the same network in LibTorch's C++ front
// end. All three have the weights of the file, and their outputs are compared before the measurement. One core, rounds
// interleaved; each round starts with a different one of the three.
//
// Figures: resnet18_slowdown and small_cnn_slowdown (seconds of GraphModule / of the faster of the other two, median of
// the rounds), import_seconds (TorchScript file of ResNet-18 to graph), instantiate_ms (from a sample of a space over
// ResNet-18 to its graph and its module, without the time to draw the weights).
//
//   bazel run -c opt //bench:graph_overhead -- [--quick]
#include <ATen/Parallel.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/serialization/import.h>
#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/pooling.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bench/harness.h"
#include "bench/networks.h"
#include "google/protobuf/text_format.h"
#include "src/frontends/torchscript.h"
#include "src/graph/mutator.h"
#include "src/ops/registry.h"
#include "src/runtime/graph_module_torch.h"

namespace lanista {
namespace {

using bench::CheckOk;
using bench::Median;
using bench::ResNet18Graph;
using bench::ScriptFile;
using bench::SmallCnnGraph;
using bench::Stopwatch;
using bench::ValueOrDie;

// ---- The same networks in LibTorch's front end ----

namespace nn = torch::nn;

nn::Conv2d FrontEndConv(int64_t in, int64_t out, int kernel, int stride, int padding, bool bias) {
  return nn::Conv2d(nn::Conv2dOptions(in, out, kernel).stride(stride).padding(padding).bias(bias));
}

struct BlockImpl : nn::Module {
  BlockImpl(int64_t in, int64_t out, int stride)
      : conv1(register_module("conv1", FrontEndConv(in, out, 3, stride, 1, false))),
        bn1(register_module("bn1", nn::BatchNorm2d(out))),
        relu(register_module("relu", nn::ReLU(nn::ReLUOptions(true)))),
        conv2(register_module("conv2", FrontEndConv(out, out, 3, 1, 1, false))),
        bn2(register_module("bn2", nn::BatchNorm2d(out))) {
    if (stride == 1) return;
    downsample =
        register_module("downsample", nn::Sequential(FrontEndConv(in, out, 1, stride, 0, false), nn::BatchNorm2d(out)));
  }

  torch::Tensor forward(const torch::Tensor& x) {
    torch::Tensor y = bn2(conv2(relu(bn1(conv1(x)))));
    y += downsample.is_empty() ? x : downsample->forward(x);
    return relu(y);
  }

  nn::Conv2d conv1;
  nn::BatchNorm2d bn1;
  nn::ReLU relu;
  nn::Conv2d conv2;
  nn::BatchNorm2d bn2;
  nn::Sequential downsample{nullptr};
};
TORCH_MODULE(Block);

struct ResNet18 : nn::Module {
  ResNet18() {
    int64_t in = 64;
    for (int layer = 1; layer <= 4; ++layer) {
      const int64_t out = int64_t{32} << layer;
      nn::Sequential blocks;
      for (int block = 0; block < 2; ++block) {
        blocks->push_back(Block(in, out, layer > 1 && block == 0 ? 2 : 1));
        in = out;
      }
      layers.push_back(register_module(absl::StrCat("layer", layer), blocks));
    }
  }

  torch::Tensor forward(const torch::Tensor& input) {
    torch::Tensor x = maxpool(relu(bn1(conv1(input))));
    for (nn::Sequential& layer : layers) x = layer->forward(x);
    return fc(torch::flatten(avgpool(x), 1));
  }

  nn::Conv2d conv1 = register_module("conv1", FrontEndConv(3, 64, 7, 2, 3, false));
  nn::BatchNorm2d bn1 = register_module("bn1", nn::BatchNorm2d(64));
  nn::ReLU relu = register_module("relu", nn::ReLU(nn::ReLUOptions(true)));
  nn::MaxPool2d maxpool = register_module("maxpool", nn::MaxPool2d(nn::MaxPool2dOptions(3).stride(2).padding(1)));
  std::vector<nn::Sequential> layers;
  nn::AdaptiveAvgPool2d avgpool = register_module("avgpool", nn::AdaptiveAvgPool2d(nn::AdaptiveAvgPool2dOptions(1)));
  nn::Linear fc = register_module("fc", nn::Linear(512, 1000));
};

struct SmallCnn : nn::Module {
  torch::Tensor forward(const torch::Tensor& input) {
    torch::Tensor x = torch::max_pool2d(conv1(input).relu_(), 2);
    x = torch::max_pool2d(conv2(x).relu_(), 2);
    return fc2(fc1(torch::flatten(x, 1)).relu_());
  }

  nn::Conv2d conv1 = register_module("conv1", FrontEndConv(1, 16, 3, 1, 1, true));
  nn::Conv2d conv2 = register_module("conv2", FrontEndConv(16, 32, 3, 1, 1, true));
  nn::Linear fc1 = register_module("fc1", nn::Linear(1568, 64));
  nn::Linear fc2 = register_module("fc2", nn::Linear(64, 10));
};

// ---- Measuring ----

using Forward = std::function<torch::Tensor(const torch::Tensor&)>;

// Copies the parameters and buffers of `script` to `module`, by name.
void CopyWeights(const torch::jit::Module& script, nn::Module& module) {
  const torch::NoGradGuard no_grad;
  auto parameters = module.named_parameters();
  auto buffers = module.named_buffers();
  const auto copy = [](auto& targets, const std::string& name, const torch::Tensor& value) {
    torch::Tensor* const target = targets.find(name);
    CheckOk(target != nullptr ? absl::OkStatus() : absl::InternalError("the front end's network lacks " + name));
    target->copy_(value);
  };
  size_t copied = 0;
  for (const auto& parameter : script.named_parameters()) {
    copy(parameters, parameter.name, parameter.value);
    ++copied;
  }
  for (const auto& buffer : script.named_buffers()) copy(buffers, buffer.name, buffer.value);
  CheckOk(copied == parameters.size() ? absl::OkStatus()
                                      : absl::InternalError("the front end's network has more parameters"));
}

// Ends the program unless both tensors are equal up to rounding.
void CheckSameOutputs(const std::string& name, const torch::Tensor& output, const torch::Tensor& other) {
  CheckOk(torch::allclose(output, other, 1e-4, 1e-5) ? absl::OkStatus()
                                                     : absl::InternalError(name + ": the outputs differ"));
}

// Seconds for `steps` steps of forward and backward.
double Time(const Forward& forward, const std::vector<torch::Tensor>& parameters, const torch::Tensor& input,
            int steps) {
  const Stopwatch stopwatch;
  for (int step = 0; step < steps; ++step) {
    for (const torch::Tensor& parameter : parameters) parameter.mutable_grad().reset();
    forward(input).square().mean().backward();
  }
  return stopwatch.Seconds() / steps;
}

template <typename FrontEnd>
double Slowdown(const std::string& name, const ScriptFile& file, FrontEnd& front_end, const torch::Tensor& input,
                int rounds, int steps) {
  runtime::GraphModule::Options keep;
  keep.weights = v1::SpaceConfig::KEEP;
  const auto ours = ValueOrDie(runtime::GraphModule::Create(file.Import(), keep));
  torch::jit::Module script = torch::jit::load(file.path());
  script.train();
  std::vector<torch::Tensor> script_parameters;
  for (const torch::Tensor& parameter : script.parameters()) script_parameters.push_back(parameter);
  const Forward run_ours = [&](const torch::Tensor& x) { return ours->forward(x); };
  const Forward run_script = [&](const torch::Tensor& x) { return script.forward({x}).toTensor(); };
  const Forward run_front_end = [&](const torch::Tensor& x) { return front_end.forward(x); };

  CopyWeights(script, front_end);
  front_end.train();
  // In training mode, batch normalisation changes its statistics, in the same way in all three.
  const torch::Tensor output = run_ours(input);
  CheckSameOutputs(name + ", TorchScript", output, run_script(input));
  CheckSameOutputs(name + ", front end", output, run_front_end(input));

  std::printf("%s, batch %ld\n%5s %16s %16s %16s %8s\n", name.c_str(), static_cast<long>(input.size(0)), "round",
              "GraphModule, ms", "jit::Module, ms", "front end, ms", "ratio");
  const struct {
    Forward forward;
    std::vector<torch::Tensor> parameters;
  } runs[] = {{run_ours, ours->parameters()}, {run_script, script_parameters}, {run_front_end, front_end.parameters()}};
  std::vector<double> ratios;
  // Round 0 is a warm-up: TorchScript's interpreter profiles its first runs and compiles after them.
  constexpr int kWarmUpSteps = 5;
  for (int round = 0; round <= rounds; ++round) {
    double seconds[3];
    for (int turn = 0; turn < 3; ++turn) {
      const int run = (round + turn) % 3;
      seconds[run] =
          Time(runs[run].forward, runs[run].parameters, input, round == 0 ? std::max(steps, kWarmUpSteps) : steps);
    }
    if (round == 0) continue;
    ratios.push_back(seconds[0] / std::min(seconds[1], seconds[2]));
    std::printf("%5d %16.3f %16.3f %16.3f %8.4f\n", round, 1e3 * seconds[0], 1e3 * seconds[1], 1e3 * seconds[2],
                ratios.back());
  }
  return Median(ratios);
}

// A space over the imported ResNet-18: activations, and width and depth of blocks.
graph::GraphSpace MutatedSpace(const ScriptFile& file) {
  v1::SpaceConfig config;
  const bool parsed = google::protobuf::TextFormat::ParseFromString(R"(
    torchscript { input_shape { dims: [-1, 3, 64, 64] } }
    mutator { layer_choice { target: "layer1.0.relu" candidate { keep {} } candidate { op { type: "SiLU" } } } }
    mutator {
      value_choice {
        target: "layer3.*.conv1" attr: "out_channels" label: "width" candidate: [ { i: 128 }, { i: 256 } ] propagate: true
      }
    }
    mutator { repeat { target: "layer4.1" depth: [1, 2] } })",
                                                                    &config);
  CheckOk(parsed ? absl::OkStatus() : absl::InternalError("the space's config does not parse"));
  config.mutable_torchscript()->set_path(file.path());
  return ValueOrDie(graph::GraphSpace::Create(ValueOrDie(frontends::ImportTorchScript(config.torchscript())), config,
                                              ops::FindOp, nullptr));
}

double InstantiateMilliseconds(const ScriptFile& file, int rounds) {
  const graph::GraphSpace space = MutatedSpace(file);
  std::vector<double> milliseconds;
  for (int round = 0; round < rounds; ++round) {
    graph::Chooser chooser([round](const v1::Choice& choice) -> absl::StatusOr<v1::Decision> {
      v1::Decision decision;
      decision.set_label(choice.label());
      decision.add_index(round % choice.candidates_size());
      *decision.add_value() = choice.candidates(decision.index(0));
      return decision;
    });
    const Stopwatch all;
    const auto module = ValueOrDie(runtime::GraphModule::Create(ValueOrDie(space.Materialise(chooser)), {}));
    const double seconds = all.Seconds();
    const torch::NoGradGuard no_grad;
    const Stopwatch weights;
    for (torch::Tensor parameter : module->parameters()) parameter.uniform_(-0.1, 0.1);
    milliseconds.push_back(1e3 * (seconds - weights.Seconds()));
  }
  return Median(milliseconds);
}

void RunBench(bool quick) {
  torch::set_num_threads(1);
  const int rounds = quick ? 3 : 15;
  const int64_t size = quick ? 64 : 128;
  const ScriptFile resnet(ResNet18Graph(3, size));
  const ScriptFile small(SmallCnnGraph());

  std::vector<double> import_seconds;
  for (int round = 0; round < 3; ++round) {
    const Stopwatch stopwatch;
    resnet.Import();
    import_seconds.push_back(stopwatch.Seconds());
  }
  ResNet18 resnet_front_end;
  SmallCnn small_front_end;
  const double resnet_slowdown =
      Slowdown("ResNet-18", resnet, resnet_front_end, torch::randn({4, 3, size, size}), rounds, quick ? 1 : 2);
  const double small_slowdown =
      Slowdown("small CNN", small, small_front_end, torch::randn({32, 1, 28, 28}), rounds, quick ? 5 : 50);
  const double instantiate = InstantiateMilliseconds(resnet, rounds);
  std::printf("import of ResNet-18: %.3f s; a mutated model: %.2f ms\n", Median(import_seconds), instantiate);
  std::printf(
      "{\"bench\": \"graph_overhead\", \"figures\": {\"resnet18_slowdown\": %.4f, \"small_cnn_slowdown\": %.4f, "
      "\"import_seconds\": %.4f, \"instantiate_ms\": %.3f}}\n",
      resnet_slowdown, small_slowdown, Median(import_seconds), instantiate);
}

}  // namespace
}  // namespace lanista

int main(int argc, char** argv) {
  const bool quick = argc == 2 && std::strcmp(argv[1], "--quick") == 0;
  if (argc > 1 && !quick) {
    std::fprintf(stderr, "usage: graph_overhead [--quick]\n");
    return 2;
  }
  lanista::bench::UseOneCore(argv);
  lanista::RunBench(quick);
  return 0;
}

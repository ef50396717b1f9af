// Networks of real architecture, scaled down (classifiers.py, other_networks.py): nothing but nodes, the values and the
// training of their files bit for bit, and the same values again from what is exported.
#include <ATen/ATen.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/runtime/graph_executor.h>
#include <torch/csrc/jit/serialization/import.h>
#include <torch/optim/sgd.h>

#include <functional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "src/exporters/graph_formats_torch.h"
#include "src/runtime/graph_module_torch.h"
#include "tests/exporters/exported_model.h"
#include "tests/frontends/imported_model.h"

namespace lanista {
namespace {

using c10::IValue;
using Tensors = std::vector<at::Tensor>;
using Forward = std::function<Tensors(const Tensors&)>;

constexpr char kFiles[] = "architectures";
constexpr int kSteps = 20;
// Of the language models.
constexpr int kVocabulary = 11;

struct Architecture {
  std::string name;
  std::vector<std::vector<int64_t>> inputs;
  // Whether the first input is of tokens.
  bool tokens = false;
  // What stays opaque, as CountTypes prints it.
  std::string opaque = "";
  // Part of what the ONNX writer says where it cannot express the model; empty: it can.
  std::string no_onnx = "";
  // How far values may be off: torch.nn's attention has another kernel in evaluation mode, and adds up gradients in
  // another order than ours.
  double tolerance = 0;
};

std::ostream& operator<<(std::ostream& out, const Architecture& architecture) { return out << architecture.name; }

const std::vector<Architecture>& Architectures() {
  static const auto* const all = new std::vector<Architecture>{
      {"alexnet", {{4, 3, 32, 32}}},
      {"vgg", {{4, 3, 32, 32}}},
      {"resnet", {{4, 3, 32, 32}}},
      {"resnet_bottleneck", {{4, 3, 32, 32}}},
      {"densenet", {{4, 3, 32, 32}}},
      {"googlenet", {{4, 3, 32, 32}}},
      {"inception_v3", {{4, 3, 32, 32}}},
      {"mobilenet_v2", {{4, 3, 32, 32}}},
      {"mobilenet_v3", {{4, 3, 32, 32}}},
      {"shufflenet_v2", {{4, 3, 32, 32}}},
      {"mnasnet", {{4, 3, 32, 32}}},
      {"efficientnet", {{4, 3, 32, 32}}},
      {"regnet", {{4, 3, 32, 32}}},
      {"vit", {{4, 3, 32, 32}}},
      {"vit_attention", {{4, 3, 32, 32}}, false, "", "", 1e-5},
      // Whether gradients are on decides there which kernels run.
      {"transformer", {{7, 3}}, true, "opaque:TransformerEncoder=1", "aten::triu"},
      {"encoder_layer", {{3, 5, 6}}, false, "opaque:TransformerEncoderLayer=1", "TransformerEncoderLayer"},
      {"lstm_language_model", {{7, 3}}, true},
      // Reads the weight of its embedding, too.
      {"stateful_lstm", {{3, 7}}, true, "opaque:StatefulLSTM=1", "StatefulLSTM"},
      {"bilstm_tagger", {{3, 7}}, true},
      // Embedding and decoder share a weight.
      {"tied_language_model", {{7, 3}}, true, "opaque:TiedLanguageModel=1", "TiedLanguageModel"},
      {"char_gru", {{3, 7}, {1, 3, 8}}, true},
      {"dcgan_generator", {{4, 6, 1, 1}}},
      {"dcgan_discriminator", {{4, 3, 16, 16}}},
      {"vae", {{4, 1, 8, 8}}, false, "", "aten::randn_like"},
      {"conv_vae", {{4, 3, 16, 16}}},
      {"super_resolution", {{2, 1, 12, 12}}},
      {"srresnet", {{2, 3, 8, 8}}},
      {"unet", {{2, 3, 18, 16}}},
      {"unet_bilinear", {{2, 3, 18, 16}}},
      {"nested_unet", {{2, 3, 18, 16}}},
  };
  return *all;
}

Tensors Inputs(const Architecture& architecture, int seed) {
  at::manual_seed(seed);
  Tensors inputs;
  for (const auto& shape : architecture.inputs) {
    const bool tokens = architecture.tokens && inputs.empty();
    inputs.push_back(tokens ? at::randint(0, kVocabulary, shape, at::kLong) : at::randn(shape));
  }
  return inputs;
}

// Imported for batches of any size.
absl::StatusOr<v1::ModelGraph> ImportIt(const Architecture& architecture) {
  auto shapes = architecture.inputs;
  shapes[0][0] = -1;
  return Import(architecture.name, shapes, {}, kFiles);
}

absl::StatusOr<std::shared_ptr<runtime::GraphModule>> Build(const v1::ModelGraph& model) {
  runtime::GraphModule::Options options;
  options.weights = v1::SpaceConfig::KEEP;
  return runtime::GraphModule::Create(model, options);
}

Forward ForwardOf(runtime::GraphModule& module) {
  return [&module](const Tensors& inputs) { return Flatten(module.Run({inputs.begin(), inputs.end()})); };
}

Forward ForwardOf(torch::jit::Module& module) {
  return [&module](const Tensors& inputs) { return Flatten({module.forward({inputs.begin(), inputs.end()})}); };
}

// The losses of some steps of training.
std::vector<float> TrainingLosses(const Architecture& architecture, const Forward& forward, const Tensors& parameters) {
  torch::optim::SGD optimizer(parameters, torch::optim::SGDOptions(0.02).momentum(0.9));
  std::vector<float> losses;
  for (int step = 0; step < kSteps; ++step) {
    const Tensors inputs = Inputs(architecture, step);
    at::manual_seed(step);
    at::Tensor loss = at::zeros({});
    for (const at::Tensor& output : forward(inputs)) loss = loss + (output - 0.5).pow(2).mean();
    optimizer.zero_grad();
    loss.backward();
    optimizer.step();
    losses.push_back(loss.item<float>());
  }
  return losses;
}

// Empty if they are the same: bit for bit, where there is no tolerance.
std::string Difference(const Tensors& actual, const Tensors& expected, double tolerance) {
  if (expected.empty()) return "no tensor";
  if (actual.size() != expected.size()) return absl::StrCat(actual.size(), " tensors instead of ", expected.size());
  for (size_t i = 0; i < actual.size(); ++i) {
    if (actual[i].sizes() != expected[i].sizes()) return absl::StrCat("another shape of output ", i);
    if (at::equal(actual[i], expected[i])) continue;
    if (tolerance > 0 && at::allclose(actual[i], expected[i], tolerance, tolerance)) continue;
    return absl::StrCat("output ", i, " differs by ", (actual[i] - expected[i]).abs().max().item<float>());
  }
  return "";
}

// Empty if both give the same in evaluation mode.
std::string DifferenceInEvaluation(const Architecture& architecture, runtime::GraphModule& imported,
                                   torch::jit::Module& file) {
  imported.eval();
  file.eval();
  const at::NoGradGuard no_grad;
  const Tensors inputs = Inputs(architecture, 1000);
  at::manual_seed(1);
  const Tensors expected = ForwardOf(file)(inputs);
  at::manual_seed(1);
  return Difference(ForwardOf(imported)(inputs), expected, architecture.tolerance);
}

std::string OpaqueTypes(const v1::ModelGraph& model) {
  std::vector<std::string> opaque;
  for (const absl::string_view type : absl::StrSplit(CountTypes(model), ' ')) {
    if (absl::StartsWith(type, "opaque:")) opaque.emplace_back(type);
  }
  return absl::StrJoin(opaque, " ");
}

class ArchitectureTest : public testing::TestWithParam<Architecture> {
 protected:
  void SetUp() override {
    if (ModelFolder(kFiles).empty()) GTEST_SKIP() << "no Python with torch";
  }
};

TEST_P(ArchitectureTest, ComputesAndTrainsAsItsFile) {
  // The profiling executor draws other random numbers.
  const torch::jit::GraphOptimizerEnabledGuard no_profiling(false);
  const Architecture& architecture = GetParam();
  const auto model = ImportIt(architecture);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(OpaqueTypes(*model), architecture.opaque);
  EXPECT_EQ(model->warnings().empty(), architecture.opaque.empty()) << absl::StrJoin(model->warnings(), "\n");
  const auto imported = Build(*model);
  ASSERT_TRUE(imported.ok()) << imported.status();
  torch::jit::Module file = torch::jit::load(model->archives(0).path());

  EXPECT_EQ(DifferenceInEvaluation(architecture, **imported, file), "");
  (*imported)->train();
  file.train();
  Tensors parameters;
  for (const at::Tensor& parameter : file.parameters()) parameters.push_back(parameter);
  const std::vector<float> expected = TrainingLosses(architecture, ForwardOf(file), parameters);
  const std::vector<float> actual = TrainingLosses(architecture, ForwardOf(**imported), (*imported)->parameters());
  if (architecture.tolerance > 0) {
    EXPECT_THAT(actual, testing::Pointwise(testing::FloatNear(1e-5F), expected));
  } else {
    EXPECT_EQ(actual, expected);
  }
  EXPECT_NE(expected.front(), expected.back());
  // With trained weights and statistics, too.
  EXPECT_EQ(DifferenceInEvaluation(architecture, **imported, file), "");
}

INSTANTIATE_TEST_SUITE_P(All, ArchitectureTest, testing::ValuesIn(Architectures()),
                         [](const auto& info) { return info.param.name; });

// One process of Python for all: loading torch is what takes its time.
TEST(ArchitecturesTest, ExportsGiveTheSameValuesInPython) {
  if (ModelFolder(kFiles).empty()) GTEST_SKIP() << "no Python with torch";
  const bool has_onnx = HasPython("onnx");
  std::vector<Export> exports;
  for (const Architecture& architecture : Architectures()) {
    const auto model = ImportIt(architecture);
    ASSERT_TRUE(model.ok()) << model.status();
    const auto module = Build(*model);
    ASSERT_TRUE(module.ok()) << module.status();
    RandomizeStatistics(**module);
    std::vector<Export> written;
    for (const std::string format : {"python", "torchscript", "onnx"}) {
      const std::string folder = TestFolder(absl::StrCat("architecture_", architecture.name, "_", format));
      const auto files = exporters::WriteModel(**module, format, absl::StrCat(folder, "/", architecture.name));
      if (format == "onnx" && !architecture.no_onnx.empty()) {
        EXPECT_TRUE(absl::StrContains(files.status().message(), architecture.no_onnx)) << files.status();
        continue;
      }
      EXPECT_TRUE(files.ok()) << architecture.name << ": " << files.status();
      if (files.ok() && (format != "onnx" || has_onnx)) written.push_back({folder, architecture.name, format});
    }
    const Tensors inputs = Inputs(architecture, 1);
    const Tensors evaluated = Evaluate(**module, inputs);
    const Tensors trained = Train(**module, inputs);
    for (const Export& one : written) {
      WriteTensors(one.folder + "/data.pt", {{"inputs", inputs}, {"outputs", evaluated}, {"training", trained}});
      exports.push_back(one);
    }
  }
  EXPECT_EQ(CheckExports(exports), "");
}

}  // namespace
}  // namespace lanista

// Compiles an exported header with the system's compiler, against the system's LibTorch, and runs it. Takes a minute.
#include <ATen/ops/randn.h>

#include <fstream>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "src/exporters/graph_formats_torch.h"
#include "tests/exporters/exported_model.h"

namespace lanista {
namespace {

constexpr char kProgram[] = R"(
#include "net.h"
#include "1-small.h"

int main(int, char** argv) {
  Model model;
  model.load_weights(argv[1]);
  model.eval();
  std::ifstream file(argv[2], std::ios::binary);
  const std::vector<char> bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  auto data = torch::pickle_load(bytes).toGenericDict();
  const torch::Tensor input = data.at("inputs").toTensorVector().at(0);
  const torch::Tensor wanted = data.at("outputs").toTensorVector().at(0);
  if (!torch::allclose(model.forward(input), wanted, 1e-5, 1e-5)) return 2;
  if (model_1_small::Model().forward(input).dim() != wanted.dim()) return 6;
  model.train();
  // Raw samples: the inverse of what the data's preprocessing does.
  const torch::Tensor mean = torch::tensor({0.25, 0.5, 0.75}).view({3, 1, 1});
  const torch::Tensor raw = input * torch::tensor({2.0, 1.0, 0.5}).view({3, 1, 1}) + mean;
  if (!torch::allclose(predict(model, raw), wanted, 1e-4, 1e-4)) return 4;
  if (!model.is_training() || model_net::class_names() != std::vector<std::string>{"cat", "d\303\266g"}) return 5;
  model.forward(input).pow(2).mean().backward();
  for (auto& item : model.named_parameters()) {
    if (item.value().requires_grad() && !item.value().grad().defined()) return 3;
  }
  return 0;
}
)";

// Everything that the header of a model may have: cells, a switch, opaque modules, operators that C++ has no function
// for, a constant, several outputs of one node, frozen parts.
std::shared_ptr<runtime::GraphModule> RichNet(const std::string& folder) {
  std::string text = SmallNet();
  const std::string end = "outputs { node: \"fc\" }";
  text.replace(text.find(end), end.size(), R"(
      nodes { name: "scaled" inputs { node: "fc" arg: "self" } inputs { node: "k" arg: "other" }
        op { type: "aten::mul.Tensor" } }
      nodes { name: "k" op { type: "Constant" attr { key: "value" value { tensor {
        data_type: FLOAT32 dims: 1 data: "\000\000\000?" } } } } }
      nodes { name: "half" op { type: "aten::mul.float" attr { key: "a" value { f: 2.5 } } attr { key: "b" value { f: 0.5 } } } }
      nodes { name: "more" inputs { node: "half" arg: "a" } op { type: "aten::add.float_int" attr { key: "b" value { i: 1 } } } }
      nodes { name: "less" inputs { node: "more" arg: "b" } op { type: "aten::sub.int_float" attr { key: "a" value { i: 3 } } } }
      nodes { name: "minus" inputs { node: "less" arg: "a" } op { type: "aten::neg.float" } }
      nodes { name: "small" inputs { node: "minus" arg: "a" } op { type: "aten::lt.float" attr { key: "b" value { f: -0.5 } } } }
      nodes { name: "large" inputs { node: "small" arg: "self" } op { type: "aten::__not__" } }
      nodes { name: "either" inputs { node: "small" arg: "a" } inputs { node: "large" arg: "b" }
        op { type: "aten::__or__.bool" } }
      nodes { name: "both" inputs { node: "either" arg: "a" } inputs { node: "small" arg: "b" }
        op { type: "aten::__and__.bool" } }
      nodes { name: "one" inputs { node: "both" arg: "a" } op { type: "aten::Float.bool" } }
      nodes { name: "factor" inputs { node: "minus" arg: "a" } inputs { node: "one" arg: "b" }
        op { type: "aten::mul.float" } }
      nodes { name: "upper" inputs { node: "scaled" arg: "self" }
        op { type: "aten::triu" attr { key: "diagonal" value { i: -1 } } } }
      nodes { name: "times" inputs { node: "upper" arg: "self" } inputs { node: "factor" arg: "other" }
        op { type: "aten::mul.Scalar" } }
      nodes { name: "constexpr" inputs { node: "times" } op { type: "Sigmoid" } }
      nodes { name: "logit" inputs { node: "constexpr" arg: "self" }
        op { type: "aten::logit" attr { key: "eps" value { f: 0.25 } } } }
      nodes { name: "range" inputs { node: "logit" arg: "self" } op { type: "aten::std_mean.dim"
        attr { key: "dim" value { list { values { i: 1 } } } } attr { key: "keepdim" value { b: true } } } }
      nodes { name: "width" inputs { node: "logit" arg: "self" } op { type: "aten::size.int"
        attr { key: "dim" value { i: 1 } } } }
      nodes { name: "shape" inputs { node: "width" arg: "1" } op { type: "prim::ListConstruct"
        attr { key: "0" value { i: -1 } } } }
      nodes { name: "wide" inputs { node: "range" slot: 1 arg: "self" } inputs { node: "shape" arg: "size" }
        op { type: "aten::expand" } }
      nodes { name: "loop.body" inputs { node: "wide" } opaque { archive: 0 type: "Loop" } }
      nodes { name: "last" inputs { node: "loop.body" } op { type: "Linear"
        attr { key: "in_features" value { i: 5 } } attr { key: "out_features" value { i: 5 } } } frozen: true }
      nodes { name: "tail" inputs { node: "last" } cell { graph: "Outer" } }
      outputs { node: "tail" })");
  // torch::nn::Sequential holds none of its own kind.
  absl::StrAppend(&text, R"(
    graphs {
      name: "Outer" inputs { name: "input" }
      nodes { name: "0" inputs { node: "input" } cell { graph: "Inner" } }
      nodes { name: "1" inputs { node: "0" } op { type: "Linear"
        attr { key: "in_features" value { i: 5 } } attr { key: "out_features" value { i: 5 } } } }
      outputs { node: "1" }
    }
    graphs {
      name: "Inner" inputs { name: "input" }
      nodes { name: "0" inputs { node: "input" } op { type: "Linear"
        attr { key: "in_features" value { i: 5 } } attr { key: "out_features" value { i: 5 } } } }
      nodes { name: "1" inputs { node: "0" } op { type: "Tanh" } }
      outputs { node: "1" }
    })");
  return BuildModel(absl::StrCat("archives { path: \"", SaveLoop(folder, 5), "\" }", text));
}

TEST(CppExport, TheHeaderCompilesAloneAndGivesTheSameValues) {
  const std::string front_end = "/usr/include/torch/csrc/api/include";
  if (RunCommand(absl::StrCat("g++ --version && test -e ", front_end, "/torch/torch.h")).status != 0) {
    GTEST_SKIP() << "needs g++ and the system's LibTorch";
  }
  const std::string folder = TestFolder("cpp");
  const auto module = RichNet(folder);
  v1::DataSpec data;
  for (const int64_t size : {3, 8, 8}) data.add_input_shape(size);
  data.add_class_names("cat");
  data.add_class_names("d\303\266g");
  v1::Standardization& step = *data.add_preprocessing()->mutable_standardization();
  for (const double mean : {0.25, 0.5, 0.75}) step.add_mean(mean);
  for (const double deviation : {2.0, 1.0, 0.5}) step.add_std(deviation);
  const auto files = exporters::WriteModel(*module, "cpp", folder + "/net", {}, {}, data);
  ASSERT_TRUE(files.ok()) << files.status();
  ASSERT_TRUE(exporters::WriteModel(*BuildModel(SmallNet()), "cpp", folder + "/1-small").ok());
  const at::Tensor input = at::randn({2, 3, 8, 8});
  WriteTensors(folder + "/data.pt", {{"inputs", {input}}, {"outputs", Evaluate(*module, {input})}});
  std::ofstream(folder + "/main.cc") << kProgram;
  const Ran compiled = RunCommand(absl::StrCat("g++ -std=c++17 -O0 -w -isystem ", front_end, " -o ", folder, "/main ",
                                               folder, "/main.cc -ltorch -ltorch_cpu -lc10"));
  ASSERT_EQ(compiled.status, 0) << compiled.output;
  const Ran ran = RunCommand(absl::StrCat(folder, "/main ", folder, "/net.weights.pt ", folder, "/data.pt"));
  EXPECT_EQ(ran.status, 0) << ran.output;
}

}  // namespace
}  // namespace lanista

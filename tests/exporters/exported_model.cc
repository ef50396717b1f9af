#include "tests/exporters/exported_model.h"

#include <ATen/ATen.h>
#include <sys/wait.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/serialize.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "src/graph/graph.h"
#include "src/ops/registry.h"
#include "src/runtime/graph_module_torch.h"

namespace lanista {

std::shared_ptr<runtime::GraphModule> BuildModel(const std::string& text) {
  v1::ModelGraph graph;
  if (!google::protobuf::TextFormat::ParseFromString(text, &graph)) std::abort();
  return BuildModel(graph);
}

std::shared_ptr<runtime::GraphModule> BuildModel(const v1::ModelGraph& graph) {
  const absl::Status valid = graph::Validate(graph, ops::FindOp);
  auto module = runtime::GraphModule::Create(graph, {});
  if (!valid.ok() || !module.ok()) {
    std::fprintf(stderr, "%s\n%s\n", valid.ToString().c_str(), module.status().ToString().c_str());
    std::abort();
  }
  RandomizeStatistics(**module);
  return *module;
}

void RandomizeStatistics(runtime::GraphModule& module) {
  const at::NoGradGuard no_grad;
  for (auto& item : module.named_buffers()) {
    if (item.value().is_floating_point()) item.value().uniform_(0.5, 1.5);
  }
}

std::string SmallNet() {
  return R"(
    version: 1 name: "SmallNet"
    graphs {
      name: "SmallNet"
      inputs { name: "x" type { kind: TENSOR data_type: FLOAT32 shape { dims: [-1, 3, 8, 8] } } }
      nodes { name: "stem.conv" inputs { node: "x" } op { type: "Conv2d"
        attr { key: "in_channels" value { i: 3 } } attr { key: "kernel_size" value { i: 3 } }
        attr { key: "out_channels" value { i: 4 } } attr { key: "padding" value { i: 1 } } } }
      nodes { name: "stem.bn" inputs { node: "stem.conv" }
        op { type: "BatchNorm2d" attr { key: "num_features" value { i: 4 } } } }
      nodes { name: "layers.0" inputs { node: "stem.bn" } cell { graph: "Block" } }
      nodes { name: "layers.1" inputs { node: "layers.0" } cell { graph: "Block" } }
      nodes { name: "again" module: "layers.1" inputs { node: "layers.1" } cell { graph: "Block" } }
      nodes { name: "head" inputs { node: "again" } cell { graph: "Sequential" } }
      nodes { name: "mix" inputs { node: "head" } inputs { node: "again" }
        training_switch { training: "noisy" evaluation: "plain" } }
      nodes { name: "pool" inputs { node: "mix" } op { type: "MaxPool2d" attr { key: "kernel_size" value { i: 2 } } } }
      nodes { name: "flatten" inputs { node: "pool" } op { type: "Flatten" } }
      nodes { name: "fc" inputs { node: "flatten" } op { type: "Linear"
        attr { key: "in_features" value { i: 64 } } attr { key: "out_features" value { i: 5 } } } }
      outputs { node: "fc" }
    }
    graphs {
      name: "Block" inputs { name: "x" }
      nodes { name: "conv" inputs { node: "x" } op { type: "Conv2d" attr { key: "bias" value { b: false } }
        attr { key: "in_channels" value { i: 4 } } attr { key: "kernel_size" value { i: 3 } }
        attr { key: "out_channels" value { i: 4 } } attr { key: "padding" value { i: 1 } } } }
      nodes { name: "bn" inputs { node: "conv" }
        op { type: "BatchNorm2d" attr { key: "num_features" value { i: 4 } } } }
      nodes { name: "add" inputs { node: "bn" arg: "self" } inputs { node: "x" arg: "other" }
        op { type: "aten::add.Tensor" } }
      nodes { name: "relu" inputs { node: "add" } op { type: "ReLU" } }
      outputs { node: "relu" }
    }
    graphs {
      name: "Sequential" inputs { name: "input" }
      nodes { name: "0" inputs { node: "input" } op { type: "Conv2d" attr { key: "in_channels" value { i: 4 } }
        attr { key: "kernel_size" value { i: 1 } } attr { key: "out_channels" value { i: 4 } } } }
      nodes { name: "1" inputs { node: "0" } op { type: "ReLU" } }
      outputs { node: "1" }
    }
    graphs {
      name: "noisy" inputs { name: "a" } inputs { name: "b" }
      nodes { name: "drop" inputs { node: "a" } op { type: "Dropout" attr { key: "p" value { f: 0.25 } } } }
      nodes { name: "noisy_sum" inputs { node: "drop" arg: "self" } inputs { node: "b" arg: "other" }
        op { type: "aten::add.Tensor" } }
      outputs { node: "noisy_sum" }
    }
    graphs {
      name: "plain" inputs { name: "a" } inputs { name: "b" }
      nodes { name: "sum" inputs { node: "a" arg: "self" } inputs { node: "b" arg: "other" }
        op { type: "aten::add.Tensor" } }
      outputs { node: "sum" }
    })";
}

std::string SaveLoop(const std::string& folder, int width) {
  torch::jit::Module inner("Inner");
  inner.register_attribute("training", c10::BoolType::get(), true);
  inner.register_parameter("weight", at::randn({width, width}), false);
  inner.define("def forward(self, x: Tensor):\n  return torch.tanh(torch.matmul(x, self.weight))\n");
  torch::jit::Module loop("Loop");
  loop.register_attribute("training", c10::BoolType::get(), true);
  loop.register_buffer("offset", at::ones({width}));
  loop.register_module("inner", inner);
  loop.define(
      "def forward(self, x: Tensor):\n  for i in range(x.size(0)):\n    x = self.inner.forward(x)\n"
      "  return torch.add(x, self.offset)\n");
  loop.save(folder + "/loop.pt");
  return folder + "/loop.pt";
}

std::string TestFolder(const std::string& name) {
  const std::string folder = absl::StrCat(testing::TempDir(), "/exporters_", name);
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  return folder;
}

std::vector<at::Tensor> Flatten(const std::vector<c10::IValue>& values) {
  std::vector<at::Tensor> tensors;
  for (const c10::IValue& value : values) {
    if (value.isTensor()) {
      tensors.push_back(value.toTensor());
      continue;
    }
    if (value.isNone()) continue;
    if (value.isScalar()) {
      tensors.push_back(at::scalar_to_tensor(value.toScalar()));
      continue;
    }
    const auto elements = value.isTuple() ? value.toTupleRef().elements().vec() : value.toListRef().vec();
    for (const at::Tensor& tensor : Flatten(elements)) tensors.push_back(tensor);
  }
  return tensors;
}

std::vector<at::Tensor> Evaluate(runtime::GraphModule& module, const std::vector<at::Tensor>& inputs) {
  module.eval();
  at::manual_seed(7);
  const at::NoGradGuard no_grad;
  return Flatten(module.Run({inputs.begin(), inputs.end()}));
}

std::vector<at::Tensor> Train(runtime::GraphModule& module, const std::vector<at::Tensor>& inputs) {
  module.train();
  at::manual_seed(7);
  return Flatten(module.Run({inputs.begin(), inputs.end()}));
}

void WriteTensors(const std::string& path, const std::map<std::string, std::vector<at::Tensor>>& tensors) {
  c10::Dict<std::string, std::vector<at::Tensor>> dict;
  for (const auto& [name, list] : tensors) {
    std::vector<at::Tensor> detached;
    for (const at::Tensor& tensor : list) detached.push_back(tensor.detach());
    dict.insert(name, detached);
  }
  const std::vector<char> bytes = torch::pickle_save(dict);
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

Ran RunCommand(const std::string& command) {
  Ran ran;
  FILE* const pipe = popen(absl::StrCat(command, " 2>&1").c_str(), "r");
  if (pipe == nullptr) return {-1, "popen failed"};
  std::array<char, 4096> buffer;
  while (const size_t size = std::fread(buffer.data(), 1, buffer.size(), pipe)) ran.output.append(buffer.data(), size);
  const int status = pclose(pipe);
  ran.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return ran;
}

bool HasPython(const std::string& modules) {
  return RunCommand(absl::StrCat("/usr/bin/python3 -c 'import ", modules, "'")).status == 0;
}

std::string CheckExport(const std::string& folder, const std::string& stem, const std::string& format) {
  return CheckExports({{folder, stem, format}});
}

std::string CheckExports(const std::vector<Export>& exports) {
  std::string command = "/usr/bin/python3 tests/exporters/check_export.py";
  for (const Export& one : exports) absl::StrAppend(&command, " '", one.folder, "' ", one.stem, " ", one.format);
  const Ran ran = RunCommand(command);
  if (ran.status == 0) return ran.output;
  return absl::StrCat("status ", ran.status, "\n", ran.output);
}

}  // namespace lanista

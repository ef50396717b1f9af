// The source code of every aten operator, run by Python.
#include <ATen/core/ivalue.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gtest/gtest.h"
#include "src/exporters/graph_formats_torch.h"
#include "tests/exporters/exported_model.h"
#include "tests/ops/aten_samples.h"

namespace lanista {
namespace {

// The call as a model with the tensors as inputs.
v1::ModelGraph ModelOf(const ops::Call& call) {
  v1::ModelGraph model;
  model.set_version(1);
  v1::Graph* const graph = model.add_graphs();
  graph->set_name("net");
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    v1::Port* const port = graph->add_inputs();
    port->set_name(absl::StrCat("x", i));
    *port->mutable_type() = call.types[i];
  }
  *graph->add_nodes() = call.node;
  graph->add_outputs()->set_node(call.node.name());
  return model;
}

std::vector<at::Tensor> Copies(const std::vector<c10::IValue>& values) {
  std::vector<at::Tensor> tensors;
  for (const c10::IValue& value : values) tensors.push_back(value.toTensor().clone());
  return tensors;
}

class AtenSourceTest : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Formats, AtenSourceTest, testing::Values("python", "torchscript"),
                         [](const auto& info) { return info.param; });

TEST_P(AtenSourceTest, GivesTheSameValuesInPython) {
  if (!HasPython("torch")) GTEST_SKIP() << "/usr/bin/python3 has no torch";
  std::vector<Export> exports;
  for (const ops::Sample& sample : ops::Samples()) {
    if (absl::StrContains(sample.type, "empty")) continue;
    // Python has a dtype and a device where LibTorch has a number and a device of its own.
    if (absl::StartsWith(sample.type, "prim::")) continue;
    SCOPED_TRACE(absl::StrCat(sample.type, " ", sample.arguments));
    const ops::Call call = ops::CallOf(sample);
    const auto module = BuildModel(ModelOf(call));
    // The name of the operator, for messages.
    const std::string stem = absl::StrCat(absl::StrReplaceAll(sample.type, {{".", "_"}}), "_", exports.size());
    const std::string folder = TestFolder(absl::StrCat("aten_", GetParam(), "/", stem));
    const auto files = exporters::WriteModel(*module, GetParam(), folder + "/" + stem);
    EXPECT_TRUE(files.ok()) << files.status();
    if (!files.ok()) continue;
    // Operators in place change what they are given.
    WriteTensors(folder + "/data.pt",
                 {{"inputs", Copies(call.inputs)}, {"outputs", Evaluate(*module, Copies(call.inputs))}});
    exports.push_back({folder, stem, GetParam()});
  }
  EXPECT_EQ(CheckExports(exports), "");
}

}  // namespace
}  // namespace lanista

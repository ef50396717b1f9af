#include <ATen/ATen.h>
#include <sys/resource.h>
#include <torch/csrc/jit/serialization/import.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>

#include "absl/strings/substitute.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "src/exporters/common/formats.h"
#include "src/exporters/common/source_model.h"
#include "src/exporters/graph_formats_torch.h"
#include "src/runtime/graph_module_torch.h"
#include "tests/exporters/exported_model.h"

namespace lanista {
namespace {

using exporters::WriteModel;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

std::string ReadText(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// Writes `module` in `format` and lets Python compare it with what the module gives; trains a step, too.
void ExpectSameInPython(runtime::GraphModule& module, const std::vector<at::Tensor>& inputs, const std::string& format,
                        const std::string& name) {
  if (!HasPython(format == "onnx" ? "torch, onnx" : "torch")) GTEST_SKIP() << "/usr/bin/python3 has no torch";
  const std::string folder = TestFolder(name);
  const auto files = WriteModel(module, format, folder + "/net");
  ASSERT_TRUE(files.ok()) << files.status();
  std::map<std::string, std::vector<at::Tensor>> data = {{"inputs", inputs}, {"outputs", Evaluate(module, inputs)}};
  if (format != "onnx") data["training"] = Train(module, inputs);
  WriteTensors(folder + "/data.pt", data);
  EXPECT_EQ(CheckExport(folder, "net", format), "") << ReadText(folder + "/net.py");
}

class GraphFormatsTest : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Formats, GraphFormatsTest, testing::Values("python", "torchscript", "onnx"),
                         [](const auto& info) { return info.param; });

TEST_P(GraphFormatsTest, ASmallNetworkGivesTheSameValues) {
  at::manual_seed(1);
  ExpectSameInPython(*BuildModel(SmallNet()), {at::randn({2, 3, 8, 8})}, GetParam(), "small_" + GetParam());
}

TEST(GraphFormats, EachSaysWhatItNeedsAndWrites) {
  for (const exporters::Format& format : exporters::Formats()) {
    EXPECT_NE(format.rules.needs(), v1::ExportFormat::NEEDS_UNSPECIFIED) << format.name;
    EXPECT_GT(format.rules.file_size(), 0) << format.name;
    for (const v1::ExportedFile& file : format.rules.file()) {
      EXPECT_THAT(file.suffix(), testing::StartsWith(".")) << format.name;
      EXPECT_FALSE(file.mark().empty()) << format.name;
    }
  }
}

TEST(GraphFormats, EachWritesTheFilesThatItIsKnownFor) {
  const auto module = BuildModel(SmallNet());
  for (const exporters::Format& format : exporters::Formats()) {
    if (format.rules.needs() != v1::ExportFormat::GRAPH) continue;
    const std::string stem = TestFolder("files_" + format.name) + "/net";
    const auto files = WriteModel(*module, format.name, stem);
    ASSERT_TRUE(files.ok()) << files.status();
    std::vector<std::string> known;
    for (const v1::ExportedFile& file : format.rules.file()) known.push_back(stem + file.suffix());
    EXPECT_THAT(*files, testing::UnorderedElementsAreArray(known)) << format.name;
    // They carry the marks of the format.
    EXPECT_TRUE(exporters::CheckReplaceable(format.name, stem).ok()) << format.name;
  }
}

TEST_P(GraphFormatsTest, ParametersConstantsAndAssertionsGiveTheSameValues) {
  at::manual_seed(2);
  const auto module = BuildModel(R"(
    version: 1
    graphs {
      name: "net"
      inputs { name: "in put" type { kind: TENSOR data_type: FLOAT32 shape { dims: [-1, 4] } } }
      inputs { name: "self" type { kind: TENSOR data_type: FLOAT32 shape { dims: [-1, 4] } } }
      nodes { name: "k" op { type: "Constant" attr { key: "value" value { tensor {
        data_type: FLOAT32 dims: 4 data: "\000\000\200?\000\000\000?\000\000\200?\000\000\000@" } } } } }
      nodes { name: "scaled" inputs { node: "in put" arg: "self" } inputs { node: "k" arg: "other" }
        op { type: "aten::mul.Tensor" } }
      nodes { name: "both" inputs { node: "scaled" arg: "tensors" } inputs { node: "self" arg: "tensors" }
        op { type: "aten::cat" attr { key: "dim" value { i: 1 } } } }
      nodes { name: "train" inputs { node: "both" } op { type: "Linear"
        attr { key: "in_features" value { i: 8 } } attr { key: "out_features" value { i: 8 } } } frozen: true }
      nodes { name: "__private" inputs { node: "train" } op { type: "Linear"
        attr { key: "in_features" value { i: 8 } } attr { key: "out_features" value { i: 8 } } } }
      nodes { name: "softmax" inputs { node: "__private" arg: "self" } op { type: "aten::softmax.int"
        attr { key: "dim" value { i: -1 } } } }
      outputs { node: "softmax" } outputs { node: "scaled" }
    })");
  ExpectSameInPython(*module, {at::randn({3, 4}), at::randn({3, 4})}, GetParam(), "names_" + GetParam());
}

TEST(GraphFormats, ListsAndTuplesGiveTheSameValues) {
  at::manual_seed(3);
  const auto module = BuildModel(R"(
    version: 1
    graphs {
      name: "net"
      inputs { name: "x" type { kind: TENSOR data_type: FLOAT32 shape { dims: [-1, 4] } } }
      nodes { name: "n" inputs { node: "x" arg: "self" } op { type: "aten::size.int" attr { key: "dim" value { i: 0 } } } }
      nodes { name: "size" inputs { node: "n" } op { type: "prim::ListConstruct"
        attr { key: "1" value { i: 2 } } attr { key: "2" value { i: -1 } } } }
      nodes { name: "view" inputs { node: "x" arg: "self" } inputs { node: "size" arg: "size" } op { type: "aten::view" } }
      nodes { name: "chunks" inputs { node: "view" arg: "self" } op { type: "aten::chunk"
        attr { key: "chunks" value { i: 2 } } attr { key: "dim" value { i: 1 } } } }
      nodes { name: "halves" inputs { node: "chunks" } op { type: "prim::ListUnpack" } }
      nodes { name: "pair" inputs { node: "halves" slot: 1 } inputs { node: "halves" } op { type: "prim::TupleConstruct" } }
      nodes { name: "cell" inputs { node: "pair" } cell { graph: "Swap" } }
      nodes { name: "all" inputs { node: "chunks" } op { type: "aten::cat" attr { key: "dim" value { i: 2 } } } }
      outputs { node: "cell" } outputs { node: "cell" slot: 1 } outputs { node: "all" }
    }
    graphs {
      name: "Swap" inputs { name: "pair" type { kind: TUPLE elements { kind: TENSOR } elements { kind: TENSOR } } }
      nodes { name: "parts" inputs { node: "pair" } op { type: "prim::TupleUnpack" } }
      nodes { name: "relu" inputs { node: "parts" slot: 1 } op { type: "ReLU" } }
      outputs { node: "relu" } outputs { node: "parts" }
    })");
  for (const std::string format : {"python", "torchscript"}) {
    ExpectSameInPython(*module, {at::randn({3, 4})}, format, "lists_" + format);
  }
}

TEST(GraphFormats, NestedOutputsStayNested) {
  const auto module = BuildModel(R"(
    version: 1
    graphs {
      name: "net"
      inputs { name: "x" type { kind: TENSOR data_type: FLOAT32 shape { dims: [-1, 4] } } }
      nodes { name: "one" inputs { node: "x" arg: "self" } op { type: "aten::add.Scalar" attr { key: "other" value { i: 1 } } } }
      nodes { name: "two" inputs { node: "x" arg: "self" } op { type: "aten::mul.Scalar" attr { key: "other" value { i: 2 } } } }
      nodes { name: "tuple" inputs { node: "one" } inputs { node: "two" } op { type: "prim::TupleConstruct" } }
      outputs { node: "x" } outputs { node: "tuple" }
    })");
  const std::string folder = TestFolder("nested");
  for (const std::string format : {"python", "cpp", "torchscript", "onnx"}) {
    ASSERT_TRUE(WriteModel(*module, format, folder + "/" + format).ok()) << format;
  }
  torch::jit::Module script = torch::jit::load(folder + "/torchscript.pt");
  EXPECT_EQ(script.get_method("forward").function().getSchema().returns().at(0).type()->str(),
            "(Tensor, (Tensor, Tensor))");
  EXPECT_THAT(ReadText(folder + "/cpp.h"), HasSubstr("return std::make_tuple(x, tuple"));
  EXPECT_THAT(ReadText(folder + "/python.py"), testing::ContainsRegex("return x, tuple"));
}

// As in attention's (C // h) ** -0.5.
TEST_P(GraphFormatsTest, TensorsAndPowersOfNumbersGiveTheSameValues) {
  at::manual_seed(4);
  const auto module = BuildModel(R"(
    version: 1
    graphs {
      name: "net"
      inputs { name: "x" type { kind: TENSOR data_type: FLOAT32 shape { dims: [-1, 4] } } }
      nodes { name: "row" op { type: "aten::tensor" attr { key: "data" value { list {
        values { f: 0.5 } values { f: 1.5 } values { f: 2 } values { f: 3 } } } } } }
      nodes { name: "scaled" inputs { node: "x" arg: "self" } inputs { node: "row" arg: "other" } op { type: "aten::mul.Tensor" } }
      nodes { name: "n" inputs { node: "x" arg: "self" } op { type: "aten::size.int" attr { key: "dim" value { i: 1 } } } }
      nodes { name: "root" inputs { node: "n" arg: "a" } op { type: "aten::pow.int_float" attr { key: "b" value { f: -0.5 } } } }
      nodes { name: "rooted" inputs { node: "scaled" arg: "self" } inputs { node: "root" arg: "other" } op { type: "aten::mul.Scalar" } }
      nodes { name: "range" op { type: "aten::arange" attr { key: "end" value { i: 4 } } } }
      nodes { name: "sum" inputs { node: "rooted" arg: "self" } inputs { node: "range" arg: "other" } op { type: "aten::add.Tensor" } }
      nodes { name: "fc" inputs { node: "sum" } op { type: "Linear"
        attr { key: "in_features" value { i: 4 } } attr { key: "out_features" value { i: 2 } } } }
      outputs { node: "fc" }
    })");
  ExpectSameInPython(*module, {at::randn({3, 4})}, GetParam(), "numbers_" + GetParam());
}

// As in x[mask].
TEST(GraphFormats, ListsOfOptionalTensorsGiveTheSameValues) {
  const auto module = BuildModel(R"(
    version: 1
    graphs {
      name: "net"
      inputs { name: "x" type { kind: TENSOR data_type: FLOAT32 shape { dims: [-1, 4] } } }
      nodes { name: "mask" inputs { node: "x" arg: "self" } op { type: "aten::gt.Scalar" attr { key: "other" value { i: 0 } } } }
      nodes { name: "list" inputs { node: "mask" arg: "0" } op { type: "prim::ListConstruct" } }
      nodes { name: "index" inputs { node: "x" arg: "self" } inputs { node: "list" arg: "indices" } op { type: "aten::index.Tensor" } }
      outputs { node: "index" }
    })");
  for (const std::string format : {"python", "torchscript"}) {
    ExpectSameInPython(*module, {at::randn({3, 4})}, format, "mask_" + format);
  }
}

TEST(GraphFormats, WritesTheFilesThatItNames) {
  const std::string folder = TestFolder("names");
  const auto module = BuildModel(SmallNet());
  const auto files_of = [&](const std::string& format) {
    const auto files = WriteModel(*module, format, folder + "/a");
    EXPECT_TRUE(files.ok()) << files.status();
    return files.value_or(std::vector<std::string>());
  };
  EXPECT_THAT(files_of("python"), ElementsAre(folder + "/a.py", folder + "/a.pt"));
  EXPECT_THAT(files_of("cpp"), ElementsAre(folder + "/a.h", folder + "/a.weights.pt"));
  EXPECT_THAT(files_of("onnx"), ElementsAre(folder + "/a.onnx"));
  // Nothing but these: no temporary file is left.
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator()), 5);
  // An earlier export is replaced.
  files_of("python");
  files_of("cpp");
  files_of("onnx");
}

TEST(GraphFormats, ReplaceOnlyExportsOfTheirOwn) {
  const std::string folder = TestFolder("replaces");
  const auto module = BuildModel(SmallNet());
  const auto error_of = [&](const std::string& format, const std::string& stem) {
    return std::string(WriteModel(*module, format, folder + "/" + stem).status().message());
  };
  // Both call a file STEM.pt.
  EXPECT_EQ(error_of("python", "a"), "");
  EXPECT_THAT(error_of("torchscript", "a"), HasSubstr("a.pt is not replaced: it is the weights of "));
  EXPECT_EQ(error_of("torchscript", "b"), "");
  EXPECT_EQ(error_of("torchscript", "b"), "");
  EXPECT_THAT(error_of("python", "b"), HasSubstr("b.pt is not replaced: it is not the weights of "));
  EXPECT_FALSE(std::filesystem::exists(folder + "/b.py"));
  // The user's own source.
  std::ofstream(folder + "/net.py") << "class Net: pass\n";
  std::ofstream(folder + "/net.h") << "class Net {};\n";
  EXPECT_THAT(error_of("python", "net"), HasSubstr("net.py is not replaced: Lanista did not write it"));
  EXPECT_THAT(error_of("cpp", "net"), HasSubstr("net.h is not replaced: Lanista did not write it"));
  // A model or weights of the user's own, and what another program made of ours.
  std::ofstream(folder + "/mine.pt") << "my model";
  EXPECT_THAT(error_of("torchscript", "mine"), HasSubstr("mine.pt is not replaced: Lanista did not write it"));
  std::ofstream(folder + "/mine.weights.pt") << "my weights";
  EXPECT_THAT(error_of("cpp", "mine"), HasSubstr("mine.weights.pt is not replaced: Lanista did not write it"));
  EXPECT_FALSE(std::filesystem::exists(folder + "/mine.h"));
  std::ofstream(folder + "/a.pt") << "my weights";
  EXPECT_THAT(error_of("python", "a"), HasSubstr("a.pt is not replaced: Lanista did not write it"));
  torch::jit::load(folder + "/b.pt").save(folder + "/b.pt");
  EXPECT_THAT(error_of("torchscript", "b"), HasSubstr("b.pt is not replaced: Lanista did not write it"));
  std::ofstream(folder + "/mine.onnx") << "a graph of the package lanista_models";
  EXPECT_THAT(error_of("onnx", "mine"), HasSubstr("mine.onnx is not replaced: Lanista did not write it"));
  EXPECT_EQ(ReadText(folder + "/mine.pt"), "my model");
  EXPECT_EQ(ReadText(folder + "/mine.weights.pt"), "my weights");
  EXPECT_EQ(ReadText(folder + "/a.pt"), "my weights");
  // Whole models and weights.
  ASSERT_EQ(error_of("torchscript", "script"), "");
  std::filesystem::copy_file(folder + "/script.pt", folder + "/c.weights.pt");
  EXPECT_THAT(error_of("cpp", "c"), HasSubstr("c.weights.pt is not replaced: it is a model in TorchScript"));
  ASSERT_TRUE(module->Save(folder + "/trained.pt").ok());
  EXPECT_THAT(error_of("torchscript", "trained"), HasSubstr("trained.pt is not replaced: it is a model's weights"));
}

TEST(GraphFormats, AFullDiskIsAnErrorInEveryFormat) {
  const std::string folder = TestFolder("full");
  const auto module = BuildModel(SmallNet());
  // The limit of a file's size stands in for the disk's: writes fail in the same places.
  const auto old_handler = signal(SIGXFSZ, SIG_IGN);
  struct rlimit old_limit = {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &old_limit), 0);
  const struct rlimit small = {64, old_limit.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  std::map<std::string, absl::Status> written;
  for (const std::string format : {"python", "cpp", "torchscript", "onnx"}) {
    written[format] = WriteModel(*module, format, folder + "/net").status();
  }
  const absl::Status weights = module->Save(folder + "/weights.pt");
  setrlimit(RLIMIT_FSIZE, &old_limit);
  signal(SIGXFSZ, old_handler);
  for (const auto& [format, status] : written) {
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << format << ": " << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("cannot write " + folder + "/net")) << format;
    EXPECT_THAT(std::string(status.message()), HasSubstr("File too large")) << format;
  }
  EXPECT_EQ(weights.message(), "cannot write " + folder + "/weights.pt: File too large");
  EXPECT_TRUE(std::filesystem::is_empty(folder)) << "no part of a file is left";
}

TEST(GraphFormats, OverwriteNoInput) {
  const std::string folder = TestFolder("inputs");
  const auto model = BuildModel(SmallNet());
  ASSERT_TRUE(WriteModel(*model, "torchscript", folder + "/net").ok()) << "its own export could be replaced";
  const auto written = WriteModel(*model, "torchscript", folder + "/net", {}, {folder + "/net.pt"});
  EXPECT_EQ(written.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(written.status().message()), HasSubstr("a file that is read here"));
}

TEST(GraphFormats, TheSourceReadsAsAPersonWritesIt) {
  const std::string folder = TestFolder("source");
  ASSERT_TRUE(WriteModel(*BuildModel(SmallNet()), "python", folder + "/net").ok());
  const std::string source = ReadText(folder + "/net.py");
  EXPECT_THAT(source, HasSubstr("class Block(nn.Module):"));
  EXPECT_THAT(source, HasSubstr("        self.layers = nn.ModuleList([Block(), Block()])\n"));
  EXPECT_THAT(source, HasSubstr("        x = self.layers[0](x)\n"));
  EXPECT_THAT(source, HasSubstr("        if self.training:\n"));
  EXPECT_THAT(source, HasSubstr("    from net import Model\n"));
  // What `export` calls its files.
  ASSERT_TRUE(WriteModel(*BuildModel(SmallNet()), "python", folder + "/1-model-17").ok());
  EXPECT_THAT(ReadText(folder + "/1-model-17.py"), HasSubstr("importlib.import_module(\"1-model-17\").Model"));
}

// As in torchvision: an assertion on sizes, two blocks of one kind, sizes that are read on the way.
TEST(GraphFormats, SizesStandWhereTheyAreReadAndEqualBlocksShareAClass) {
  const auto module = BuildModel(R"(
    version: 1
    graphs {
      name: "net"
      inputs { name: "input" type { kind: TENSOR data_type: FLOAT32 shape { dims: [-1, 4] } } }
      nodes { name: "dim" inputs { node: "input" arg: "self" } op { type: "aten::dim" } }
      nodes { name: "eq" inputs { node: "dim" arg: "a" } op { type: "aten::eq.int" attr { key: "b" value { i: 2 } } } }
      nodes { name: "assert" inputs { node: "eq" }
        op { type: "Assert" attr { key: "message" value { s: "AssertionError: a matrix" } } } }
      nodes { name: "one" inputs { node: "input" } cell { graph: "Block" } }
      nodes { name: "two" inputs { node: "one" } cell { graph: "Block_2" } }
      nodes { name: "sizes" inputs { node: "two" arg: "self" } op { type: "aten::size" } }
      nodes { name: "n" inputs { node: "sizes" arg: "list" }
        op { type: "aten::__getitem__.t" attr { key: "idx" value { i: 0 } } } }
      nodes { name: "m" inputs { node: "two" arg: "self" } op { type: "aten::size.int" attr { key: "dim" value { i: 1 } } } }
      nodes { name: "less" inputs { node: "m" arg: "a" } op { type: "aten::sub.int" attr { key: "b" value { i: 2 } } } }
      nodes { name: "twice" inputs { node: "less" arg: "b" } op { type: "aten::mul.int" attr { key: "a" value { i: 1 } } } }
      nodes { name: "list" inputs { node: "n" arg: "0" } inputs { node: "twice" arg: "1" }
        op { type: "prim::ListConstruct" attr { key: "2" value { i: -1 } } } }
      nodes { name: "view" inputs { node: "two" arg: "self" } inputs { node: "list" arg: "size" } op { type: "aten::view" } }
      nodes { name: "less_2" inputs { node: "view" arg: "self" } op { type: "aten::rsub.Scalar" attr { key: "other" value { f: 0.1 } } } }
      nodes { name: "height" inputs { node: "less_2" arg: "self" } op { type: "aten::size.int" attr { key: "dim" value { i: 1 } } } }
      nodes { name: "t" inputs { node: "less_2" arg: "self" } op { type: "aten::relu" } }
      nodes { name: "last" inputs { node: "height" arg: "0" } op { type: "prim::ListConstruct" attr { key: "1" value { i: -1 } } } }
      nodes { name: "end" inputs { node: "t" arg: "self" } inputs { node: "last" arg: "size" } op { type: "aten::view" } }
      outputs { node: "end" }
    }
    graphs {
      name: "Block" inputs { name: "x" }
      nodes { name: "fc" inputs { node: "x" } op { type: "Linear"
        attr { key: "in_features" value { i: 4 } } attr { key: "out_features" value { i: 4 } } } }
      nodes { name: "add" inputs { node: "fc" arg: "self" } inputs { node: "x" arg: "other" } op { type: "aten::add.Tensor" } }
      outputs { node: "add" }
    }
    graphs {
      name: "Block_2" inputs { name: "x" }
      nodes { name: "fc" inputs { node: "x" } op { type: "Linear"
        attr { key: "in_features" value { i: 4 } } attr { key: "out_features" value { i: 4 } } } }
      nodes { name: "add" inputs { node: "fc" arg: "self" } inputs { node: "x" arg: "other" } op { type: "aten::add.Tensor" } }
      outputs { node: "add" }
    })");
  const std::string folder = TestFolder("sizes");
  ASSERT_TRUE(WriteModel(*module, "python", folder + "/net").ok());
  const std::string python = ReadText(folder + "/net.py");
  EXPECT_THAT(python, HasSubstr("        self.one = Block()\n        self.two = Block()\n"));
  EXPECT_THAT(python, HasSubstr("        out = out + x\n"));
  EXPECT_THAT(python, HasSubstr("    def forward(self, input):\n"
                                "        assert input.dim() == 2, \"a matrix\"\n"
                                "        x = self.one(input)\n"
                                "        x = self.two(x)\n"
                                "        x = x.view(x.shape[0], 1 * (x.size(1) - 2), -1)\n"
                                "        x = 0.1 - x\n"
                                "        height = x.size(1)\n"
                                "        x = torch.relu(x)\n"
                                "        x = x.view(height, -1)\n"
                                "        return x\n"));
  ASSERT_TRUE(WriteModel(*module, "cpp", folder + "/net").ok());
  const std::string cpp = ReadText(folder + "/net.h");
  EXPECT_THAT(cpp, HasSubstr("TORCH_CHECK(input.dim() == 2, "));
  EXPECT_THAT(cpp, HasSubstr("std::vector<int64_t>{x.size(0), 1 * (x.size(1) - 2), -1}"));
  EXPECT_THAT(cpp, Not(HasSubstr("Block2")));
  ExpectSameInPython(*module, {at::randn({3, 4})}, "python", "sizes_values");
}

// As in timm's DropPath and in causal masks.
TEST(GraphFormats, OperatorsWithoutASchemaAreCalledAsPeopleDo) {
  const auto module = BuildModel(R"(
    version: 1
    graphs {
      name: "net"
      inputs { name: "x" type { kind: TENSOR data_type: FLOAT32 shape { dims: [-1, 4] } } }
      nodes { name: "sizes" inputs { node: "x" arg: "self" } op { type: "aten::size" } }
      nodes { name: "n" inputs { node: "sizes" arg: "list" }
        op { type: "aten::__getitem__.t" attr { key: "idx" value { i: 0 } } } }
      nodes { name: "first" inputs { node: "n" arg: "0" } op { type: "prim::ListConstruct" } }
      nodes { name: "both" inputs { node: "first" arg: "a" }
        op { type: "aten::add.t" attr { key: "b" value { list { values { i: 1 } } } } } }
      nodes { name: "noise" inputs { node: "x" arg: "self" } inputs { node: "both" arg: "size" }
        op { type: "aten::new_empty" } }
      nodes { name: "mask" inputs { node: "noise" arg: "self" }
        op { type: "aten::bernoulli_.float" attr { key: "p" value { f: 0.5 } } } }
      nodes { name: "mul" inputs { node: "x" arg: "self" } inputs { node: "mask" arg: "other" }
        op { type: "aten::mul.Tensor" } }
      nodes { name: "triu" inputs { node: "mul" arg: "self" }
        op { type: "aten::triu" attr { key: "diagonal" value { i: 1 } } } }
      nodes { name: "halves" inputs { node: "triu" arg: "self" }
        op { type: "aten::chunk" attr { key: "chunks" value { i: 2 } } attr { key: "dim" value { i: 1 } } } }
      nodes { name: "unpack" inputs { node: "halves" } op { type: "prim::ListUnpack" } outputs { kind: TENSOR } outputs { kind: TENSOR } }
      nodes { name: "sum" inputs { node: "unpack" slot: 1 arg: "self" } inputs { node: "unpack" arg: "other" }
        op { type: "aten::sub.Tensor" attr { key: "alpha" value { i: 2 } } } }
      outputs { node: "sum" }
    })");
  const std::string folder = TestFolder("people");
  ASSERT_TRUE(WriteModel(*module, "python", folder + "/net").ok());
  EXPECT_THAT(ReadText(folder + "/net.py"), HasSubstr("        out = x.new_empty([x.shape[0]] + [1])\n"
                                                      "        out = out.bernoulli_(0.5)\n"
                                                      "        x = x * out\n"
                                                      "        x = torch.triu(x, 1)\n"
                                                      "        x, out = torch.chunk(x, 2, 1)\n"
                                                      "        out = torch.sub(out, x, alpha=2)\n"
                                                      "        return out\n"));
  ExpectSameInPython(*module, {at::randn({3, 4})}, "python", "people_values");
}

TEST(GraphFormats, AnUnknownFormatIsRefusedWithTheKnownOnes) {
  const auto files = WriteModel(*BuildModel(SmallNet()), "tensorflow", TestFolder("unknown") + "/net");
  EXPECT_EQ(files.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(files.status().message()), HasSubstr("cpp, onnx, python, torchscript"));
}

TEST(GraphFormats, InputsOfTheEmbeddingFunctionAreIndicesInOnnx) {
  // As imported with input_shape: the input's elements are taken to be numbers.
  const auto module = BuildModel(R"(
    graphs {
      name: "net"
      inputs { name: "x" type { kind: TENSOR data_type: FLOAT32 shape { dims: [-1, 4] } } }
      nodes { name: "cell" inputs { node: "x" } cell { graph: "inner" } outputs {} }
      outputs { node: "cell" }
    }
    graphs {
      name: "inner"
      inputs { name: "x" }
      nodes { name: "table" op { type: "Parameter" attr { key: "shape" value { list { values { i: 9 } values { i: 3 } } } } } }
      nodes { name: "embedding" inputs { node: "table" arg: "weight" } inputs { node: "x" arg: "indices" }
              op { type: "aten::embedding" } outputs { kind: TENSOR } }
      outputs { node: "embedding" }
    })");
  const auto files = WriteModel(*module, "onnx", TestFolder("embedding_function") + "/net");
  EXPECT_TRUE(files.ok()) << files.status();
}

TEST_P(GraphFormatsTest, RecurrentNetworksWithReluGiveTheSameValues) {
  const auto module = BuildModel(R"(
    graphs {
      name: "net"
      inputs { name: "x" type { kind: TENSOR data_type: FLOAT32 shape { dims: [-1, 5, 4] } } }
      nodes { name: "rnn" inputs { node: "x" } op { type: "RNN"
              attr { key: "input_size" value { i: 4 } } attr { key: "hidden_size" value { i: 3 } }
              attr { key: "nonlinearity" value { s: "relu" } } attr { key: "batch_first" value { b: true } }
              attr { key: "bidirectional" value { b: true } } } outputs {} outputs {} }
      outputs { node: "rnn" }
    })");
  ExpectSameInPython(*module, {at::randn({2, 5, 4})}, GetParam(), "relu_rnn_" + GetParam());
}

// A network with `nodes`, of which "changed" is the last: they change what the first layer gave. It is added to what
// was before them.
std::string ChangedInPlace(const std::string& nodes, const std::string& read_later = "first") {
  return absl::Substitute(R"(
    graphs {
      name: "net"
      inputs { name: "x" type { kind: TENSOR data_type: FLOAT32 shape { dims: [-1, 4] } } }
      nodes { name: "first" inputs { node: "x" } op { type: "Linear"
              attr { key: "in_features" value { i: 4 } } attr { key: "out_features" value { i: 4 } } }
              outputs { kind: TENSOR } }
      $0
      nodes { name: "sum" inputs { node: "changed" arg: "self" } inputs { node: "$1" arg: "other" }
              op { type: "aten::add.Tensor" } outputs { kind: TENSOR } }
      outputs { node: "sum" }
    })",
                          nodes, read_later);
}

TEST_P(GraphFormatsTest, WhatAModuleChangesInPlaceIsReadChanged) {
  const auto module = BuildModel(ChangedInPlace(
      R"(nodes { name: "changed" inputs { node: "first" }
                 op { type: "ReLU" attr { key: "inplace" value { b: true } } } outputs { kind: TENSOR } })"));
  ExpectSameInPython(*module, {at::randn({3, 4})}, GetParam(), "relu_in_place_" + GetParam());
}

TEST_P(GraphFormatsTest, WhatACellChangesInPlaceIsReadChanged) {
  // The result of the change has no reader.
  const auto module =
      BuildModel(ChangedInPlace(R"(nodes { name: "changed" inputs { node: "first" } cell { graph: "inner" } })") + R"(
    graphs {
      name: "inner"
      inputs { name: "y" }
      nodes { name: "negative" inputs { node: "y" arg: "self" } op { type: "aten::neg" } outputs { kind: TENSOR } }
      nodes { name: "added" inputs { node: "y" arg: "self" } inputs { node: "negative" arg: "other" }
              op { type: "aten::add_.Tensor" attr { key: "alpha" value { i: 3 } } } outputs { kind: TENSOR } }
      outputs { node: "negative" }
    })");
  ExpectSameInPython(*module, {at::randn({3, 4})}, GetParam(), "cell_in_place_" + GetParam());
}

TEST(GraphFormats, OnnxKnowsThatDropoutReturnsItsInput) {
  const auto module = BuildModel(ChangedInPlace(R"(
      nodes { name: "dropout" inputs { node: "first" } op { type: "Dropout" } outputs { kind: TENSOR } }
      nodes { name: "changed" inputs { node: "dropout" }
              op { type: "ReLU" attr { key: "inplace" value { b: true } } } outputs { kind: TENSOR } })"));
  ExpectSameInPython(*module, {at::randn({3, 4})}, "onnx", "dropout_in_place");
}

TEST(GraphFormats, PiecesAndEqualConstantsHaveMemoryOfTheirOwnInOnnx) {
  // The second half and the other constant stay as they are.
  const std::string constant = R"(op { type: "aten::tensor" attr { key: "data" value { list {
      values { f: 1 } values { f: 0.5 } } } } } outputs { kind: TENSOR })";
  const auto module = BuildModel(ChangedInPlace(absl::Substitute(R"(
      nodes { name: "one" $0 }
      nodes { name: "two" $0 }
      nodes { name: "chunks" inputs { node: "first" arg: "self" } op { type: "aten::chunk"
              attr { key: "chunks" value { i: 2 } } attr { key: "dim" value { i: 1 } } } }
      nodes { name: "halves" inputs { node: "chunks" } op { type: "prim::ListUnpack" } outputs {} outputs {} }
      nodes { name: "added" inputs { node: "one" arg: "self" } inputs { node: "two" arg: "other" }
              op { type: "aten::add_.Tensor" } outputs { kind: TENSOR } }
      nodes { name: "left" inputs { node: "halves" arg: "self" } inputs { node: "added" arg: "other" }
              op { type: "aten::mul_.Tensor" } outputs { kind: TENSOR } }
      nodes { name: "right" inputs { node: "halves" slot: 1 arg: "self" } inputs { node: "two" arg: "other" }
              op { type: "aten::mul.Tensor" } outputs { kind: TENSOR } }
      nodes { name: "changed" inputs { node: "left" arg: "tensors" } inputs { node: "right" arg: "tensors" }
              op { type: "aten::cat" attr { key: "dim" value { i: 1 } } } outputs { kind: TENSOR } })",
                                                                 constant),
                                                /*read_later=*/"x"));
  ExpectSameInPython(*module, {at::randn({3, 4})}, "onnx", "pieces_in_place");
}

TEST(GraphFormats, OnnxRefusesAChangeThatIsReadUnderAnotherView) {
  const auto module = BuildModel(ChangedInPlace(R"(
      nodes { name: "view" inputs { node: "first" arg: "self" } op { type: "aten::view" attr { key: "size" value {
              list { values { i: -1 } values { i: 2 } values { i: 2 } } } } } outputs { kind: TENSOR } }
      nodes { name: "clamped" inputs { node: "view" arg: "self" }
              op { type: "aten::clamp_" attr { key: "min" value { f: 0 } } } outputs { kind: TENSOR } }
      nodes { name: "changed" inputs { node: "clamped" }
              op { type: "Flatten" } outputs { kind: TENSOR } })"));
  const auto files = WriteModel(*module, "onnx", TestFolder("view_in_place") + "/net");
  EXPECT_EQ(files.status().code(), absl::StatusCode::kUnimplemented) << files.status();
  EXPECT_THAT(
      std::string(files.status().message()),
      AllOf(HasSubstr("node 'clamped'"), HasSubstr("changes in place what may be read later under another view")));
}

TEST(GraphFormats, PythonKeepsTextsThatAreNotAscii) {
  const std::string folder = TestFolder("texts");
  const auto module = BuildModel(R"(
    graphs {
      name: "net"
      inputs { name: "x" }
      nodes { name: "dim" inputs { node: "x" arg: "self" } op { type: "aten::dim" } outputs { kind: INT } }
      nodes { name: "eq" inputs { node: "dim" arg: "a" }
              op { type: "aten::eq.int" attr { key: "b" value { i: 2 } } } outputs { kind: BOOLEAN } }
      nodes { name: "assert" inputs { node: "eq" }
              op { type: "Assert" attr { key: "message" value { s: "zu gro\303\237 \"hier\"" } } } }
      nodes { name: "relu" inputs { node: "x" arg: "self" } op { type: "aten::relu" } outputs { kind: TENSOR } }
      outputs { node: "relu" }
    })");
  ASSERT_TRUE(WriteModel(*module, "python", folder + "/net").ok());
  EXPECT_THAT(ReadText(folder + "/net.py"), HasSubstr("\"zu gro\u00df \\\"hier\\\"\""));
}

TEST(GraphFormats, OnnxAsksForTheShapeOfInputs) {
  std::string text = SmallNet();
  text.replace(text.find("shape { dims: [-1, 3, 8, 8] }"), 29, "");
  const auto files = WriteModel(*BuildModel(text), "onnx", TestFolder("shapeless") + "/net");
  EXPECT_EQ(files.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(files.status().message()), HasSubstr("input_shape"));
}

TEST(GraphFormats, AFailureLeavesWhatWasThere) {
  const std::string folder = TestFolder("failure");
  const std::string old = "// Some network, written by Lanista before.";
  std::ofstream(folder + "/net.h") << old;
  // LibTorch's C++ front end has no batch norm with a cumulative average.
  const auto module = BuildModel(R"(
    version: 1
    graphs {
      name: "net" inputs { name: "x" }
      nodes { name: "odd.one" inputs { node: "x" } op { type: "BatchNorm2d"
        attr { key: "num_features" value { i: 4 } } attr { key: "momentum" value {} } } }
      outputs { node: "odd.one" }
    })");
  const auto files = WriteModel(*module, "cpp", folder + "/net");
  ASSERT_FALSE(files.ok());
  EXPECT_THAT(std::string(files.status().message()), HasSubstr("odd.one"));
  EXPECT_EQ(ReadText(folder + "/net.h"), old);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator()), 1);
}

// ---- TorchScript, in C++ ----

TEST(TorchScriptExport, KeepsTheTreeOfModulesTheirClassesAndTheirHyperParameters) {
  const std::string folder = TestFolder("tree");
  const auto module = BuildModel(SmallNet());
  ASSERT_TRUE(WriteModel(*module, "torchscript", folder + "/net").ok());
  const torch::jit::Module script = torch::jit::load(folder + "/net.pt");
  std::set<std::string> names;
  for (const auto& item : script.named_parameters()) names.insert(item.name);
  for (const auto& item : script.named_buffers()) names.insert(item.name);
  std::set<std::string> expected;
  for (const auto& item : module->named_parameters()) expected.insert(item.key());
  for (const auto& item : module->named_buffers()) expected.insert(item.key());
  EXPECT_EQ(names, expected);
  const torch::jit::Module conv = script.attr("stem").toModule().attr("conv").toModule();
  EXPECT_THAT(conv.type()->name()->qualifiedName(), testing::MatchesRegex(".*torch.nn.modules.conv.*Conv2d"));
  EXPECT_EQ(conv.type()->getConstant("out_channels").toInt(), 4);
}

TEST(TorchScriptExport, TrainsAsTheModelDoes) {
  const std::string folder = TestFolder("training");
  const auto module = BuildModel(SmallNet());
  const at::Tensor input = at::randn({4, 3, 8, 8});
  ASSERT_TRUE(WriteModel(*module, "torchscript", folder + "/net").ok());
  torch::jit::Module script = torch::jit::load(folder + "/net.pt");
  EXPECT_FALSE(script.is_training());
  script.train();
  at::manual_seed(7);
  const at::Tensor output = script.forward({input}).toTensor();
  EXPECT_TRUE(at::allclose(output, Train(*module, {input})[0], 1e-5, 1e-6));
  // Batch norms counted, in both.
  EXPECT_TRUE(at::allclose(script.attr("stem").toModule().attr("bn").toModule().attr("running_mean").toTensor(),
                           module->named_buffers()["stem.bn.running_mean"]));
}

// ---- Opaque modules ----

std::shared_ptr<runtime::GraphModule> OpaqueNet(const std::string& folder) {
  auto module = BuildModel(absl::Substitute(R"(
    version: 1 archives { path: "$0" }
    graphs {
      name: "net"
      inputs { name: "x" type { kind: TENSOR data_type: FLOAT32 shape { dims: [-1, 4] } } }
      nodes { name: "fc" inputs { node: "x" } op { type: "Linear"
        attr { key: "in_features" value { i: 4 } } attr { key: "out_features" value { i: 4 } } } }
      nodes { name: "loop.a" inputs { node: "fc" } opaque { archive: 0 type: "Loop" } }
      nodes { name: "loop.b" inputs { node: "loop.a" } opaque { archive: 0 type: "Loop" } }
      outputs { node: "loop.b" }
    })",
                                            SaveLoop(folder, 4)));
  // Other weights than the archive's, and other ones in each.
  const at::NoGradGuard no_grad;
  for (auto& item : module->named_parameters()) item.value().normal_();
  return module;
}

TEST(OpaqueExport, PythonAndTorchScriptHoldTheModulesWithTheModelsWeights) {
  const auto module = OpaqueNet(TestFolder("opaque"));
  ASSERT_TRUE(module->named_parameters().contains("loop.a.inner.weight"));
  ExpectSameInPython(*module, {at::randn({3, 4})}, "python", "opaque_python");
  ExpectSameInPython(*module, {at::randn({3, 4})}, "torchscript", "opaque_torchscript");
}

TEST(OpaqueExport, OnnxNamesTheModuleThatItCannotHold) {
  const std::string folder = TestFolder("opaque_onnx");
  const auto files = WriteModel(*OpaqueNet(folder), "onnx", folder + "/net");
  EXPECT_EQ(files.status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(files.status().message()), HasSubstr("node 'loop.a' (Loop)"));
  EXPECT_FALSE(std::filesystem::exists(folder + "/net.onnx"));
}

}  // namespace
}  // namespace lanista

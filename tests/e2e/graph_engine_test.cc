// TorchScript in, a search over what mutators change, source code out: as a user does it.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/e2e/command.h"

namespace lanista {
namespace {

using ::testing::HasSubstr;

// With any torch that there is.
const std::string kPython = "/usr/bin/python3";

class GraphEngineTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (std::system((kPython + " -c 'import torch' 2>/dev/null").c_str()) != 0) GTEST_SKIP() << "needs python3-torch";
    folder_ = FreshFolder();
    std::filesystem::copy("examples/torchscript", folder_);
    ASSERT_EQ(RunCommand(kPython, {folder_ + "/make_net.py"}).exit_code, 0);
  }

  // The example, with little training.
  std::vector<std::string> Arguments(const std::string& command) const {
    const std::string classification = "evaluator.classification.";
    return {command,       folder_ + "/experiment.textproto",
            "--state-dir", folder_ + "/state",
            "--set",       classification + "dataset={ synthetic_digits { train_samples: 60 validation_samples: 30 } }",
            "--set",       classification + "max_train_batches=2",
            "--set",       classification + "max_epochs=1"};
  }

  std::string folder_;
};

TEST_F(GraphEngineTest, ASearchEndsWithTheBestModelsInEveryFormat) {
  std::vector<std::string> arguments = Arguments("run");
  arguments.push_back("--json");
  const CommandResult run = RunCommand(kLanista, arguments);
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const nlohmann::json document = run.Json();
  EXPECT_EQ(document["space_size"], "18");
  EXPECT_EQ(document["models"]["succeeded"], 18);

  // The weights of the three best are kept, and no others, and these models are left to look at.
  const std::string id = document["id"];
  std::map<std::string, int> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_ + "/state")) {
    ++files[entry.path().filename()];
  }
  EXPECT_EQ(files["weights.pt"], 3);
  EXPECT_EQ(files["model.onnx"], 3);

  for (const std::string format : {"python", "cpp", "torchscript", "onnx", "json"}) {
    const CommandResult exported = RunCommand(kLanista, {"export", id, "--top", "3", "--format", format, "--out",
                                                         folder_ + "/" + format, "--state-dir", folder_ + "/state"});
    EXPECT_EQ(exported.exit_code, 0) << format << ": " << exported.err;
  }

  const CommandResult untrained = RunCommand(kLanista, {"export", id, "--top", "4", "--format", "python", "--out",
                                                        folder_ + "/x", "--state-dir", folder_ + "/state"});
  EXPECT_EQ(untrained.exit_code, 2);
  EXPECT_THAT(untrained.err, HasSubstr("were not kept"));
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/x"));

  // Python gives what TorchScript gives, with the trained weights.
  const std::string model = document["best"][0]["model"].dump();
  const std::string script =
      absl::StrCat("import sys, importlib, torch; sys.path.insert(0, '", folder_, "/python'); name = '1-model-", model,
                   "'; ", "m = importlib.import_module(name).Model(); ", "m.load_state_dict(torch.load('", folder_,
                   "/python/' + name + '.pt', weights_only=True)); m.eval(); ", "j = torch.jit.load('", folder_,
                   "/torchscript/' + name + '.pt').eval(); x = torch.rand(4, 1, 28, 28); ",
                   "assert torch.allclose(m(x), j(x), atol=1e-5); ", "start = torch.jit.load('", folder_,
                   "/net.pt'); print((dict(m.named_parameters())['conv1.weight'] - ",
                   "dict(start.named_parameters())['conv1.weight']).abs().max().item() > 0)");
  const CommandResult compared = RunCommand(kPython, {"-c", script});
  EXPECT_EQ(compared.exit_code, 0) << compared.err;
  EXPECT_EQ(compared.out, "True\n");

  // The base model is the experiment's: another file in its place is no part of it.
  std::filesystem::copy_file(folder_ + "/dwconv.pt", folder_ + "/net.pt",
                             std::filesystem::copy_options::overwrite_existing);
  const CommandResult changed = RunCommand(kLanista, {"export", id, "--format", "torchscript", "--out",
                                                      folder_ + "/changed", "--state-dir", folder_ + "/state"});
  EXPECT_EQ(changed.exit_code, 2);
  EXPECT_THAT(changed.err, HasSubstr("net.pt has changed since the experiment began"));
}

TEST_F(GraphEngineTest, AnExportedModelScoresOnRawImagesWhatTheSearchSaid) {
  // Images of two classes, as MNIST's files have them: the upper half is brighter, or the lower one.
  const std::string make_images = absl::StrCat(R"(
import struct, torch
torch.manual_seed(1)
for part, count in (('train', 200), ('t10k', 100)):
    labels = torch.randint(2, (count,))
    images = torch.rand(count, 28, 28) * 200
    images[labels == 0, :14] += 20
    images[labels == 1, 14:] += 20
    with open(f')",
                                               folder_, R"(/{part}-images-idx3-ubyte', 'wb') as f:
        f.write(struct.pack('>IIII', 0x803, count, 28, 28) + bytes(images.to(torch.uint8).flatten().tolist()))
    with open(f')",
                                               folder_, R"(/{part}-labels-idx1-ubyte', 'wb') as f:
        f.write(struct.pack('>II', 0x801, count) + bytes(labels.tolist()))
)");
  ASSERT_EQ(RunCommand(kPython, {"-c", make_images}).exit_code, 0);
  const std::string classification = "evaluator.classification.";
  const CommandResult run = RunCommand(
      kLanista, {"run", folder_ + "/experiment.textproto", "--json", "--state-dir", folder_ + "/state", "--set",
                 absl::StrCat(classification, "dataset={ idx { root: '", folder_, "' classes: 10 } }"), "--set",
                 classification + "transform[0]={ normalize {} }", "--set", classification + "max_epochs=2", "--set",
                 "max_trial_number=2"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const nlohmann::json document = run.Json();
  const std::string id = document["id"];
  for (const std::string format : {"python", "onnx", "json", "weights"}) {
    ASSERT_EQ(RunCommand(kLanista, {"export", id, "--format", format, "--out", folder_ + "/out", "--state-dir",
                                    folder_ + "/state"})
                  .exit_code,
              0);
  }
  const std::string check = absl::StrCat(R"(
import importlib, json, sys, torch
sys.path.insert(0, ')",
                                         folder_, R"(/out')
name = '1-model-)",
                                         document["best"][0]["model"].dump(), R"('
module = importlib.import_module(name)
model = module.Model()
weights = torch.load(sys.path[0] + '/' + name + '.weights.pt', weights_only=True)
model.load_state_dict(weights)
raw = open(')",
                                         folder_, R"(/t10k-images-idx3-ubyte', 'rb').read()[16:]
images = torch.tensor(list(raw), dtype=torch.uint8).view(-1, 1, 28, 28).float() / 255
labels = torch.tensor(list(open(')",
                                         folder_, R"(/t10k-labels-idx1-ubyte', 'rb').read()[8:]))
scores = module.predict(model, images)
assert model.training, 'predict leaves the mode as it was'
accuracy = (scores.argmax(1) == labels).double().mean().item()
assert accuracy == )",
                                         document["best"][0]["default"].dump(), R"(, accuracy
loss = torch.nn.functional.cross_entropy(scores, labels).item()
assert abs(loss - )",
                                         document["best"][0]["metrics"]["loss"].dump(), R"() < 1e-5, loss
data = json.load(open(sys.path[0] + '/' + name + '.json'))['data']
assert data['input_shape'] == [1, 28, 28] and data['outputs'] == 10, data
assert 0.3 < data['preprocessing'][0]['standardization']['mean'][0] < 0.6, data
assert b'lanista.data' in open(sys.path[0] + '/' + name + '.onnx', 'rb').read()
)");
  const CommandResult checked = RunCommand(kPython, {"-c", check});
  EXPECT_EQ(checked.exit_code, 0) << checked.err;
}

TEST_F(GraphEngineTest, ImportsShowsAndConvertsAGraph) {
  const std::string graph = folder_ + "/net.textproto";
  const CommandResult imported =
      RunCommand(kLanista, {"import", folder_ + "/net.pt", "--out", graph, "--input-shape=-1,1,28,28"});
  ASSERT_EQ(imported.exit_code, 0) << imported.err;

  const nlohmann::json shown = RunCommand(kLanista, {"show-graph", graph, "--json"}).Json();
  EXPECT_EQ(shown["parameters"], 1199882);
  EXPECT_EQ(shown["nodes"][0]["name"], "conv1");
  EXPECT_EQ(shown["nodes"][0]["type"], "Conv2d");
  EXPECT_EQ(shown["nodes"].back()["shape"], nlohmann::json({-1, 10}));

  // Text, JSON and back: the same bytes.
  ASSERT_EQ(RunCommand(kLanista, {"convert", graph, "--format", "json", "--out", folder_ + "/a"}).exit_code, 0);
  ASSERT_EQ(
      RunCommand(kLanista, {"convert", folder_ + "/a.json", "--format", "text", "--out", folder_ + "/b"}).exit_code, 0);
  const auto content = [](const std::string& path) {
    std::ifstream file(path);
    return std::string((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  };
  EXPECT_EQ(content(folder_ + "/b.textproto"), content(graph));

  // Weights are kept: the same values as the original.
  ASSERT_EQ(RunCommand(kLanista, {"convert", graph, "--format", "torchscript", "--out", folder_ + "/c"}).exit_code, 0);
  const std::string script =
      absl::StrCat("import torch; a = torch.jit.load('", folder_, "/net.pt').eval(); b = torch.jit.load('", folder_,
                   "/c.pt').eval(); x = torch.rand(4, 1, 28, 28); assert torch.allclose(a(x), b(x), atol=1e-5)");
  const CommandResult compared = RunCommand(kPython, {"-c", script});
  EXPECT_EQ(compared.exit_code, 0) << compared.err;
}

TEST_F(GraphEngineTest, AChangedFileIsRefused) {
  const std::string graph = folder_ + "/net.graph";
  ASSERT_EQ(RunCommand(kLanista, {"import", folder_ + "/net.pt", "--out", graph}).exit_code, 0);
  std::filesystem::copy_file(folder_ + "/dwconv.pt", folder_ + "/net.pt",
                             std::filesystem::copy_options::overwrite_existing);
  const CommandResult converted =
      RunCommand(kLanista, {"convert", graph, "--format", "python", "--out", folder_ + "/x"});
  EXPECT_EQ(converted.exit_code, 2);
  EXPECT_THAT(converted.err, HasSubstr("is not the file that the graph was made from: import it again"));
}

TEST_F(GraphEngineTest, ATargetThatMatchesNothingListsNearNames) {
  std::vector<std::string> arguments = Arguments("validate");
  arguments.insert(arguments.end(), {"--set", "space.mutator[1].value_choice.target=dropout3"});
  const CommandResult validated = RunCommand(kLanista, arguments);
  EXPECT_EQ(validated.exit_code, 2);
  EXPECT_THAT(validated.err, HasSubstr("space.mutator[1]: no node matches 'dropout3'; near: dropout1, dropout2"));
}

TEST(BadGraphFilesTest, EveryFileThatIsNoModelIsRefusedByName) {
  const std::string folder = FreshFolder();
  const auto import = [&](const std::string& path) {
    return RunCommand(kLanista, {"import", path, "--out", folder + "/out.graph"});
  };
  EXPECT_THAT(import(folder + "/gone.pt").err, HasSubstr("gone.pt"));
  const std::string text = WriteFile("text.pt", "this is no zip file");
  const CommandResult refused = import(text);
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("text.pt is no TorchScript file"));
  const CommandResult shown = RunCommand(kLanista, {"show-graph", WriteFile("bad.textproto", "graphs {\n  nam: 1 }")});
  EXPECT_EQ(shown.exit_code, 2);
  EXPECT_THAT(shown.err, HasSubstr("line 2, column 6"));
}

}  // namespace
}  // namespace lanista

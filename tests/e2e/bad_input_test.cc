// What users get wrong: nothing starts, and the error says what to do.
#include <signal.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/e2e/command.h"

namespace lanista {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Matcher;
using ::testing::Not;

// A good configuration, to be spoiled.
std::string Config(const std::string& space, const std::string& evaluator, const std::string& rest = "") {
  return "space { registered: \"" + space + "\" } strategy { random {} } evaluator { " + evaluator + " }\n" + rest;
}

struct BadInput {
  std::string name;
  std::string config;
  Matcher<const std::string&> error;
};

class BadInputTest : public ::testing::TestWithParam<BadInput> {};

TEST_P(BadInputTest, NothingStartsAndTheErrorSaysWhatToDo) {
  const std::string state = FreshFolder();
  const std::string config = WriteFile("bad.textproto", GetParam().config);
  const CommandResult run = RunCommand(kFaultyProgram, {"run", config, "--state-dir", state});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, GetParam().error);
  EXPECT_TRUE(RunCommand(kLanista, {"list", "--json", "--state-dir", state}).Json()["experiments"].empty());
}

INSTANTIATE_TEST_SUITE_P(
    Configs, BadInputTest,
    ::testing::Values(
        BadInput{"UnknownField", Config("faulty", "constant {}", "max_trials: 5"),
                 AllOf(HasSubstr("bad.textproto:2"), HasSubstr("max_trials"), HasSubstr("max_trial_number"))},
        BadInput{"WrongType", Config("faulty", "constant {}", "max_trial_number: \"five\""),
                 HasSubstr("bad.textproto:2")},
        BadInput{"NotUtf8", Config("faulty", "constant {}", "name: \"caf\xe9\""),
                 HasSubstr("bad.textproto:2:1: name: 'caf\xef\xbf\xbd' is not UTF-8")},
        BadInput{
            "OneClass",
            Config("faulty", "classification { dataset { image_folder { root: \"nowhere\" height: -1 width: 1 } } }"),
            HasSubstr("bad.textproto:1:125: evaluator.classification.dataset.image_folder.height: must be in")},
        BadInput{"ZeroTrials", Config("faulty", "constant {}", "max_trial_number: 0"), HasSubstr("max_trial_number")},
        BadInput{"UnknownSpace", Config("nowhere", "constant {}"), AllOf(HasSubstr("nowhere"), HasSubstr("faulty"))},
        BadInput{"NoCandidates", Config("no_candidates", "constant {}"), HasSubstr("empty")},
        BadInput{"OneLabelTwoMeanings", Config("two_meanings", "constant {}"),
                 AllOf(HasSubstr("width"), HasSubstr("faulty_program.cc"))},
        BadInput{"MissingDataset", Config("faulty", "classification { dataset { idx { root: \"nowhere\" } } }"),
                 AllOf(HasSubstr("nowhere"), HasSubstr("train-images-idx3-ubyte"), HasSubstr("synthetic_digits"))},
        BadInput{"ZeroBatch", Config("faulty", "classification { dataset { synthetic_digits {} } batch_size: 0 }"),
                 HasSubstr("batch_size")},
        BadInput{"NoSuchGpu", Config("faulty", "constant {}", "training_service { local { gpu_indices: [99] } }"),
                 HasSubstr("99")}),
    [](const ::testing::TestParamInfo<BadInput>& info) { return info.param.name; });

TEST(BadInputTest, ErrorsCannotMoveTheCursor) {
  const std::string state = FreshFolder();
  const std::string config = WriteFile("escape.textproto", Config("\\033[31mno\\000pe\\007\\n", "constant {}"));
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"run", config}, {"run", "a\x1b[31m\u009b\u202e.textproto"}, {"show", "a\x1b[31mb"}}) {
    std::vector<std::string> all = arguments;
    all.insert(all.end(), {"--state-dir", state});
    const CommandResult result = RunCommand(kFaultyProgram, all);
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_THAT(result.err, ::testing::StartsWith("lanista: error: "));
    EXPECT_EQ(std::count_if(result.err.begin(), result.err.end(), [](char c) { return c >= 0 && c < ' '; }), 1)
        << "the line break at the end: " << result.err;
    EXPECT_EQ(result.err.find("\u009b"), std::string::npos);
    EXPECT_EQ(result.err.find("\u202e"), std::string::npos);
  }
  // A NUL cuts no message: the name goes on after it.
  EXPECT_THAT(RunCommand(kFaultyProgram, {"run", config, "--state-dir", state}).err, HasSubstr("[31mno pe"));
}

// A dataset file of this content, given to the CSV reader.
CommandResult RunOnCsv(const std::string& content) {
  const std::string csv = WriteFile("data.csv", content);
  const std::string config =
      WriteFile("csv.textproto", Config("faulty", "regression { dataset { csv { path: \"" + csv + "\" } } }"));
  return RunCommand(kFaultyProgram, {"run", config, "--state-dir", FreshFolder()});
}

TEST(BadFilesTest, ADatasetWithANanIsRefusedWithItsPlace) {
  const CommandResult run = RunOnCsv("a,b\n1,2\n3,nan\n5,6\n");
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, AllOf(HasSubstr("data.csv"), HasSubstr("3")));
}

TEST(BadFilesTest, ATruncatedIdxFileIsRefusedByName) {
  const std::string images =
      WriteFile("images", std::string("\0\0\x08\x03\0\0\0\x05\0\0\0\x1c\0\0\0\x1c", 16) + "short");
  const std::string labels = WriteFile("labels", std::string("\0\0\x08\x01\0\0\0\x05\1\2\3\4\5", 13));
  const std::string config = WriteFile(
      "idx.textproto",
      Config("faulty", "classification { dataset { idx { images: \"" + images + "\" labels: \"" + labels + "\" } } }"));
  const CommandResult run = RunCommand(kFaultyProgram, {"run", config, "--state-dir", FreshFolder()});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, HasSubstr(images));
}

TEST(BadFilesTest, AMissingConfigIsNamed) {
  const CommandResult run = RunCommand(kLanista, {"run", "no_such.textproto", "--state-dir", FreshFolder()});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, HasSubstr("no_such.textproto"));
}

TEST(BadFilesTest, AnUnwritableStateFolderIsNamed) {
  const std::string file = WriteFile("file", "");
  const std::string config = WriteFile("good.textproto", Config("mnist_cnn", "constant {}"));
  const CommandResult run = RunCommand(kLanista, {"run", config, "--state-dir", file + "/state"});
  EXPECT_NE(run.exit_code, 0);
  EXPECT_THAT(run.err, HasSubstr(file));
}

TEST(BadFilesTest, AStateFolderWithoutANameIsRefused) {
  const std::string config = WriteFile("good.textproto", Config("mnist_cnn", "constant {}"));
  for (const std::string command : {"run", "validate"}) {
    const CommandResult empty = RunCommand(kLanista, {command, config, "--state-dir", ""});
    EXPECT_EQ(empty.exit_code, command == "run" ? 2 : 0) << empty.err;
  }
  const CommandResult latin = RunCommand(kLanista, {"run", config, "--state-dir", FreshFolder() + "/caf\xe9"});
  EXPECT_EQ(latin.exit_code, 2);
  EXPECT_THAT(latin.err, HasSubstr("is not UTF-8"));

  const char* const variable = std::getenv("HOME");
  const std::string home = variable == nullptr ? "" : variable;
  unsetenv("HOME");
  const CommandResult homeless = RunCommand(kLanista, {"list"});
  EXPECT_EQ(homeless.exit_code, 2);
  EXPECT_THAT(homeless.err, HasSubstr("HOME is not set"));
  EXPECT_EQ(RunCommand(kLanista, {"devices"}).exit_code, 0) << "who needs no state folder needs no home";
  if (variable != nullptr) setenv("HOME", home.c_str(), 1);
}

TEST(BadFilesTest, ValidateWritesNothing) {
  const std::string config = WriteFile("good.textproto", Config("mnist_cnn", "constant {}"));
  const std::string state = FreshFolder() + "/state";
  EXPECT_EQ(RunCommand(kLanista, {"validate", config, "--state-dir", state}).exit_code, 0);
  EXPECT_FALSE(std::filesystem::exists(state));
}

TEST(BadFilesTest, ATrialProgramThatIsNotThereIsNamed) {
  const std::string config = WriteFile("good.textproto", Config("mnist_cnn", "constant {}"));
  const CommandResult run =
      RunCommand(kLanista, {"run", config, "--state-dir", FreshFolder(), "--trial-program", "/no/such/program"});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, HasSubstr("/no/such/program"));
}

TEST(BadFilesTest, GraphFormatsOfTheDirectEngineNameTheEngineThatHasThem) {
  const std::string state = FreshFolder();
  const std::string config = WriteFile("good.textproto", Config("mnist_cnn", "constant {}", "max_trial_number: 1"));
  const std::string id = RunCommand(kLanista, {"run", config, "--json", "--state-dir", state}).Json()["id"];
  const CommandResult onnx =
      RunCommand(kLanista, {"export", id, "--format", "onnx", "--out", FreshFolder(), "--state-dir", state});
  EXPECT_EQ(onnx.exit_code, 2);
  EXPECT_THAT(onnx.err, HasSubstr("engine"));
  EXPECT_EQ(RunCommand(kLanista, {"show", "../../etc", "--state-dir", state}).exit_code, 2);
  EXPECT_EQ(RunCommand(kLanista, {"run", "/etc/passwd/below", "--state-dir", state}).exit_code, 2);
}

TEST(BadFilesTest, AGraphThatIsTooLargeToHandOverIsRefused) {
  constexpr int kElements = 17 << 20;  // Of four bytes: more than the 64 MiB of a frame.
  const std::string graph = WriteFile(
      "large.textproto",
      absl::StrCat(R"(graphs { name: "Large" nodes { name: "constant" op { type: "Constant" attr { key: "value" value {
                      tensor { data_type: FLOAT32 dims: )",
                   kElements, " data: \"", std::string(4 * kElements, '0'),
                   R"(" } } } } } outputs { node: "constant" } })"));
  const CommandResult convert =
      RunCommand(kLanista, {"convert", graph, "--format", "torchscript", "--out", FreshFolder() + "/large"});
  EXPECT_EQ(convert.exit_code, 1);
  EXPECT_THAT(convert.err, HasSubstr("too large"));
}

// A graph of one node, which is `kind`.
std::string GraphWith(const std::string& kind, const std::string& archives = "") {
  return WriteFile(
      "one_node.textproto",
      absl::StrCat("version: 1 graphs { name: 'net' inputs { name: 'x' type { kind: TENSOR } } ",
                   "nodes { name: 'node' ", kind, " inputs { node: 'x' } } outputs { node: 'node' } } ", archives));
}

TEST(HostileGraphTest, IsRefusedBeforeAnythingOfItRuns) {
  const std::string hostile = WriteFile("not_a_model.pt", "not a model");
  const std::vector<std::pair<std::string, std::string>> nodes = {
      {"op { type: 'aten::save' }", "operator 'aten::save' is refused"},
      {"op { type: 'aten::from_file' attr { key: 'filename' value { s: '/etc/hostname' } } }",
       "operator 'aten::from_file' is refused"},
      {"op { type: 'aten::unheard_of' }", "LibTorch has no operator 'aten::unheard_of'"},
      {"opaque { archive: 0 }", "is no TorchScript file"}};
  for (const auto& [op, reason] : nodes) {
    const std::string graph = GraphWith(op, "archives { path: '" + hostile + "' }");
    const std::string config = WriteFile("hostile.textproto", "space { graph { path: \"" + graph +
                                                                  "\" } } engine { graph {} } strategy { random {} } "
                                                                  "evaluator { constant {} } max_trial_number: 1");
    const CommandResult validated = RunCommand(kLanista, {"validate", config, "--state-dir", FreshFolder()});
    EXPECT_EQ(validated.exit_code, 2) << op;
    EXPECT_THAT(validated.err, HasSubstr(reason)) << op;
    const CommandResult converted =
        RunCommand(kLanista, {"convert", graph, "--format", "torchscript", "--out", FreshFolder() + "/net"});
    EXPECT_EQ(converted.exit_code, 2) << op;
    EXPECT_THAT(converted.err, HasSubstr(reason)) << op;
  }
}

TEST(FilesTest, WhatIsReadOrNoFileIsNotOverwritten) {
  const std::string graph = GraphWith("op { type: 'ReLU' }");
  const std::string stem = graph.substr(0, graph.rfind('.'));
  const CommandResult itself = RunCommand(kLanista, {"convert", graph, "--format", "text", "--out", stem});
  EXPECT_EQ(itself.exit_code, 2);
  EXPECT_THAT(itself.err, HasSubstr("cannot write " + graph + ": it is a file that is read here"));

  // A folder is made, in every format; what stands in its way is the same error in every format.
  const std::string folder = FreshFolder();
  for (const std::string format : {"text", "json", "python", "torchscript"}) {
    EXPECT_EQ(
        RunCommand(kLanista, {"convert", graph, "--format", format, "--out", folder + "/" + format + "/net"}).exit_code,
        0)
        << format;
    const CommandResult blocked = RunCommand(kLanista, {"convert", graph, "--format", format, "--out", graph + "/net"});
    EXPECT_EQ(blocked.exit_code, 2) << format;
    EXPECT_THAT(blocked.err, HasSubstr("cannot make the folder " + graph)) << format;
  }
  const CommandResult device = RunCommand(kLanista, {"show-graph", "/dev/zero"});
  EXPECT_EQ(device.exit_code, 2);
  EXPECT_THAT(device.err, HasSubstr("cannot read /dev/zero: it is no regular file"));
}

TEST(FilesTest, AnImportOverwritesNeitherItsInputNorADevice) {
  const std::string folder = FreshFolder();
  const CommandResult converted = RunCommand(
      kLanista, {"convert", GraphWith("op { type: 'ReLU' }"), "--format", "torchscript", "--out", folder + "/net"});
  ASSERT_EQ(converted.exit_code, 0) << converted.err;
  const std::string input = folder + "/net.pt";
  const auto bytes = std::filesystem::file_size(input);
  std::filesystem::create_symlink(input, folder + "/link.pt");
  for (const std::string& out : {input, folder + "/link.pt"}) {
    const CommandResult itself = RunCommand(kLanista, {"import", input, "--out", out});
    EXPECT_EQ(itself.exit_code, 2) << out;
    EXPECT_THAT(itself.err, HasSubstr("cannot write " + out + ": it is a file that is read here"));
  }
  EXPECT_EQ(std::filesystem::file_size(input), bytes);
  const CommandResult device = RunCommand(kLanista, {"import", input, "--out", "/dev/full"});
  EXPECT_EQ(device.exit_code, 2);
  EXPECT_THAT(device.err, HasSubstr("cannot write /dev/full: it is a device"));
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/full"));
}

// Where a file may have only so many bytes, as on a disk that is full, an output is an error, and nothing is left of
// it.
TEST(FilesTest, OutputThatDoesNotFitIsAFailureAndLeavesNothing) {
  const std::string graph = GraphWith("op { type: 'ReLU' }");
  const std::string lanista = std::filesystem::absolute(kLanista);
  const std::string folder = FreshFolder();
  const std::string before = WriteFile("before.svg", "what was there");
  // In the place of Graphviz: draws 100 kB, which it may write.
  std::ofstream(folder + "/dot") << "#!/bin/sh\nulimit -S -f unlimited\nhead -c 100000 /dev/zero | tr '\\0' x\n";
  ASSERT_EQ(chmod((folder + "/dot").c_str(), 0700), 0);
  const CommandResult svg =
      RunCommand("/bin/sh", {"-c", absl::StrCat("trap '' XFSZ; ulimit -S -f 16; PATH='", folder, "':$PATH exec ",
                                                lanista, " show-graph '", graph, "' --svg '", before, "'")});
  EXPECT_EQ(svg.exit_code, 1) << svg.err;
  EXPECT_THAT(svg.err, HasSubstr("cannot write " + before));
  std::string kept;
  std::getline(std::ifstream(before), kept);
  EXPECT_EQ(kept, "what was there");
  for (const auto& file : std::filesystem::directory_iterator(std::filesystem::path(before).parent_path())) {
    EXPECT_THAT(file.path().filename().string(), Not(HasSubstr("before.svg."))) << "left behind";
  }
  // Missing folders are made.
  const std::string below = folder + "/new/folders/x.svg";
  const CommandResult made =
      RunCommand("/bin/sh", {"-c", absl::StrCat("PATH='", folder, "':$PATH exec ", lanista, " show-graph '", graph,
                                                "' --svg '", below, "'")});
  EXPECT_EQ(made.exit_code, 0) << made.err;
  EXPECT_TRUE(std::filesystem::exists(below));
}

TEST(FilesTest, OutputThatCannotBeWrittenIsAFailure) {
  const std::string state = FreshFolder();
  const std::string lanista = std::filesystem::absolute(kLanista);
  for (const std::string arguments : {"--help", "version", "--json list", "devices --json"}) {
    const std::string command = lanista + " " + arguments + " --state-dir " + state;
    const CommandResult full = RunCommand("/bin/sh", {"-c", command + " > /dev/full"});
    EXPECT_EQ(full.exit_code, 1) << arguments;
    EXPECT_THAT(full.err, HasSubstr("cannot write to the standard output: No space left on device")) << arguments;
    // Who does not want to see it has not failed.
    EXPECT_EQ(RunCommand("/bin/sh", {"-c", command + " >&-"}).exit_code, 0) << arguments;
  }
}

TEST(FilesTest, CtrlCSaysWhatBecameOfTheCommand) {
  const std::string search = Config("mnist_cnn", "constant {}", "max_trial_number: 1");
  const std::map<std::string, std::string> commands = {
      {"import net.pt --out net.textproto", "interrupted: nothing was imported"},
      {"convert net.pt --format json --out net", "interrupted: a file that was not finished was not written"},
      {"show-graph net.pt", "interrupted: nothing was shown"},
      {"validate search.textproto", "interrupted: nothing was started"},
      {"run search.textproto --state-dir .", "interrupted: the experiment had not started"},
      {"run search.textproto --json --state-dir .", "interrupted: the experiment had not started"},
  };
  for (const auto& [command, note] : commands) {
    // Of its own: a trial program of the command before may still be about to say that it runs.
    const std::string folder = FreshFolder();
    const std::string up = folder + "/up";
    ASSERT_EQ(mkfifo(up.c_str(), 0600), 0);
    std::ofstream(folder + "/search.textproto") << search;
    const std::string hanging = folder + "/hanging";
    std::ofstream(hanging) << "#!/bin/sh\necho > '" << up << "'\nexec sleep 1000\n";
    ASSERT_EQ(chmod(hanging.c_str(), 0700), 0);
    BackgroundCommand running("/bin/sh", {"-c", absl::StrCat("cd '", folder, "'; exec '", kLanista, "' ", command,
                                                             " --trial-program '", hanging, "' 2>&1")});
    std::ifstream(up).get();  // Until the program runs.
    const std::vector<pid_t> children = running.Children();
    kill(running.pid(), SIGINT);
    EXPECT_TRUE(running.WaitForLine(note)) << command;
    EXPECT_EQ(running.Wait(), 130) << command;
    for (const pid_t child : children) kill(child, SIGKILL);
  }
}

TEST(BadFilesTest, AnUnknownCommandIsBadUsage) {
  EXPECT_EQ(RunCommand(kLanista, {"conquer"}).exit_code, 2);
  EXPECT_EQ(RunCommand(kLanista, {}).exit_code, 2);
}

}  // namespace
}  // namespace lanista

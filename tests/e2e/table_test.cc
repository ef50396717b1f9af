// Spaces of choices, tables of models, and searches that answer from them.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/e2e/command.h"

namespace lanista {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// Seven models: conditions, a list, texts that need quotes.
constexpr char kSearch[] = R"(
  name: "choices"
  space {
    choices {
      choice { label: "depth" candidate: [ { i: 1 }, { i: 2 } ] }
      choice { label: "skips" n_chosen: 2 candidate: [ { s: "a,b" }, { s: "say \"c\"" }, { f: 0.5 } ]
               active_if { all_of { label: "depth" candidate { i: 2 } } } }
      choice { label: "last" candidate: [ { b: true }, { b: false } ]
               active_if { all_of { label: "depth" candidate { i: 1 } } }
               active_if { all_of { label: "skips" candidate { f: 0.5 } } } }
    }
  }
  strategy { grid_search {} }
  evaluator { table { path: "TABLE" default_metric: "accuracy" } }
  training_service { local { cpu_slots: 2 } }
  seed: 3
)";

constexpr char kTable[] =
    "depth,skips,last,accuracy@1,accuracy@2,accuracy,params\n"
    "1,,true,0.1,0.2,0.21,10\n"
    "1,,false,0.3,0.4,0.41,20\n"
    "2,\"[\"\"a,b\"\",\"\"say \\\"\"c\\\"\"\"\"]\",,0.5,,0.51,30\n"
    "2,\"[\"\"a,b\"\",0.5]\",true,0.6,0.7,0.71,40\n"
    "2,\"[\"\"a,b\"\",0.5]\",false,0.6,0.7,0.72,40\n"
    "2,\"[\"\"say \\\"\"c\\\"\"\"\", 0.50]\",True,0.8,0.85,0.91,50\n"
    "2,\"[\"\"say \\\"\"c\\\"\"\"\", 0.50]\",False,0.8,0.85,0.9,50\n";

std::string Config(const std::string& search, const std::string& table) {
  return WriteFile("table.textproto", absl::StrReplaceAll(search, {{"TABLE", table}}));
}

// Runs a search; its id.
std::string Search(const std::string& program, const std::string& state, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "run");
  arguments.insert(arguments.end(), {"--json", "--state-dir", state});
  const CommandResult run = RunCommand(program, arguments);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  return run.Json().value("id", "");
}

CommandResult Csv(const std::string& state, const std::string& id) {
  return RunCommand(kLanista, {"trials", id, "--csv", "--state-dir", state});
}

TEST(TableTest, AnswersASearchAndCanBeWrittenAgain) {
  const std::string state = FreshFolder();
  const std::string config = Config(kSearch, WriteFile("first.csv", kTable));
  const CommandResult validated = RunCommand(kLanista, {"validate", config, "--json"});
  ASSERT_EQ(validated.exit_code, 0) << validated.err;
  EXPECT_EQ(validated.Json()["space_size"], "7");
  EXPECT_TRUE(validated.Json()["warnings"].empty());

  const std::string id = Search(kLanista, state, {config});
  const nlohmann::json show = RunCommand(kLanista, {"show", id, "--json", "--state-dir", state}).Json();
  EXPECT_EQ(show["models"]["succeeded"], 7);
  EXPECT_EQ(show["best"][0]["metrics"], (nlohmann::json{{"default", 0.91}, {"accuracy", 0.91}, {"params", 50}}));
  EXPECT_EQ(show["best"][0]["sample"], (nlohmann::json{{"depth", 2}, {"skips", {"say \"c\"", 0.5}}, {"last", true}}));
  const CommandResult first = Csv(state, id);
  ASSERT_EQ(first.exit_code, 0) << first.err;
  EXPECT_EQ(first.out.substr(0, first.out.find('\n')), "depth,skips,last,default,accuracy,params,default@1,default@2");

  // What it has written is a table of the same search.
  const std::string search = absl::StrReplaceAll(kSearch, {{"default_metric: \"accuracy\"", ""}});
  const std::string again = Search(kLanista, state, {Config(search, WriteFile("again.csv", first.out))});
  EXPECT_EQ(Csv(state, again).out, first.out);
}

TEST(TableTest, AnExhaustiveSearchThatTrainedIsATable) {
  const std::string state = FreshFolder();
  const std::string config = WriteFile("tiny.textproto", R"(
    space { registered: "mnist_cnn" }
    strategy { grid_search {} }
    evaluator {
      classification {
        dataset { synthetic_digits { train_samples: 60 validation_samples: 30 } }
        batch_size: 20
        max_epochs: 2
        max_train_batches: 2
      }
    }
    training_service { local { cpu_slots: 2 } }
    seed: 42
  )");
  const CommandResult trained = Csv(state, Search(kLanista, state, {config}));
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  EXPECT_EQ(std::count(trained.out.begin(), trained.out.end(), '\n'), 19);
  const std::string table = WriteFile("trained.csv", trained.out);
  const std::string answered =
      Search(kLanista, state, {config, "--set", "evaluator={ table { path: \"" + table + "\" } }"});
  EXPECT_EQ(Csv(state, answered).out, trained.out);
}

TEST(TableTest, NetworksAreSearchedWithoutTrainingAndTheBestIsExported) {
  const std::string folder = FreshFolder();
  std::ofstream(folder + "/net.textproto") << R"(
    name: "Net"
    graphs {
      name: "Net"
      inputs { name: "x" type { kind: TENSOR data_type: FLOAT32 shape { dims: [-1, 4] } } }
      nodes { name: "act" inputs { node: "x" } layer_choice { label: "act"
        candidates { name: "relu" op { type: "ReLU" } } candidates { name: "tanh" op { type: "Tanh" } } } }
      outputs { node: "act" }
    })";
  std::ofstream(folder + "/models.csv") << "act,default\nrelu,0.25\ntanh,0.75\n";
  std::ofstream(folder + "/search.textproto") << R"(
    space { graph { path: "net.textproto" } }
    engine { graph {} }
    strategy { grid_search {} }
    evaluator { table { path: "models.csv" } }
    training_service { local { cpu_slots: 1 } })";
  const std::string state = FreshFolder();
  const std::string id = Search(kLanista, state, {folder + "/search.textproto"});
  const nlohmann::json best = RunCommand(kLanista, {"show", id, "--json", "--state-dir", state}).Json()["best"][0];
  EXPECT_EQ(best["sample"], (nlohmann::json{{"act", "tanh"}}));
  // The table is nothing that the network is made from.
  std::ofstream(folder + "/models.csv") << "another";
  const CommandResult exported = RunCommand(
      kLanista, {"export", id, "--format", "python", "--untrained", "--out", folder + "/out", "--state-dir", state});
  EXPECT_EQ(exported.exit_code, 0) << exported.err;
  EXPECT_THAT(exported.out, HasSubstr("1-model-2.py"));
}

TEST(TableTest, ModelsWithoutALineFailAndAreLeftOut) {
  const std::string state = FreshFolder();
  const std::string text = kTable;
  const std::string config =
      Config(kSearch, WriteFile("short.csv", text.substr(0, text.find("2,\"[\"\"a,b\"\",0.5]\",false"))));
  const CommandResult validated = RunCommand(kLanista, {"validate", config});
  EXPECT_THAT(validated.out, HasSubstr("short.csv has 4 of the 7 models; those that it lacks will fail"));
  const std::string id = Search(kLanista, state, {config});
  const nlohmann::json show = RunCommand(kLanista, {"show", id, "--json", "--state-dir", state}).Json();
  EXPECT_EQ(show["models"]["failed"], 3);
  EXPECT_THAT(show["failures"].dump(), HasSubstr("has no line for the model"));
  const CommandResult csv = Csv(state, id);
  EXPECT_EQ(std::count(csv.out.begin(), csv.out.end(), '\n'), 5);
  EXPECT_THAT(csv.err, HasSubstr("3 models did not succeed and are not in the table"));
}

TEST(TableTest, AResumeRefusesAnotherTable) {
  const std::string state = FreshFolder();
  const std::string table = WriteFile("changing.csv", kTable);
  const std::string config = Config(kSearch, table);
  const std::string id = Search(kLanista, state, {config, "--set", "max_trial_number=3"});
  const auto resume = [&] {
    return RunCommand(kLanista, {"resume", id, "--set", "max_trial_number=5", "--json", "--state-dir", state});
  };
  std::ofstream(table) << absl::StrReplaceAll(kTable, {{"0.91", "0.92"}});
  const CommandResult refused = resume();
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr(table + " has changed since the experiment began"));
  std::ofstream(table) << kTable;
  const CommandResult resumed = resume();
  EXPECT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_EQ(resumed.Json()["models"]["succeeded"], 5);
}

TEST(TableTest, MistakesInTheTableStopNothingButTheStart) {
  const std::string config = Config(kSearch, WriteFile("bad.csv", std::string(kTable) + "3,,,1,1,1,1\n"));
  const std::string state = FreshFolder();
  for (const std::string command : {"validate", "run"}) {
    const CommandResult result = RunCommand(kLanista, {command, config, "--state-dir", state});
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_THAT(result.err,
                AllOf(HasSubstr("evaluator.table: "), HasSubstr("bad.csv:9: column 'depth': is no candid")));
  }
  EXPECT_TRUE(RunCommand(kLanista, {"list", "--json", "--state-dir", state}).Json()["experiments"].empty());
  EXPECT_THAT(RunCommand(kLanista, {"validate", Config(kSearch, "no_such.csv")}).err, HasSubstr("no_such.csv"));
}

TEST(TableTest, ASearchIsTheSameWhereItIsRunAgain) {
  const std::string config = Config(kSearch, WriteFile("first.csv", kTable));
  const std::string state = FreshFolder();
  const std::vector<std::string> tpe = {config, "--set", "strategy={ tpe { startup: 2 } }", "--set",
                                        "training_service[0].local.cpu_slots=1"};
  const std::string first = Csv(state, Search(kLanista, state, tpe)).out;
  EXPECT_EQ(std::count(first.begin(), first.end(), '\n'), 8);
  EXPECT_EQ(Csv(state, Search(kLanista, state, tpe)).out, first);
}

TEST(ChoicesTest, HaveNoNetworks) {
  const std::string state = FreshFolder();
  const std::string config = Config(kSearch, WriteFile("first.csv", kTable));
  const std::string id = Search(kLanista, state, {config, "--set", "evaluator={ constant { value: 0.5 } }"});
  const auto export_as = [&](const std::string& format) {
    return RunCommand(kLanista, {"export", id, "--format", format, "--out", FreshFolder(), "--state-dir", state});
  };
  EXPECT_EQ(export_as("json").exit_code, 0);
  for (const std::string format : {"python", "cpp", "onnx", "torchscript", "weights"}) {
    EXPECT_EQ(export_as(format).exit_code, 2);
    EXPECT_THAT(export_as(format).err,
                HasSubstr("the models of a space of `choices` have none; what can be exported: json"));
  }
  // An evaluator of the user's own that builds the model.
  const CommandResult run = RunCommand(
      kFaultyProgram, {"run", config, "--set", "evaluator={ custom { name: \"talkative\" } }", "--state-dir", state});
  EXPECT_THAT(run.out + run.err, HasSubstr("the evaluator asks for a network, and a space of `choices` has none"));
  const CommandResult csv = RunCommand(kLanista, {"trials", id, "--csv", "--json", "--state-dir", state});
  EXPECT_EQ(csv.exit_code, 2);
  EXPECT_THAT(csv.err, HasSubstr("--csv and --json exclude each other"));
}

TEST(KnownModelsTest, RunFirstAndAreLearntFrom) {
  const std::string state = FreshFolder();
  const std::string config = Config(kSearch, WriteFile("first.csv", kTable));
  const std::vector<std::string> initial = {
      config,
      "--set",
      "strategy={ tpe {} }",
      "--set",
      "max_trial_number=3",
      "--set",
      R"(initial={ sample: '{"depth": 2, "skips": ["a,b", 0.5], "last": false}' })"};
  const std::string first = Search(kLanista, state, initial);
  nlohmann::json models = RunCommand(kLanista, {"trials", first, "--json", "--state-dir", state}).Json()["models"];
  EXPECT_EQ(models[0]["sample"].dump(), R"({"depth":2,"last":false,"skips":["a,b",0.5]})");

  std::vector<std::string> warm = {config, "--set", "strategy={ tpe {} }", "--set",
                                   "warm_start={ experiment: \"" + first + "\" }"};
  std::vector<std::string> validate = warm;
  validate.insert(validate.begin(), "validate");
  validate.insert(validate.end(), {"--state-dir", state});
  EXPECT_EQ(RunCommand(kLanista, validate).exit_code, 0);
  const std::string second = Search(kLanista, state, warm);
  EXPECT_EQ(RunCommand(kLanista, {"show", second, "--json", "--state-dir", state}).Json()["models"]["total"], 4)
      << "three of the seven models are known";

  for (const auto& [set, error] : std::vector<std::pair<std::string, std::string>>{
           {R"(initial={ sample: '{"depth": 3}' })", "initial[0].sample: choice 'depth' takes one of [1, 2], not 3"},
           {"warm_start={ experiment: \"nobody\" }", "warm_start.experiment: "},
           {"objective=MINIMIZE", "its objective is MAXIMIZE, and this experiment's is MINIMIZE"},
           {"evaluator.table.default_metric=[\"params\"]", "it has another evaluator (from there to here)"}}) {
    std::vector<std::string> bad = validate;
    bad.insert(bad.end(), {"--set", set});
    const CommandResult result = RunCommand(kLanista, bad);
    EXPECT_EQ(result.exit_code, 2) << set;
    EXPECT_THAT(result.err, HasSubstr(error));
  }
}

// NAS-Bench-Macro (Su et al., CVPR 2021): 6,561 networks of 8 choices with 3 candidates, each trained three times.
TEST(NasBenchMacroTest, TpeFindsTheBestNetwork) {
  const char* const data = std::getenv("LANISTA_TEST_DATA");
  if (data == nullptr) GTEST_SKIP() << "LANISTA_TEST_DATA is not set";
  const std::string table = absl::StrCat(data, "/tables/nas-bench-macro_cifar10.csv");
  if (!std::filesystem::exists(table)) GTEST_SKIP() << table << " is not there";
  std::string config = "space { choices { ";
  for (int i = 0; i < 8; ++i) {
    absl::StrAppend(&config, "choice { label: 'layer_", i,
                    "' candidate: [ { s: 'identity' }, { s: 'mb3_k3' }, { s: 'mb6_k5' } ] } ");
  }
  absl::StrAppend(&config, "} } strategy { tpe {} } evaluator { table { path: '", table,
                  "' default_metric: 'accuracy' } } training_service { local { cpu_slots: 2 } } "
                  "max_trial_number: 200 seed: 1");
  const std::string state = FreshFolder();
  const std::string id = Search(kLanista, state, {WriteFile("macro.textproto", config)});
  const nlohmann::json show = RunCommand(kLanista, {"show", id, "--json", "--state-dir", state}).Json();
  EXPECT_EQ(show["models"]["succeeded"], 200);
  EXPECT_EQ(show["space_size"], "6561");
  // The best of all is 93.1267; random search comes within 0.2 of it in half of its searches.
  EXPECT_GE(show["best"][0]["default"], 93.0);
  EXPECT_EQ(show["best"][0]["metrics"].size(), 7u);
}

}  // namespace
}  // namespace lanista

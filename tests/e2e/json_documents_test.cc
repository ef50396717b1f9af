// Every command's --json document has exactly the keys, of the types, that docs/cli.md says it has.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "nlohmann/json.hpp"
#include "tests/e2e/command.h"

namespace lanista {
namespace {

// Type by key: "models[].id".
using Schema = std::map<std::string, std::string>;

// The tables of docs/cli.md, by command.
std::map<std::string, Schema> ReadSchemas() {
  std::map<std::string, Schema> schemas;
  std::vector<std::string> commands;
  const std::regex row("\\| `([^`]+)` \\| ([^|]+) \\|.*");
  const std::regex code("`([^`]+)`");
  std::ifstream file("docs/cli.md");
  bool json = false;
  for (std::string line; std::getline(file, line);) {
    if (absl::StartsWith(line, "## ")) json = line == "## JSON";
    if (!json) continue;
    if (absl::StartsWith(line, "### ")) {
      commands.clear();
      for (std::sregex_iterator match(line.begin(), line.end(), code), end; match != end; ++match) {
        commands.push_back((*match)[1]);
      }
      if (commands.empty()) commands.push_back("error");
    }
    std::smatch match;
    if (!std::regex_match(line, match, row)) continue;
    for (const std::string& command : commands) schemas[command][match[1]] = match[2];
  }
  return schemas;
}

bool IsOfType(const nlohmann::json& value, const std::string& type) {
  for (const absl::string_view one : absl::StrSplit(type, " or ")) {
    if (one == "any" || (one == "null" && value.is_null()) || (one == "string" && value.is_string()) ||
        (one == "boolean" && value.is_boolean()) || (one == "integer" && value.is_number_integer()) ||
        (one == "number" && value.is_number()) || (one == "object" && value.is_object()) ||
        (one == "list" && value.is_array())) {
      return true;
    }
    if (!absl::StartsWith(one, "list of ") || !value.is_array()) continue;
    const std::string elements(one.substr(8));
    const std::string element = elements == "any" ? elements : elements.substr(0, elements.size() - 1);
    if (std::all_of(value.begin(), value.end(), [&](const auto& each) { return IsOfType(each, element); })) return true;
  }
  return false;
}

// Compares what is below `path` with the schema; differences are failures of the test.
void Compare(const Schema& schema, const std::string& path, const nlohmann::json& value) {
  if (const auto found = schema.find(path); found != schema.end()) {
    EXPECT_TRUE(IsOfType(value, found->second)) << path << " is no " << found->second << ": " << value;
  }
  if (value.is_array()) {
    for (const nlohmann::json& element : value) Compare(schema, path + "[]", element);
    return;
  }
  if (!value.is_object()) return;
  const std::string prefix = path.empty() ? "" : path + ".";
  if (schema.count(prefix + "*") > 0) {
    for (const nlohmann::json& each : value) Compare(schema, prefix + "*", each);
    return;
  }
  std::set<std::string> documented, there;
  for (const auto& [key, type] : schema) {
    if (!absl::StartsWith(key, prefix)) continue;
    const std::string rest = key.substr(prefix.size());
    if (rest.find('.') == std::string::npos && rest.find('[') == std::string::npos) documented.insert(rest);
  }
  // A value that a row describes as a whole.
  if (documented.empty() && !path.empty()) return;
  for (const auto& item : value.items()) there.insert(item.key());
  EXPECT_EQ(there, documented) << "of " << (path.empty() ? "the document" : path);
  for (const auto& [key, each] : value.items()) Compare(schema, prefix + key, each);
}

constexpr char kSearch[] = R"(
  name: "documents"
  space { graph { path: "net.textproto" } }
  engine { cgo {} }
  strategy { grid_search {} }
  evaluator { constant {} }
  training_service { local { cpu_slots: 1 } }
)";

constexpr char kNet[] = R"(
  name: "Net"
  graphs {
    name: "Net"
    inputs { name: "x" type { kind: TENSOR data_type: FLOAT32 shape { dims: [-1, 4] } } }
    nodes { name: "fc" inputs { node: "x" }
      op { type: "Linear" attr { key: "in_features" value { i: 4 } } attr { key: "out_features" value { i: 2 } } } }
    nodes { name: "act" inputs { node: "fc" } layer_choice { label: "act"
      candidates { name: "relu" op { type: "ReLU" } } candidates { name: "tanh" op { type: "Tanh" } } } }
    outputs { node: "act" }
  }
)";

class JsonDocumentsTest : public ::testing::Test {
 protected:
  // Runs the command and compares what it prints with what is documented for it.
  nlohmann::json Check(const std::string& command, std::vector<std::string> arguments, const std::string& schema = "") {
    SCOPED_TRACE(command);
    arguments.insert(arguments.begin(), command);
    arguments.insert(arguments.end(), {"--json", "--state-dir", state_});
    const nlohmann::json document = RunCommand(kLanista, arguments).Json();
    const auto found = schemas_.find(schema.empty() ? command : schema);
    EXPECT_NE(found, schemas_.end()) << "docs/cli.md has no table for " << command;
    if (found != schemas_.end()) Compare(found->second, "", document);
    return document;
  }

  const std::map<std::string, Schema> schemas_ = ReadSchemas();
  const std::string state_ = FreshFolder();
};

TEST_F(JsonDocumentsTest, OfExperimentsAreAsDocumented) {
  const std::string folder = FreshFolder();
  std::ofstream(folder + "/net.textproto") << kNet;
  std::ofstream(folder + "/search.textproto") << kSearch;
  const std::string config = folder + "/search.textproto";
  Check("validate", {config});
  Check("validate", {config, "--explain-cgo"});
  const std::string id = Check("run", {config})["id"];
  Check("show", {id});
  EXPECT_EQ(Check("trials", {"latest"})["models"].size(), 2u);
  EXPECT_EQ(Check("trials", {"latest", "--log"}, "trials --log")["logs"].size(), 2u);
  const nlohmann::json merged = Check("trials", {"latest", "--merged"}, "trials --merged");
  EXPECT_EQ(merged["trials"][0]["alone_because"], "the evaluator trains one model at a time");
  // One that fails: its models have no metrics, and a reason.
  Check("run", {config, "--set", "evaluator={ classification { dataset { csv { path: \"none.csv\" } } } }"}, "error");
  const std::string failing = WriteFile("failing.textproto", R"(
    space { registered: "no_such" } evaluator { constant {} })");
  Check("run", {failing}, "error");
  // One whose models break a limit.
  std::ofstream(folder + "/limited.textproto") << kSearch << "constraint { metric: 'default' max: -2 }";
  EXPECT_EQ(Check("run", {folder + "/limited.textproto"})["nearest"]["model"], 1);
  EXPECT_EQ(Check("trials", {"latest"})["models"][0]["violation"], 1);
  // One whose journal cannot be read.
  std::filesystem::create_directories(state_ + "/experiments/broken");
  std::ofstream(state_ + "/experiments/broken/journal.db") << "no database";
  EXPECT_EQ(Check("list", {})["experiments"].size(), 3u);
  EXPECT_EQ(Check("export", {id, "--out", folder + "/out"})["files"].size(), 1u);
  EXPECT_EQ(Check("delete", {id.substr(0, id.size() - 1), "--yes"})["deleted"], id);
  Check("delete", {id, "--yes"}, "error");
}

TEST_F(JsonDocumentsTest, OfModelsThatFailAreAsDocumented) {
  // The first model is a good one, the second throws.
  const std::string config = WriteFile("two_models.textproto", R"(
    space { registered: "faulty" }
    strategy { grid_search {} }
    evaluator {
      classification {
        dataset { synthetic_digits { train_samples: 40 validation_samples: 20 } }
        batch_size: 20
      }
    }
    max_trial_number: 2)");
  const CommandResult run = RunCommand(kFaultyProgram, {"run", config, "--json", "--state-dir", state_});
  Compare(schemas_.at("run"), "", run.Json());
  EXPECT_EQ(run.Json()["failures"].size(), 1u) << run.out << run.err;
  const nlohmann::json trials = Check("trials", {"latest", "--sort", "best"});
  ASSERT_EQ(trials["models"].size(), 2u);
  EXPECT_EQ(trials["models"][0]["status"], "SUCCEEDED");
  EXPECT_FALSE(trials["models"][0]["metrics"]["intermediate"].empty());
  EXPECT_EQ(trials["models"][1]["failure"]["reason"], "EXCEPTION");
}

TEST_F(JsonDocumentsTest, OfGraphsAreAsDocumented) {
  const std::string folder = FreshFolder();
  std::ofstream(folder + "/net.textproto") << kNet;
  EXPECT_EQ(Check("show-graph", {folder + "/net.textproto"})["nodes"][0]["attributes"]["out_features"], 2);
  Check("convert", {folder + "/net.textproto", "--format", "json", "--out", folder + "/copy"});
  Check("import", {folder + "/none.pt", "--out", folder + "/none.textproto"}, "error");
}

TEST_F(JsonDocumentsTest, OfNodesAreAsDocumented) {
  const std::string head_file = FreshFolder() + "/head";
  BackgroundCommand serve(kLanista, {"serve", "--listen", "127.0.0.1:0", "--head-file", head_file, "--cpu-slots", "0",
                                     "--state-dir", FreshFolder()});
  ASSERT_TRUE(serve.WaitForLine("listening"));
  std::string head;
  std::getline(std::ifstream(head_file), head);
  BackgroundCommand node(kLanista, {"node", "--head", head, "--cpu-slots", "1", "--name", "n", "--json"});
  ASSERT_TRUE(node.WaitForLine("\"name\": \"n\""));
  // Trials of this one last.
  const std::string config = WriteFile("long.textproto", R"(
    space { registered: "mnist_cnn" } strategy { random {} } seed: 1
    evaluator { classification { dataset { synthetic_digits {} } max_epochs: 1000 } })");
  Check("submit", {config, "--head", head});
  while (Check("nodes", {"--head", head})["nodes"][0]["trials"].empty()) continue;
  Check("drain", {"n", "--head", head});
}

TEST_F(JsonDocumentsTest, OfTheMachineAreAsDocumented) {
  Check("devices", {});
  Check("version", {});
  EXPECT_EQ(RunCommand(kLanista, {"--version"}).out, RunCommand(kLanista, {"version"}).out);
  // Bad usage is an error document, too.
  Check("lst", {}, "error");
}

}  // namespace
}  // namespace lanista

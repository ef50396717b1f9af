// What experiments read: files that their clients bring, and data that nodes have.
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/e2e/command.h"

namespace lanista {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

std::string SearchOf(const std::string& path) {
  return absl::StrCat(R"(
    name: "table"
    space { choices { choice { label: "x" candidate: [ { i: 0 }, { i: 1 }, { i: 2 } ] } } }
    strategy { grid_search {} }
    evaluator { table { path: ")",
                      path, R"(" } }
    max_trial_number: 3
  )");
}

constexpr char kTable[] = "x,default\n0,0.5\n1,0.75\n2,0.25\n";

class UploadedFilesTest : public ::testing::Test {
 protected:
  void StartHead(std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"serve", "--listen", "127.0.0.1:0", "--cpu-slots", "0", "--state-dir", state_});
    head_process_ = std::make_unique<BackgroundCommand>(kLanista, more);
    ASSERT_TRUE(head_process_->WaitForLine("listening on 127.0.0.1:"));
    head_ = head_process_->line().substr(std::string("listening on ").size());
  }
  std::unique_ptr<BackgroundCommand> StartNode(const std::string& name, std::vector<std::string> more = {}) const {
    more.insert(more.begin(), {"node", "--head", head_, "--cpu-slots", "1", "--name", name});
    auto node = std::make_unique<BackgroundCommand>(kLanista, more);
    EXPECT_TRUE(node->WaitForLine(absl::StrCat("joined ", head_, " as ", name)));
    return node;
  }
  CommandResult Ask(std::vector<std::string> arguments) const {
    arguments.insert(arguments.end(), {"--head", head_});
    return RunCommand(kLanista, arguments);
  }
  // Submits the search in a folder of its own, with this file beside it; returns the id.
  std::string Submit(const std::string& folder, const std::string& path, std::vector<std::string> more = {}) const {
    std::ofstream(folder + "/search.textproto") << SearchOf(path);
    more.insert(more.begin(), {"submit", folder + "/search.textproto", "--json"});
    const CommandResult submitted = Ask(more);
    EXPECT_EQ(submitted.exit_code, 0) << submitted.err;
    return submitted.Json().value("id", "");
  }
  int CountUploaded() const {
    int count = 0;
    for (const auto& entry : fs::directory_iterator(state_ + "/uploads/files")) count += entry.exists() ? 1 : 0;
    return count;
  }

  const std::string state_ = FreshFolder();
  std::string head_;
  std::unique_ptr<BackgroundCommand> head_process_;
};

TEST_F(UploadedFilesTest, WhatTheClientBringsIsThereWhenTheClientAndItsFilesAreGone) {
  StartHead();
  const std::string folder = FreshFolder();
  std::ofstream(folder + "/table.csv") << kTable;
  const std::string id = Submit(folder, "table.csv", {"--upload"});
  EXPECT_EQ(CountUploaded(), 1);
  fs::remove_all(folder);
  const auto node = StartNode("a");
  const CommandResult watched = Ask({"watch", id});
  EXPECT_EQ(watched.exit_code, 0) << watched.out;
  EXPECT_EQ(Ask({"show", id, "--json"}).Json()["best"][0]["default"], 0.75);
  const CommandResult deleted = Ask({"delete", id, "--yes"});
  EXPECT_EQ(deleted.exit_code, 0) << deleted.err;
  EXPECT_EQ(CountUploaded(), 0);
}

TEST_F(UploadedFilesTest, WhatIsTooLargeNamesTheOtherWay) {
  StartHead({"--upload-limit", "1MB"});
  const std::string folder = FreshFolder();
  std::ofstream(folder + "/table.csv") << kTable << std::string(2 << 20, '\n');
  std::ofstream(folder + "/search.textproto") << SearchOf("table.csv");
  const CommandResult refused = Ask({"submit", folder + "/search.textproto", "--upload"});
  EXPECT_NE(refused.exit_code, 0);
  EXPECT_THAT(refused.err, HasSubstr("--upload-limit"));
  EXPECT_THAT(refused.err, HasSubstr("data://NAME/sub"));
  EXPECT_EQ(CountUploaded(), 0);
  // What the head sees under the same path stays where it is, however large.
  Submit(folder, "table.csv");
  EXPECT_EQ(CountUploaded(), 0);
  std::ofstream(folder + "/search.textproto") << SearchOf("none.csv");
  const CommandResult missing = Ask({"submit", folder + "/search.textproto"});
  EXPECT_EQ(missing.exit_code, 2);
  EXPECT_THAT(missing.err, HasSubstr("evaluator.table.path: " + folder + "/none.csv"));
}

TEST_F(UploadedFilesTest, DataIsReadWhereANodeHasIt) {
  StartHead();
  const std::string data = FreshFolder();
  fs::create_directories(data + "/small");
  std::ofstream(data + "/small/table.csv") << kTable;
  const auto without = StartNode("without");
  const std::string id = Submit(FreshFolder(), "data://tables/small/table.csv");
  std::string waits;
  // The head takes it up in a moment.
  for (int tries = 0; tries < 1000 && waits.empty(); ++tries) {
    const nlohmann::json because = Ask({"show", id, "--json"}).Json()["waiting_for"];
    if (because.is_string()) waits = because.get<std::string>();
  }
  EXPECT_THAT(waits, HasSubstr("the data 'tables' (`node --data tables=DIR`)"));

  const auto with = StartNode("with", {"--data", "tables=" + data});
  const CommandResult watched = Ask({"watch", id});
  EXPECT_EQ(watched.exit_code, 0) << watched.out;
  std::set<std::string> nodes;
  const nlohmann::json trials = Ask({"trials", id, "--json"}).Json();
  ASSERT_EQ(trials["models"].size(), 3u);
  for (const nlohmann::json& model : trials["models"]) {
    for (const nlohmann::json& attempt : model["attempts"]) nodes.insert(attempt["node"].get<std::string>());
  }
  EXPECT_EQ(nodes, std::set<std::string>{"with"});
  const nlohmann::json document = Ask({"nodes", "--json"}).Json();
  for (const nlohmann::json& node : document["nodes"]) {
    EXPECT_EQ(node["data"], node["name"] == "with" ? nlohmann::json::array({"tables"}) : nlohmann::json::array());
  }
}

TEST(DataOptionTest, ARunReadsDataToo) {
  const std::string data = FreshFolder();
  std::ofstream(data + "/table.csv") << kTable;
  const std::string config = WriteFile("data.textproto", SearchOf("data://tables/table.csv"));
  const std::string state = FreshFolder();
  const CommandResult missing = RunCommand(kLanista, {"run", config, "--state-dir", state});
  EXPECT_EQ(missing.exit_code, 2);
  EXPECT_THAT(missing.err, HasSubstr("evaluator.table.path: nothing here has the data 'tables'"));
  const CommandResult run =
      RunCommand(kLanista, {"run", config, "--state-dir", state, "--data", "tables=" + data, "--json"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.Json()["best"][0]["default"], 0.75);
  EXPECT_EQ(RunCommand(kLanista, {"run", config, "--data", "tables=/no/such/folder"}).exit_code, 2);
}

}  // namespace
}  // namespace lanista

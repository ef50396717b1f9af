// Exports through a head against exports where its state folder is.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/e2e/command.h"
#include "tests/e2e/small_graph.h"

namespace lanista {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class ExportTest : public ::testing::Test {
 protected:
  void SetUp() override {
    head_process_ = std::make_unique<BackgroundCommand>(
        kLanista,
        std::vector<std::string>{"serve", "--listen", "127.0.0.1:0", "--cpu-slots", "1", "--state-dir", state_});
    ASSERT_TRUE(head_process_->WaitForLine("listening on 127.0.0.1:"));
    head_ = head_process_->line().substr(std::string("listening on ").size());
  }

  // Submits six networks, of which the weights of the two best are kept, with the graph's file, and waits for the end;
  // then the client's files are gone. Returns the id.
  std::string Search() const {
    const std::string search = WriteSearchWithKeptWeights(/*models=*/6, /*best=*/2);
    const CommandResult watched =
        RunCommand(kLanista, {"submit", search, "--upload", "--watch", "--json", "--head", head_});
    EXPECT_EQ(watched.exit_code, 0) << watched.err;
    fs::remove_all(fs::path(search).parent_path());
    return watched.Json().value("id", "");
  }

  CommandResult FromHead(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), "export");
    arguments.insert(arguments.end(), {"--head", head_});
    return RunCommand(kLanista, arguments);
  }
  CommandResult Offline(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), "export");
    arguments.insert(arguments.end(), {"--state-dir", state_});
    return RunCommand(kLanista, arguments);
  }
  // Neither writes anything, and both say the same.
  void ExpectRefused(const std::vector<std::string>& arguments, const std::string& because) const {
    const CommandResult from_head = FromHead(arguments), offline = Offline(arguments);
    EXPECT_EQ(from_head.exit_code, 2) << from_head.err;
    EXPECT_EQ(from_head.exit_code, offline.exit_code);
    EXPECT_EQ(from_head.err, offline.err);
    EXPECT_THAT(from_head.err, HasSubstr(because));
  }

  static std::string Read(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  }

  const std::string state_ = FreshFolder();
  std::string head_;
  std::unique_ptr<BackgroundCommand> head_process_;
};

TEST_F(ExportTest, WhatAHeadExportsIsWhatAnExportThereWrites) {
  const std::string id = Search();
  ASSERT_NE(id, "");
  for (const std::string format : {"json", "weights", "python", "cpp", "torchscript", "onnx"}) {
    const std::string here = FreshFolder() + "/here", there = FreshFolder() + "/there";
    const CommandResult from_head = FromHead({id, "--top", "2", "--format", format, "--out", here, "--json"});
    const CommandResult offline = Offline({id, "--top", "2", "--format", format, "--out", there, "--json"});
    ASSERT_EQ(from_head.exit_code, 0) << from_head.err;
    ASSERT_EQ(offline.exit_code, 0) << offline.err;
    EXPECT_EQ(from_head.err, offline.err);
    const nlohmann::json files = from_head.Json()["files"], expected = offline.Json()["files"];
    ASSERT_EQ(files.size(), expected.size());
    ASSERT_GE(files.size(), 2u);
    for (size_t i = 0; i < files.size(); ++i) {
      const fs::path file = files[i].get<std::string>(), other = expected[i].get<std::string>();
      EXPECT_EQ(file, fs::path(here) / other.filename());
      EXPECT_TRUE(Read(file) == Read(other)) << file;
    }
    // It replaces itself, and leaves nothing unfinished.
    EXPECT_EQ(FromHead({id, "--top", "2", "--format", format, "--out", here}).exit_code, 0);
    EXPECT_EQ(static_cast<size_t>(std::distance(fs::directory_iterator(here), {})), files.size());
  }
}

TEST_F(ExportTest, WhatCannotBeExportedIsRefusedInTheSameWords) {
  const std::string id = Search();
  ASSERT_NE(id, "");
  const std::string out = FreshFolder() + "/out";
  ExpectRefused({id, "--format", "word", "--out", out}, "unknown format 'word'");
  ExpectRefused({id, "--top", "3", "--format", "python", "--out", out}, "were not kept");
  EXPECT_EQ(FromHead({id, "--top", "3", "--format", "python", "--untrained", "--out", out}).exit_code, 0);
  fs::remove_all(out);
  const CommandResult unknown = FromHead({"nobody", "--out", out});
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("nobody"));

  // Weights that were to be kept, and have gone: never the initial ones.
  for (const auto& entry : fs::recursive_directory_iterator(absl::StrCat(state_, "/experiments/", id, "/trials"))) {
    if (entry.path().filename() == "weights.pt") fs::remove(entry.path());
  }
  ExpectRefused({id, "--format", "python", "--out", out}, "are missing");
  ExpectRefused({id, "--format", "weights", "--out", out}, "are missing");
  EXPECT_FALSE(fs::exists(out));

  // A file of the user's.
  const CommandResult first = FromHead({id, "--out", out, "--json"});
  ASSERT_EQ(first.exit_code, 0) << first.err;
  const std::string own = first.Json()["files"][0].get<std::string>();
  std::ofstream(own) << "my notes";
  ExpectRefused({id, "--out", out}, own + " is not replaced: Lanista did not write it");
  EXPECT_EQ(Read(own), "my notes");

  head_process_ = nullptr;
  const CommandResult no_head = FromHead({id, "--out", out});
  EXPECT_EQ(no_head.exit_code, 3);
  EXPECT_THAT(no_head.err, HasSubstr(head_));
}

}  // namespace
}  // namespace lanista

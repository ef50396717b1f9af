// A head on a network, set up as docs/cluster.md says, and those who come to it with the right and the wrong things.
#include <signal.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/e2e/command.h"

namespace lanista {
namespace {

using ::testing::HasSubstr;

constexpr char kConstantSearch[] = R"(
  name: "constant"
  space { registered: "mnist_cnn" }
  strategy { random { dedup: false } }
  evaluator { constant { value: 0.5 } }
  max_trial_number: 5
)";

std::string ReadText(const std::string& path) {
  std::ifstream file(path);
  return std::string((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
}

// The lines of the first example behind a heading of docs/cluster.md.
std::vector<std::string> Example(const std::string& heading) {
  const std::string page = ReadText("docs/cluster.md");
  const size_t begin = page.find("```sh\n", page.find(absl::StrCat("\n", heading, "\n")));
  EXPECT_NE(begin, std::string::npos) << heading;
  const size_t text = begin + 6;
  return absl::StrSplit(page.substr(text, page.find("```", text) - text), '\n', absl::SkipEmpty());
}

// A head that is made by the example's commands, but for its name, and a port of its own.
class ServeSafetyTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::vector<std::string> commands = Example("### On a network");
    ASSERT_EQ(commands.size(), 4u);
    for (std::string& command : commands) {
      command =
          absl::StrReplaceAll(command, {{"DNS:head.example.org", "IP:127.0.0.1"}, {"0.0.0.0:7421", "127.0.0.1:0"}});
    }
    const std::string serve = commands.back();
    commands.pop_back();
    for (const std::string& command : commands) {
      const CommandResult done = Shell(command);
      ASSERT_EQ(done.exit_code, 0) << command << "\n" << done.err;
    }
    ASSERT_TRUE(absl::StartsWith(serve, "lanista serve ")) << serve;
    const std::string more = absl::StrCat(" --cpu-slots 1 --head-file head --max-experiments 2 --state-dir ", folder_);
    serve_ = std::make_unique<BackgroundCommand>(
        "/bin/sh", std::vector<std::string>{"-c", absl::StrCat("cd ", folder_, " && exec ", kLanista, " ",
                                                               serve.substr(serve.find(' ') + 1), more)});
    ASSERT_TRUE(serve_->WaitForLine("listening on 127.0.0.1:"));
    std::getline(std::ifstream(folder_ + "/head"), head_);
  }

  CommandResult Shell(const std::string& command) const {
    return RunCommand("/bin/sh", {"-c", absl::StrCat("cd ", folder_, " && ", command)});
  }
  // `access`: options that get one in, or do not.
  CommandResult Ask(const std::string& arguments, const std::string& access) const {
    return Shell(absl::StrCat(kLanista, " ", arguments, " --head ", head_, " ", access));
  }
  // The same as a client of the page would.
  CommandResult Ask(const std::string& arguments) const { return Ask(arguments, "--tls-ca ca.pem --token-file token"); }

  void WriteToken(const std::string& name, const std::string& text) const {
    const std::string path = absl::StrCat(folder_, "/", name);
    std::ofstream(path + ".new") << text;
    chmod((path + ".new").c_str(), 0600);
    std::filesystem::rename(path + ".new", path);
  }

  // Asks until the exit code is this: the head looks at its files once a second.
  bool BecomesCode(int code, const std::string& access) const {
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (std::chrono::steady_clock::now() < give_up) {
      if (Ask("list", access).exit_code == code) return true;
    }
    return false;
  }

  const std::string folder_ = FreshFolder();
  const std::string config_ = WriteFile("constant.textproto", kConstantSearch);
  std::string head_;
  std::unique_ptr<BackgroundCommand> serve_;
};

TEST_F(ServeSafetyTest, WhoHasTheTokenWorksAsOnThisMachine) {
  const CommandResult submitted = Ask(absl::StrCat("submit ", config_, " --watch"));
  EXPECT_EQ(submitted.exit_code, 0) << submitted.err;
  EXPECT_THAT(submitted.out, HasSubstr("max_trial_number: 5 models"));
  EXPECT_EQ(Ask("list --json").Json()["experiments"].size(), 1u);
  EXPECT_EQ(Shell(absl::StrCat("LANISTA_TOKEN_FILE=token ", kLanista, " show latest --tls-ca ca.pem --head ", head_))
                .exit_code,
            0);
  EXPECT_EQ(Ask(absl::StrCat("submit ", config_)).exit_code, 0);
  const CommandResult full = Ask(absl::StrCat("submit ", config_));
  EXPECT_EQ(full.exit_code, 1);
  EXPECT_THAT(full.err, HasSubstr("--max-experiments"));
  kill(serve_->pid(), SIGTERM);
  EXPECT_EQ(serve_->Wait(), 0);
}

TEST_F(ServeSafetyTest, WhoHasNotIsToldWhatToDo) {
  const CommandResult none = Ask("list", "--tls-ca ca.pem");
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_THAT(none.err, HasSubstr("--token-file FILE, or in LANISTA_TOKEN_FILE"));
  WriteToken("wrong", std::string(64, 'w'));
  const CommandResult wrong = Ask("list --json", "--tls-ca ca.pem --token-file wrong");
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_THAT(wrong.Json().value("error", ""), HasSubstr("none of this head's"));
  const CommandResult plain = Ask("list", "--token-file token");
  EXPECT_EQ(plain.exit_code, 3) << plain.err;
  EXPECT_THAT(plain.err, HasSubstr("speaks TLS: add --tls-ca FILE"));
  const CommandResult system = Ask("list", "--tls --token-file token");
  EXPECT_EQ(system.exit_code, 3) << system.err;
  EXPECT_THAT(system.err, HasSubstr("name the right one with --tls-ca FILE"));
  std::filesystem::permissions(folder_ + "/token", std::filesystem::perms::others_read,
                               std::filesystem::perm_options::add);
  const CommandResult open = Ask("list");
  EXPECT_EQ(open.exit_code, 2);
  EXPECT_THAT(open.err, HasSubstr("`chmod o= "));
}

TEST_F(ServeSafetyTest, TokensAndCertificatesAreReplacedWhileItRuns) {
  const std::string old = ReadText(folder_ + "/token"), next(64, 'n');
  WriteToken("old", old);
  WriteToken("next", next);
  WriteToken("token", absl::StrCat(next, "\n", old));
  EXPECT_TRUE(BecomesCode(0, "--tls-ca ca.pem --token-file next"));
  EXPECT_EQ(Ask("list", "--tls-ca ca.pem --token-file old").exit_code, 0);
  WriteToken("token", next);
  EXPECT_TRUE(BecomesCode(2, "--tls-ca ca.pem --token-file old"));
  EXPECT_EQ(Ask("list").exit_code, 0);
  // The page's own commands, once more.
  std::filesystem::copy_file(folder_ + "/ca.pem", folder_ + "/old_ca.pem");
  const std::vector<std::string> commands = Example("### On a network");
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(Shell(absl::StrReplaceAll(commands[i], {{"DNS:head.example.org", "IP:127.0.0.1"}})).exit_code, 0);
  }
  EXPECT_TRUE(BecomesCode(0, "--tls-ca ca.pem --token-file next"));
  EXPECT_EQ(Ask("list", "--tls-ca old_ca.pem --token-file next").exit_code, 3);
}

}  // namespace
}  // namespace lanista

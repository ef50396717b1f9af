// What a program tells of its own command line: man pages, and completion in shells.
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "src/launcher/command_line.h"
#include "src/launcher/completion.h"
#include "src/launcher/man_page.h"

namespace lanista {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

// What bash completes after the words of `line`; the last one may be a beginning. `lanista list` knows one experiment,
// and another one in the folder /x y.
std::string BashCompletes(const std::string& line) {
  const std::string path = ::testing::TempDir() + "/complete.bash";
  std::ofstream(path) << CompletionScript(DescribeCommandLine("lanista"), "bash") << R"(
lanista() {
  [[ $* != 'list --json' ]] || printf '    "id": "digits-1",\n'
  [[ $2 != --state-dir || $3 != '/x y' || $4 != --json ]] || printf '    "id": "digits-2",\n'
}
COMP_WORDS=()" << line << R"()
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_lanista
echo "${COMPREPLY[*]}"
)";
  FILE* const bash = popen(("bash " + path + " 2>&1").c_str(), "r");
  if (bash == nullptr) return "bash could not be started";
  std::string output;
  for (int c = std::fgetc(bash); c != EOF && c != '\n'; c = std::fgetc(bash)) output += static_cast<char>(c);
  pclose(bash);
  return output;
}

TEST(CompletionTest, BashCompletesCommandsOptionsValuesAndExperiments) {
  EXPECT_EQ(BashCompletes("lanista vali"), "validate");
  EXPECT_EQ(BashCompletes("lanista --json run --dur"), "--durable");
  EXPECT_EQ(BashCompletes("lanista run x --state"), "--state-dir");
  EXPECT_EQ(BashCompletes("lanista trials x --sort b"), "best");
  EXPECT_EQ(BashCompletes("lanista --log-level w"), "warn");
  EXPECT_EQ(BashCompletes("lanista show ''"), "latest digits-1");
  // Words as bash has them: with their quotes, and divided at the sign.
  EXPECT_EQ(BashCompletes(R"(lanista show --state-dir "'/x y'" '')"), "latest digits-2");
  EXPECT_EQ(BashCompletes(R"(lanista show --state-dir '/x\ y' '')"), "latest digits-2");
  EXPECT_EQ(BashCompletes(R"(lanista show --state-dir = '"/x y"' '')"), "latest digits-2");
  // Options of other commands, and what only bash can complete: file names.
  EXPECT_EQ(BashCompletes("lanista list --dur"), "");
  EXPECT_EQ(BashCompletes("lanista run experi"), "");
}

TEST(CompletionTest, EachShellGetsAllCommandsOfAProgramByItsName) {
  const CommandTree tree = DescribeCommandLine("my-search");
  for (const char* shell : kShells) {
    const std::string script = CompletionScript(tree, shell);
    for (const CommandDescription& command : tree.commands) EXPECT_THAT(script, HasSubstr(command.name)) << shell;
    EXPECT_THAT(script, AllOf(HasSubstr("my-search"), HasSubstr("trial-program"), HasSubstr("SUCCEEDED"))) << shell;
    EXPECT_THAT(script, Not(HasSubstr("my-search()"))) << shell;
  }
}

TEST(ManPageTest, EachCommandHasAPageWithItsOptions) {
  const CommandTree tree = DescribeCommandLine("lanista");
  EXPECT_THAT(ManPageNames(tree), Contains("lanista-show-graph"));
  for (const CommandDescription& command : tree.commands) {
    const auto page = ManPage(tree, "lanista-" + command.name);
    ASSERT_TRUE(page.ok()) << page.status();
    // Nothing that starts a line is taken for a command of roff by accident.
    for (size_t line = 0; line != std::string::npos; line = page->find('\n', line + 1)) {
      const std::string rest = page->substr(line == 0 ? 0 : line + 1, 3);
      if (rest.empty() || rest[0] != '.') continue;
      EXPECT_THAT((std::vector<std::string>{".TH", ".SH", ".SS", ".TP", ".PP"}), Contains(rest)) << command.name;
    }
    for (const OptionDescription& option : command.options) EXPECT_THAT(*page, HasSubstr(option.names[0].substr(2, 2)));
  }
  const std::string trials = *ManPage(tree, "lanista-trials");
  EXPECT_THAT(trials,
              AllOf(HasSubstr("\\fBlanista trials\\fR \\fIID\\fR [\\fIOPTIONS\\fR]"), HasSubstr("\\fB\\-\\-csv\\fR"),
                    HasSubstr(".SS \"With \\-\\-head\""), HasSubstr("QUEUED, RUNNING")));
  EXPECT_THAT(*ManPage(tree, "lanista"), HasSubstr("\\fBshow\\-graph\\fR"));
  EXPECT_THAT(std::string(ManPage(tree, "lanista-trails").status().message()),
              HasSubstr("did you mean 'lanista-trials'?"));
}

TEST(ManPageTest, HiddenCommandsAreNowhere) {
  for (const CommandDescription& command : DescribeCommandLine("lanista").commands) {
    EXPECT_NE(command.name, "man");
    EXPECT_NE(command.name, "completion");
  }
}

}  // namespace
}  // namespace lanista

#include "src/launcher/command_line.h"

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lanista {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::variant<CommandLine, CommandLineExit> Parse(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "lanista");
  return ParseCommandLine(static_cast<int>(arguments.size()), arguments.data());
}

CommandLine Good(const std::vector<const char*>& arguments) {
  const auto parsed = Parse(arguments);
  EXPECT_TRUE(std::holds_alternative<CommandLine>(parsed));
  return std::holds_alternative<CommandLine>(parsed) ? std::get<CommandLine>(parsed) : CommandLine();
}

// "exit code: text".
std::string Ends(const std::vector<const char*>& arguments) {
  const auto parsed = Parse(arguments);
  const auto* const end = std::get_if<CommandLineExit>(&parsed);
  return end == nullptr ? "" : std::to_string(end->exit_code) + ": " + end->text;
}

TEST(CommandLineTest, EveryCommandIsKnown) {
  for (const char* command : {"list", "devices", "version"}) EXPECT_EQ(Good({command}).command, command);
  for (const char* command : {"run", "validate"}) {
    EXPECT_EQ(Good({command, "x.textproto"}).command, command);
    EXPECT_EQ(Good({command, "x.textproto"}).config, "x.textproto");
  }
  for (const char* command : {"resume", "show", "trials", "export", "delete"}) {
    EXPECT_EQ(Good({command, "digits-1"}).command, command);
    EXPECT_EQ(Good({command, "digits-1"}).experiment, "digits-1");
  }
}

TEST(CommandLineTest, InitNamesAFolderAndABuildTool) {
  const CommandLine init = Good({"init", "nas"});
  EXPECT_EQ(init.command, "init");
  EXPECT_EQ(init.folder, "nas");
  EXPECT_EQ(init.build_tool, "cmake");
  EXPECT_EQ(Good({"init", "nas", "--build", "bazel", "--source", "../lanista"}).source, "../lanista");
  EXPECT_THAT(Ends({"init"}), HasSubstr("DIR is required"));
  EXPECT_THAT(Ends({"init", "nas", "--build", "make"}), AllOf(HasSubstr("2: "), HasSubstr("cmake,bazel")));
}

TEST(CommandLineTest, TheProgramDescribesItself) {
  EXPECT_THAT(Ends({"completion", "bash"}),
              AllOf(HasSubstr("0: "), HasSubstr("complete -o default -F _lanista lanista")));
  EXPECT_THAT(Ends({"completion", "tcsh"}), HasSubstr("2: SHELL: tcsh not in {bash,zsh,fish}"));
  EXPECT_THAT(Ends({"man"}), HasSubstr("0: .TH LANISTA 1"));
  EXPECT_THAT(Ends({"man", "lanista-run"}), HasSubstr("\\-\\-durable"));
  EXPECT_THAT(Ends({"man", "--list"}), AllOf(HasSubstr("lanista\nlanista-run\n"), HasSubstr("lanista-version\n")));
  EXPECT_THAT(Ends({"man", "nope"}), HasSubstr("2: there is no page 'nope'"));
}

TEST(CommandLineTest, NodesHaveAHeadAndDevices) {
  const CommandLine node =
      Good({"node", "--head", "h:1", "--cpu-slots", "4", "--gpus", "0,2", "--name", "n", "--give-up-after", "60"});
  EXPECT_EQ(node.command, "node");
  EXPECT_EQ(node.head, "h:1");
  EXPECT_EQ(node.cpu_slots, 4);
  EXPECT_THAT(node.gpus, ElementsAre(0, 2));
  EXPECT_EQ(node.name, "n");
  EXPECT_EQ(node.give_up_after, 60);
  EXPECT_EQ(Good({"node", "--head", "h:1"}).give_up_after, 3600);
  EXPECT_EQ(Good({"nodes", "--head", "h:1"}).command, "nodes");
  EXPECT_EQ(Good({"drain", "n", "--head", "h:1"}).node, "n");
  EXPECT_EQ(Good({"serve", "--lost-after", "5"}).lost_after, 5);
  EXPECT_EQ(Good({"serve", "--keep-free", "2GB"}).keep_free, uint64_t{2} << 30);
  EXPECT_THAT(Good({"node", "--head", "h:1", "--label", "gpu=a100", "--label", "rack=7"}).labels,
              ElementsAre("gpu=a100", "rack=7"));
  for (const char* command : {"run", "validate", "resume"}) {
    EXPECT_THAT(Good({command, "x", "--label", "a=b"}).labels, ElementsAre("a=b")) << command;
  }
  EXPECT_THAT(Good({"serve", "--label", "a=b"}).labels, ElementsAre("a=b"));
  for (const char* command : {"node", "nodes"}) EXPECT_THAT(Ends({command}), HasSubstr("--head")) << command;
  const CommandLine by_file = Good({"node", "--head-file", "f", "--tls-ca", "a", "--token-file", "t"});
  EXPECT_EQ(by_file.command, "node");
  EXPECT_EQ(by_file.head_file, "f");
  EXPECT_EQ(by_file.head, "");
  EXPECT_EQ(by_file.safety.token_file, "t");
  EXPECT_THAT(Ends({"node", "--token-file", "t"}), AllOf(HasSubstr("2: "), HasSubstr("--head or --head-file")));
  EXPECT_THAT(Ends({"node", "--head", "h:1", "--head-file", "f"}), AllOf(HasSubstr("2: "), HasSubstr("--head-file")));
  EXPECT_THAT(Ends({"node", "--head", "h:1", "--give-up-after", "0"}), HasSubstr("2: "));
  EXPECT_THAT(Ends({"serve", "--lost-after", "0"}), HasSubstr("2: "));
}

TEST(CommandLineTest, TrialsAreSelectedByAnyStatus) {
  for (const char* status : {"SUCCEEDED", "STOPPED_EARLY", "INFEASIBLE", "infeasible"}) {
    EXPECT_EQ(Good({"trials", "latest", "--status", status}).trials.status, status);
  }
  EXPECT_THAT(Ends({"trials", "latest", "--status", "GOOD"}), HasSubstr("2: "));
}

TEST(CommandLineTest, APageIsThereWhereOneIsAskedFor) {
  EXPECT_EQ(Good({"run", "x.textproto"}).web, "");
  const CommandLine run =
      Good({"run", "x.textproto", "--web", "8081", "--web-stay", "--web-host", "a", "--web-host", "b"});
  EXPECT_EQ(run.web, "8081");
  EXPECT_TRUE(run.web_stay);
  EXPECT_THAT(run.web_hosts, ElementsAre("a", "b"));
  EXPECT_EQ(Good({"resume", "latest", "--web", "[::1]:0", "--web-token", "none"}).web_token, "none");
  EXPECT_EQ(Good({"serve", "--web", "0"}).web, "0");
  EXPECT_EQ(Good({"web"}).command, "web");
  EXPECT_EQ(Good({"web"}).web, "127.0.0.1:8081");
  EXPECT_EQ(Good({"web", "--listen", "127.0.0.1:0"}).web, "127.0.0.1:0");
  EXPECT_THAT(Ends({"run", "x.textproto", "--web", "0", "--web-token", "mine"}), HasSubstr("2: "));
}

TEST(CommandLineTest, CommandsFindAHeadWhereOneIsNamed) {
  for (const char* command : {"show", "trials", "watch", "resume", "delete", "stop"}) {
    EXPECT_EQ(Good({command, "digits-1", "--head", "localhost:1"}).head, "localhost:1");
    EXPECT_EQ(Good({command, "digits-1", "--head", "localhost:1"}).experiment, "digits-1");
  }
  EXPECT_EQ(Good({"list", "--head", "localhost:1"}).head, "localhost:1");
  const CommandLine submit = Good({"submit", "c", "--head=localhost:1", "--watch", "--request-id", "r"});
  EXPECT_EQ(submit.config, "c");
  EXPECT_TRUE(submit.watch);
  EXPECT_EQ(submit.request_id, "r");
  EXPECT_THAT(Ends({"submit", "c"}), AllOf(HasSubstr("2: "), HasSubstr("--head")));
  EXPECT_THAT(Ends({"stop", "digits-1"}), AllOf(HasSubstr("2: "), HasSubstr("--head")));
  EXPECT_TRUE(Good({"trials", "digits-1", "--csv", "--head", "localhost:1"}).csv);
  EXPECT_TRUE(Good({"trials", "digits-1", "--merged", "--head", "localhost:1"}).merged);
}

TEST(CommandLineTest, LogsAreOfTheSelectedModelsOrOfThoseThatAreNamed) {
  EXPECT_FALSE(Good({"trials", "digits-1"}).log);
  const CommandLine all = Good({"trials", "--log", "digits-1", "--status", "FAILED", "--head", "localhost:1"});
  EXPECT_TRUE(all.log);
  EXPECT_EQ(all.experiment, "digits-1");
  EXPECT_THAT(all.log_models, ElementsAre());
  const CommandLine named = Good({"trials", "digits-1", "--log", "--model", "7", "--model=3", "--attempt", "2"});
  EXPECT_THAT(named.log_models, ElementsAre(7, 3));
  EXPECT_EQ(named.log_attempt, 2);
  for (const std::vector<const char*>& bad : {std::vector<const char*>{"trials", "digits-1", "--model", "7"},
                                              {"trials", "digits-1", "--log", "--attempt", "2"},
                                              {"trials", "digits-1", "--log", "--model", "0"},
                                              {"trials", "digits-1", "--log", "--csv"}}) {
    EXPECT_THAT(Ends(bad), HasSubstr("2: "));
  }
}

TEST(CommandLineTest, AHeadHasAnAddressAndDevices) {
  EXPECT_EQ(Good({"serve"}).listen, "127.0.0.1:7421");
  EXPECT_EQ(Good({"serve"}).cpu_slots, std::nullopt);
  EXPECT_EQ(Good({"serve"}).max_priority, 0);
  EXPECT_EQ(Good({"serve", "--max-priority", "10"}).max_priority, 10);
  EXPECT_THAT(Ends({"serve", "--max-priority", "1001"}), HasSubstr("2: "));
  const CommandLine line =
      Good({"serve", "--listen", "[::1]:0", "--head-file", "f", "--insecure", "--cpu-slots", "0", "--gpus", "0,2"});
  EXPECT_EQ(line.listen, "[::1]:0");
  EXPECT_EQ(line.head_file, "f");
  EXPECT_TRUE(line.insecure);
  EXPECT_EQ(line.cpu_slots, 0);
  EXPECT_THAT(line.gpus, ElementsAre(0, 2));
}

TEST(CommandLineTest, NodesFindTheirHeadByAddressOrByFile) {
  EXPECT_EQ(Good({"node", "--head", "h:1"}).head, "h:1");
  const CommandLine line = Good({"node", "--head-file", "f", "--tls-ca", "a", "--token-file", "t", "--insecure"});
  EXPECT_EQ(line.command, "node");
  EXPECT_EQ(line.head_file, "f");
  EXPECT_EQ(line.safety.tls_ca, "a");
  EXPECT_TRUE(line.insecure);
  EXPECT_THAT(Ends({"node"}), AllOf(HasSubstr("2: "), HasSubstr("--head-file")));
  EXPECT_THAT(Ends({"node", "--head", "h:1", "--head-file", "f"}), HasSubstr("2: "));
}

TEST(CommandLineTest, AHeadAndASearchMayAskForNodes) {
  EXPECT_EQ(Good({"serve", "--config", "c"}).config, "c");
  EXPECT_EQ(Good({"run", "x.textproto"}).command, "run");
  EXPECT_EQ(Good({"run", "x.textproto"}).listen, "127.0.0.1:0");
  EXPECT_EQ(Good({"resume", "latest"}).command, "resume");
  EXPECT_EQ(Good({"resume", "latest", "--listen", "h:1"}).listen, "h:1");
  const CommandLine run = Good({"run", "x.textproto", "--listen", "h:1", "--tls-cert", "c", "--tls-key", "k",
                                "--token-file", "t", "--node-token-file", "n"});
  EXPECT_EQ(run.listen, "h:1");
  EXPECT_EQ(run.safety.node_token_file, "n");
  // A search that goes on takes its nodes as it did before.
  const CommandLine resume = Good({"resume", "latest", "--listen", "0.0.0.0:1", "--tls-cert", "c", "--tls-key", "k",
                                   "--tls-client-ca", "a", "--token-file", "t", "--node-token-file", "n"});
  EXPECT_EQ(resume.listen, "0.0.0.0:1");
  EXPECT_EQ(resume.head, "");
  EXPECT_EQ(resume.safety.tls_cert, "c");
  EXPECT_EQ(resume.safety.tls_client_ca, "a");
  EXPECT_EQ(resume.safety.token_file, "t");
  EXPECT_EQ(resume.safety.node_token_file, "n");
  EXPECT_THAT(Ends({"resume", "latest", "--head", "h:1", "--node-token-file", "n"}),
              AllOf(HasSubstr("2: "), HasSubstr("--head")));
}

TEST(CommandLineTest, APageHasACertificateOfItsOwn) {
  for (const std::vector<const char*>& command :
       std::vector<std::vector<const char*>>{{"run", "c", "--web", "1"}, {"resume", "x", "--web", "1"}, {"web"}}) {
    std::vector<const char*> whole = command;
    whole.insert(whole.end(), {"--tls-cert", "c", "--tls-key", "k"});
    const CommandLine line = Good(whole);
    EXPECT_EQ(line.safety.tls_cert, "c") << command[0];
    EXPECT_EQ(line.safety.tls_key, "k") << command[0];
    whole.resize(whole.size() - 2);
    EXPECT_THAT(Ends(whole), AllOf(HasSubstr("2: "), HasSubstr("--tls-key"))) << command[0];
  }
}

TEST(CommandLineTest, AHeadOnANetworkIsProtectedAtBothEnds) {
  const CommandLine serve = Good({"serve", "--tls-cert", "c", "--tls-key", "k", "--tls-client-ca", "a", "--token-file",
                                  "t", "--node-token-file", "n", "--max-experiments", "5"});
  EXPECT_EQ(serve.safety.tls_cert, "c");
  EXPECT_EQ(serve.safety.tls_key, "k");
  EXPECT_EQ(serve.safety.tls_client_ca, "a");
  EXPECT_EQ(serve.safety.token_file, "t");
  EXPECT_EQ(serve.safety.node_token_file, "n");
  EXPECT_EQ(serve.max_experiments, 5);
  EXPECT_THAT(Ends({"serve", "--tls-cert", "c"}), AllOf(HasSubstr("2: "), HasSubstr("--tls-key")));
  EXPECT_THAT(Ends({"serve", "--tls-key", "k"}), AllOf(HasSubstr("2: "), HasSubstr("--tls-cert")));
  EXPECT_THAT(Ends({"serve", "--tls-client-ca", "a"}), AllOf(HasSubstr("2: "), HasSubstr("--tls-cert")));

  for (std::vector<const char*> command : std::vector<std::vector<const char*>>{{"list"},
                                                                                {"show", "x"},
                                                                                {"trials", "x"},
                                                                                {"watch", "x"},
                                                                                {"stop", "x"},
                                                                                {"resume", "x"},
                                                                                {"delete", "x"},
                                                                                {"submit", "c"}}) {
    std::vector<const char*> alone = command;
    alone.insert(alone.end(), {"--tls-ca", "a"});
    EXPECT_THAT(Ends(alone), AllOf(HasSubstr("2: "), HasSubstr("--head"))) << command[0];
    command.insert(command.end(), {"--head", "h:1", "--tls", "--tls-ca", "a", "--tls-cert", "c", "--tls-key", "k",
                                   "--token-file", "t", "--insecure"});
    const CommandLine line = Good(command);
    EXPECT_TRUE(line.safety.tls);
    EXPECT_EQ(line.safety.tls_ca, "a");
    EXPECT_EQ(line.safety.tls_cert, "c");
    EXPECT_EQ(line.safety.tls_key, "k");
    EXPECT_EQ(line.safety.token_file, "t");
    EXPECT_TRUE(line.insecure);
  }
}

TEST(CommandLineTest, GlobalOptionsStandBeforeOrAfterTheCommand) {
  const std::vector<std::vector<const char*>> lines = {
      {"--json", "--state-dir", "S", "--set", "seed=1", "--set", "name=[a]", "run", "c"},
      {"run", "c", "--json", "--state-dir", "S", "--set", "seed=1", "--set", "name=[a]"},
      {"--json", "run", "--set", "seed=1", "--state-dir=S", "c", "--set", "name=[a]"},
  };
  for (const auto& arguments : lines) {
    const CommandLine line = Good(arguments);
    EXPECT_EQ(line.command, "run");
    EXPECT_EQ(line.config, "c");
    EXPECT_TRUE(line.json);
    EXPECT_EQ(line.state_dir, "S");
    EXPECT_THAT(line.overrides, ElementsAre("seed=1", "name=[a]"));
  }
}

TEST(CommandLineTest, OverridesKeepTheirBracesAndEqualsSigns) {
  EXPECT_THAT(Good({"run", "c", "--set", "strategy={ random { dedup: true } }", "--set", "name=a=b"}).overrides,
              ElementsAre("strategy={ random { dedup: true } }", "name=a=b"));
}

TEST(CommandLineTest, ExportHasDefaults) {
  const CommandLine line = Good({"export", "digits-1"});
  EXPECT_EQ(line.top, 1);
  EXPECT_EQ(line.format, "json");
  EXPECT_EQ(Good({"export", "digits-1", "--top", "3", "--format", "onnx", "--out", "o"}).top, 3);
  EXPECT_EQ(Good({"export", "digits-1", "--head", "h:1", "--tls", "--untrained"}).head, "h:1");
  EXPECT_THAT(Ends({"export", "digits-1", "--head", "h:1", "--data", "a=/b"}), HasSubstr("--data excludes --head"));
  EXPECT_THAT(Ends({"export", "digits-1", "--tls"}), HasSubstr("--tls requires --head"));
}

TEST(CommandLineTest, VersionIsAFlagToo) {
  EXPECT_EQ(Good({"--version"}).command, "version");
  EXPECT_TRUE(Good({"--version", "--json"}).json);
}

TEST(CommandLineTest, DeleteAsksUnlessItIsTold) {
  EXPECT_FALSE(Good({"delete", "latest"}).yes);
  EXPECT_TRUE(Good({"delete", "latest", "--yes"}).yes);
}

TEST(CommandLineTest, MisspelledWordsAreGuessed) {
  EXPECT_EQ(Ends({"lst"}), "2: unknown command 'lst'; did you mean 'list'? See `lanista --help`");
  EXPECT_THAT(Ends({"show", "a", "--stat-dir", "S"}),
              AllOf(HasSubstr("did you mean '--state-dir'?"), HasSubstr("`lanista show --help`")));
  EXPECT_THAT(Ends({"export", "a", "--fromat=json"}), HasSubstr("did you mean '--format'?"));
}

TEST(CommandLineTest, MistakesRememberJson) {
  const auto parsed = Parse({"fly", "--json"});
  ASSERT_TRUE(std::holds_alternative<CommandLineExit>(parsed));
  EXPECT_TRUE(std::get<CommandLineExit>(parsed).json);
}

TEST(CommandLineTest, AProgramOfAUsersHasItsOwnName) {
  const char* const arguments[] = {"/opt/bin/mine", "run", "--help"};
  const auto parsed = ParseCommandLine(3, arguments);
  ASSERT_TRUE(std::holds_alternative<CommandLineExit>(parsed));
  EXPECT_THAT(std::get<CommandLineExit>(parsed).text, HasSubstr("Usage: mine run [OPTIONS] CONFIG"));
}

TEST(CommandLineTest, MistakesAreUsageErrors) {
  EXPECT_EQ(Ends({}), "2: name a command; see `lanista --help`");
  EXPECT_EQ(Ends({"fly"}), "2: unknown command 'fly'; see `lanista --help`");
  EXPECT_EQ(Ends({"fly", "--json", "x"}), "2: unknown command 'fly'; see `lanista --help`");
  EXPECT_THAT(Ends({"--fast"}), HasSubstr("--fast"));
  EXPECT_THAT(Ends({"run"}), HasSubstr("CONFIG is required"));
  EXPECT_THAT(Ends({"run", "a", "b"}), HasSubstr("2: "));
  EXPECT_THAT(Ends({"run", "a", "--fast"}), HasSubstr("--fast"));
  EXPECT_THAT(Ends({"export", "a", "--top", "0"}), HasSubstr("2: "));
  EXPECT_THAT(Ends({"list", "--log-level", "loud"}), HasSubstr("2: "));
}

TEST(CommandLineTest, HelpGoesToStdout) {
  EXPECT_THAT(Ends({"--help"}), HasSubstr("0: Lanista searches"));
  EXPECT_THAT(Ends({"export", "--help"}), AllOf(HasSubstr("Usage: lanista export [OPTIONS] ID"), HasSubstr("--top"),
                                                HasSubstr("Global options"), HasSubstr("--state-dir")));
}

}  // namespace
}  // namespace lanista

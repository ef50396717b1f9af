// A head that serves clients, driven as its users do: from the command line, and by a client of their own.
#include <signal.h>

#include <filesystem>
#include <fstream>
#include <future>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "src/rpc/head_client.h"
#include "src/storage/journal.h"
#include "src/storage/state_dir.h"
#include "tests/e2e/command.h"

namespace lanista {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr char kConstantSearch[] = R"(
  name: "constant"
  space { registered: "mnist_cnn" }
  strategy { random { dedup: false } }
  evaluator { constant { value: 0.5 } }
  max_trial_number: 20
  seed: 1
)";

// Its first trial takes longer than any test.
constexpr char kLongSearch[] = R"(
  name: "long"
  space { registered: "mnist_cnn" }
  strategy { random {} }
  evaluator {
    classification {
      dataset { synthetic_digits { train_samples: 5000 validation_samples: 20 } }
      batch_size: 20
      max_epochs: 1000
    }
  }
  max_trial_number: 1
  seed: 1
)";

// `serve` on a port that nobody else has, and commands that talk to it.
class ServeTest : public ::testing::Test {
 protected:
  void SetUp() override { Start(); }

  void Start(const std::string& cpu_slots = "2") {
    std::filesystem::remove(head_file_);
    serve_ = std::make_unique<BackgroundCommand>(
        kLanista, std::vector<std::string>{"serve", "--listen", listen_, "--head-file", head_file_, "--cpu-slots",
                                           cpu_slots, "--state-dir", state_});
    ASSERT_TRUE(serve_->WaitForLine("listening on 127.0.0.1:"));
    std::getline(std::ifstream(head_file_), head_);
    // The next one takes its place.
    listen_ = head_;
  }

  void Kill() {
    kill(serve_->pid(), SIGKILL);
    EXPECT_EQ(serve_->Wait(), -SIGKILL);
  }

  CommandResult Ask(std::vector<std::string> arguments) const {
    arguments.insert(arguments.end(), {"--head", head_});
    return RunCommand(kLanista, arguments);
  }
  CommandResult AskOffline(std::vector<std::string> arguments) const {
    arguments.insert(arguments.end(), {"--state-dir", state_});
    return RunCommand(kLanista, arguments);
  }

  std::string Submit(std::vector<std::string> more = {}) const {
    more.insert(more.begin(), {"submit", config_, "--json"});
    const CommandResult submitted = Ask(more);
    EXPECT_EQ(submitted.exit_code, 0) << submitted.err;
    return submitted.Json().value("id", "");
  }

  // The numbers of events behind `after` until the experiment ends, or until `stop` says so, or the head goes.
  template <typename Stop>
  std::vector<int64_t> Watch(const std::string& id, int64_t after, Stop stop) const {
    HeadClient client(*ParseAddress(head_));
    v1::WatchRequest request;
    request.set_experiment(id);
    request.set_after(after);
    std::vector<int64_t> numbers;
    client
        .Watch(request,
               [&](const v1::ExperimentEvent& event) {
                 numbers.push_back(event.number());
                 return !stop(event);
               })
        .IgnoreError();
    return numbers;
  }
  std::vector<int64_t> WatchToEnd(const std::string& id, int64_t after = 0) const {
    return Watch(id, after, [](const v1::ExperimentEvent&) { return false; });
  }

  const std::string state_ = FreshFolder();
  const std::string config_ = WriteFile("constant.textproto", kConstantSearch);
  const std::string head_file_ = FreshFolder() + "/head";
  std::string listen_ = "127.0.0.1:0";
  std::string head_;
  std::unique_ptr<BackgroundCommand> serve_;
};

TEST_F(ServeTest, ASubmittedSearchRunsAndIsShownAsOffline) {
  const CommandResult submitted = Ask({"submit", config_, "--watch"});
  EXPECT_EQ(submitted.exit_code, 0) << submitted.err;
  EXPECT_THAT(submitted.out, StartsWith("constant-"));
  EXPECT_THAT(submitted.out, HasSubstr("model 20 succeeded"));
  EXPECT_THAT(submitted.out, HasSubstr("max_trial_number: 20 models"));

  for (const std::vector<std::string>& command : {std::vector<std::string>{"show", "latest"},
                                                  {"show", "latest", "--json"},
                                                  {"trials", "constant"},
                                                  {"trials", "latest", "--json"},
                                                  {"trials", "latest", "--sort", "best", "--limit", "3"},
                                                  {"trials", "latest", "--csv"},
                                                  {"trials", "latest", "--csv", "--limit", "3"},
                                                  {"trials", "latest", "--merged"},
                                                  {"trials", "latest", "--merged", "--json"},
                                                  {"list"},
                                                  {"list", "--json"}}) {
    const CommandResult on_head = Ask(command), offline = AskOffline(command);
    EXPECT_EQ(on_head.exit_code, 0) << on_head.err;
    EXPECT_EQ(on_head.out, offline.out);
  }
  EXPECT_EQ(Ask({"watch", "latest"}).exit_code, 0) << "late";
  EXPECT_THAT(AskOffline({"watch", "latest"}).out, HasSubstr("model 20 succeeded"));
  EXPECT_EQ(Ask({"watch", "latest", "--json"}).Json()["status"], "DONE");
  EXPECT_EQ(Ask({"delete", "latest"}).exit_code, 2) << "nobody can be asked";
  EXPECT_EQ(Ask({"delete", "latest", "--yes", "--json"}).Json()["deleted"], submitted.out.substr(0, 13));
  EXPECT_EQ(Ask({"list", "--json"}).Json()["experiments"].size(), 0u);
}

TEST_F(ServeTest, OneRequestMakesOneExperiment) {
  const std::string id = Submit({"--request-id", "tuesday"});
  EXPECT_EQ(Submit({"--request-id", "tuesday"}), id);
  EXPECT_NE(Submit(), Submit());
  const CommandResult other = Ask({"submit", config_, "--request-id", "tuesday", "--set", "max_trial_number=21"});
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_THAT(other.err, HasSubstr("max_trial_number: 20 -> 21"));
  Kill();
  Start();
  EXPECT_EQ(Submit({"--request-id", "tuesday"}), id);
  EXPECT_EQ(Ask({"list", "--json"}).Json()["experiments"].size(), 3u);
  // Wherever the kill met it: perhaps its space was not known yet.
  WatchToEnd(id);
  EXPECT_EQ(Ask({"show", id, "--json"}).Json()["status"], "DONE");
}

TEST_F(ServeTest, AHeadThatIsKilledGoesOnAndItsWatchersMissAndRepeatNothing) {
  const std::string id = Submit({"--set", "max_trial_number=1500"});
  // `watch` waits until the head returns.
  BackgroundCommand shown(kLanista, {"watch", id, "--head", head_});
  std::vector<int64_t> seen;
  for (const int outcomes : {5, 40}) {
    int more = outcomes;
    const int64_t after = seen.empty() ? 0 : seen.back();
    const std::vector<int64_t> part =
        Watch(id, after, [&more](const v1::ExperimentEvent& event) { return event.has_outcome() && --more == 0; });
    seen.insert(seen.end(), part.begin(), part.end());
    const std::vector<pid_t> children = serve_->Children();
    Kill();
    for (const pid_t child : children) EXPECT_TRUE(WaitUntilGone(child));
    Start();
  }
  const std::vector<int64_t> rest = WatchToEnd(id, seen.back());
  seen.insert(seen.end(), rest.begin(), rest.end());
  EXPECT_EQ(seen, WatchToEnd(id));
  EXPECT_EQ(std::set<int64_t>(seen.begin(), seen.end()).size(), seen.size());
  const nlohmann::json document = Ask({"show", id, "--json"}).Json();
  EXPECT_EQ(document["status"], "DONE");
  EXPECT_EQ(document["models"]["succeeded"], 1500);
  EXPECT_TRUE(shown.WaitForLine("max_trial_number: 1500 models"));
  EXPECT_EQ(shown.Wait(), 0);
}

TEST_F(ServeTest, OnlyWhatAServerHadGoesOnByItself) {
  const std::string id = Submit({"--set", "max_trial_number=1000000"});
  // Until it runs.
  Watch(id, 0, [](const v1::ExperimentEvent& event) { return event.has_outcome(); });
  BackgroundCommand run(
      kLanista, {"run", config_, "--state-dir", state_, "--set", "max_trial_number=1000000", "--set", "name=own"});
  ASSERT_TRUE(run.WaitForLine("model 5 succeeded"));
  kill(run.pid(), SIGKILL);
  run.Wait();
  const std::string stopped = Submit({"--set", "max_trial_number=1000000"});
  // The head does not stop an experiment that another process runs; one that it stopped stays stopped.
  EXPECT_EQ(Ask({"stop", "own"}).exit_code, 2);
  EXPECT_EQ(Ask({"stop", stopped, "--json"}).Json()["id"], stopped);
  WatchToEnd(stopped);

  // Its end by a signal is no end of the search.
  kill(serve_->pid(), SIGTERM);
  EXPECT_EQ(serve_->Wait(), 0);
  EXPECT_EQ(AskOffline({"show", id, "--json"}).Json()["status"], "INTERRUPTED");
  Start();
  EXPECT_EQ(Ask({"show", id, "--json"}).Json()["status"], "RUNNING");
  EXPECT_EQ(Ask({"show", "own", "--json"}).Json()["status"], "INTERRUPTED");
  EXPECT_EQ(Ask({"show", stopped, "--json"}).Json()["status"], "STOPPED");
  EXPECT_EQ(Ask({"delete", id, "--yes"}).exit_code, 2) << "it runs";

  // After `resume` the experiment belongs to this head, which goes on with it after each restart.
  const CommandResult resumed = Ask({"resume", "own"});
  EXPECT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_THAT(resumed.out, HasSubstr("goes on"));
  Kill();
  Start();
  EXPECT_EQ(Ask({"show", "own", "--json"}).Json()["status"], "RUNNING");
}

TEST_F(ServeTest, TheDevicesAreTheHeadsAndASubmittedConfigurationCapsItsTrials) {
  const std::string id = Submit({"--set", "training_service.local.cpu_slots=1"});
  WatchToEnd(id);
  v1::GetExperimentRequest get;
  get.set_experiment(id);
  const auto reply = HeadClient(*ParseAddress(head_)).Get(get);
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(reply->config().trial_concurrency(), 1);
  const CommandResult refused = Ask({"submit", config_, "--set", "training_service.local.threads_per_slot=2"});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("training_service[0].local.threads_per_slot: "));
}

TEST_F(ServeTest, AWatcherGoesOnOverAPlannedRestart) {
  BackgroundCommand shown(kLanista, {"submit", config_, "--watch", "--head", head_, "--set", "max_trial_number=1500"});
  ASSERT_TRUE(shown.WaitForLine("model 5 succeeded"));
  kill(serve_->pid(), SIGTERM);
  EXPECT_EQ(serve_->Wait(), 0);
  Start();
  EXPECT_TRUE(shown.WaitForLine("max_trial_number: 1500 models"));
  EXPECT_EQ(shown.Wait(), 0);
}

// An experiment of a served head's that was killed in this state.
std::string LeftBehind(const std::string& state_dir, const std::string& id, v1::ExperimentState::State state) {
  v1::ExperimentCreated created;
  created.set_experiment(id);
  created.set_served(true);
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(kConstantSearch, created.mutable_config()));
  const std::string folder = absl::StrCat(state_dir, "/experiments/", id);
  const auto writer = JournalWriter::Create(folder, created);
  EXPECT_TRUE(writer.ok()) << writer.status();
  v1::JournalBatch batch;
  for (const v1::ExperimentState::State each : {v1::ExperimentState::RUNNING, state}) {
    v1::StateChanged& change = *batch.add_records()->mutable_state();
    change.set_state(each);
    change.set_served(true);
    change.set_reason("enough");
  }
  EXPECT_TRUE((*writer)->Write(batch).ok());
  return folder;
}

TEST_F(ServeTest, WhatWasStoppingWhenItsHeadWasKilledIsStopped) {
  Kill();
  LeftBehind(state_, "stopping-1", v1::ExperimentState::STOPPING);
  Start();
  const nlohmann::json document = Ask({"show", "stopping-1", "--json"}).Json();
  EXPECT_EQ(document["status"], "STOPPED");
  EXPECT_THAT(Ask({"show", "stopping-1"}).out, HasSubstr("enough"));
}

TEST_F(ServeTest, WithoutDevicesExperimentsWaitAndSayForWhat) {
  Kill();
  Start(/*cpu_slots=*/"0");
  const std::string id = Submit(), other = Submit();
  const nlohmann::json show = Ask({"show", id, "--json"}).Json();
  EXPECT_EQ(show["status"], "CREATED");
  EXPECT_THAT(show["waiting_for"].get<std::string>(), HasSubstr("no node has joined"));
  EXPECT_THAT(Ask({"show", id}).out, HasSubstr("waits for   a device"));
  EXPECT_TRUE(AskOffline({"show", id, "--json"}).Json()["waiting_for"].is_null());
  const nlohmann::json listed = Ask({"list", "--json"}).Json();
  EXPECT_EQ(listed["experiments"][0]["waiting_for"], show["waiting_for"]);
  EXPECT_THAT(Ask({"list"}).out, HasSubstr("waits for a device"));
  EXPECT_EQ(Ask({"stop", other}).exit_code, 0);
  WatchToEnd(other);
  EXPECT_EQ(Ask({"show", other, "--json"}).Json()["status"], "STOPPED");
  // With devices it goes on.
  Kill();
  Start();
  WatchToEnd(id);
  EXPECT_EQ(Ask({"show", id, "--json"}).Json()["status"], "DONE");
}

TEST_F(ServeTest, WatchSaysWhatAnExperimentWaitsFor) {
  Kill();
  Start(/*cpu_slots=*/"0");
  const std::string config = WriteFile("long.textproto", kLongSearch);
  const std::string id = Ask({"submit", config, "--json"}).Json().value("id", "");
  BackgroundCommand watch(kLanista, {"watch", id, "--head", head_});
  ASSERT_TRUE(watch.WaitForLine("waits for a device"));
  const BackgroundCommand node(kLanista, {"node", "--head", head_, "--cpu-slots", "1", "--name", "n"});
  ASSERT_TRUE(watch.WaitForLine("waits no longer"));
  EXPECT_EQ(Ask({"stop", id}).exit_code, 0);
  EXPECT_EQ(watch.Wait(), 1) << "it is not done";
}

TEST_F(ServeTest, ASpaceIsDiscoveredWhileTheOnlyDeviceTrains) {
  Kill();
  Start("1");
  const std::string long_config = WriteFile("long.textproto", kLongSearch);
  const std::string trains = Ask({"submit", long_config, "--json"}).Json().value("id", "");
  ASSERT_FALSE(Watch(trains, 0, [](const v1::ExperimentEvent& event) { return event.model().has_started(); }).empty());
  v1::ValidateExperimentRequest validate;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(kConstantSearch, validate.mutable_config()));
  const auto validated = HeadClient(*ParseAddress(head_)).Validate(validate);
  EXPECT_TRUE(validated.ok()) << validated.status();
  const std::string id = Submit();
  const auto runs = [](const v1::ExperimentEvent& event) {
    return event.state().state() == v1::ExperimentState::RUNNING;
  };
  ASSERT_FALSE(Watch(id, 0, runs).empty());
  EXPECT_EQ(Ask({"show", trains, "--json"}).Json()["status"], "RUNNING");
  EXPECT_EQ(Ask({"show", id, "--json"}).Json()["status"], "RUNNING");
  EXPECT_EQ(Ask({"stop", trains}).exit_code, 0);
  WatchToEnd(id);
  EXPECT_EQ(Ask({"show", id, "--json"}).Json()["status"], "DONE");
}

TEST_F(ServeTest, WithoutItsPortItRunsNothing) {
  const std::string state = FreshFolder();
  const std::string folder = LeftBehind(state, "running-1", v1::ExperimentState::RUNNING);
  EXPECT_EQ(RunCommand(kLanista, {"serve", "--listen", head_, "--state-dir", state}).exit_code, 1) << "taken";
  EXPECT_FALSE(std::filesystem::exists(folder + "/lock"));
}

TEST_F(ServeTest, AStateFolderHasOneServer) {
  const CommandResult second = RunCommand(kLanista, {"serve", "--listen", "127.0.0.1:0", "--state-dir", state_});
  EXPECT_EQ(second.exit_code, 2);
  EXPECT_THAT(second.err, HasSubstr(absl::StrCat("is served by process ", serve_->pid())));
  // `run` takes no part in it.
  EXPECT_EQ(AskOffline({"run", config_}).exit_code, 0);
  Kill();
  Start();
}

TEST_F(ServeTest, WhatIsWrongIsSaidByTheHeadOrBecomesTheEnd) {
  const std::string bad = WriteFile("bad.textproto", absl::StrReplaceAll(kConstantSearch, {{"mnist_cnn", "nothing"}}));
  const CommandResult unknown = Ask({"submit", bad, "--watch"});
  EXPECT_EQ(unknown.exit_code, 1);
  EXPECT_THAT(unknown.out, HasSubstr("FAILED"));
  EXPECT_THAT(unknown.out, HasSubstr("'nothing'"));
  EXPECT_EQ(Ask({"submit", config_, "--set", "max_trial_number=-1"}).exit_code, 2);
  const CommandResult nobody = Ask({"show", "nobody"});
  EXPECT_EQ(nobody.exit_code, 2);
  EXPECT_THAT(nobody.err, HasSubstr("nobody"));
}

TEST(ServeCommandTest, WithoutAHeadTheExitCodeSaysSo) {
  const std::string config = WriteFile("constant.textproto", kConstantSearch);
  for (const std::vector<std::string>& command : {std::vector<std::string>{"list"},
                                                  {"show", "latest"},
                                                  {"trials", "latest"},
                                                  {"watch", "latest"},
                                                  {"stop", "latest"},
                                                  {"resume", "latest"},
                                                  {"delete", "latest", "--yes"},
                                                  {"submit", config}}) {
    std::vector<std::string> arguments = command;
    // A port that is taken by no program: of the discard service.
    arguments.insert(arguments.end(), {"--head", "127.0.0.1:9"});
    const CommandResult result = RunCommand(kLanista, arguments);
    EXPECT_EQ(result.exit_code, 3) << result.err;
    EXPECT_THAT(result.err, HasSubstr("no head can be reached at 127.0.0.1:9"));
  }
  EXPECT_EQ(RunCommand(kLanista, {"list", "--head", "somewhere"}).exit_code, 2);
}

TEST(ServeCommandTest, OtherMachinesReachItOnlyWhereTheUserSaysSo) {
  const std::string tokens = WriteFile("tokens", std::string(32, 't'));
  for (const std::vector<std::string>& half : {std::vector<std::string>{}, {"--token-file", tokens}}) {
    std::vector<std::string> arguments = {"serve", "--listen", "0.0.0.0:0", "--state-dir", FreshFolder()};
    arguments.insert(arguments.end(), half.begin(), half.end());
    const CommandResult refused = RunCommand(kLanista, arguments);
    EXPECT_EQ(refused.exit_code, 2);
    EXPECT_THAT(refused.err, HasSubstr("--tls-cert FILE --tls-key FILE"));
    EXPECT_THAT(refused.err, HasSubstr("--insecure"));
    EXPECT_EQ(refused.err.find("--token-file") == std::string::npos, !half.empty()) << refused.err;
  }
  BackgroundCommand insecure(kLanista, {"serve", "--listen", "0.0.0.0:0", "--insecure", "--state-dir", FreshFolder()});
  EXPECT_TRUE(insecure.WaitForLine("listening on 0.0.0.0:"));
  kill(insecure.pid(), SIGINT);
  EXPECT_EQ(insecure.Wait(), 0);
}

TEST_F(ServeTest, WhatTrialsPrintedIsShownByTheHeadAsOffline) {
  const std::string id = Submit({"--set", "max_trial_number=3"});
  WatchToEnd(id);
  // The file that the output of the evaluator goes to.
  const std::string log = absl::StrCat(state_, "/experiments/", id, "/", TrialLogFile(2));
  std::filesystem::create_directories(std::filesystem::path(log).parent_path());
  const std::string printed = "epoch 1\nloss 0.5\n" + std::string(2 << 20, 'x') + "\nthe end\n";
  std::ofstream(log) << printed;
  const nlohmann::json trials = AskOffline({"trials", id, "--json"}).Json();
  int model = 0;
  for (const nlohmann::json& each : trials["models"]) {
    if (each["attempts"][0]["trial"] == 2) model = each["id"];
  }
  ASSERT_GT(model, 0);
  const std::vector<std::string> one = {"trials", id, "--log", "--model", std::to_string(model)};
  EXPECT_EQ(AskOffline(one).out, printed) << "longer than what a head gives at a time";
  EXPECT_EQ(Ask(one).out, printed);
  std::vector<std::string> attempt = one;
  attempt.insert(attempt.end(), {"--attempt", "2"});
  EXPECT_EQ(Ask(attempt).exit_code, 2);
  EXPECT_THAT(Ask(attempt).err, HasSubstr("has no attempt 2"));
  EXPECT_EQ(Ask({"trials", id, "--log", "--model", "9"}).exit_code, 2);
  const CommandResult all = Ask({"trials", id, "--log"}), offline = AskOffline({"trials", id, "--log"});
  EXPECT_EQ(all.out, offline.out);
  EXPECT_THAT(all.out, HasSubstr(absl::StrCat("== model ", model, ", attempt 1, SUCCEEDED ==\nepoch 1\n")));
  const nlohmann::json logs = Ask({"trials", id, "--log", "--json", "--sort", "model"}).Json()["logs"];
  ASSERT_EQ(logs.size(), 3u);
  EXPECT_EQ(logs[static_cast<size_t>(model - 1)]["log"], printed);
  EXPECT_EQ(logs[static_cast<size_t>(model - 1)]["attempt"], 1);
}

}  // namespace
}  // namespace lanista

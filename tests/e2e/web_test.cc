// The page's server, as a browser asks it: of a search that runs, of one that another process runs, and of a head.
#include <signal.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/e2e/command.h"
#include "tests/telemetry/prometheus_text.h"
#include "tests/web/http_client.h"

namespace lanista {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kConstantSearch[] = R"(
  name: "constant"
  space { registered: "mnist_cnn" }
  strategy { random { dedup: false } }
  evaluator { constant { value: 0.5 } }
  max_trial_number: 20
  seed: 1
)";

// What a browser knows once it has opened the link.
class Browser {
 public:
  // "page: http://127.0.0.1:PORT/#token=TOKEN", or without a token.
  explicit Browser(const std::string& line) {
    const std::vector<std::string> parts = absl::StrSplit(line, absl::ByAnyChar("#="));
    const size_t colon = parts[0].rfind(':');
    EXPECT_THAT(line, HasSubstr("page: http://127.0.0.1:"));
    port_ = std::atoi(parts[0].c_str() + colon + 1);
    if (parts.size() == 3) token_ = parts[2];
  }

  std::string Request(const std::string& method, const std::string& path, const std::string& body = "") const {
    return absl::StrCat(
        method, " ", path, " HTTP/1.1\r\nHost: 127.0.0.1:", port_, "\r\n",
        token_.empty() ? "" : absl::StrCat("Authorization: Bearer ", token_, "\r\n"),
        method == "GET" ? "" : absl::StrCat("Content-Type: application/json\r\nContent-Length: ", body.size(), "\r\n"),
        "\r\n", body);
  }
  ClientResponse Ask(const std::string& method, const std::string& path, const std::string& body = "") const {
    HttpClient client(port_);
    EXPECT_TRUE(client.Send(Request(method, path, body)));
    return client.Receive();
  }
  json Get(const std::string& path) const {
    const ClientResponse response = Ask("GET", "/api/v1/" + path);
    EXPECT_EQ(response.status, 200) << path << response.body;
    return json::parse(response.body, nullptr, false);
  }
  // Reads the events of an experiment to their end; the kinds of all messages.
  std::string WatchToEnd(const std::string& id) const {
    HttpClient client(port_);
    EXPECT_TRUE(client.Send(Request("GET", absl::StrCat("/api/v1/experiments/", id, "/events"))));
    EXPECT_EQ(client.ReceiveHeaders().status, 200);
    std::string all;
    while (true) {
      const std::optional<std::string> chunk = client.ReceiveChunk();
      if (!chunk.has_value() || chunk->empty()) break;
      all += *chunk;
    }
    std::string kinds;
    for (const absl::string_view line : absl::StrSplit(all, '\n')) {
      if (line == "event: ended" || line == "event: gone") absl::StrAppend(&kinds, line);
    }
    return kinds;
  }

  int port_ = 0;
  std::string token_;
};

class WebTest : public ::testing::Test {
 protected:
  std::unique_ptr<BackgroundCommand> Start(std::vector<std::string> arguments) const {
    arguments.insert(arguments.end(), {"--state-dir", state_});
    return std::make_unique<BackgroundCommand>(kLanista, arguments);
  }
  CommandResult Run(std::vector<std::string> arguments) const {
    arguments.insert(arguments.end(), {"--state-dir", state_});
    return RunCommand(kLanista, arguments);
  }
  static int End(BackgroundCommand& command) {
    kill(command.pid(), SIGINT);
    return command.Wait();
  }

  const std::string state_ = FreshFolder();
  const std::string config_ = WriteFile("constant.textproto", kConstantSearch);
};

TEST_F(WebTest, ASearchIsFollowedToItsEndAndItsPageStays) {
  const auto run = Start({"run", config_, "--web", "0", "--web-stay"});
  ASSERT_TRUE(run->WaitForLine("page: "));
  const Browser browser(run->line());
  EXPECT_EQ(browser.token_.size(), 48u);
  EXPECT_EQ(browser.Ask("GET", "/").status, 200);
  EXPECT_EQ(browser.Get("info")["mode"], "run");
  ASSERT_TRUE(run->WaitForLine("model 1 succeeded"));
  EXPECT_EQ(browser.WatchToEnd("latest"), "event: ended");
  ASSERT_TRUE(run->WaitForLine("results: ")) << "the search's end does not wait for the page";
  const json show = browser.Get("experiments/latest");
  EXPECT_EQ(show, Run({"show", "latest", "--json"}).Json());
  EXPECT_EQ(show["status"], "DONE");
  const json columns = browser.Get("experiments/latest/columns");
  const json trials = Run({"trials", "latest", "--json"}).Json();
  ASSERT_EQ(columns["model"].size(), 20u);
  for (size_t i = 0; i < 20; ++i) {
    const json& values = columns["metrics"]["default"];
    EXPECT_EQ(values.is_array() ? values[i] : values, trials["models"][i]["metrics"]["final"]["default"]);
  }
  EXPECT_EQ(browser.Get("experiments/latest/models/7"), trials["models"][6]);
  EXPECT_EQ(browser.Get("experiments/latest/space")["space_size"], show["space_size"]);
  EXPECT_EQ(browser.Ask("GET", "/api/v1/experiments/latest/models/1/graph").status, 409) << "engine direct";
  EXPECT_EQ(End(*run), 0);
}

TEST_F(WebTest, CtrlCBehindTheResultsOnlyLeavesThePage) {
  const auto run = Start({"run", config_, "--web", "0", "--web-stay"});
  // The head is still being ended.
  ASSERT_TRUE(run->WaitForLine("results: "));
  EXPECT_EQ(End(*run), 0);
}

TEST_F(WebTest, ASearchIsStoppedOnItsPage) {
  const auto run = Start({"run", config_, "--set", "max_trial_number=1000000", "--web", "127.0.0.1:0"});
  ASSERT_TRUE(run->WaitForLine("page: "));
  const Browser browser(run->line());
  ASSERT_TRUE(run->WaitForLine("model 5 succeeded"));
  const std::string id = browser.Get("experiments/latest")["id"];
  EXPECT_EQ(browser.Ask("POST", absl::StrCat("/api/v1/experiments/", id, "/resume"), "{}").status, 409);
  EXPECT_EQ(
      browser.Ask("POST", absl::StrCat("/api/v1/experiments/", id, "/stop"), R"({"reason": "seen enough"})").status,
      200);
  EXPECT_EQ(run->Wait(), 1) << "as after Ctrl-C; and without --web-stay nothing waits";
  const json show = Run({"show", "latest", "--json"}).Json();
  EXPECT_EQ(show["status"], "STOPPED");
  EXPECT_EQ(show["reason"], "seen enough");
}

TEST_F(WebTest, AStateFolderIsShownAndWhatOthersRunIsFollowed) {
  EXPECT_EQ(Run({"run", config_}).exit_code, 0);
  const auto web = Start({"web", "--listen", "127.0.0.1:0"});
  ASSERT_TRUE(web->WaitForLine("page: "));
  const Browser browser(web->line());
  EXPECT_EQ(browser.Get("experiments"), Run({"list", "--json"}).Json());
  const auto run = Start({"run", config_, "--set", "name=other", "--set", "max_trial_number=400"});
  ASSERT_TRUE(run->WaitForLine("model 1 succeeded"));
  EXPECT_EQ(browser.WatchToEnd("other"), "event: ended");
  EXPECT_EQ(run->Wait(), 0);
  EXPECT_EQ(browser.Get("experiments/other/columns")["model"].size(), 400u);
  const ClientResponse stop = browser.Ask("POST", "/api/v1/experiments/other/stop", "{}");
  EXPECT_EQ(stop.status, 409);
  EXPECT_THAT(stop.body, HasSubstr("nothing runs here"));

  const auto killed = Start({"run", config_, "--set", "name=killed", "--set", "max_trial_number=1000000"});
  ASSERT_TRUE(killed->WaitForLine("model 5 succeeded"));
  kill(killed->pid(), SIGKILL);
  killed->Wait();
  EXPECT_EQ(browser.WatchToEnd("killed"), "event: gone");
  EXPECT_EQ(browser.Get("experiments/killed")["status"], "INTERRUPTED");

  Browser stranger(web->line());
  stranger.token_ = std::string(48, '0');
  EXPECT_EQ(stranger.Ask("GET", "/api/v1/experiments").status, 401);
  // The link stays good.
  EXPECT_EQ(End(*web), 0);
  const auto again = Start({"web", "--listen", absl::StrCat("127.0.0.1:", browser.port_), "--json"});
  ASSERT_TRUE(again->WaitForLine(browser.token_));
  EXPECT_EQ(browser.Get("info")["mode"], "view");
}

TEST_F(WebTest, AHeadHasAPageToo) {
  const auto serve = Start({"serve", "--listen", "127.0.0.1:0", "--cpu-slots", "2", "--web", "0"});
  ASSERT_TRUE(serve->WaitForLine("listening on "));
  const std::string head = serve->line().substr(serve->line().rfind(' ') + 1);
  ASSERT_TRUE(serve->WaitForLine("page: "));
  const Browser browser(serve->line());
  const std::string id = RunCommand(kLanista, {"submit", config_, "--head", head, "--json"}).Json()["id"];
  EXPECT_EQ(browser.WatchToEnd(id), "event: ended");
  EXPECT_EQ(browser.Get("experiments/" + id), RunCommand(kLanista, {"show", id, "--head", head, "--json"}).Json());
  EXPECT_EQ(browser.Get("nodes"), RunCommand(kLanista, {"nodes", "--head", head, "--json"}).Json());
  EXPECT_EQ(browser.Get(absl::StrCat("experiments/", id, "/trials?sort=best&limit=2")),
            RunCommand(kLanista, {"trials", id, "--head", head, "--sort", "best", "--limit", "2", "--json"}).Json());
  const std::string path = "/api/v1/experiments/" + id;
  EXPECT_EQ(browser.Ask("POST", path + "/resume", R"({"set": ["max_trial_number=30"]})").status, 200);
  EXPECT_EQ(browser.WatchToEnd(id), "event: ended");
  EXPECT_EQ(browser.Get("experiments/" + id)["models"]["succeeded"], 30);
  EXPECT_EQ(browser.Ask("DELETE", path, R"({"name": "constant"})").status, 200);
  EXPECT_EQ(browser.Get("experiments")["experiments"].size(), 0u);
  EXPECT_EQ(End(*serve), 0);
}

TEST_F(WebTest, ThePageSaysWhatAnExperimentWaitsFor) {
  const auto expect_waiting = [](const Browser& browser, const std::string& lacking) {
    // What each of the services lacks is known one by one: both documents tell the same once all have said it.
    json waiting_for, listed;
    while (waiting_for.is_null() || listed != waiting_for) {
      waiting_for = browser.Get("experiments/latest")["waiting_for"];
      listed = browser.Get("experiments")["experiments"].back()["waiting_for"];
    }
    EXPECT_THAT(waiting_for.get<std::string>(), HasSubstr(lacking));
  };
  // The space is discovered on this machine's device, which no trial may have.
  const std::string config = WriteFile("waits.textproto", absl::StrCat(kConstantSearch, R"(
    training_service { local { cpu_slots: 1 } }
    training_service { remote {} }
    requirements { node_labels { key: "x" value: "y" } }
  )"));
  const auto run = Start({"run", config, "--web", "0"});
  ASSERT_TRUE(run->WaitForLine("page: "));
  const Browser page_of_run(run->line());
  ASSERT_TRUE(run->WaitForLine("models in the space"));
  expect_waiting(page_of_run, "label x=y");
  EXPECT_EQ(page_of_run.Get("nodes"), json::parse(R"({"nodes": []})"));
  EXPECT_EQ(End(*run), 1);

  const auto serve = Start({"serve", "--listen", "127.0.0.1:0", "--cpu-slots", "0", "--web", "0"});
  ASSERT_TRUE(serve->WaitForLine("listening on "));
  const std::string head = serve->line().substr(serve->line().rfind(' ') + 1);
  ASSERT_TRUE(serve->WaitForLine("page: "));
  EXPECT_EQ(RunCommand(kLanista, {"submit", config_, "--head", head}).exit_code, 0);
  expect_waiting(Browser(serve->line()), "no node has joined");
  EXPECT_EQ(End(*serve), 0);
}

TEST_F(WebTest, OtherMachinesReachItOnlyWhereTheUserSaysSo) {
  for (const std::vector<std::string>& command : {std::vector<std::string>{"run", config_, "--web", "0.0.0.0:0"},
                                                  {"web", "--listen", "0.0.0.0:0"},
                                                  {"serve", "--listen", "127.0.0.1:0", "--web", "0.0.0.0:0"}}) {
    const CommandResult refused = Run(command);
    EXPECT_EQ(refused.exit_code, 2) << refused.err;
    EXPECT_THAT(refused.err, AllOf(HasSubstr("--tls-cert"), HasSubstr("--insecure")));
    EXPECT_THAT(refused.out, Not(HasSubstr("page: ")));
  }
  const CommandResult open = Run({"web", "--listen", "0.0.0.0:0", "--insecure", "--web-token", "none"});
  EXPECT_EQ(open.exit_code, 2);
  EXPECT_THAT(open.err, HasSubstr("--web-token none"));
  EXPECT_EQ(Run({"run", config_, "--web", "80 81"}).exit_code, 2);
  EXPECT_EQ(RunCommand(kLanista, {"web", "--state-dir", state_ + "/nothing"}).exit_code, 2);
  const auto web = Start({"web", "--listen", "127.0.0.1:0", "--web-token", "none", "--web-host", "page.example.org"});
  ASSERT_TRUE(web->WaitForLine("page: "));
  const Browser browser(web->line());
  EXPECT_EQ(browser.token_, "");
  EXPECT_EQ(browser.Get("info")["mode"], "view");
  HttpClient proxied(browser.port_);
  ASSERT_TRUE(proxied.Send("GET /api/v1/info HTTP/1.1\r\nHost: page.example.org\r\n\r\n"));
  EXPECT_EQ(proxied.Receive().status, 200);
}

TEST_F(WebTest, PrometheusReadsWhatAHeadDoes) {
  const auto serve = Start({"serve", "--listen", "127.0.0.1:0", "--cpu-slots", "2", "--web", "0"});
  ASSERT_TRUE(serve->WaitForLine("listening on "));
  const std::string head = serve->line().substr(serve->line().rfind(' ') + 1);
  ASSERT_TRUE(serve->WaitForLine("page: "));
  Browser scraper(serve->line());
  // As docs/telemetry.md says.
  std::getline(std::ifstream(state_ + "/metrics_token"), scraper.token_);
  EXPECT_EQ(scraper.token_.size(), 48u);
  EXPECT_EQ(scraper.Ask("GET", "/api/v1/experiments").status, 401) << "it opens nothing else";
  const auto scrape = [&scraper] {
    const ClientResponse response = scraper.Ask("GET", "/metrics");
    EXPECT_EQ(response.status, 200) << response.body;
    return response.body;
  };
  const std::string succeeded = "lanista_models_ended_total{outcome=\"succeeded\"}";
  const std::string before = scrape();
  EXPECT_EQ(SampleOf(before, succeeded), 0);
  const std::string running =
      RunCommand(kLanista, {"submit", config_, "--set", "max_trial_number=1000000", "--head", head, "--json"})
          .Json()["id"];
  // Counters grow while it runs, and gauges say that it does.
  double last = 0;
  for (int growths = 0; growths < 3;) {
    const std::string text = scrape();
    const double now = SampleOf(text, succeeded);
    EXPECT_GE(now, last);
    if (now > last) {
      ++growths;
      EXPECT_EQ(SampleOf(text, "lanista_experiments{state=\"running\"}"), 1);
      EXPECT_GE(SampleOf(text, "lanista_attempts_ended_total{outcome=\"succeeded\"}"), now);
      EXPECT_GT(SampleOf(text, "lanista_journal_write_seconds_count"), 0);
      EXPECT_GT(SampleOf(text, "lanista_journal_acknowledgement_seconds_sum"), 0);
      EXPECT_GT(SampleOf(text, "lanista_trials_started_total"), 0);
    }
    last = now;
  }
  EXPECT_EQ(RunCommand(kLanista, {"stop", running, "--head", head}).exit_code, 0);
  EXPECT_EQ(RunCommand(kLanista, {"watch", running, "--head", head}).exit_code, 1);
  EXPECT_EQ(RunCommand(kLanista, {"submit", config_, "--watch", "--head", head}).exit_code, 0);
  // When both devices are idle, the end of the last trial is counted.
  std::string after = scrape();
  while (SampleOf(after, "lanista_devices{state=\"idle\"}") != 2) after = scrape();
  EXPECT_GE(SampleOf(after, succeeded), last + 20);
  EXPECT_EQ(SampleOf(after, "lanista_experiments_ended_total{state=\"stopped\"}"), 1);
  EXPECT_EQ(SampleOf(after, "lanista_experiments_ended_total{state=\"done\"}"), 1);
  EXPECT_EQ(SampleOf(after, "lanista_trials{state=\"queued\"}"), 0);
  EXPECT_EQ(SampleOf(after, "lanista_trials{state=\"running\"}"), 0);
  EXPECT_EQ(SampleOf(after, "lanista_queue_oldest_age_seconds"), 0);
  // The number of time series does not grow with the number of trials.
  EXPECT_EQ(std::count(after.begin(), after.end(), '\n'), std::count(before.begin(), before.end(), '\n'));
  EXPECT_EQ(End(*serve), 0);
}

TEST_F(WebTest, ASearchHasMetricsTooAndAFolderThatIsOnlyShownHasNone) {
  const auto run = Start({"run", config_, "--web", "0", "--web-stay"});
  ASSERT_TRUE(run->WaitForLine("page: "));
  const Browser browser(run->line());
  ASSERT_TRUE(run->WaitForLine("results: "));
  const ClientResponse metrics = browser.Ask("GET", "/metrics");
  EXPECT_EQ(metrics.status, 200);
  EXPECT_EQ(SampleOf(metrics.body, "lanista_models_ended_total{outcome=\"succeeded\"}"), 20);
  EXPECT_EQ(SampleOf(metrics.body, "lanista_experiments_ended_total{state=\"done\"}"), 1);
  // Whether it waits for that already or is still about to, does not matter here.
  End(*run);
  const auto web = Start({"web", "--listen", "127.0.0.1:0"});
  ASSERT_TRUE(web->WaitForLine("page: "));
  EXPECT_EQ(Browser(web->line()).Ask("GET", "/metrics").status, 404);
}

}  // namespace
}  // namespace lanista

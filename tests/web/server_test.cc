#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "nlohmann/json.hpp"
#include "src/views/document_parts.h"
#include "src/views/documents.h"
#include "src/views/merged_view.h"
#include "src/views/trials_document.h"
#include "src/web/event_streams.h"
#include "src/web/http_stream.h"
#include "src/web/notes.h"
#include "src/web/token.h"
#include "src/web/web_server.h"
#include "tests/service/service_testing.h"
#include "tests/telemetry/prometheus_text.h"
#include "tests/web/http_client.h"

namespace lanista {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using Json = nlohmann::json;

constexpr char kToken[] = "secret";

class ServerTest : public ServiceTest {
 protected:
  void Start(WebOptions options = {}) {
    options.token = kToken;
    if (options.api.mode.empty()) options.api.mode = "serve";
    options.tables.refresh_interval = std::chrono::milliseconds(0);
    auto server = WebServer::Start(options, &experiments_);
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }

  std::string Request(const std::string& method, const std::string& path, const std::string& body = "",
                      const std::string& headers = "") const {
    const std::string type = body.empty() && method == "GET" ? "" : "Content-Type: application/json\r\n";
    return absl::StrCat(method, " ", path, " HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ", kToken, "\r\n",
                        type, headers, body.empty() ? "" : absl::StrCat("Content-Length: ", body.size(), "\r\n"),
                        "\r\n", body);
  }

  ClientResponse Ask(const std::string& method, const std::string& path, const std::string& body = "",
                     const std::string& headers = "") const {
    HttpClient client(server_->port());
    EXPECT_TRUE(client.Send(Request(method, path, body, headers)));
    return client.Receive(method == "HEAD");
  }
  ClientResponse Get(const std::string& path) const { return Ask("GET", path); }
  Json GetJson(const std::string& path) const {
    const ClientResponse response = Get(path);
    EXPECT_EQ(response.status, 200) << path << " " << response.body;
    return Json::parse(response.body, nullptr, false);
  }
  static std::string Error(const ClientResponse& response) {
    return Json::parse(response.body, nullptr, false).value("error", "");
  }

  std::unique_ptr<WebServer> server_;
};

TEST_F(ServerTest, ThePagesFilesNeedNoTokenAndAreKeptByBrowsers) {
  Start();
  HttpClient client(server_->port());
  const auto ask = [&client](const std::string& path, const std::string& headers = "", const char* method = "GET") {
    EXPECT_TRUE(client.Send(absl::StrCat(method, " ", path, " HTTP/1.1\r\nHost: localhost\r\n", headers, "\r\n")));
    return client.Receive(std::string(method) == "HEAD");
  };
  const ClientResponse page = ask("/");
  EXPECT_EQ(page.status, 200);
  EXPECT_EQ(page.headers.at("content-type"), "text/html; charset=utf-8");
  EXPECT_THAT(page.body, HasSubstr("<html"));
  EXPECT_EQ(ask("/index.html").body, page.body);
  EXPECT_EQ(ask("/index.html?x=1").body, page.body);
  const ClientResponse script = ask("/d3.min.js", "Accept-Encoding: gzip, br\r\n");
  EXPECT_EQ(script.headers.at("content-type"), "text/javascript; charset=utf-8");
  EXPECT_EQ(script.headers.at("content-encoding"), "gzip");
  EXPECT_EQ(script.body.substr(0, 2), "\x1f\x8b");
  EXPECT_LT(script.body.size(), 100000u);
  const ClientResponse whole = ask("/d3.min.js");
  EXPECT_EQ(whole.headers.count("content-encoding"), 0u);
  EXPECT_THAT(whole.body, HasSubstr("https://d3js.org"));
  EXPECT_NE(whole.headers.at("etag"), script.headers.at("etag"));
  const ClientResponse same = ask("/d3.min.js", absl::StrCat("If-None-Match: ", whole.headers.at("etag"), "\r\n"));
  EXPECT_EQ(same.status, 304);
  EXPECT_EQ(same.body, "");
  const ClientResponse head = ask("/d3.min.js", "", "HEAD");
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.headers.at("content-length"), std::to_string(whole.body.size()));
  EXPECT_EQ(ask("/nothing.js").status, 404);
  EXPECT_EQ(ask("/page/index.html").status, 404);
}

TEST_F(ServerTest, EveryAnswerHasTheSafetyHeaders) {
  Start();
  Create("a-1");
  std::vector<ClientResponse> answers = {Get("/"),
                                         Get("/nothing"),
                                         Get("/api/v1/info"),
                                         Get("/api/v1/nothing"),
                                         Get("/%"),
                                         Ask("POST", "/api/v1/info", "{}"),
                                         Ask("PUT", "/api/v1/info", std::string(70000, ' ')),
                                         Get("/api/v1/experiments/a-1/curves")};
  HttpClient stranger(server_->port());
  ASSERT_TRUE(stranger.Send("GET / HTTP/1.1\r\nHost: evil.org\r\n\r\n"));
  answers.push_back(stranger.Receive());
  EXPECT_EQ(answers.back().status, 421);
  ASSERT_TRUE(stranger.Send("GET /api/v1/info HTTP/1.1\r\nHost: localhost\r\n\r\n"));
  answers.push_back(stranger.Receive());
  EXPECT_EQ(answers.back().status, 401);
  for (const ClientResponse& answer : answers) {
    SCOPED_TRACE(answer.status);
    EXPECT_NE(answer.status, 0);
    const std::map<std::string, std::string>& headers = answer.headers;
    ASSERT_EQ(headers.count("content-security-policy"), 1u);
    EXPECT_THAT(headers.at("content-security-policy"), HasSubstr("default-src 'none'; script-src 'self';"));
    EXPECT_THAT(headers.at("content-security-policy"), HasSubstr("frame-ancestors 'none'; require-trusted-types-for"));
    EXPECT_EQ(headers.at("x-content-type-options"), "nosniff");
    EXPECT_EQ(headers.at("referrer-policy"), "no-referrer");
    EXPECT_EQ(headers.count("cache-control"), 1u);
    EXPECT_EQ(headers.count("access-control-allow-origin"), 0u);
    EXPECT_EQ(headers.count("set-cookie"), 0u);
  }
  EXPECT_EQ(answers[2].headers.at("cache-control"), "no-store");
}

TEST_F(ServerTest, DocumentsAreThoseOfTheCommandLine) {
  Start();
  Create("a-1");
  Write("a-1",
        "records { discovered { space { complete: true choices { label: 'op' kind: LAYER_CHOICE candidates { s: 'c' } "
        "n_chosen: 1 } } } } records { state { state: RUNNING } }");
  WriteModel("a-1", 1);
  Write("a-1", "records { state { state: DONE } }");
  Release("a-1");
  const auto reader = JournalReader::Open(Folder("a-1"));
  const auto printed = [](const nlohmann::ordered_json& document) { return Json::parse(ToText(document)); };
  EXPECT_EQ(GetJson("/api/v1/experiments"), printed(*ListDocument(state_dir_)));
  EXPECT_EQ(GetJson("/api/v1/experiments/latest"), printed(*ShowDocument(*reader)));
  EXPECT_EQ(GetJson("/api/v1/experiments/a/models/1"), printed((*TrialsDocument(*reader))["models"][0]));
  EXPECT_EQ(GetJson("/api/v1/experiments/a-1/trials"), printed(*TrialsDocument(*reader)));
  const nlohmann::ordered_json failed = *TrialsDocument(*reader, {"failed", 2, "best"});
  EXPECT_EQ(GetJson("/api/v1/experiments/a-1/trials?sort=best&status=failed&limit=2"), printed(failed));
  EXPECT_EQ(GetJson("/api/v1/experiments/a-1/columns")["status"], "DONE");
  EXPECT_EQ(GetJson("/api/v1/experiments/a-1/attempts")["model"], Json::array({1}));
  EXPECT_EQ(GetJson("/api/v1/experiments/a-1/merged"), printed(*MergedTrialsDocument(*reader)));
  EXPECT_EQ(GetJson("/api/v1/experiments/a-1/importance?top=0.5")["models"], 1);
  EXPECT_EQ(GetJson("/api/v1/experiments/a-1/space")["choices"][0]["candidates"], Json::array({"c"}));
  const Json config = GetJson("/api/v1/experiments/a-1/config");
  EXPECT_THAT(config["textproto"].get<std::string>(), HasSubstr("max_trial_number: 10"));
  EXPECT_EQ(config["config"]["max_trial_number"], 10);
  EXPECT_EQ(GetJson("/api/v1/info")["mode"], "serve");
  EXPECT_EQ(Get("/api/v1/experiments/a-1/curves?metric=default").body.substr(0, 4), "LNC2");
  const ClientResponse head = Ask("HEAD", "/api/v1/experiments/a-1");
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.body, "");
}

TEST_F(ServerTest, TellsWhatFollowsFromTheConfiguration) {
  Start();
  const auto facts = [this](const std::string& id, const v1::ExperimentConfig& config) {
    Create(id, config);
    const Json document = GetJson("/api/v1/experiments/" + id + "/config");
    return Json::array({document["models_have"], document["merges_models"]}).dump();
  };
  v1::ExperimentConfig config = SmallConfig();
  config.mutable_engine()->mutable_direct();
  EXPECT_EQ(facts("direct", config), R"([["sample","trained_weights"],false])");
  config.mutable_engine()->mutable_graph();
  EXPECT_EQ(facts("graph", config), R"([["sample","trained_weights","graph"],false])");
  config.mutable_engine()->mutable_cgo();
  EXPECT_EQ(facts("cgo", config), R"([["sample","trained_weights","graph"],true])");
  config.mutable_engine()->mutable_direct();
  config.mutable_space()->mutable_choices();
  EXPECT_EQ(facts("choices", config), R"([["sample"],false])");
}

TEST_F(ServerTest, NodesAreThoseOfTheHead) {
  absl::Status head;
  WebOptions options;
  options.api.nodes = [&head]() -> absl::StatusOr<nlohmann::ordered_json> {
    if (!head.ok()) return head;
    return nlohmann::ordered_json::parse(R"({"nodes": [{"name": "n-1"}]})");
  };
  Start(options);
  EXPECT_EQ(GetJson("/api/v1/info")["nodes"], true);
  EXPECT_EQ(Get("/api/v1/nodes").body, R"({"nodes":[{"name":"n-1"}]})");
  EXPECT_EQ(Ask("POST", "/api/v1/nodes", "{}").status, 405);
  head = absl::UnavailableError("the head ends");
  const ClientResponse ending = Get("/api/v1/nodes");
  EXPECT_EQ(ending.status, 503);
  EXPECT_EQ(Error(ending), "the head ends");
}

TEST_F(ServerTest, WhereNoNodeCanJoinThatIsSaid) {
  Start();
  EXPECT_EQ(GetJson("/api/v1/info")["nodes"], false);
  const ClientResponse none = Get("/api/v1/nodes");
  EXPECT_EQ(none.status, 409);
  EXPECT_THAT(Error(none), HasSubstr("lanista serve"));
}

TEST_F(ServerTest, WhatIsWrongIsSaid) {
  Start();
  Create("a-1");
  Create("a-2");
  EXPECT_EQ(Get("/api/v1/experiments/nobody").status, 404);
  EXPECT_EQ(Get("/api/v1/experiments/a").status, 400) << "two begin so";
  EXPECT_EQ(Get("/api/v1/experiments/a-1/space").status, 404);
  EXPECT_EQ(Get("/api/v1/experiments/a-1/models/1").status, 404);
  EXPECT_EQ(Get("/api/v1/experiments/a-1/models/one").status, 404);
  EXPECT_EQ(Get("/api/v1/experiments/a-1/models/99999999999999").status, 404);
  EXPECT_EQ(Get("/api/v1/experiments/a-1/trials?limit=x").status, 400);
  EXPECT_EQ(Get("/api/v1/experiments/a-1/trials?limit=-1").status, 400);
  EXPECT_EQ(Get("/api/v1/experiments/a-1/trials?sort=%ff").status, 400);
  EXPECT_EQ(Get("/api/v1/experiments/a-1/trials?status=odd").status, 400);
  EXPECT_EQ(Get("/api/v1/experiments/nobody/trials").status, 404);
  EXPECT_EQ(Get("/api/v1/experiments/a-1/importance?top=2").status, 400);
  EXPECT_EQ(Get("/api/v1/experiments/a-1/importance?goal=best").status, 400);
  EXPECT_EQ(GetJson("/api/v1/experiments/a-1/importance?goal=MINIMIZE")["goal"], "MINIMIZE");
  EXPECT_EQ(Get("/api/v1/experiments/a-1/importance?top=nan").status, 400);
  EXPECT_EQ(Get("/api/v1/experiments/a-1/events?after=x").status, 400);
  EXPECT_EQ(Get("/api/v1/experiments/a-1/events?after=-1").status, 400);
  EXPECT_EQ(Get("/api/v1/experiments/nobody/events").status, 404);
  EXPECT_EQ(Ask("POST", "/api/v1/experiments/a-1", "{}").status, 405);
  EXPECT_EQ(Ask("OPTIONS", "/api/v1/info").status, 405);
  EXPECT_EQ(Ask("TRACE", "/").status, 405);
  for (const char* const path :
       {"/..", "/../etc/passwd", "/api/v1/experiments/..", "/api/v1/experiments/%2e%2e",
        "/api/v1/experiments/a-1%2f..%2fa-2", "/api/v1/experiments/a-1%00", "/api/v1/experiments//columns"}) {
    EXPECT_EQ(Get(path).status, 404) << path;
  }
}

TEST_F(ServerTest, JournalsThatCannotBeReadAreErrorsAndDisturbNoOther) {
  Start();
  Create("good-1");
  Write("good-1", "records { state { state: RUNNING } } records { state { state: DONE } }");
  Release("good-1");
  std::ifstream good(Folder("good-1") + "/journal.db", std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(good)), std::istreambuf_iterator<char>());
  // The version of the journal, SQLite's user_version, stands in four bytes of the file's header.
  std::string newer = bytes;
  newer.replace(60, 4, std::string("\0\0\x03\xe8", 4));
  const std::pair<std::string, std::string> journals[] = {
      {"empty-1", ""}, {"garbage-1", std::string(9000, 'x')}, {"half-1", bytes.substr(0, 10000)}, {"newer-1", newer}};
  for (const auto& [id, contents] : journals) {
    std::filesystem::create_directories(Folder(id));
    std::ofstream(Folder(id) + "/journal.db", std::ios::binary) << contents;
    for (const char* const part : {"", "/columns", "/attempts", "/curves?metric=default", "/events", "/models/1"}) {
      const ClientResponse response = Get(absl::StrCat("/api/v1/experiments/", id, part));
      EXPECT_GE(response.status, 400) << id << part;
      EXPECT_THAT(Error(response), HasSubstr(absl::StrCat(id, "/journal.db"))) << part;
    }
  }
  std::map<std::string, std::string> statuses;
  const Json list = GetJson("/api/v1/experiments");
  for (const Json& one : list["experiments"]) statuses[one["id"]] = one["status"];
  EXPECT_EQ(statuses, (std::map<std::string, std::string>{{"good-1", "DONE"},
                                                          {"empty-1", "UNREADABLE"},
                                                          {"garbage-1", "UNREADABLE"},
                                                          {"half-1", "UNREADABLE"},
                                                          {"newer-1", "UNREADABLE"}}));
  EXPECT_EQ(GetJson("/api/v1/experiments/good-1/columns")["status"], "DONE");
}

TEST_F(ServerTest, LogsComeByRange) {
  Start();
  Create("a-1");
  WriteModel("a-1", 1);
  std::ofstream(Folder("a-1") + "/" + TrialLogFile(1)) << "0123456789";
  const std::string path = "/api/v1/experiments/a-1/models/1/log";
  const ClientResponse whole = Get(path);
  EXPECT_EQ(whole.body, "0123456789");
  EXPECT_EQ(whole.headers.at("content-type"), "text/plain; charset=utf-8");
  EXPECT_EQ(whole.headers.at("x-log-attempt"), "1");
  EXPECT_EQ(Get(path + "?offset=3&limit=4").body, "3456");
  for (const char* const range : {"?offset=10", "?offset=1000", "?offset=9223372036854775807", "?limit=0"}) {
    const ClientResponse none = Get(path + range);
    EXPECT_EQ(none.status, 200) << range;
    EXPECT_EQ(none.body, "");
    EXPECT_EQ(none.headers.at("x-log-size"), "10");
  }
  for (const char* const range : {"?offset=-1", "?limit=-1", "?limit=1048577", "?offset=99999999999999999999"}) {
    EXPECT_EQ(Get(path + range).status, 400) << range;
  }
  EXPECT_EQ(Get(path + "?attempt=2").status, 404);
  // A link is not followed.
  std::filesystem::remove(Folder("a-1") + "/" + TrialLogFile(1));
  std::filesystem::create_symlink("/etc/passwd", Folder("a-1") + "/" + TrialLogFile(1));
  EXPECT_EQ(Get(path).body, "");
}

TEST_F(ServerTest, FilesAreThoseOfTheModelAndNoOthers) {
  Start();
  Create("a-1");
  WriteModel("a-1", 1);
  const std::string folder = Folder("a-1") + "/" + TrialOutputFolder(1, 1, false);
  const std::string path = "/api/v1/experiments/a-1/models/1/files";
  EXPECT_THAT(GetJson(path)["files"], IsEmpty()) << "there is no folder";
  std::filesystem::create_directories(folder + "/inner");
  std::ofstream(folder + "/model \"1\".onnx") << "bytes";
  std::ofstream(folder + "/empty");
  std::ofstream(folder + "/inner/file") << "hidden";
  std::filesystem::create_symlink("/etc/passwd", folder + "/link");
  ASSERT_EQ(mkfifo((folder + "/pipe").c_str(), 0600), 0);
  EXPECT_EQ(GetJson(path)["files"],
            Json::parse(R"([{"name": "empty", "bytes": 0}, {"name": "model \"1\".onnx", "bytes": 5}])"));
  const ClientResponse file = Get(path + "/model%20%221%22.onnx");
  EXPECT_EQ(file.body, "bytes");
  EXPECT_EQ(file.headers.at("content-disposition"), "attachment; filename*=UTF-8''model%20%221%22.onnx");
  EXPECT_EQ(Get(path + "/empty").status, 200);
  for (const char* const name : {"/link", "/pipe", "/inner", "/inner/file", "/inner%2ffile", "/..", "/%2e%2e",
                                 "/nothing", "/..%2f..%2fjournal.db", "/empty%00", "/"}) {
    EXPECT_EQ(Get(path + name).status, 404) << name;
  }
  // A folder that is a link is none, either.
  std::filesystem::rename(folder, folder + "-moved");
  std::filesystem::create_symlink(folder + "-moved", folder);
  EXPECT_EQ(Get(path + "/empty").status, 404);
  EXPECT_THAT(GetJson(path)["files"], IsEmpty());
}

// Whether another process sees a lock on a file.
bool IsLocked(const std::string& path) {
  const ChildProcess child([&path](int pipe) {
    const int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
    struct flock lock = {};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    const bool locked = fcntl(file, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
    _exit(locked && write(pipe, "x", 1) == 1 ? 0 : 1);
  });
  return child.WaitForByte();
}

TEST_F(ServerTest, TheJournalIsNeverOpenedAsAFile) {
  Start();
  Create("a-1");
  WriteModel("a-1", 1);
  const std::string journal = Folder("a-1") + "/journal.db";
  // SQLite's, of the writer in this process.
  ASSERT_TRUE(IsLocked(journal));
  const std::string folder = Folder("a-1") + "/" + TrialOutputFolder(1, 1, false);
  std::filesystem::create_directories(folder);
  std::filesystem::create_symlink(journal, folder + "/journal.db");
  std::filesystem::create_symlink(journal, Folder("a-1") + "/" + TrialLogFile(1));
  const std::string experiment = "/api/v1/experiments/a-1";
  EXPECT_THAT(GetJson(experiment + "/models/1/files")["files"], IsEmpty());
  for (const char* const path :
       {"/models/1/files/journal.db", "/models/1/files/journal.db-wal", "/models/1/files/journal.db-shm",
        "/models/1/files/..%2fjournal.db", "/models/1/files/..%2f..%2fjournal.db", "/models/1/files/../../journal.db",
        "/models/1/files/%2e%2e/%2e%2e/journal.db", "/models/1/files//journal.db", "/files/journal.db",
        "/journal.db"}) {
    EXPECT_EQ(Get(experiment + path).status, 404) << path;
  }
  EXPECT_EQ(Get("/journal.db").status, 404);
  EXPECT_EQ(Get(experiment + "/models/1/log").body, "");
  // These read it, through SQLite.
  for (const char* const path : {"", "/columns", "/attempts", "/config", "/merged", "/models/1", "/importance"}) {
    EXPECT_EQ(Get(experiment + path).status, 200) << path;
  }
  EXPECT_TRUE(IsLocked(journal));
  std::ifstream(journal).peek();
  EXPECT_FALSE(IsLocked(journal)) << "this test would not see that the file was opened";
}

TEST_F(ServerTest, AJournalByAnotherNameIsNotOpenedEither) {
  Start();
  for (const char* const id : {"a-1", "b-1"}) Create(id);
  WriteModel("a-1", 1);
  const std::string own = Folder("a-1") + "/journal.db", other = Folder("b-1") + "/journal.db";
  ASSERT_TRUE(IsLocked(own) && IsLocked(other));
  const std::string folder = Folder("a-1") + "/" + TrialOutputFolder(1, 1, false);
  std::filesystem::create_directories(folder);
  std::filesystem::create_directories(std::filesystem::path(Folder("a-1") + "/" + TrialLogFile(1)).parent_path());
  // A trial's process may do this: both are its user's.
  const std::pair<std::string, std::string> links[] = {{own, folder + "/own"},
                                                       {own + "-wal", folder + "/own-wal"},
                                                       {own + "-shm", folder + "/own-shm"},
                                                       {other, folder + "/other"},
                                                       {own, Folder("a-1") + "/" + TrialLogFile(1)}};
  for (const auto& [journal, link] : links) std::filesystem::create_hard_link(journal, link);
  std::ofstream(folder + "/weights.pt") << "weights";
  std::filesystem::create_hard_link(folder + "/weights.pt", folder + "/best.pt");
  const std::string model = "/api/v1/experiments/a-1/models/1";
  const Json files = GetJson(model + "/files")["files"];
  ASSERT_EQ(files.size(), 2u) << files;
  EXPECT_EQ(files[0]["name"], "best.pt");
  EXPECT_EQ(files[1]["name"], "weights.pt");
  for (const char* const name : {"own", "own-wal", "own-shm", "other"}) {
    EXPECT_EQ(Get(absl::StrCat(model, "/files/", name)).status, 404) << name;
  }
  EXPECT_EQ(Get(model + "/files/best.pt").body, "weights");
  EXPECT_EQ(Get(model + "/log").body, "");
  EXPECT_TRUE(IsLocked(own));
  EXPECT_TRUE(IsLocked(other));
}

TEST_F(ServerTest, NotesAreKeptBesideTheJournal) {
  Start();
  Create("a-1");
  WriteModel("a-1", 1);
  const std::string path = "/api/v1/experiments/a-1/notes";
  EXPECT_EQ(GetJson(path), Json::parse(R"({"notes": {}})"));
  const ClientResponse put = Ask("PUT", path + "/1", R"({"star": true, "note": "the \u003cb\u003e best"})");
  EXPECT_EQ(put.status, 200) << put.body;
  EXPECT_EQ(Json::parse(put.body), Json::parse(R"({"star": true, "note": "the <b> best"})"));
  EXPECT_EQ(GetJson(path), Json::parse(R"({"notes": {"1": {"star": true, "note": "the <b> best"}}})"));
  EXPECT_EQ(Ask("PUT", path + "/2", R"({"star": true})").status, 404);
  EXPECT_EQ(Ask("PUT", path + "/0", R"({"star": true})").status, 404);
  for (const char* const body : {"[]", "{", R"({"star": 1})", R"({"note": null})"}) {
    EXPECT_EQ(Ask("PUT", path + "/1", body).status, 400) << body;
  }
  EXPECT_EQ(Ask("PUT", path + "/1", absl::StrCat(R"({"note": ")", std::string(10001, 'x'), "\"}")).status, 400);
  EXPECT_EQ(Ask("PUT", path + "/1", R"({"star": false, "note": ""})").status, 200);
  EXPECT_EQ(GetJson(path), Json::parse(R"({"notes": {}})"));
  // A link in its place is replaced, and what it leads to stays.
  const std::string victim = temp_.path() + "/victim";
  std::ofstream(victim) << "precious";
  std::filesystem::remove(Folder("a-1") + "/notes.json");
  std::filesystem::create_symlink(victim, Folder("a-1") + "/notes.json");
  EXPECT_EQ(Ask("PUT", path + "/1", R"({"star": true})").status, 200);
  std::string kept;
  std::getline(std::ifstream(victim), kept);
  EXPECT_EQ(kept, "precious");
  std::ofstream(Folder("a-1") + "/notes.json") << "no notes";
  EXPECT_THAT(Error(Ask("PUT", path + "/1", R"({"star": true})")), HasSubstr("holds no notes"));
}

TEST_F(ServerTest, ActionsDoWhatTheyCanAndSayWhyNot) {
  Start();
  Create("a-1");
  EXPECT_EQ(Ask("POST", "/api/v1/experiments/a/stop", R"({"reason": "enough"})").status, 200);
  EXPECT_EQ(Ask("POST", "/api/v1/experiments/a-1/stop").status, 200);
  EXPECT_THAT(runner_.calls_, ElementsAre("stop a-1: enough", "stop a-1: stopped on the web page"));
  EXPECT_EQ(Ask("DELETE", "/api/v1/experiments/a-1", R"({"name": "small"})").status, 409) << "it runs";
  runner_.calls_.clear();
  for (const char* const action : {"stop", "resume", "export", "notes/1"}) {
    EXPECT_EQ(Get(absl::StrCat("/api/v1/experiments/a-1/", action)).status, 405) << action;
  }
  EXPECT_THAT(runner_.calls_, IsEmpty()) << "who only reads changes nothing";
  Release("a-1");
  runner_.on_resume_ = [this] {
    Hold("a-1");
    Write("a-1", "records { state { state: RUNNING } }");
    Release("a-1");
  };
  const ClientResponse resumed = Ask("POST", "/api/v1/experiments/a-1/resume", R"({"set": ["max_trial_number=20"]})");
  EXPECT_EQ(resumed.status, 200) << resumed.body;
  EXPECT_EQ(runner_.config_.max_trial_number(), 20);
  EXPECT_EQ(Ask("POST", "/api/v1/experiments/a-1/resume", R"({"set": "x"})").status, 400);
  EXPECT_EQ(Ask("POST", "/api/v1/experiments/a-1/resume", R"({"set": [1]})").status, 400);
  const std::string deep = absl::StrCat("{\"set\":", std::string(31000, '['), std::string(31000, ']'), "}");
  EXPECT_EQ(Ask("POST", "/api/v1/experiments/a-1/resume", deep).status, 400);
  EXPECT_EQ(Ask("POST", "/api/v1/experiments/a-1/resume", R"({"set": ["seed=1"]})").status, 400);
  EXPECT_EQ(Ask("DELETE", "/api/v1/experiments/a-1", R"({"name": "other"})").status, 400);
  EXPECT_EQ(Ask("DELETE", "/api/v1/experiments/a-1").status, 400);
  EXPECT_EQ(Ask("DELETE", "/api/v1/experiments/a", R"({"name": "small"})").status, 400) << "only a whole id";
  EXPECT_TRUE(std::filesystem::exists(Folder("a-1")));
  EXPECT_EQ(Ask("DELETE", "/api/v1/experiments/a-1", R"({"name": "small"})").status, 200);
  EXPECT_FALSE(std::filesystem::exists(Folder("a-1")));

  WebOptions view;
  view.api.mode = "view";
  view.api.actions.stop = "nothing runs here";
  view.api.actions.remove = "nothing is deleted here";
  view.api.formats = {{"json", "sample"}, {"onnx", "graph"}};
  Start(view);
  Create("b-1");
  EXPECT_EQ(GetJson("/api/v1/info")["formats"],
            Json::parse(R"([{"name": "json", "needs": "sample"}, {"name": "onnx", "needs": "graph"}])"));
  const Json actions = GetJson("/api/v1/info")["actions"];
  EXPECT_EQ(actions["stop"], Json::parse(R"({"enabled": false, "because": "nothing runs here"})"));
  EXPECT_EQ(actions["note"], Json::parse(R"({"enabled": true, "because": ""})"));
  const ClientResponse refused = Ask("POST", "/api/v1/experiments/b-1/stop", "{}");
  EXPECT_EQ(refused.status, 409);
  EXPECT_EQ(Error(refused), "nothing runs here");
  EXPECT_EQ(Ask("DELETE", "/api/v1/experiments/b-1", R"({"name": "small"})").status, 409);
}

TEST_F(ServerTest, ALargeBodyIsRefused) {
  Start();
  const std::string path = "/api/v1/info";
  EXPECT_EQ(Ask("POST", path, std::string(65536, ' ')).status, 405) << "read, and then routed";
  EXPECT_EQ(Ask("POST", path, std::string(65537, ' ')).status, 413);
  HttpClient early(server_->port());
  ASSERT_TRUE(early.Send(Request("POST", path, "", "Content-Length: 1000000000000\r\n")));
  EXPECT_EQ(early.Receive().status, 413) << "before it is sent";
  const std::string chunk = absl::StrCat("8000\r\n", std::string(0x8000, ' '), "\r\n");
  HttpClient chunks(server_->port());
  ASSERT_TRUE(chunks.Send(Request("POST", path, "", "Transfer-Encoding: chunked\r\n")));
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(chunks.Send(chunk));
  ASSERT_TRUE(chunks.Send("0\r\n\r\n"));
  EXPECT_EQ(chunks.Receive().status, 413);
  HttpClient endless(server_->port());
  ASSERT_TRUE(endless.Send(Request("POST", path, "", "Transfer-Encoding: chunked\r\n")));
  while (endless.Send(chunk)) {
  }
  EXPECT_EQ(Get(path).status, 200);
}

TEST_F(ServerTest, EndlessHeadersAreCutOff) {
  Start();
  HttpClient one_line(server_->port());
  ASSERT_TRUE(one_line.Send("GET / HTTP/1.1\r\nHost: localhost\r\nX: "));
  const std::string part(100000, 'x');
  while (one_line.Send(part)) {
  }
  HttpClient many_lines(server_->port());
  ASSERT_TRUE(many_lines.Send("GET / HTTP/1.1\r\nHost: localhost\r\n"));
  std::string lines;
  for (int i = 0; i < 1000; ++i) absl::StrAppend(&lines, "X-", i, ": y\r\n");
  while (many_lines.Send(lines)) {
  }
  HttpClient target(server_->port());
  ASSERT_TRUE(target.Send("GET /"));
  while (target.Send(part)) {
  }
  EXPECT_EQ(Get("/api/v1/info").status, 200);
}

TEST_F(ServerTest, ASlowClientHoldsUpNobody) {
  Start();
  HttpClient slow(server_->port());
  const std::string request = Request("GET", "/api/v1/info");
  for (const char c : request.substr(0, request.size() - 1)) ASSERT_TRUE(slow.Send(std::string(1, c)));
  EXPECT_EQ(Get("/api/v1/info").status, 200);
  ASSERT_TRUE(slow.Send(request.substr(request.size() - 1)));
  EXPECT_EQ(slow.Receive().status, 200);
}

TEST_F(ServerTest, AClientThatSaysNothingIsClosed) {
  WebOptions options;
  options.timeout_seconds = 1;
  Start(options);
  HttpClient silent(server_->port());
  HttpClient half(server_->port());
  ASSERT_TRUE(half.Send("GET / HTTP/1.1\r\nHo"));
  EXPECT_TRUE(silent.WaitForClose());
  EXPECT_TRUE(half.WaitForClose());
}

TEST_F(ServerTest, AThousandIdleConnectionsLeaveRoom) {
  rlimit limit = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  limit.rlim_cur = limit.rlim_max;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  // Both ends of each are this process's; of its files, connections take at most half.
  const int count = static_cast<int>(std::min<rlim_t>(1000, limit.rlim_cur / 3));
  Start();
  std::vector<std::unique_ptr<HttpClient>> idle;
  for (int i = 0; i < count; ++i) idle.push_back(std::make_unique<HttpClient>(server_->port()));
  EXPECT_EQ(Get("/api/v1/info").status, 200);
  ASSERT_TRUE(idle.back()->Send(Request("GET", "/api/v1/info")));
  EXPECT_EQ(idle.back()->Receive().status, 200);
}

TEST_F(ServerTest, OneConnectionTakesManyRequests) {
  Start();
  HttpClient client(server_->port());
  const std::string request = Request("GET", "/api/v1/info");
  ASSERT_TRUE(client.Send(request + request + Request("GET", "/nothing")));
  EXPECT_EQ(client.Receive().status, 200);
  EXPECT_EQ(client.Receive().status, 200);
  EXPECT_EQ(client.Receive().status, 404);
}

TEST_F(ServerTest, BeforeItIsOpenOnlyThePagesFilesAreThere) {
  WebOptions options;
  options.open = false;
  Start(options);
  EXPECT_EQ(Get("/").status, 200);
  EXPECT_EQ(Get("/api/v1/info").status, 503);
  server_->Open();
  EXPECT_EQ(Get("/api/v1/info").status, 200);
}

TEST_F(ServerTest, AfterTheEndOnlyThePagesFilesAreThereAndThenNothing) {
  Start();
  Create("a-1");
  WriteModel("a-1", 1);
  HttpClient kept(server_->port());
  HttpClient half(server_->port());
  ASSERT_TRUE(kept.Send(Request("GET", "/api/v1/info")));
  EXPECT_EQ(kept.Receive().status, 200);
  ASSERT_TRUE(half.Send("GET / HTTP/1.1\r\nHo"));
  server_->Close();
  const std::string experiment = "/api/v1/experiments/a-1";
  for (const std::string& path :
       {std::string("/api/v1/info"), std::string("/api/v1/experiments"), experiment, experiment + "/columns",
        experiment + "/curves", experiment + "/events", experiment + "/models/1/log", experiment + "/models/1/graph",
        std::string("/api/v1/nothing")}) {
    EXPECT_EQ(Get(path).status, 503) << path;
  }
  EXPECT_EQ(Ask("PUT", experiment + "/notes/1", R"({"star": true})").status, 503);
  EXPECT_EQ(Ask("POST", experiment + "/stop", "{}").status, 503);
  EXPECT_EQ(Ask("POST", experiment + "/export", "{}").status, 503);
  EXPECT_EQ(Ask("DELETE", experiment, R"({"name": "small"})").status, 503);
  EXPECT_THAT(runner_.calls_, IsEmpty());
  EXPECT_EQ(Get("/").status, 200);
  ASSERT_TRUE(kept.Send(Request("GET", "/api/v1/info")));
  EXPECT_EQ(kept.Receive().status, 503) << "on a connection of before, too";
  const int port = server_->port();
  server_.reset();
  EXPECT_TRUE(kept.WaitForClose());
  EXPECT_TRUE(half.WaitForClose());
  HttpClient late(port, /*may_fail=*/true);
  EXPECT_FALSE(late.Send(Request("GET", "/", "", "Connection: close\r\n")) && late.Receive().status != 0);
}

TEST_F(ServerTest, WhoeverAsksWhileTheServerEndsIsAnsweredOrRefused) {
  Start();
  Create("a-1");
  WriteModel("a-1", 1);
  const std::string experiment = "/api/v1/experiments/a-1";
  const std::string half = Request("GET", experiment).substr(0, 40);
  const std::string nameless = "GET / HTTP/1.1\r\n\r\n";
  const std::vector<std::string> requests = {Request("GET", "/"),
                                             Request("GET", "/api/v1/experiments"),
                                             Request("GET", experiment + "/columns"),
                                             Request("GET", experiment + "/curves"),
                                             Request("GET", experiment + "/events"),
                                             Request("GET", experiment + "/models/1/log"),
                                             Request("PUT", experiment + "/notes/1", R"({"star": true})"),
                                             Request("POST", experiment + "/stop", "{}"),
                                             nameless,
                                             half};
  const int port = server_->port();
  std::vector<std::atomic<int>> asked(requests.size());
  std::atomic<bool> over{false};
  std::vector<std::thread> clients;
  for (size_t i = 0; i < requests.size(); ++i) {
    clients.emplace_back([&, i] {
      while (!over) {
        HttpClient client(port, /*may_fail=*/true);
        if (!client.Send(requests[i])) continue;
        // Who has said only half goes away.
        if (requests[i] != half) {
          const int status = client.ReceiveHeaders().status;
          EXPECT_TRUE(status == 0 || status == 200 || status == 503 || (status == 400 && requests[i] == nameless))
              << status << " " << requests[i];
          if (status == 0) continue;
        }
        ++asked[i];
      }
    });
  }
  const auto wait_for_all = [&asked] {
    for (std::atomic<int>& count : asked) {
      const int before = count;
      while (count < before + 3) std::this_thread::yield();
    }
  };
  wait_for_all();
  server_->Close();
  wait_for_all();
  server_.reset();
  over = true;
  for (std::thread& client : clients) client.join();
}

TEST_F(ServerTest, AnOccupiedPortIsNamed) {
  Start();
  WebOptions options;
  options.port = server_->port();
  const auto second = WebServer::Start(options, &experiments_);
  EXPECT_TRUE(absl::IsUnavailable(second.status()));
  EXPECT_THAT(std::string(second.status().message()), HasSubstr(absl::StrCat("127.0.0.1:", server_->port())));
  options.host = "no such host";
  EXPECT_TRUE(absl::IsInvalidArgument(WebServer::Start(options, &experiments_).status()));
}

// A client of an event stream.
class EventClient {
 public:
  EventClient(int port, const std::string& request) : client_(port) {
    EXPECT_TRUE(client_.Send(request));
    const ClientResponse response = client_.ReceiveHeaders();
    EXPECT_EQ(response.status, 200);
    EXPECT_EQ(response.headers.at("content-type"), "text/event-stream");
    EXPECT_EQ(response.headers.at("x-accel-buffering"), "no");
  }

  // Reads until so many events were seen, or the stream ends.
  void ReadEvents(size_t count) {
    while (numbers_.size() < count && ReadMessage()) {
    }
  }
  void ReadToEnd() {
    while (ReadMessage()) {
    }
  }
  // The next message; false: the stream has ended.
  bool ReadMessage() {
    size_t end;
    while ((end = text_.find("\n\n")) == std::string::npos) {
      const std::optional<std::string> chunk = client_.ReceiveChunk();
      if (!chunk.has_value() || chunk->empty()) return false;
      text_ += *chunk;
    }
    const std::string message = text_.substr(0, end);
    text_.erase(0, end + 2);
    if (message == ":") {
      ++comments_;
      return true;
    }
    std::map<std::string, std::string> fields;
    for (const absl::string_view line : absl::StrSplit(message, '\n')) {
      const std::pair<std::string, std::string> field = absl::StrSplit(line, absl::MaxSplits(": ", 1));
      fields[field.first] = field.second;
    }
    kinds_.push_back(fields["event"]);
    if (fields["event"] != "facts") return true;
    const Json data = Json::parse(fields["data"]);
    for (const Json& event : data["events"]) {
      numbers_.push_back(std::stoll(event.value("number", "0")));
      EXPECT_TRUE(event.contains("time"));
      EXPECT_FALSE(event.contains("experiment"));
      if (event.contains("outcome")) told_.insert(event["outcome"]["model"].get<int>());
      if (!event.contains("model")) continue;
      EXPECT_FALSE(event["model"].contains("experiment"));
      EXPECT_FALSE(event["model"].contains("time"));
    }
    if (!data.contains("columns")) {
      EXPECT_EQ(fields["id"], std::to_string(numbers_.back()));
      return true;
    }
    numbers_.push_back(std::stoll(fields["id"]));
    for (const Json& model : data["columns"]["model"]) {
      models_.insert(model.get<int>());
      told_.insert(model.get<int>());
    }
    columns_ = data["columns"];
    attempts_ = data["attempts"];
    return true;
  }

  std::vector<int64_t> numbers_;
  std::vector<std::string> kinds_;
  int comments_ = 0;
  // The models whose end was told, in either form.
  std::set<int> told_;
  // The models that came in the place of their events, and the last message with some.
  std::set<int> models_;
  Json columns_;
  Json attempts_;

 private:
  HttpClient client_;
  std::string text_;
};

class EventsTest : public ServerTest {
 protected:
  std::unique_ptr<EventClient> Watch(const std::string& id, int64_t after, const std::string& headers = "",
                                     const std::string& query = "") const {
    return std::make_unique<EventClient>(
        server_->port(),
        Request("GET", absl::StrCat("/api/v1/experiments/", id, "/events?after=", after, query), "", headers));
  }
  // The records of a model that begins and succeeds, and reports nothing.
  static std::string QuickModel(int model) {
    const std::string attempt = absl::StrCat("model: ", model, " attempt: 1 ");
    return absl::StrCat("records { model { model: ", model, " } } records { trial { trial: ", model, " members { ",
                        attempt, "} } } records { event { ", attempt,
                        "sequence: 1 started { device { kind: CPU } } } } ", "records { event { ", attempt,
                        "sequence: 2 ended { outcome: SUCCEEDED } } } ", "records { outcome { ", attempt,
                        "outcome: SUCCEEDED metrics { values { key: 'default' value: 0.5 } } } } ");
  }
};

TEST_F(EventsTest, AStreamThatIsResumedMissesAndRepeatsNothing) {
  Start();
  Create("a-1");
  Write("a-1", "records { state { state: RUNNING } }");
  std::thread search([this] {
    for (int model = 1; model <= 300; ++model) WriteModel("a-1", model);
    Write("a-1", "records { state { state: DONE } }");
    Release("a-1");
  });
  std::vector<int64_t> seen;
  for (const size_t part : {1, 5, 100, 3, 200}) {
    const int64_t after = seen.empty() ? 0 : seen.back();
    // The header counts, and not the address.
    const auto watch = Watch("a-1", 0, after == 0 ? "" : absl::StrCat("Last-Event-ID: ", after, "\r\n"));
    watch->ReadEvents(part);
    seen.insert(seen.end(), watch->numbers_.begin(), watch->numbers_.end());
  }
  const auto rest = Watch("a-1", seen.back());
  rest->ReadToEnd();
  search.join();
  seen.insert(seen.end(), rest->numbers_.begin(), rest->numbers_.end());
  EXPECT_EQ(seen, AllNumbers("a-1"));
  EXPECT_EQ(rest->kinds_.back(), "ended");
}

TEST_F(EventsTest, AllStreamsOfAnExperimentGetTheSame) {
  Start();
  Create("a-1");
  std::vector<std::unique_ptr<EventClient>> streams;
  // Some come early, some late, and some know more than others.
  for (int model = 1; model <= 40; ++model) {
    streams.push_back(Watch("a-1", model % 3 == 0 ? 5 * (model - 1) + 1 : 0));
    WriteModel("a-1", model);
  }
  Write("a-1", "records { state { state: DONE } }");
  Release("a-1");
  const std::vector<int64_t> all = AllNumbers("a-1");
  for (size_t i = 0; i < streams.size(); ++i) {
    streams[i]->ReadToEnd();
    const int model = static_cast<int>(i) + 1;
    const int64_t after = model % 3 == 0 ? 5 * (model - 1) + 1 : 0;
    EXPECT_EQ(streams[i]->numbers_, std::vector<int64_t>(std::upper_bound(all.begin(), all.end(), after), all.end()));
    EXPECT_EQ(std::count(streams[i]->kinds_.begin(), streams[i]->kinds_.end(), "ended"), 1);
  }
}

TEST_F(EventsTest, ManyModelsComeInThePlaceOfTheirEventsWhereThatIsAsked) {
  Start();
  Create("a-1");
  const auto watch = Watch("a-1", 0, "", "&models=1");
  const auto events = Watch("a-1", 0);
  watch->ReadEvents(1);
  int models = 0;
  // Until it has come to the journal's end for a first time, it gets events.
  while (watch->models_.empty()) {
    std::string batch = "records { state { state: RUNNING } } ";
    for (int i = 0; i < 50; ++i) absl::StrAppend(&batch, QuickModel(++models));
    Write("a-1", batch);
    ASSERT_TRUE(watch->ReadMessage());
  }
  EXPECT_EQ(watch->models_.size(), 50u);
  EXPECT_EQ(watch->columns_["model"].back(), models);
  EXPECT_EQ(watch->columns_["statuses"], Json({"SUCCEEDED"}));
  EXPECT_EQ(watch->columns_["metrics"]["default"], 0.5);
  EXPECT_FALSE(watch->columns_.contains("front"));
  EXPECT_EQ(watch->attempts_["model"].size(), 50u);
  EXPECT_EQ(watch->attempts_["outcome"].front(), "SUCCEEDED");
  // What the experiment itself did is told by events.
  EXPECT_EQ(watch->numbers_.back(), AllNumbers("a-1").back());
  EXPECT_GT(watch->numbers_.back(), *std::prev(watch->numbers_.end(), 2) + 50);
  const size_t before = watch->models_.size();
  // Few models come as events, and so do models that report.
  Write("a-1", QuickModel(++models));
  ASSERT_TRUE(watch->ReadMessage());
  std::string batch;
  for (int i = 0; i < 50; ++i) absl::StrAppend(&batch, QuickModel(++models));
  absl::StrAppend(&batch, "records { event { model: ", models, " attempt: 1 sequence: 3 intermediate { step: 0 ",
                  "metrics { values { key: 'default' value: 1 } } } } }");
  Write("a-1", batch);
  Write("a-1", "records { state { state: DONE } }");
  Release("a-1");
  watch->ReadToEnd();
  EXPECT_EQ(watch->models_.size(), before);
  EXPECT_EQ(watch->kinds_.back(), "ended");
  events->ReadToEnd();
  EXPECT_EQ(events->numbers_, AllNumbers("a-1"));
}

TEST_F(EventsTest, AStreamOfModelsThatFallsBehindGetsAllOfThem) {
  WebOptions options;
  options.streams.max_unsent = 1;
  Start(options);
  Create("a-1");
  const auto slow = Watch("a-1", 0, "", "&models=1");
  const auto quick = Watch("a-1", 0, "", "&models=1");
  quick->ReadEvents(1);
  int models = 0;
  for (int i = 0; i < 40; ++i) {
    std::string batch;
    for (int k = 0; k < 40; ++k) absl::StrAppend(&batch, QuickModel(++models));
    Write("a-1", batch);
    ASSERT_TRUE(quick->ReadMessage());
  }
  Write("a-1", "records { state { state: DONE } }");
  Release("a-1");
  const std::vector<int64_t> all = AllNumbers("a-1");
  for (const auto& stream : {slow.get(), quick.get()}) {
    stream->ReadToEnd();
    EXPECT_EQ(stream->kinds_.back(), "ended");
    EXPECT_TRUE(std::is_sorted(stream->numbers_.begin(), stream->numbers_.end()));
    EXPECT_EQ(std::adjacent_find(stream->numbers_.begin(), stream->numbers_.end()), stream->numbers_.end());
    EXPECT_EQ(stream->numbers_.back(), all.back());
    // Each event comes by itself, or its model comes.
    EXPECT_EQ(stream->told_.size(), static_cast<size_t>(models));
  }
  EXPECT_FALSE(quick->models_.empty());
}

TEST_F(EventsTest, AStreamThatIsReadSlowlyGetsAllOfIt) {
  WebOptions options;
  options.streams.max_unsent = 1;
  Start(options);
  Create("a-1");
  const auto slow = Watch("a-1", 0);
  const auto quick = Watch("a-1", 0);
  quick->ReadEvents(1);
  for (int model = 1; model <= 200; ++model) WriteModel("a-1", model);
  Write("a-1", "records { state { state: DONE } }");
  Release("a-1");
  quick->ReadToEnd();
  EXPECT_EQ(quick->numbers_, AllNumbers("a-1"));
  slow->ReadToEnd();
  EXPECT_EQ(slow->numbers_, AllNumbers("a-1"));
}

TEST_F(EventsTest, AStreamThatIsNeverReadIsClosedAndTakesLittleMemory) {
  EventStreams::Options options;
  options.max_unsent = 100000;
  options.patience = std::chrono::milliseconds(0);
  EventStreams streams(&experiments_, options);
  Create("a-1");
  const auto stream = streams.Open("a-1", 0);
  ASSERT_TRUE(stream.ok()) << stream.status();
  size_t most = 0;
  // As nobody takes anything, it is closed at some time; each model is about 1,000 bytes.
  for (int model = 1; !(*stream)->gone(); ++model) {
    WriteModel("a-1", model);
    most = std::max(most, (*stream)->unsent());
  }
  EXPECT_GE(most, 1u);
  EXPECT_LT(most, 100000u + (4u << 20));
  EXPECT_EQ(EventStreams::Options().max_unsent, size_t{1} << 20);
  // Who comes again goes on from what it has seen.
  Start();
  const std::vector<int64_t> all = AllNumbers("a-1");
  const auto again = Watch("a-1", all.at(1));
  again->ReadEvents(2);
  ASSERT_GE(again->numbers_.size(), 2u);
  EXPECT_EQ(again->numbers_[0], all.at(2));
  EXPECT_EQ(again->numbers_[1], all.at(3));
}

TEST_F(EventsTest, WhoReadsNothingIsCutOffAndGoesOnBehindWhatItHasSeen) {
  WebOptions options;
  options.streams.max_unsent = 100000;
  options.streams.patience = std::chrono::milliseconds(500);
  Start(options);
  Create("a-1");
  const auto idle = Watch("a-1", 0);
  const auto other = Watch("a-1", 0);
  other->ReadEvents(1);
  // Several times as much as the sockets of both sides hold.
  const std::string message(60000, 'x');
  for (int model = 1; model <= 300; ++model) {
    Write("a-1", absl::StrCat("records { model { model: ", model, " } } records { outcome { model: ", model,
                              " outcome: FAILED failure { reason: EXCEPTION message: '", message, "' } } }"));
    other->ReadEvents(other->numbers_.size() + 1);
  }
  Write("a-1", "records { state { state: DONE } }");
  Release("a-1");
  other->ReadToEnd();
  const std::vector<int64_t> all = AllNumbers("a-1");
  EXPECT_EQ(other->numbers_, all);
  idle->ReadToEnd();
  ASSERT_LT(idle->numbers_.size(), all.size()) << "it was closed";
  std::vector<int64_t> seen = idle->numbers_;
  // On a busy machine whoever comes again may be cut off, too, and comes again.
  for (bool ended = false; !ended;) {
    const auto again = Watch("a-1", 0, absl::StrCat("Last-Event-ID: ", seen.back(), "\r\n"));
    again->ReadToEnd();
    ended = !again->kinds_.empty() && again->kinds_.back() == "ended";
    seen.insert(seen.end(), again->numbers_.begin(), again->numbers_.end());
  }
  EXPECT_EQ(seen, all);
}

TEST_F(EventsTest, NumbersBehindTheLastFactAndNoNumbers) {
  Start();
  Create("a-1");
  Write("a-1", "records { state { state: DONE } }");
  Release("a-1");
  // As who has seen everything: of another journal by the same name, perhaps.
  const auto beyond = Watch("a-1", 1000000);
  beyond->ReadToEnd();
  EXPECT_TRUE(beyond->numbers_.empty());
  EXPECT_THAT(beyond->kinds_, ElementsAre("ended"));
  for (const char* const after : {"x", "-1", "1.5", "99999999999999999999"}) {
    EXPECT_EQ(Get(absl::StrCat("/api/v1/experiments/a-1/events?after=", after)).status, 400) << after;
  }
  // A header that is no number is as none.
  const std::vector<int64_t> all = AllNumbers("a-1");
  ASSERT_GT(all.size(), 1u);
  for (const char* const header : {"x", "", "1.5", "99999999999999999999"}) {
    const auto watch = Watch("a-1", all[0], absl::StrCat("Last-Event-ID: ", header, "\r\n"));
    watch->ReadToEnd();
    EXPECT_EQ(watch->numbers_, std::vector<int64_t>(all.begin() + 1, all.end())) << header;
    EXPECT_EQ(watch->kinds_.back(), "ended") << header;
  }
  EXPECT_EQ(Ask("GET", "/api/v1/experiments/a-1/events", "", "Last-Event-ID: -1\r\n").status, 400);
}

TEST_F(EventsTest, WhoNamesANumberThatIsNotThereYetHidesNothingFromOthers) {
  Start();
  Create("a-1");
  const auto beyond = Watch("a-1", 1000000);
  const auto other = Watch("a-1", 0);
  other->ReadEvents(1);
  Write("a-1", "records { state { state: RUNNING } }");
  other->ReadEvents(2);
  beyond->ReadEvents(1);
  EXPECT_EQ(beyond->numbers_.back(), other->numbers_.back());
}

TEST_F(EventsTest, AStreamWithoutNewsGetsComments) {
  WebOptions options;
  options.streams.comment_interval = std::chrono::milliseconds(1);
  Start(options);
  Create("a-1");
  const auto watch = Watch("a-1", 0);
  while (watch->comments_ < 3) ASSERT_TRUE(watch->ReadMessage());
  EXPECT_THAT(watch->numbers_, ElementsAre(1));
}

TEST_F(EventsTest, WhatNobodyRunsAnyMoreIsGone) {
  Start();
  Create("a-1");
  const auto early = Watch("a-1", 0);
  early->ReadEvents(1);
  Release("a-1");
  early->ReadToEnd();
  EXPECT_THAT(early->kinds_, ElementsAre("facts", "gone"));
  const auto late = Watch("a-1", 0);
  late->ReadToEnd();
  EXPECT_THAT(late->kinds_, ElementsAre("facts", "gone"));
}

TEST_F(EventsTest, TheServersEndIsNotTheExperiments) {
  Start();
  Create("a-1");
  const auto watch = Watch("a-1", 0);
  watch->ReadEvents(1);
  server_->Close();
  watch->ReadToEnd();
  EXPECT_THAT(watch->kinds_, ElementsAre("facts"));
  EXPECT_EQ(Get("/api/v1/info").status, 503);
  const auto other = std::make_unique<HttpClient>(server_->port());
  server_.reset();
  EXPECT_TRUE(other->WaitForClose());
}

TEST_F(EventsTest, TheServerEndsWithOpenStreams) {
  Start();
  Create("a-1");
  const auto watch = Watch("a-1", 0);
  watch->ReadEvents(1);
  server_.reset();
  watch->ReadToEnd();
  EXPECT_THAT(watch->kinds_, ElementsAre("facts"));
}

TEST_F(EventsTest, AHeadRequestOpensNoStream) {
  Start();
  Create("a-1");
  const ClientResponse head = Ask("HEAD", "/api/v1/experiments/a-1/events");
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.headers.at("content-type"), "text/event-stream");
}

TEST_F(EventsTest, TwoHundredStreamsTakeNoThreads) {
  Start();
  Create("a-1");
  const auto threads = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/task"), std::filesystem::directory_iterator());
  };
  const auto before = threads();
  std::vector<std::unique_ptr<EventClient>> streams;
  for (int i = 0; i < 200; ++i) streams.push_back(Watch("a-1", 0));
  EXPECT_EQ(threads(), before);
  WriteModel("a-1", 1);
  for (const auto& stream : streams) stream->ReadEvents(4);
  for (const auto& stream : streams) EXPECT_THAT(stream->numbers_, ElementsAre(1, 4, 5, 6));
}

class MadeByTrialsTest : public ServerTest {
 protected:
  static constexpr char kGraph[] = "/api/v1/experiments/a-1/models/1/graph";
  static constexpr char kExport[] = "/api/v1/experiments/a-1/export";

  // What still runs uses the members below.
  ~MadeByTrialsTest() override { server_ = nullptr; }

  // The answer to a request for a graph that cannot be made.
  ClientResponse GraphFailsWith(const absl::Status& status) {
    model_maker_.on_graph_ = [status](const std::string&, int, const ModelMaker::Abandoned&) { return status; };
    return Get(kGraph);
  }

  // From now on a graph is made until nobody waits for it; `begun_` is given when it begins, `given_up_` when it ends.
  void MakeGraphsUntilAbandoned() {
    model_maker_.on_graph_ = [this](const std::string&, int,
                                    const ModelMaker::Abandoned& abandoned) -> absl::StatusOr<FakeModelMaker::Text> {
      begun_.Give();
      while (!abandoned()) std::this_thread::yield();
      given_up_.Give();
      return absl::CancelledError("nobody waits");
    };
  }

  // From now on an export writes these files.
  void ExportFiles(const std::vector<std::string>& names, const std::vector<std::string>& warnings = {}) {
    model_maker_.on_export_ = [this, names, warnings](const std::string&, const ModelMaker::ExportRequest& request,
                                                      const std::string& out, const ModelMaker::Abandoned&) {
      exported_ = request;
      out_ = out;
      ModelMaker::Exported exported;
      exported.warnings = warnings;
      for (const std::string& name : names) {
        exported.files.push_back(out + "/" + name);
        std::ofstream(exported.files.back()) << "content of " << name;
      }
      return exported;
    };
  }

  Signal begun_, given_up_;
  ModelMaker::ExportRequest exported_;
  std::string out_;
};

TEST_F(MadeByTrialsTest, AGraphIsTheDocumentThatWasMade) {
  Start();
  Create("a-1");
  std::string folder;
  int model = 0;
  model_maker_.on_graph_ = [&](const std::string& of, int number, const ModelMaker::Abandoned& abandoned) {
    folder = of;
    model = number;
    EXPECT_FALSE(abandoned());
    return std::make_shared<const std::string>("{\"name\":\"net\"}");
  };
  const ClientResponse graph = Get("/api/v1/experiments/a-1/models/7/graph");
  EXPECT_EQ(graph.status, 200);
  EXPECT_EQ(graph.headers.at("content-type"), "application/json");
  EXPECT_EQ(graph.body, "{\"name\":\"net\"}");
  EXPECT_EQ(folder, Folder("a-1"));
  EXPECT_EQ(model, 7);
  EXPECT_EQ(Ask("HEAD", kGraph).status, 200);
  EXPECT_EQ(Get("/api/v1/experiments/a-1/models/0/graph").status, 404);
  EXPECT_EQ(Get("/api/v1/experiments/nobody/models/1/graph").status, 404);
  EXPECT_EQ(Ask("POST", kGraph, "{}").status, 405);
}

TEST_F(MadeByTrialsTest, WhyThereIsNoGraphIsSaid) {
  Start();
  Create("a-1");
  EXPECT_EQ(GraphFailsWith(absl::NotFoundError("a-1 has no model 1")).status, 404);
  const ClientResponse direct = GraphFailsWith(absl::FailedPreconditionError("there is no graph: the engine `direct`"));
  EXPECT_EQ(direct.status, 409);
  EXPECT_EQ(Error(direct), "there is no graph: the engine `direct`");
  const ClientResponse died = GraphFailsWith(absl::InternalError("it was ended by signal 11"));
  EXPECT_EQ(died.status, 500);
  EXPECT_EQ(Error(died), "it was ended by signal 11");
  EXPECT_EQ(GraphFailsWith(absl::ResourceExhaustedError("9 wait already")).status, 503);
  EXPECT_EQ(GraphFailsWith(absl::DeadlineExceededError("it hangs")).status, 503);
}

TEST_F(MadeByTrialsTest, WithoutATrialProgramThatIsSaid) {
  Experiments without(state_dir_, &runner_, &news_);
  Create("a-1");
  const ExperimentPlace place = *without.Locate("a-1");
  EXPECT_TRUE(absl::IsFailedPrecondition(without.Graph(place, 1, nullptr).status()));
  EXPECT_TRUE(absl::IsFailedPrecondition(without.Export({}, nullptr).status()));
}

TEST_F(MadeByTrialsTest, AGraphThatNobodyWaitsForIsGivenUp) {
  Start();
  Create("a-1");
  MakeGraphsUntilAbandoned();
  {
    HttpClient client(server_->port());
    ASSERT_TRUE(client.Send(Request("GET", kGraph)));
    begun_.Wait();
    EXPECT_FALSE(given_up_.given());
  }
  given_up_.Wait();
}

TEST_F(MadeByTrialsTest, WhatTakesLongHoldsUpNothingElse) {
  Start();
  Create("a-1");
  MakeGraphsUntilAbandoned();
  std::vector<std::unique_ptr<HttpClient>> clients;
  for (int i = 0; i < 9; ++i) {
    clients.push_back(std::make_unique<HttpClient>(server_->port()));
    ASSERT_TRUE(clients.back()->Send(Request("GET", kGraph)));
    begun_.Wait();
  }
  EXPECT_EQ(Get("/api/v1/experiments/a-1").status, 200);
  EXPECT_EQ(Ask("POST", "/api/v1/experiments/a-1/stop", "{}").status, 200);
}

TEST_F(MadeByTrialsTest, TheServerEndsWhileAGraphIsMade) {
  Start();
  Create("a-1");
  MakeGraphsUntilAbandoned();
  HttpClient client(server_->port());
  ASSERT_TRUE(client.Send(Request("GET", kGraph)));
  begun_.Wait();
  server_.reset();
  EXPECT_TRUE(given_up_.given());
}

TEST_F(MadeByTrialsTest, AnExportOfOneFileIsThatFile) {
  Start();
  Create("a-1");
  ExportFiles({"1-model-3.json"});
  const ClientResponse file = Ask("POST", kExport, "{}");
  EXPECT_EQ(file.status, 200);
  EXPECT_EQ(file.body, "content of 1-model-3.json");
  EXPECT_EQ(file.headers.at("content-type"), "application/octet-stream");
  EXPECT_EQ(file.headers.at("content-disposition"), "attachment; filename*=UTF-8''1-model-3.json");
  EXPECT_EQ(file.headers.count("x-warnings"), 0u);
  EXPECT_EQ(exported_.top, 1);
  EXPECT_EQ(exported_.format, "json");
  EXPECT_FALSE(exported_.untrained);
  EXPECT_FALSE(std::filesystem::exists(out_)) << "nothing stays on the server";
}

TEST_F(MadeByTrialsTest, AnExportOfSeveralFilesIsAnArchive) {
  Start();
  Create("a-1");
  ExportFiles({"1-model-3.py", "1-model-3.pt", "2-model-1.py", "2-model-1.pt"},
              {"weights of model 1: caf\xc3\xa9", "x"});
  const ClientResponse archive = Ask("POST", kExport, R"({"top": 2, "format": "python", "untrained": true})");
  ASSERT_EQ(archive.status, 200) << archive.body;
  EXPECT_EQ(archive.headers.at("content-disposition"), "attachment; filename*=UTF-8''a-1-best-2-python.tar");
  EXPECT_EQ(archive.headers.at("x-warnings"), "weights%20of%20model%201%3A%20caf%C3%A9%0Ax");
  EXPECT_EQ(exported_.top, 2);
  EXPECT_EQ(exported_.format, "python");
  EXPECT_TRUE(exported_.untrained);
  EXPECT_FALSE(std::filesystem::exists(out_));
  const std::string path = temp_.path() + "/exported.tar";
  std::ofstream(path, std::ios::binary) << archive.body;
  ASSERT_EQ(std::system(absl::StrCat("tar -xf ", path, " -C ", temp_.path()).c_str()), 0);
  for (const char* const name : {"1-model-3.py", "1-model-3.pt", "2-model-1.py", "2-model-1.pt"}) {
    std::ifstream file(absl::StrCat(temp_.path(), "/a-1-best-2-python/", name));
    EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), absl::StrCat("content of ", name));
  }
}

TEST_F(MadeByTrialsTest, WhatIsWrongWithAnExportIsSaid) {
  Start();
  Create("a-1");
  ExportFiles({"1-model-3.json"});
  for (const char* const body : {R"({"top": 0})", R"({"top": 1001})", R"({"top": "1"})", R"({"top": 1.5})",
                                 R"({"format": 1})", R"({"untrained": 1})", "[]"}) {
    EXPECT_EQ(Ask("POST", kExport, body).status, 400) << body;
  }
  const auto fails_with = [this](const absl::Status& status) {
    model_maker_.on_export_ = [status](const std::string&, const ModelMaker::ExportRequest&, const std::string&,
                                       const ModelMaker::Abandoned&) { return status; };
    return Ask("POST", kExport, "{}");
  };
  EXPECT_EQ(fails_with(absl::InvalidArgumentError("unknown format")).status, 400);
  EXPECT_EQ(fails_with(absl::FailedPreconditionError("no model has succeeded")).status, 409);
  const ClientResponse inexpressible = fails_with(absl::UnimplementedError("onnx has no such operator"));
  EXPECT_EQ(inexpressible.status, 422);
  EXPECT_EQ(Error(inexpressible), "onnx has no such operator");
  HttpClient stranger(server_->port());
  ASSERT_TRUE(stranger.Send(absl::StrCat("POST ", kExport,
                                         " HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
                                         "Content-Length: 2\r\n\r\n{}")));
  EXPECT_EQ(stranger.Receive().status, 401);
}

TEST(NotesTest, TwoProcessesUndoNothing) {
  TempFolder temp;
  constexpr int kEach = 100;
  const auto write = [&temp](int first) {
    for (int model = first; model < first + kEach; ++model) {
      if (!WriteNote(temp.path(), model, true, absl::StrCat("of ", model)).ok()) _exit(1);
    }
  };
  const ChildProcess child([&write](int pipe) {
    write(1);
    ASSERT_EQ(::write(pipe, "x", 1), 1);
  });
  write(1 + kEach);
  EXPECT_TRUE(child.WaitForByte());
  EXPECT_EQ((*ReadNotes(temp.path()))["notes"].size(), size_t{2 * kEach});
}

TEST(TokenTest, IsDrawnOnceAndReadByNobodyElse) {
  TempFolder temp;
  const auto token = StateToken(temp.path());
  ASSERT_TRUE(token.ok()) << token.status();
  EXPECT_EQ(token->size(), 48u);
  EXPECT_EQ(*StateToken(temp.path()), *token);
  TempFolder other;
  EXPECT_NE(*StateToken(other.path()), *token);
  const auto metrics = StateToken(temp.path(), kMetricsToken);
  ASSERT_TRUE(metrics.ok()) << metrics.status();
  EXPECT_NE(*metrics, *token);
  EXPECT_EQ(*StateToken(temp.path(), kMetricsToken), *metrics);
  const std::string file = temp.path() + "/web_token";
  struct stat status = {};
  ASSERT_EQ(stat(file.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(temp.path()), std::filesystem::directory_iterator()), 2)
      << "both tokens, and no draft";
  ASSERT_EQ(chmod(file.c_str(), 0640), 0);
  EXPECT_THAT(std::string(StateToken(temp.path()).status().message()), HasSubstr("others may read"));
  ASSERT_EQ(chmod(file.c_str(), 0600), 0);
  std::ofstream(file) << "short";
  EXPECT_THAT(std::string(StateToken(temp.path()).status().message()), HasSubstr("holds no token"));
  std::filesystem::remove(file);
  std::filesystem::create_symlink("/etc/passwd", file);
  EXPECT_FALSE(StateToken(temp.path()).ok());
  EXPECT_FALSE(StateToken(temp.path() + "/nothing").ok());
}

TEST_F(ServerTest, MetricsAreServedToWhoHasTheToken) {
  WebOptions options;
  const TelemetryPtr telemetry = std::make_shared<Telemetry>();
  options.telemetry = telemetry;
  options.metrics_token = "scraper";
  Start(options);
  const auto scrape = [this](const std::string& headers, const char* method = "GET") {
    HttpClient client(server_->port());
    EXPECT_TRUE(client.Send(absl::StrCat(method, " /metrics HTTP/1.1\r\n", headers, "\r\n")));
    return client.Receive(std::string(method) == "HEAD");
  };
  const std::string host = "Host: localhost\r\n";
  const std::string allowed = host + "Authorization: Bearer scraper\r\n";
  telemetry->models_ended[v1::ModelEnded::SUCCEEDED].Add(7);
  const ClientResponse metrics = scrape(allowed);
  EXPECT_EQ(metrics.status, 200);
  EXPECT_EQ(metrics.headers.at("content-type"), "text/plain; version=0.0.4; charset=utf-8");
  EXPECT_EQ(metrics.headers.at("cache-control"), "no-store");
  EXPECT_EQ(metrics.headers.at("x-content-type-options"), "nosniff");
  EXPECT_EQ(SampleOf(metrics.body, "lanista_models_ended_total{outcome=\"succeeded\"}"), 7);
  telemetry->models_ended[v1::ModelEnded::SUCCEEDED].Add();
  EXPECT_EQ(SampleOf(scrape(allowed).body, "lanista_models_ended_total{outcome=\"succeeded\"}"), 8);
  EXPECT_EQ(Get("/metrics").status, 200) << "with the page's token";
  EXPECT_EQ(scrape(allowed, "HEAD").status, 200);
  EXPECT_EQ(scrape(host).status, 401);
  EXPECT_EQ(scrape("Host: evil.org\r\nAuthorization: Bearer scraper\r\n").status, 421);
  EXPECT_EQ(scrape(allowed + "Sec-Fetch-Site: cross-site\r\n").status, 403);
  EXPECT_EQ(Ask("POST", "/metrics", "{}").status, 405);
  EXPECT_EQ(Get("/metrics/").status, 404);
  EXPECT_EQ(Get("/metrics/more").status, 404);
  EXPECT_EQ(Ask("GET", "/api/v1/info", "", "Authorization: Bearer scraper\r\n").status, 401);
}

TEST_F(ServerTest, WithoutTelemetryThereAreNoMetrics) {
  Start();
  EXPECT_EQ(Get("/metrics").status, 404);
}

TEST_F(ServerTest, WhoScrapesWhileTheServerEndsGetsAWholeAnswerOrNone) {
  WebOptions options;
  options.telemetry = std::make_shared<Telemetry>();
  options.open = false;
  Start(options);
  const int port = server_->port();
  const std::string request = Request("GET", "/metrics");
  std::atomic<int> answers{0};
  std::atomic<bool> over{false};
  std::vector<std::thread> scrapers;
  for (int i = 0; i < 3; ++i) {
    scrapers.emplace_back([&, port] {
      while (!over) {
        HttpClient client(port, /*may_fail=*/true);
        if (!client.Send(request)) continue;
        const ClientResponse response = client.Receive();
        if (response.status == 0) continue;
        ++answers;
        EXPECT_TRUE(response.status == 200 || response.status == 503) << response.status;
        if (response.status == 200) {
          EXPECT_GT(SampleOf(response.body, "process_resident_memory_bytes"), 0);
        }
      }
    });
  }
  const auto wait_for_answers = [&answers] {
    const int before = answers;
    while (answers < before + 20) std::this_thread::yield();
  };
  EXPECT_EQ(Get("/metrics").status, 503) << "it has not begun";
  server_->Open();
  wait_for_answers();
  server_->Close();
  EXPECT_EQ(Get("/metrics").status, 503);
  wait_for_answers();
  server_->Open();
  wait_for_answers();
  server_.reset();
  over = true;
  for (std::thread& scraper : scrapers) scraper.join();
}

}  // namespace
}  // namespace lanista

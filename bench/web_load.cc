// What bench/web.py needs in C++: journals of large searches, a head that records at a given pace, and many readers.
//
//   web_load journal STATE ID MODELS STEPS    makes an experiment that nobody runs any more
//   web_load head STATE ID                    holds it and serves its page: "page: LINK"; then it takes commands
//   web_load streams PORT TOKEN ID AFTER N    N streams of its events; "open" once all of them are; then commands
//
// Commands, a line each, are answered by a line of JSON; the end of the input ends the program.
//
//   head:    models COUNT RATE STEPS          so many models from proposal to outcome, RATE a second (0: at once)
//            reports COUNT RATE               so many reports of eight models that run
//   streams: count                            events that each stream has got up to now: the least and the most
//
// The head is the web server of `serve`, over the journal that this process writes and the news that it publishes, as
// `serve` does; it has neither actors nor gRPC, so that all that it takes of the machine is the page's.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "bench/harness.h"
#include "bench/made_search.h"
#include "nlohmann/json.hpp"
#include "src/base/unique_fd.h"
#include "src/service/experiments.h"
#include "src/service/news.h"
#include "src/storage/experiment_lock.h"
#include "src/storage/state_dir.h"
#include "src/web/web_server.h"

namespace lanista::bench {
namespace {

constexpr int kRunningModels = 8;
constexpr std::chrono::milliseconds kReportPause(10);

using Clock = std::chrono::steady_clock;

int Number(const char* text) {
  int number = 0;
  if (!absl::SimpleAtoi(text, &number) || number < 0) {
    CheckOk(absl::InvalidArgumentError(absl::StrCat("'", text, "' is no number")));
  }
  return number;
}

void Answer(const nlohmann::json& answer) {
  std::printf("%s\n", answer.dump().c_str());
  std::fflush(stdout);
}

int MakeJournal(char** arguments) {
  const StateDir state_dir = ValueOrDie(StateDir::Open(arguments[0]));
  const std::string folder = ValueOrDie(state_dir.ExperimentFolder(arguments[1]));
  const auto search = ValueOrDie(MadeSearch::Create(folder, arguments[1]));
  CheckOk(search->AddPast(Number(arguments[2]), Number(arguments[3])));
  return 0;
}

// When the outcomes of models were recorded: milliseconds since 1970.
std::vector<double> AddModels(int count, int rate, int steps, const std::string& id, MadeSearch* search, News* news) {
  std::vector<double> times;
  const Clock::time_point begin = Clock::now();
  for (int i = 0; i < count; ++i) {
    if (rate > 0) std::this_thread::sleep_until(begin + std::chrono::microseconds(1000000) * i / rate);
    CheckOk(search->AddModel(steps));
    times.push_back(static_cast<double>(absl::ToUnixMicros(absl::Now())) / 1000);
    news->Publish(id);
  }
  return times;
}

// The number of the last report.
int64_t AddReports(int count, int rate, const std::string& id, MadeSearch* search, News* news) {
  int64_t number = 0;
  const Clock::time_point begin = Clock::now();
  for (int done = 0; done < count;) {
    std::this_thread::sleep_for(kReportPause);
    const auto passed = std::chrono::duration<double>(Clock::now() - begin).count();
    const int due = std::min(count, static_cast<int>(passed * rate));
    if (due <= done) continue;
    number = ValueOrDie(search->Report(due - done));
    news->Publish(id);
    done = due;
  }
  return number;
}

int ServeHead(char** arguments) {
  const StateDir state_dir = ValueOrDie(StateDir::Open(arguments[0]));
  const std::string id = arguments[1];
  const std::string folder = ValueOrDie(state_dir.ExperimentFolder(id));
  const ExperimentLock lock = ValueOrDie(ExperimentLock::Acquire(folder));
  const auto search = ValueOrDie(MadeSearch::Open(folder));
  CheckOk(search->StartModels(kRunningModels));
  News news;
  Experiments experiments(state_dir, /*runner=*/nullptr, &news);
  WebOptions options;
  options.api.mode = "serve";
  options.token = "bench";
  const auto server = ValueOrDie(WebServer::Start(options, &experiments));
  std::printf("page: %s\n", server->link().c_str());
  std::fflush(stdout);
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string command;
    int count = 0, rate = 0, steps = 0;
    words >> command >> count >> rate >> steps;
    if (command == "models") {
      Answer({{"times", AddModels(count, rate, steps, id, search.get(), &news)}});
    } else if (command == "reports") {
      Answer({{"number", AddReports(count, rate, id, search.get(), &news)}});
    } else {
      CheckOk(absl::InvalidArgumentError("no such command: " + line));
    }
  }
  return 0;
}

// A stream of events, as a browser reads it.
class Reader {
 public:
  Reader(int port, const std::string& request) : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
        write(socket_.get(), request.data(), request.size()) != static_cast<ssize_t>(request.size())) {
      CheckOk(absl::UnavailableError(absl::StrCat("cannot open a stream: ", std::strerror(errno))));
    }
  }

  int file() const { return socket_.get(); }
  bool is_open() const { return open_; }
  int64_t events() const { return events_; }

  // Takes what there is. Ends the program where the stream ends.
  void Read() {
    static char buffer[256 << 10];
    const ssize_t got = read(socket_.get(), buffer, sizeof(buffer));
    if (got <= 0) CheckOk(absl::UnavailableError("a stream has ended"));
    text_.append(buffer, static_cast<size_t>(got));
    if (!open_ && text_.find("\r\n\r\n") != std::string::npos) {
      if (text_.find(" 200 ") == std::string::npos) CheckOk(absl::UnavailableError(text_));
      open_ = true;
    }
    if (!open_) return;
    // Each event has one number; what may be a part of the word stays for the next time.
    const std::string word = "\"number\":";
    size_t begin = 0;
    for (size_t at; (at = text_.find(word, begin)) != std::string::npos; begin = at + word.size()) ++events_;
    text_.erase(0, std::max(begin, text_.size() - std::min(text_.size(), word.size() - 1)));
  }

 private:
  UniqueFd socket_;
  std::string text_;
  bool open_ = false;
  int64_t events_ = 0;
};

int ReadStreams(char** arguments) {
  const int port = Number(arguments[0]);
  // Of version 1.0, so that the answer does not come in chunks, whose lengths may stand in the middle of a word.
  const std::string request =
      absl::StrCat("GET /api/v1/experiments/", arguments[2], "/events?models=1&after=", arguments[3],
                   " HTTP/1.0\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ", arguments[1], "\r\n\r\n");
  std::vector<std::unique_ptr<Reader>> readers;
  std::vector<pollfd> files = {{STDIN_FILENO, POLLIN, 0}};
  for (int i = Number(arguments[4]); i > 0; --i) {
    readers.push_back(std::make_unique<Reader>(port, request));
    files.push_back({readers.back()->file(), POLLIN, 0});
  }
  bool told = false;
  while (true) {
    if (poll(files.data(), files.size(), -1) < 0) CheckOk(absl::InternalError("poll failed"));
    for (size_t i = 0; i < readers.size(); ++i) {
      if (files[i + 1].revents != 0) readers[i]->Read();
    }
    if (!told && std::all_of(readers.begin(), readers.end(), [](const auto& each) { return each->is_open(); })) {
      told = true;
      std::printf("open\n");
      std::fflush(stdout);
    }
    if (files[0].revents == 0) continue;
    char command[64];
    if (read(STDIN_FILENO, command, sizeof(command)) <= 0) return 0;
    const auto [least, most] = std::minmax_element(
        readers.begin(), readers.end(), [](const auto& a, const auto& b) { return a->events() < b->events(); });
    Answer({{"least", (*least)->events()}, {"most", (*most)->events()}});
  }
}

int Main(int argc, char** argv) {
  signal(SIGPIPE, SIG_IGN);
  const std::string mode = argc > 1 ? argv[1] : "";
  if (mode == "journal" && argc == 6) return MakeJournal(argv + 2);
  if (mode == "head" && argc == 4) return ServeHead(argv + 2);
  if (mode == "streams" && argc == 7) return ReadStreams(argv + 2);
  std::fprintf(stderr, "web_load: for bench/web.py, which says what it does\n");
  return 2;
}

}  // namespace
}  // namespace lanista::bench

int main(int argc, char** argv) { return lanista::bench::Main(argc, argv); }

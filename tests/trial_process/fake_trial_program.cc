// A trial program for tests of the channel: does what the experiment's name in each Run or Cancel request says.
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "src/trial_process/parent.h"
#include "tests/trial_process/serve_requests.h"

namespace lanista {
namespace {

// Answers with a text, in the place of an experiment's name.
void Say(const std::string& text) {
  v1::TrialEvent event;
  event.mutable_ended()->set_experiment(text);
  SendEvent(event);
}

// Sends an event of model 1 of the trial that is named `order`.
void Report(const std::string& order, int sequence) {
  v1::TrialEvent event;
  event.mutable_model()->set_experiment(order);
  event.mutable_model()->set_model(1);
  event.mutable_model()->set_sequence(sequence);
  event.mutable_model()->mutable_intermediate();
  SendEvent(event);
}

// Reports as long as somebody reads, at most 200000 times; `file` says how often.
void ReportUntilNobodyReads(const std::string& order, const std::string& file) {
  int sequence = 0;
  pollfd socket = {kTrialProcessSocket, POLLOUT, 0};
  while (sequence < 200000 && poll(&socket, 1, /*milliseconds*/ 500) == 1) Report(order, ++sequence);
  std::ofstream(file) << sequence;
}

// What this process was given: its group, its open descriptors, its limit.
std::string Surroundings() {
  std::string descriptors;
  for (int fd = 0; fd < 64; ++fd) {
    if (std::filesystem::exists(absl::StrCat("/proc/self/fd/", fd))) absl::StrAppend(&descriptors, fd, " ");
  }
  rlimit data = {};
  getrlimit(RLIMIT_DATA, &data);
  return absl::StrCat(getpgrp() == getpid() ? "own group" : "the parent's group", "; ", descriptors, "; ",
                      data.rlim_cur, "; ", std::getenv("OMP_NUM_THREADS"));
}

void Obey(const std::string& order) {
  if (order == "echo") return Say("echo");
  if (order.rfind("report until nobody reads ", 0) == 0) return ReportUntilNobodyReads(order, order.substr(26));
  if (order == "report") {
    for (int sequence = 1; sequence <= 20000; ++sequence) Report(order, sequence);
    return;
  }
  if (order == "surroundings") return Say(Surroundings());
  if (order == "oom score") {
    std::string score;
    std::ifstream("/proc/self/oom_score_adj") >> score;
    return Say(score);
  }
  if (order.rfind("getenv ", 0) == 0) {
    const char* const value = std::getenv(order.substr(7).c_str());
    return Say(value == nullptr ? "not set" : value);
  }
  if (order.rfind("length ", 0) == 0) return Say(absl::StrCat(order.size() - 7));
  if (order == "kill") std::raise(SIGKILL);
  if (order.rfind("exit", 0) == 0) _exit(7);
  if (order == "segfault") {
    // Sanitizers handle it otherwise.
    std::signal(SIGSEGV, SIG_DFL);
    std::raise(SIGSEGV);
  }
  if (order == "garbage") return SendBytes(std::string("\x03\0\0\0abc", 7));
  if (order == "too large") return SendBytes("\xff\xff\xff\xff");
  if (order == "close") {
    close(kTrialProcessSocket);
    pause();
  }
  if (order == "grandchild") {
    // Holds the socket, in the same group, after its parent has gone.
    if (fork() == 0) pause();
    _exit(0);
  }
  if (order == "sleep") pause();
}

}  // namespace
}  // namespace lanista

int main() {
  return lanista::ServeRequests([](const lanista::v1::TrialRequest& request) {
    if (request.has_setup()) lanista::Say("ready");
    if (request.has_run()) lanista::Obey(request.run().experiment());
    if (request.has_cancel()) lanista::Obey(request.cancel().experiment());
  });
}

// A trial program for tests of the channel: does what the experiment's name in each Run request says.
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "src/base/framing.h"
#include "src/base/trial_process.h"

namespace lanista {
namespace {

void SendBytes(const std::string& bytes) {
  if (send(kTrialProcessSocket, bytes.data(), bytes.size(), MSG_NOSIGNAL) < 0) _exit(1);
}

// Answers with a text, in the place of an experiment's name.
void Say(const std::string& text) {
  v1::TrialEvent event;
  event.mutable_ended()->set_experiment(text);
  std::string frame;
  if (!AppendFrame(event, &frame).ok()) _exit(1);
  SendBytes(frame);
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
  if (order == "surroundings") return Say(Surroundings());
  if (order.rfind("getenv ", 0) == 0) {
    const char* const value = std::getenv(order.substr(7).c_str());
    return Say(value == nullptr ? "not set" : value);
  }
  if (order.rfind("length ", 0) == 0) return Say(absl::StrCat(order.size() - 7));
  if (order == "kill") std::raise(SIGKILL);
  if (order == "exit") _exit(7);
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
  lanista::FrameDecoder decoder;
  char buffer[4096];
  ssize_t got;
  while ((got = recv(lanista::kTrialProcessSocket, buffer, sizeof(buffer), 0)) > 0) {
    decoder.Append(absl::string_view(buffer, static_cast<size_t>(got)));
    for (auto frame = decoder.Next(); frame.ok() && frame->has_value(); frame = decoder.Next()) {
      lanista::v1::TrialRequest request;
      if (!request.ParseFromString(**frame)) return 1;
      if (request.has_setup()) lanista::Say("ready");
      if (request.has_run()) lanista::Obey(request.run().experiment());
    }
  }
  return 0;
}

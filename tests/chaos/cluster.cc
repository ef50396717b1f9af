#include "tests/chaos/cluster.h"

#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"

namespace lanista {
namespace {

constexpr char kMark[] = "LANISTA_TEST_CLUSTER";

std::string Content(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
}

// From now on this thread, and what it starts, sees an empty folder there. False: only root may do that.
bool HideFolder(const std::string& folder) {
  return unshare(CLONE_NEWNS) == 0 && mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         mount("tmpfs", folder.c_str(), "tmpfs", 0, "size=64k") == 0;
}

}  // namespace

Cluster::Node::Node(std::string name, std::unique_ptr<Wire> wire, std::string hidden)
    : name_(std::move(name)),
      wire_(std::move(wire)),
      hidden_(std::move(hidden)),
      cache_(hidden_.empty() ? "" : FreshFolder()),
      proxy_(wire_ == nullptr ? "127.0.0.1" : wire_->ip()) {}

void Cluster::Node::Start() {
  joined_ = false;
  if (hidden_.empty()) return StartHere();
  // What is mounted is seen by the thread that did it. The process keeps it.
  std::thread([this] {
    hides_ = HideFolder(hidden_);
    StartHere();
  }).join();
}

void Cluster::Node::StartHere() {
  const auto start = [this] {
    std::vector<std::string> arguments = {"node",   "--head", proxy_.address(), "--cpu-slots", "1",
                                          "--name", name_,    "--log-level",    "info"};
    if (!cache_.empty()) arguments.insert(arguments.end(), {"--cache-dir", cache_});
    process_ = std::make_unique<BackgroundCommand>(kLanista, arguments);
  };
  if (wire_ == nullptr) return start();
  wire_->Inside(start);
}

bool Cluster::Node::HasCopies() const {
  if (cache_.empty()) return false;
  // Other folders in there are of all nodes.
  for (const auto& entry : std::filesystem::directory_iterator(cache_)) {
    if (std::filesystem::exists(entry.path() / "assignments")) return true;
  }
  return false;
}

bool Cluster::Node::HasJoined(int seconds) {
  joined_ = joined_ || process_->WaitForLine("joined ", seconds);
  return joined_;
}

void Cluster::Node::Signal(int signal) const { EXPECT_EQ(kill(process_->pid(), signal), 0) << name_; }

bool Cluster::Node::HasEnded() const {
  siginfo_t info = {};
  return process_ != nullptr &&
         waitid(P_PID, static_cast<id_t>(process_->pid()), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0;
}

int Cluster::Node::Wait() {
  const int code = process_->Wait();
  process_ = nullptr;
  return code;
}

void Cluster::Node::Cut(bool cut) {
  if (wire_ != nullptr) return wire_->Plug(!cut);
  Proxy::Link link;
  link.to_target = link.from_target = !cut;
  proxy_.SetLink(link);
}

Cluster::Cluster(std::string state, int nodes, int lost_after)
    : state_(std::move(state)), lost_after_(lost_after), mark_(FreshFolder()) {
  setenv(kMark, mark_.c_str(), /*overwrite=*/1);
  has_wires_ = EnterOwnNetwork();
  for (int i = 1; i <= nodes; ++i) {
    std::unique_ptr<Wire> wire = has_wires_ ? Wire::Make(i) : nullptr;
    has_wires_ = has_wires_ && wire != nullptr;
    nodes_.push_back(std::make_unique<Node>(std::string(1, static_cast<char>('a' + i - 1)), std::move(wire),
                                            i == nodes ? state_ : ""));
  }
}

Cluster::~Cluster() {
  head_ = nullptr;
  nodes_.clear();
  for (const pid_t pid : Processes()) kill(pid, SIGKILL);
}

void Cluster::StartHead() {
  head_ = std::make_unique<BackgroundCommand>(
      kLanista, std::vector<std::string>{"serve", "--listen", head_address_, "--cpu-slots", "0", "--lost-after",
                                         absl::StrCat(lost_after_), "--state-dir", state_, "--log-level", "info"});
  ASSERT_TRUE(head_->WaitForLine("listening on "));
  const std::vector<std::string> words = absl::StrSplit(head_->line(), ' ');
  head_address_ = words.back();
  int port = 0;
  ASSERT_TRUE(absl::SimpleAtoi(head_address_.substr(head_address_.rfind(':') + 1), &port)) << head_->line();
  for (const std::unique_ptr<Node>& node : nodes_) node->proxy().SetTarget(static_cast<uint16_t>(port));
}

void Cluster::SignalHead(int signal) const { EXPECT_EQ(kill(head_->pid(), signal), 0); }

int Cluster::WaitForHead() {
  const int code = head_->Wait();
  head_ = nullptr;
  return code;
}

CommandResult Cluster::Ask(std::vector<std::string> arguments) const {
  arguments.insert(arguments.end(), {"--head", head_address_});
  return RunCommand(kLanista, arguments);
}

std::vector<pid_t> Cluster::Processes(const std::string& program) const {
  const std::string marked = absl::StrCat(kMark, "=", mark_, std::string(1, '\0'));
  std::vector<pid_t> found;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    int pid = 0;
    if (!absl::SimpleAtoi(entry.path().filename().string(), &pid) || pid == getpid()) continue;
    // If the process ends meanwhile, both files are empty.
    if (Content(entry.path() / "environ").find(marked) == std::string::npos) continue;
    if (program.empty() || Content(entry.path() / "comm") == program + "\n") found.push_back(pid);
  }
  return found;
}

}  // namespace lanista

#include "tests/chaos/wire.h"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <thread>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/e2e/command.h"

namespace lanista {
namespace {

constexpr char kThisNamespace[] = "/proc/thread-self/ns/net";

// Debian has `ip` in /sbin, which is in no user's PATH.
bool Ip(const std::string& arguments) {
  return RunCommand("/bin/sh", {"-c", absl::StrCat("PATH=$PATH:/sbin:/usr/sbin ip ", arguments)}).exit_code == 0;
}

}  // namespace

bool EnterOwnNetwork() {
  if (!Ip("-V") || unshare(CLONE_NEWNET) != 0) return false;
  EXPECT_TRUE(Ip("link set lo up"));
  return true;
}

std::unique_ptr<Wire> Wire::Make(int number) {
  int inside = -1;
  std::thread([&] {
    if (unshare(CLONE_NEWNET) == 0) inside = open(kThisNamespace, O_RDONLY | O_CLOEXEC);
  }).join();
  if (inside < 0) return nullptr;
  auto wire = std::unique_ptr<Wire>(new Wire(number, inside, open(kThisNamespace, O_RDONLY | O_CLOEXEC)));
  const std::string& here = wire->device_;
  const std::string there = absl::StrCat("machine", number);
  bool made = Ip(absl::StrCat("link add ", here, " type veth peer name ", there)) &&
              Ip(absl::StrCat("link set ", there, " netns /proc/", getpid(), "/fd/", inside)) &&
              Ip(absl::StrCat("addr add ", wire->ip_, "/24 dev ", here)) && Ip(absl::StrCat("link set ", here, " up"));
  wire->Inside([&] {
    made = made && Ip("link set lo up") && Ip(absl::StrCat("addr add 10.77.", number, ".2/24 dev ", there)) &&
           Ip(absl::StrCat("link set ", there, " up"));
  });
  return made ? std::move(wire) : nullptr;
}

Wire::Wire(int number, int inside, int outside)
    : device_(absl::StrCat("wire", number)),
      ip_(absl::StrCat("10.77.", number, ".1")),
      inside_(inside),
      outside_(outside) {}

Wire::~Wire() {
  close(inside_);
  close(outside_);
}

void Wire::Plug(bool in) const { EXPECT_TRUE(Ip(absl::StrCat("link set ", device_, in ? " up" : " down"))); }

void Wire::Inside(const std::function<void()>& start) const {
  EXPECT_EQ(setns(inside_, CLONE_NEWNET), 0);
  start();
  EXPECT_EQ(setns(outside_, CLONE_NEWNET), 0);
}

}  // namespace lanista

#include "tests/chaos/proxy.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <string>

#include "absl/strings/numbers.h"
#include "gtest/gtest.h"
#include "tests/chaos/wire.h"
#include "tests/rpc/sockets.h"

namespace lanista {
namespace {

uint16_t PortOf(const std::string& address) {
  int port = 0;
  EXPECT_TRUE(absl::SimpleAtoi(address.substr(address.find(':') + 1), &port)) << address;
  return static_cast<uint16_t>(port);
}

// A listener on the loopback device, and what was accepted.
class ProxyTest : public ::testing::Test {
 protected:
  ProxyTest() : proxy_("127.0.0.1") {
    proxy_.SetTarget(static_cast<uint16_t>(listener_.address().port));
    near_ = ConnectTo(PortOf(proxy_.address()));
    far_ = listener_.Accept();
  }
  ~ProxyTest() override {
    for (const int fd : {near_, far_}) close(fd);
  }

  static void Send(int fd, const std::string& text) {
    ASSERT_EQ(send(fd, text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
  }
  // Waits for so many bytes; fewer, where the connection ends before.
  static std::string Receive(int fd, size_t bytes) {
    std::string text(bytes, '\0');
    const ssize_t got = recv(fd, text.data(), bytes, MSG_WAITALL);
    text.resize(got < 0 ? 0 : static_cast<size_t>(got));
    return text;
  }
  static bool HasBytes(int fd) {
    pollfd request = {fd, POLLIN, 0};
    return poll(&request, 1, 0) == 1;
  }

  const SilentListener listener_;
  Proxy proxy_;
  int near_ = -1;
  int far_ = -1;
};

TEST_F(ProxyTest, BytesAndEndsPassBothWays) {
  Send(near_, "there");
  EXPECT_EQ(Receive(far_, 5), "there");
  Send(far_, "back");
  EXPECT_EQ(Receive(near_, 4), "back");
  shutdown(near_, SHUT_WR);
  EXPECT_EQ(Receive(far_, 1), "");
  Send(far_, "last");
  shutdown(far_, SHUT_WR);
  EXPECT_EQ(Receive(near_, 100), "last");
}

TEST_F(ProxyTest, ADeafDirectionHoldsBytesAndTheOtherOnePasses) {
  Proxy::Link link;
  link.to_target = false;
  proxy_.SetLink(link);
  Send(far_, "x");
  EXPECT_EQ(Receive(near_, 1), "x");
  Send(near_, "held");
  Send(far_, "y");
  EXPECT_EQ(Receive(near_, 1), "y");
  EXPECT_FALSE(HasBytes(far_));
  proxy_.SetLink(Proxy::Link());
  EXPECT_EQ(Receive(far_, 4), "held");
}

TEST_F(ProxyTest, ASlowLinkTakesItsTime) {
  Proxy::Link link;
  link.bytes_per_second = 100000;
  link.delay = std::chrono::milliseconds(50);
  proxy_.SetLink(link);
  const auto begin = std::chrono::steady_clock::now();
  const std::string text(40000, 'x');
  Send(near_, text);
  EXPECT_EQ(Receive(far_, text.size()), text);
  // 10000 bytes may pass at once.
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(300));
}

TEST_F(ProxyTest, AResetIsSeenOnBothSides) {
  proxy_.Reset();
  char byte = 0;
  EXPECT_EQ(recv(near_, &byte, 1, 0), -1);
  EXPECT_EQ(recv(far_, &byte, 1, 0), -1);
}

TEST(WireTest, NothingPassesOnceItIsPulled) {
  if (!EnterOwnNetwork()) GTEST_SKIP() << "only root may make networks, with `ip` of iproute2";
  const std::unique_ptr<Wire> wire = Wire::Make(1);
  if (wire == nullptr) GTEST_SKIP() << "this machine has no veth devices";
  Proxy proxy(wire->ip());
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(PortOf(proxy.address()));
  inet_pton(AF_INET, wire->ip().c_str(), &address.sin_addr);
  // The kernel takes a second or so to see that a plug is in.
  const auto reaches = [&](int milliseconds) {
    bool reached = false;
    wire->Inside([&] {
      const int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
      connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address));
      pollfd request = {fd, POLLOUT, 0};
      int error = 1;
      socklen_t size = sizeof(error);
      reached = poll(&request, 1, milliseconds) == 1 && getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 &&
                error == 0;
      close(fd);
    });
    return reached;
  };
  EXPECT_TRUE(reaches(10000));
  wire->Plug(false);
  EXPECT_FALSE(reaches(500));
  wire->Plug(true);
  EXPECT_TRUE(reaches(10000));
}

}  // namespace
}  // namespace lanista

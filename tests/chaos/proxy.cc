#include "tests/chaos/proxy.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace lanista {
namespace {

// The most bytes that wait in one direction of a connection. Further bytes wait at their sender.
constexpr size_t kMaxWaiting = 1 << 20;
constexpr size_t kPiece = 16 << 10;
// How often delayed bytes are checked.
constexpr int kTickMs = 5;

sockaddr_in Address(const std::string& ip, uint16_t port) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  EXPECT_EQ(inet_pton(AF_INET, ip.c_str(), &address.sin_addr), 1) << ip;
  return address;
}

void SendAtOnce(int fd) {
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

bool MustWait() { return errno == EAGAIN || errno == EINTR; }

}  // namespace

Proxy::Proxy(const std::string& ip) {
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  sockaddr_in address = Address(ip, 0);
  socklen_t size = sizeof(address);
  EXPECT_EQ(bind(listener_, reinterpret_cast<sockaddr*>(&address), size), 0) << ip;
  EXPECT_EQ(listen(listener_, 100), 0);
  EXPECT_EQ(getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size), 0);
  address_ = absl::StrCat(ip, ":", ntohs(address.sin_port));
  wake_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  thread_ = std::thread([this] { Run(); });
}

Proxy::~Proxy() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ended_ = true;
  }
  Wake();
  thread_.join();
  close(listener_);
  close(wake_);
}

void Proxy::SetTarget(uint16_t port) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    target_ = port;
  }
  Wake();
}

void Proxy::SetLink(const Link& link) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    link_ = link;
  }
  Wake();
}

void Proxy::Reset() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    reset_ = true;
  }
  Wake();
}

void Proxy::Wake() const { eventfd_write(wake_, 1); }

void Proxy::Run() {
  Clock::time_point before = Clock::now();
  while (true) {
    Link link;
    uint16_t target = 0;
    bool reset = false;
    bool ended = false;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      link = link_;
      target = target_;
      reset = std::exchange(reset_, false);
      ended = ended_;
    }
    const Clock::time_point now = Clock::now();
    const double seconds = std::chrono::duration<double>(now - std::exchange(before, now)).count();
    for (auto next = connections_.begin(); next != connections_.end();) {
      const auto it = next++;
      if (!reset && !ended) Move(*it, link, now, seconds);
      const bool over = it->to_target.told && it->from_target.told;
      if (!reset && !ended && !over && !it->broken) continue;
      Close(*it);
      connections_.erase(it);
    }
    if (ended) return;
    if (target != 0) Accept(target);

    std::vector<pollfd> polled = {{wake_, POLLIN, 0}};
    if (target != 0) polled.push_back({listener_, POLLIN, 0});
    int timeout = -1;
    for (const Connection& connection : connections_) {
      for (const Direction* const direction : {&connection.to_target, &connection.from_target}) {
        const bool passes = direction == &connection.to_target ? link.to_target : link.from_target;
        if (!passes) continue;
        if (!direction->ended && direction->bytes < kMaxWaiting) polled.push_back({direction->from, POLLIN, 0});
        if (direction->chunks.empty()) continue;
        if (link.bytes_per_second == 0 && direction->chunks.front().due <= now) {
          polled.push_back({direction->to, POLLOUT, 0});
        } else {
          timeout = kTickMs;
        }
      }
    }
    poll(polled.data(), polled.size(), timeout);
    eventfd_t count = 0;
    eventfd_read(wake_, &count);
  }
}

void Proxy::Accept(uint16_t target) {
  for (int node; (node = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0;) {
    const int head = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const sockaddr_in address = Address("127.0.0.1", target);
    Connection& connection = connections_.emplace_back();
    connection.to_target.from = connection.from_target.to = node;
    connection.to_target.to = connection.from_target.from = head;
    // On the loopback device this does not wait.
    connection.broken = connect(head, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0;
    SendAtOnce(node);
    SendAtOnce(head);
  }
}

void Proxy::Move(Connection& connection, const Link& link, Clock::time_point now, double seconds) {
  for (Direction* const direction : {&connection.to_target, &connection.from_target}) {
    if (!(direction == &connection.to_target ? link.to_target : link.from_target)) continue;
    const bool limited = link.bytes_per_second > 0;
    direction->allowance =
        std::min(direction->allowance + seconds * link.bytes_per_second, std::max(1.0, link.bytes_per_second / 10.0));
    if (!Read(*direction, now + link.delay) || !Write(*direction, limited, now)) connection.broken = true;
  }
}

bool Proxy::Read(Direction& direction, Clock::time_point due) {
  while (!direction.ended && direction.bytes < kMaxWaiting) {
    std::string piece(kPiece, '\0');
    const ssize_t got = recv(direction.from, piece.data(), piece.size(), MSG_DONTWAIT);
    if (got < 0) return MustWait();
    direction.ended = got == 0;
    piece.resize(static_cast<size_t>(got));
    direction.bytes += piece.size();
    if (got > 0) direction.chunks.push_back({due, std::move(piece)});
  }
  return true;
}

bool Proxy::Write(Direction& direction, bool limited, Clock::time_point now) {
  while (!direction.chunks.empty() && direction.chunks.front().due <= now) {
    std::string& bytes = direction.chunks.front().bytes;
    const size_t most = limited ? std::min(bytes.size(), static_cast<size_t>(direction.allowance)) : bytes.size();
    if (most == 0) return true;
    const ssize_t put = send(direction.to, bytes.data(), most, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (put < 0) return MustWait();
    direction.allowance -= static_cast<double>(put);
    direction.bytes -= static_cast<size_t>(put);
    bytes.erase(0, static_cast<size_t>(put));
    if (bytes.empty()) direction.chunks.pop_front();
  }
  if (direction.ended && direction.chunks.empty() && !std::exchange(direction.told, true)) {
    shutdown(direction.to, SHUT_WR);
  }
  return true;
}

void Proxy::Close(const Connection& connection) {
  for (const int fd : {connection.to_target.from, connection.to_target.to}) {
    // A connection that was broken on one side is broken on the other one (RST); after both ends this changes nothing.
    const linger at_once = {1, 0};
    if (!connection.to_target.told || !connection.from_target.told) {
      setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
    }
    close(fd);
  }
}

}  // namespace lanista

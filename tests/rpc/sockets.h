// Plain TCP, against which heads and nodes are tried.
#ifndef LANISTA_TESTS_RPC_SOCKETS_H_
#define LANISTA_TESTS_RPC_SOCKETS_H_

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <string>

#include "src/rpc/address.h"

namespace lanista {

inline sockaddr_in OnLoopback(int port) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

// A new connection to a port of this machine, for close(); -1: it takes none.
inline int ConnectTo(int port) {
  const int connection = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in there = OnLoopback(port);
  if (connect(connection, reinterpret_cast<const sockaddr*>(&there), sizeof(there)) == 0) return connection;
  close(connection);
  return -1;
}

// Takes connections on loopback, and says nothing on them by itself.
class SilentListener {
 public:
  SilentListener() : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in here = OnLoopback(/*port=*/0);
    socklen_t size = sizeof(here);
    EXPECT_EQ(bind(socket_, reinterpret_cast<sockaddr*>(&here), size), 0);
    EXPECT_EQ(listen(socket_, 10), 0);
    getsockname(socket_, reinterpret_cast<sockaddr*>(&here), &size);
    address_ = {"127.0.0.1", ntohs(here.sin_port)};
  }
  ~SilentListener() { close(socket_); }
  SilentListener(const SilentListener&) = delete;
  SilentListener& operator=(const SilentListener&) = delete;

  const Address& address() const { return address_; }

  // Takes the next connection, for close().
  int Accept() const {
    const int connection = accept(socket_, nullptr, nullptr);
    EXPECT_GE(connection, 0);
    return connection;
  }

  // Takes the next connection, greets it as an HTTP/2 server does, and reads until `text` has come. Returns it, for
  // WaitUntilClosed.
  int GreetUntil(const std::string& text) const {
    const int connection = Accept();
    const timeval limit = {60, 0};
    EXPECT_EQ(setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)), 0);
    // SETTINGS without any.
    constexpr char kGreeting[] = {0, 0, 0, 4, 0, 0, 0, 0, 0};
    EXPECT_EQ(send(connection, kGreeting, sizeof(kGreeting), MSG_NOSIGNAL), static_cast<ssize_t>(sizeof(kGreeting)));
    std::string came;
    while (came.find(text) == std::string::npos && ReadSome(connection, &came) > 0) continue;
    EXPECT_NE(came.find(text), std::string::npos);
    return connection;
  }

  // Until the other side closes it; a failure after a minute.
  static void WaitUntilClosed(int connection) {
    std::string ignored;
    ssize_t got = 0;
    do {
      got = ReadSome(connection, &ignored);
    } while (got > 0);
    EXPECT_EQ(got, 0) << "it is still open";
    close(connection);
  }

 private:
  static ssize_t ReadSome(int connection, std::string* came) {
    std::array<char, 4096> some;
    const ssize_t got = read(connection, some.data(), some.size());
    if (got > 0) came->append(some.data(), static_cast<size_t>(got));
    return got;
  }

  const int socket_;
  Address address_;
};

}  // namespace lanista

#endif  // LANISTA_TESTS_RPC_SOCKETS_H_

#include "src/rpc/refused_calls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/rpc/captured_log.h"
#include "tests/rpc/sockets.h"

namespace lanista {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(RefusedCallsTest, OfEachKindThereIsALineInAWhile) {
  const auto lines = [](std::chrono::seconds interval) {
    const CapturedLog log;
    RefusedCalls refused(std::make_shared<Telemetry>(), interval);
    for (int i = 0; i < 3; ++i) refused.OnRefused("/a.B/C", absl::UnauthenticatedError("no token"));
    refused.OnRefused("/a.B/C", absl::PermissionDeniedError("a node's"));
    return log.text();
  };
  const std::string rare = lines(std::chrono::hours(1));
  EXPECT_EQ(std::count(rare.begin(), rare.end(), '\n'), 2) << rare;
  const std::string all = lines(std::chrono::seconds(0));
  EXPECT_EQ(std::count(all.begin(), all.end(), '\n'), 4) << all;
}

TEST(RefusedCallsTest, TheCallerIsWhoWasHeardLast) {
  const CapturedLog log;
  RefusedCalls refused(std::make_shared<Telemetry>());
  const SilentListener listener;
  std::vector<int> clients, connections;
  std::vector<std::string> names;
  for (int i = 0; i < 2; ++i) {
    clients.push_back(ConnectTo(listener.address().port));
    sockaddr_in own = {};
    socklen_t size = sizeof(own);
    ASSERT_EQ(getsockname(clients.back(), reinterpret_cast<sockaddr*>(&own), &size), 0);
    names.push_back(absl::StrCat("127.0.0.1:", ntohs(own.sin_port)));
    connections.push_back(listener.Accept());
    refused.OnConnection(connections.back());
  }
  // Until the first one has been silent for longer than what counts as the same moment.
  tcp_info silent = {};
  while (silent.tcpi_last_data_recv < 100) {
    socklen_t size = sizeof(silent);
    ASSERT_EQ(getsockopt(connections[0], IPPROTO_TCP, TCP_INFO, &silent, &size), 0);
  }
  char byte = 'x';
  ASSERT_EQ(send(clients[1], &byte, 1, 0), 1);
  ASSERT_EQ(recv(connections[1], &byte, 1, 0), 1);
  refused.OnRefused("/a.B/C\nforged", absl::UnauthenticatedError("no token"));
  EXPECT_THAT(log.text(), HasSubstr(absl::StrCat(" of ", names[1], ": no token")));
  EXPECT_THAT(log.text(), Not(HasSubstr(names[0])));
  EXPECT_THAT(log.text(), Not(HasSubstr("\nforged")));
  for (const int connection : connections) close(connection);
  refused.OnRefused("/a.B/C", absl::PermissionDeniedError("a node's token"));
  EXPECT_THAT(log.text(), HasSubstr("a connection that has gone: a node's token"));
  for (const int client : clients) close(client);
}

}  // namespace
}  // namespace lanista

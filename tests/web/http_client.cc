#include "tests/web/http_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <cstdlib>

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"

namespace lanista {

HttpClient::HttpClient(int port, bool may_fail) : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_TRUE(connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0 || may_fail);
  const timeval limit = {60, 0};
  setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
  setsockopt(socket_.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
}

bool HttpClient::Send(const std::string& bytes) {
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t sent = send(socket_.get(), bytes.data() + done, bytes.size() - done, MSG_NOSIGNAL);
    if (sent <= 0) return false;
    done += static_cast<size_t>(sent);
  }
  return true;
}

bool HttpClient::ReadMore() {
  char buffer[65536];
  const ssize_t got = recv(socket_.get(), buffer, sizeof(buffer), 0);
  if (got > 0) unread_.append(buffer, static_cast<size_t>(got));
  return got > 0;
}

ClientResponse HttpClient::ReceiveHeaders() {
  ClientResponse response;
  size_t end;
  while ((end = unread_.find("\r\n\r\n")) == std::string::npos) {
    if (!ReadMore()) return response;
  }
  const std::string head = unread_.substr(0, end);
  unread_.erase(0, end + 4);
  for (const absl::string_view line : absl::StrSplit(head, "\r\n")) {
    const std::pair<absl::string_view, absl::string_view> parts = absl::StrSplit(line, absl::MaxSplits(": ", 1));
    if (response.status == 0) {
      response.status = std::atoi(std::string(line.substr(line.find(' '))).c_str());
    } else {
      response.headers[absl::AsciiStrToLower(parts.first)] = std::string(parts.second);
    }
  }
  return response;
}

ClientResponse HttpClient::Receive(bool head) {
  ClientResponse response = ReceiveHeaders();
  const auto length = response.headers.find("content-length");
  if (head || length == response.headers.end()) return response;
  const auto size = static_cast<size_t>(std::atoll(length->second.c_str()));
  while (unread_.size() < size && ReadMore()) {
  }
  response.body = unread_.substr(0, size);
  unread_.erase(0, size);
  return response;
}

std::optional<std::string> HttpClient::ReceiveChunk() {
  size_t end;
  while ((end = unread_.find("\r\n")) == std::string::npos) {
    if (!ReadMore()) return std::nullopt;
  }
  const size_t size = std::strtoul(unread_.c_str(), nullptr, 16);
  while (unread_.size() < end + 4 + size) {
    if (!ReadMore()) return std::nullopt;
  }
  const std::string chunk = unread_.substr(end + 2, size);
  unread_.erase(0, end + 4 + size);
  return chunk;
}

bool HttpClient::WaitForClose() {
  while (ReadMore()) unread_.clear();
  char byte;
  return recv(socket_.get(), &byte, 1, MSG_DONTWAIT) == 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
}

}  // namespace lanista

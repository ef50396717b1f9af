#include "src/rpc/listener.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <string>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "src/base/logging.h"
#include "src/base/status.h"

namespace lanista {
namespace {

// Where the system has no room for a connection, perhaps it has later.
constexpr int kRetryMs = 100;
// Each takes memory, too, some ten KiB.
constexpr rlim_t kMaxConnections = 4000;
// Strangers do not fill the log.
constexpr std::chrono::minutes kWarningInterval(1);

absl::Status CannotListen(const Address& address, const std::string& why) {
  return absl::UnavailableError(absl::StrCat("cannot listen on ", address.ToText(), " (", why,
                                             "): is another program there? Port 0 takes any free one"));
}

// A socket that listens; invalid, with errno set: it cannot.
UniqueFd ListenOn(const addrinfo& address) {
  UniqueFd listener(socket(address.ai_family, address.ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, address.ai_protocol));
  const int on = 1;
  // The port of a head that was killed is free at once; two heads still cannot share it.
  setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  // Connections inherit it.
  setsockopt(listener.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  const bool listens = listener.get() >= 0 && bind(listener.get(), address.ai_addr, address.ai_addrlen) == 0 &&
                       listen(listener.get(), SOMAXCONN) == 0;
  return listens ? std::move(listener) : UniqueFd();
}

// Whether the addresses of a machine have this family at all: "localhost" may have one of a family that is turned off.
bool IsMissingFamily(int error) { return error == EAFNOSUPPORT || error == EADDRNOTAVAIL; }

int PortOf(int socket) {
  sockaddr_storage address = {};
  socklen_t size = sizeof(address);
  getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size);
  // Both families have it at the same place.
  return ntohs(reinterpret_cast<const sockaddr_in*>(&address)->sin_port);
}

// Connections have descriptors below this one.
int DescriptorLimit() {
  rlimit limit = {};
  getrlimit(RLIMIT_NOFILE, &limit);
  return static_cast<int>(std::min(limit.rlim_cur / 2, kMaxConnections));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Listener>> Listener::Open(const Address& address) {
  std::unique_ptr<Listener> listener(new Listener(address, UniqueFd(eventfd(0, EFD_CLOEXEC))));
  if (listener->wake_.get() < 0) return ErrnoToStatus(errno, "cannot make a descriptor");
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  const int failure = getaddrinfo(address.bare_host().c_str(), std::to_string(address.port).c_str(), &hints, &found);
  if (failure != 0) return CannotListen(address, gai_strerror(failure));
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> addresses(found, &freeaddrinfo);
  int error = 0;
  for (addrinfo* each = found; each != nullptr; each = each->ai_next) {
    // All have the port that the first one got.
    reinterpret_cast<sockaddr_in*>(each->ai_addr)->sin_port = htons(static_cast<uint16_t>(listener->address_.port));
    UniqueFd socket = ListenOn(*each);
    if (socket.get() < 0) {
      error = errno;
      if (IsMissingFamily(error)) continue;
      return CannotListen(address, std::generic_category().message(error));
    }
    listener->address_.port = PortOf(socket.get());
    listener->sockets_.push_back(std::move(socket));
  }
  if (listener->sockets_.empty()) return CannotListen(address, std::generic_category().message(error));
  return listener;
}

Listener::~Listener() {
  if (!thread_.joinable()) return;
  eventfd_write(wake_.get(), 1);
  thread_.join();
}

void Listener::Start(std::function<void(int connection)> accept) {
  accept_ = std::move(accept);
  thread_ = std::thread(&Listener::Run, this);
}

void Listener::Run() {
  std::vector<pollfd> waited = {{wake_.get(), POLLIN, 0}};
  for (const UniqueFd& socket : sockets_) waited.push_back({socket.get(), POLLIN, 0});
  while (WaitFor(0)) {
    if (poll(waited.data(), waited.size(), -1) < 0) continue;
    for (size_t i = 1; i < waited.size(); ++i) {
      if (waited[i].revents != 0) AcceptAll(waited[i].fd);
    }
  }
}

void Listener::AcceptAll(int socket) {
  while (WaitFor(0)) {
    const int connection = accept4(socket, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (connection < 0) {
      // One that has gone already, for example, says nothing about the next one.
      if (errno != EAGAIN) WaitFor(kRetryMs);
      return;
    }
    if (connection < DescriptorLimit()) {
      accept_(connection);
    } else {
      close(connection);
      WarnOfMany();
    }
  }
}

void Listener::WarnOfMany() {
  const auto now = std::chrono::steady_clock::now();
  if (now < warn_after_) return;
  warn_after_ = now + kWarningInterval;
  LogWarning("this process has {} files and connections open: new connections are closed until others end",
             DescriptorLimit());
}

bool Listener::WaitFor(int milliseconds) const {
  pollfd wake = {wake_.get(), POLLIN, 0};
  return poll(&wake, 1, milliseconds) != 1;
}

}  // namespace lanista

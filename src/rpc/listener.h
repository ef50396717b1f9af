// A TCP port that stays open whatever comes. gRPC 1.51 stops listening for good when the process lacks a file
// descriptor for a connection, which anybody who reaches the port could bring about.
#ifndef LANISTA_SRC_RPC_LISTENER_H_
#define LANISTA_SRC_RPC_LISTENER_H_

#include <chrono>
#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "src/base/unique_fd.h"
#include "src/rpc/address.h"

namespace lanista {

// Accepts connections on a thread of its own. While the process has more than half of the descriptors that it may have
// open, or more than 4000, of whatever kind, connections that come are closed at once.
class Listener {
 public:
  // Takes the port. UNAVAILABLE: it cannot be had.
  static absl::StatusOr<std::unique_ptr<Listener>> Open(const Address& address);
  // Closes the port.
  ~Listener();

  // With the port that it has.
  const Address& address() const { return address_; }

  // Hands each connection that comes to `accept`, which owns it. Call once.
  void Start(std::function<void(int connection)> accept);

 private:
  Listener(Address address, UniqueFd wake) : address_(std::move(address)), wake_(std::move(wake)) {}

  void Run();
  // Takes what waits at a socket.
  void AcceptAll(int socket);
  void WarnOfMany();
  // False: this object ends.
  bool WaitFor(int milliseconds) const;

  Address address_;
  // Readable when this object ends.
  const UniqueFd wake_;
  // One for each address of the host.
  std::vector<UniqueFd> sockets_;
  std::function<void(int)> accept_;
  std::chrono::steady_clock::time_point warn_after_;
  std::thread thread_;
};

}  // namespace lanista

#endif  // LANISTA_SRC_RPC_LISTENER_H_

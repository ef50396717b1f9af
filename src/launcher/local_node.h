// A node in this process: its actor system, its devices and its connection behind blocking calls, for the command line.
#ifndef LANISTA_SRC_LAUNCHER_LOCAL_NODE_H_
#define LANISTA_SRC_LAUNCHER_LOCAL_NODE_H_

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "protos/node.pb.h"
#include "src/files/cached_files.h"
#include "src/launcher/trial_program.h"
#include "src/rpc/address.h"
#include "src/rpc/head_access.h"

namespace lanista {

// Its calls may come from any thread. The destructor ends what runs, and waits for it, but not for ever (see
// LocalHead::LeftActorsBehind).
class LocalNode {
 public:
  struct Options {
    HeadAccess head;
    // See NodeClient::Options.
    std::function<absl::StatusOr<Address>()> find_head;
    // Its name, program, version and devices.
    v1::NodeHello hello;
    TrialProgram trial_program;
    // For copies of the head's files, if this machine does not see them.
    CachedFiles::Options cache;
    std::chrono::milliseconds give_up_after{std::chrono::hours(1)};
    // Called each time a head has accepted this node, on a thread of the node. Must not block.
    std::function<void()> on_joined;
  };

  explicit LocalNode(Options options);
  ~LocalNode();

  // Ends the trials, tells the head, and ends the node; returns at once.
  void Leave(const std::string& because);

  // Blocks until the node has ended. OK: it left. UNAVAILABLE: no head was reached for too long. Other errors say why
  // the head refuses the node.
  absl::Status Wait();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace lanista

#endif  // LANISTA_SRC_LAUNCHER_LOCAL_NODE_H_

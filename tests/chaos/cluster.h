// A head and its nodes as real processes, each node on the far end of a network of its own that can be made bad.
#ifndef LANISTA_TESTS_CHAOS_CLUSTER_H_
#define LANISTA_TESTS_CHAOS_CLUSTER_H_

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tests/chaos/proxy.h"
#include "tests/chaos/wire.h"
#include "tests/e2e/command.h"

namespace lanista {

// Used by one thread. Nodes share the head's disk; but the last one has another one, and works on copies, where this
// machine lets the test mount (Node::sees_head_files).
class Cluster {
 public:
  // A machine with one device.
  class Node {
   public:
    // `wire`: may be null; then the proxy alone is the network. `hidden`: a folder of the head's that is empty on this
    // machine, so that it works on copies; empty: there is none.
    Node(std::string name, std::unique_ptr<Wire> wire, std::string hidden);

    const std::string& name() const { return name_; }
    Proxy& proxy() { return proxy_; }
    // False: what it was started with is hidden from it.
    bool sees_head_files() const { return !hides_; }
    // Whether it has had work for which it needed copies.
    bool HasCopies() const;

    void Start();
    void Signal(int signal) const;
    // Whether a head has welcomed it since it was started; waits so long for that.
    bool HasJoined(int seconds);
    // Whether the process has ended but was not waited for.
    bool HasEnded() const;
    // Waits for its end; returns BackgroundCommand::Wait.
    int Wait();
    // Lets no bytes pass in either direction, or all of them again.
    void Cut(bool cut);

   private:
    // On a thread that sees what the node is to see.
    void StartHere();

    const std::string name_;
    const std::unique_ptr<Wire> wire_;
    const std::string hidden_;
    // Its --cache-dir; empty: the default, which it does not use.
    const std::string cache_;
    bool hides_ = false;
    Proxy proxy_;
    std::unique_ptr<BackgroundCommand> process_;
    bool joined_ = false;
  };

  // Starts nothing. `state` is the head's state folder; `lost_after` is the option of `serve`, in seconds.
  Cluster(std::string state, int nodes, int lost_after);
  // Ends what still runs.
  ~Cluster();
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  // The first time on any port, then on the same. Returns when it listens.
  void StartHead();
  bool head_runs() const { return head_ != nullptr; }
  void SignalHead(int signal) const;
  // Waits for the end of the head, as Node::Wait does.
  int WaitForHead();

  std::vector<std::unique_ptr<Node>>& nodes() { return nodes_; }
  // Whether nodes have network namespaces of their own.
  bool has_wires() const { return has_wires_; }

  // Runs a command that talks to the head.
  CommandResult Ask(std::vector<std::string> arguments) const;

  // The running processes that this object, or one of its processes, has started; if `program` is given, only those
  // of that name.
  std::vector<pid_t> Processes(const std::string& program = "") const;

 private:
  const std::string state_;
  const int lost_after_;
  // Stands in the environment of all processes, by which they are found.
  const std::string mark_;
  bool has_wires_ = false;
  std::string head_address_ = "127.0.0.1:0";
  std::unique_ptr<BackgroundCommand> head_;
  std::vector<std::unique_ptr<Node>> nodes_;
};

}  // namespace lanista

#endif  // LANISTA_TESTS_CHAOS_CLUSTER_H_

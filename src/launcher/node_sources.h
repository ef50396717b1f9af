// The node sources of a head at work.
#ifndef LANISTA_SRC_LAUNCHER_NODE_SOURCES_H_
#define LANISTA_SRC_LAUNCHER_NODE_SOURCES_H_

#include <condition_variable>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "actors/interfaces.h"
#include "caf/actor_system.hpp"
#include "protos/node.pb.h"
#include "src/devices/node_source.h"
#include "src/service/node_gateway.h"

namespace lanista {

// Gives each source a thread, which tells it every second how much work waits and which nodes there are. The source's
// decisions go to the training service and, through `nodes`, to its nodes. Thread-safe.
class NodeSources {
 public:
  // The arguments outlive this object. `program` is the build ID of the nodes' trial program.
  NodeSources(caf::actor_system* system, TrainingServiceActor service, NodeGateway* nodes, std::string program);
  // Stop and Wait.
  ~NodeSources();

  // REQUIRES: no other source has this name.
  void Add(const std::string& name, std::unique_ptr<NodeSource> source);

  // The nodes that were requested and have not joined yet.
  std::vector<v1::NodeStatus> Coming() const;

  // Tells the sources to end the nodes that they have started; returns at once.
  void Stop();
  // Waits until they have done so, but at most for `limit` after the first Stop. Returns the names of those that have
  // not; this object must then live as long as the process. REQUIRES: Stop() was called.
  std::vector<std::string> Wait(std::chrono::milliseconds limit);

 private:
  struct Source {
    std::string name;
    std::unique_ptr<NodeSource> source;
    // Protected by mutex_.
    std::vector<v1::NodeStatus> coming;
    bool ended = false;
    std::thread thread;
  };

  void Run(Source& source);
  // Empty if the nodes' actor has ended.
  std::vector<v1::NodeStatus> ListNodes();
  // Tells the training service which devices may come, and returns how much work waits for them.
  int AskDemand(const std::string& name, const NodeSource::Prospect& prospect);

  caf::actor_system& system_;
  const TrainingServiceActor service_;
  NodeGateway& nodes_;
  const std::string program_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  // Protected by mutex_; elements stay where they are.
  std::list<Source> sources_;
  bool stopped_ = false;
  std::chrono::steady_clock::time_point stopped_at_;
};

}  // namespace lanista

#endif  // LANISTA_SRC_LAUNCHER_NODE_SOURCES_H_

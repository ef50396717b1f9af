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

// Gives each source a thread, on which every second it learns what waits and which nodes there are. What it says
// reaches the training service and, by `nodes`, its nodes. Thread-safe.
class NodeSources {
 public:
  // All of them outlive it. `program`: of the nodes' trial processes (a build ID).
  NodeSources(caf::actor_system* system, TrainingServiceActor service, NodeGateway* nodes, std::string program);
  // Stop and Wait.
  ~NodeSources();

  // `name`: no other source's.
  void Add(const std::string& name, std::unique_ptr<NodeSource> source);

  // Nodes that were asked for and have not joined.
  std::vector<v1::NodeStatus> Coming() const;

  // The sources end what they have started; returns at once.
  void Stop();
  // Until they have.
  void Wait();

 private:
  struct Source {
    std::string name;
    std::unique_ptr<NodeSource> source;
    // Protected by mutex_.
    std::vector<v1::NodeStatus> coming;
    std::thread thread;
  };

  void Run(Source& source);
  // Empty where the nodes' actor has ended.
  std::vector<v1::NodeStatus> ListNodes();
  // Says what may come, and returns how much waits for it.
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
};

}  // namespace lanista

#endif  // LANISTA_SRC_LAUNCHER_NODE_SOURCES_H_

// Where nodes come from: the `training_service` blocks that make machines join a head.
#ifndef LANISTA_SRC_DEVICES_NODE_SOURCE_H_
#define LANISTA_SRC_DEVICES_NODE_SOURCE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "protos/experiment.pb.h"
#include "protos/node.pb.h"
#include "src/base/command.h"
#include "src/base/custom.h"
#include "src/base/registry.h"

namespace lanista {

// What a source has to know of its head.
struct NodeSourceContext {
  // The absolute path of its program.
  std::string program;
  // The absolute path of the program of its trial processes.
  std::string trial_program;
  // Where nodes reach the head: HOST:PORT.
  std::string head;
  // Where nodes come in whose tunnel ends on this machine (HOST:PORT); empty where no block wants them (WantsTunnels).
  std::string tunnel_end;
  // The token that they need there; empty where no block wants tunnels.
  std::string tunnel_token;
  // The head's state folder.
  std::string state_dir;
  // What names the source's own files in it ("slurm-0").
  std::string name;
  // What nodes on ssh machines are called: no two of them have one name. Copies share it.
  std::shared_ptr<std::set<std::string>> node_names = std::make_shared<std::set<std::string>>();
  // How the source runs programs.
  CommandRunner run_command = RunCommand;
};

// One `training_service` block whose devices are other machines'. Has a thread of its own: its calls may block for as
// long as the programs take that it runs, and come one at a time.
class NodeSource {
 public:
  // What the head tells.
  struct Situation {
    // Trials and discoveries that its nodes could run and that no device is free for.
    int waiting = 0;
    // All nodes of the head, its own and others.
    std::vector<v1::NodeStatus> nodes;
    // Whether the head has been told to end meanwhile; may be empty. Then a Step comes to its end within seconds.
    std::function<bool()> ending;
  };
  // What the source tells.
  struct Prospect {
    // So many devices more than there are may be counted on.
    int devices = 0;
    // The memory of each of them; 0: not known.
    int64_t device_memory = 0;
    // What they are; unspecified: not known.
    v1::DeviceKind::Kind device_kind = v1::DeviceKind::KIND_UNSPECIFIED;
    // The labels that all of their nodes will have.
    std::map<std::string, std::string> labels;
    // The names of the data that all of their nodes will have.
    std::vector<std::string> data;
    // Nodes that were asked for and have not joined.
    std::vector<v1::NodeStatus> coming;
    // Why there are not enough nodes, for people; empty: nothing is known.
    std::string because;
    // Nodes that are to leave when what they run has ended.
    std::vector<std::string> drain;
  };

  virtual ~NodeSource() = default;

  // Does what is to be done now. Called every second or so.
  virtual Prospect Step(const Situation& situation) = 0;

  // The head ends: nothing that was started for it stays. Where that fails the log says what is left.
  virtual void End() = 0;
};

// Factories take (config, context).
using NodeSourceRegistry = Registry<NodeSource, v1::TrainingServiceConfig, const NodeSourceContext&>;

namespace kinds {
// For LANISTA_REGISTER(node_source, "name", make).
struct node_source : CustomKind<NodeSourceRegistry> {};
}  // namespace kinds

// Whether the block's devices are other machines', so that a NodeSource brings them.
bool BringsNodes(const v1::TrainingServiceConfig& block);

// Whether the block's nodes come by tunnels that its source makes.
bool WantsTunnels(const v1::TrainingServiceConfig& block);

}  // namespace lanista

#endif  // LANISTA_SRC_DEVICES_NODE_SOURCE_H_

// `remote`: nodes that join by themselves, and those that the head starts over ssh.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <list>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/base/clock.h"
#include "src/base/sha256_stream.h"
#include "src/base/status.h"
#include "src/base/unique_fd.h"
#include "src/base/unique_id.h"
#include "src/devices/node_source.h"
#include "src/devices/ssh_machine.h"

namespace lanista {
namespace {

// Starts nothing, and counts on nothing.
class RemoteSource final : public NodeSource {
 public:
  Prospect Step(const Situation& situation) override {
    Prospect prospect;
    if (situation.nodes.empty()) prospect.because = "nodes join by `lanista node`, and none has";
    return prospect;
  }
  void End() override {}
};

class MachinesSource final : public NodeSource {
 public:
  explicit MachinesSource(std::vector<SshMachine::Options> machines) {
    for (SshMachine::Options& options : machines) machines_.emplace_back(std::move(options));
  }

  Prospect Step(const Situation& situation) override {
    Prospect prospect;
    for (const SshMachine& machine : machines_) {
      const auto node = std::find_if(situation.nodes.begin(), situation.nodes.end(),
                                     [&](const v1::NodeStatus& listed) { return listed.name() == machine.name(); });
      const bool known = node != situation.nodes.end();
      if (known && node->condition() != v1::NodeStatus::SILENT) continue;
      const SshMachine::State state = machine.state();
      absl::StrAppend(&prospect.because, prospect.because.empty() ? "node " : "; node ", machine.name(), ": ",
                      state.because);
      // It is in the list, with what was lost there.
      if (known) continue;
      v1::NodeStatus& coming = prospect.coming.emplace_back();
      coming.set_name(machine.name());
      coming.set_condition(v1::NodeStatus::COMING);
      coming.set_devices(machine.devices());
      *coming.mutable_since() = ToTimestamp(state.since);
      coming.set_because(state.because);
      if (state.may_come) prospect.devices += std::max(1, machine.devices());
    }
    return prospect;
  }

  void End() override {
    // All at once, and then one after the other.
    for (SshMachine& machine : machines_) machine.Stop();
    machines_.clear();
  }

 private:
  std::list<SshMachine> machines_;
};

absl::StatusOr<NodeProgram> DescribeProgram(const std::string& path, const std::string& name) {
  NodeProgram program{path, name, ""};
  const UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) return ErrnoToStatus(errno, absl::StrCat("cannot read ", path));
  LANISTA_ASSIGN_OR_RETURN(program.sha256, Sha256OfFile(file.get(), path));
  return program;
}

// What a node of this host is called: by its host, else the first of "HOST.2", "HOST.3" and so on that is not `taken`.
// Then it is.
std::string NewName(const std::string& host, std::set<std::string>& taken) {
  std::string name = host;
  for (int time = 2; !taken.insert(name).second; ++time) name = absl::StrCat(host, ".", time);
  return name;
}

absl::StatusOr<std::unique_ptr<NodeSource>> MakeRemote(const v1::RemoteConfig& config,
                                                       const NodeSourceContext& context) {
  if (config.machine_list().empty()) return std::make_unique<RemoteSource>();
  SshMachine::Options options;
  LANISTA_ASSIGN_OR_RETURN(options.program, DescribeProgram(context.program, "lanista"));
  LANISTA_ASSIGN_OR_RETURN(options.trial_program, DescribeProgram(context.trial_program, "lanista-trial"));
  // One program may be both.
  if (options.trial_program.sha256 == options.program.sha256) options.trial_program = options.program;
  options.tunnel_end = context.tunnel_end;
  options.token = context.tunnel_token;
  options.run_command = context.run_command;
  const std::string head = NewUniqueId();
  std::vector<SshMachine::Options> machines;
  for (int i = 0; i < config.machine_list_size(); ++i) {
    options.config = config.machine_list(i);
    options.name = NewName(options.config.host(), *context.node_names);
    options.key = absl::StrCat(head, "-", i);
    const std::string& key_file = options.config.ssh_key_file();
    if (!key_file.empty() && access(key_file.c_str(), R_OK) != 0) {
      return ErrnoToStatus(errno, absl::StrCat("remote.machine_list[", i, "].ssh_key_file: ", key_file));
    }
    machines.push_back(options);
  }
  return std::make_unique<MachinesSource>(std::move(machines));
}

LANISTA_REGISTER_BUILT_IN(NodeSourceRegistry, remote, v1::RemoteConfig, MakeRemote);

}  // namespace
}  // namespace lanista

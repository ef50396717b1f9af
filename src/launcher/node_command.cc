// node, nodes, drain.
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "nlohmann/json.hpp"
#include "src/base/build_id.h"
#include "src/base/clock.h"
#include "src/base/command.h"
#include "src/base/node_link.h"
#include "src/base/status.h"
#include "src/base/version.h"
#include "src/config/paths.h"
#include "src/devices/device_source.h"
#include "src/devices/slurm_commands.h"
#include "src/devices/slurm_share.h"
#include "src/launcher/commands.h"
#include "src/launcher/console.h"
#include "src/launcher/device_options.h"
#include "src/launcher/exit_codes.h"
#include "src/launcher/head_connection.h"
#include "src/launcher/local_node.h"
#include "src/launcher/signal_thread.h"
#include "src/launcher/trial_session.h"
#include "src/rpc/address.h"
#include "src/rpc/channel.h"
#include "src/rpc/head_file.h"
#include "src/views/nodes_view.h"

namespace lanista {
namespace {

// The file of --head-file, and the address that was read from it last. Thread-safe.
class HeadFile {
 public:
  explicit HeadFile(std::string path) : path_(std::move(path)) {}

  absl::StatusOr<Address> Read() {
    const absl::StatusOr<Address> address = ReadHeadFile(path_);
    if (!address.ok()) return Annotate(address.status(), "no head yet (--head-file)");
    const std::lock_guard<std::mutex> lock(mutex_);
    return last_ = *address;
  }
  std::string last() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return last_.ToText();
  }

 private:
  const std::string path_;

  mutable std::mutex mutex_;
  // Protected by mutex_.
  Address last_;
};

// OK if the files that `access` names can be used, and the token may be sent to the head. If the head has not written
// its file yet, the latter is checked by the first connection.
absl::Status CheckAccess(HeadAccess access, HeadFile* head_file) {
  if (head_file != nullptr) {
    const absl::StatusOr<Address> address = head_file->Read();
    access.address = address.ok() ? *address : Address{"localhost", 0};
  }
  return MakeChannel(access).status();
}

// How often the trial program is started at most to check that it comes up, if each process is killed from outside.
constexpr int kMaxStarts = 3;

// Signals that come this soon after the first one count as the same one.
constexpr std::chrono::seconds kSameSignal(1);

// The description of this node for the head.
absl::StatusOr<v1::NodeHello> DescribeNode(const CommandContext& context) {
  v1::NodeHello hello;
  LANISTA_ASSIGN_OR_RETURN(const std::vector<v1::Device> devices,
                           SelectDevices(DevicesOf(context.line).training_service()));
  hello.set_name(context.line.name.empty() ? devices.front().node() : context.line.name);
  const absl::Status name = CheckNodeName(hello.name());
  if (!name.ok()) return Annotate(name, "--name");
  for (const v1::Device& device : WithPlace(devices)) {
    *hello.add_devices() = device;
    hello.mutable_devices()->rbegin()->set_node(hello.name());
  }
  LANISTA_ASSIGN_OR_RETURN(*hello.mutable_program(), ReadBuildId(context.trial_program.path));
  hello.set_version(kVersion);
  if (const std::optional<absl::Time> ends = FindJobEnd(ReadSlurmShare(std::getenv), RunCommand, absl::Now())) {
    *hello.mutable_ends() = ToTimestamp(*ends);
    *hello.mutable_began() = Now();
  }
  // A node whose trial processes do not come up would lose every trial that it gets. A process that was killed from
  // outside is not the program's fault and is tried again.
  absl::Status starts;
  for (int tries = 0; tries < kMaxStarts; ++tries) {
    starts = TrialSession::Start(context.trial_program).status();
    if (!absl::IsAborted(starts)) break;
  }
  if (absl::IsAborted(starts)) return starts;
  if (!starts.ok()) return absl::FailedPreconditionError(starts.message());
  return hello;
}

}  // namespace

absl::StatusOr<int> RunNode(const CommandContext& context) {
  const CommandLine& line = context.line;
  signal(SIGPIPE, SIG_IGN);
  LocalNode::Options options;
  LANISTA_ASSIGN_OR_RETURN(options.head, HeadAccessOf(line));
  std::shared_ptr<HeadFile> head_file;
  if (!line.head_file.empty()) {
    LANISTA_ASSIGN_OR_RETURN(std::string path, ResolvePath(line.head_file, UserDirectory()));
    head_file = std::make_shared<HeadFile>(std::move(path));
    options.find_head = [head_file] { return head_file->Read(); };
  }
  LANISTA_RETURN_IF_ERROR(CheckAccess(options.head, head_file.get()));
  LANISTA_ASSIGN_OR_RETURN(options.hello, DescribeNode(context));
  options.trial_program = context.trial_program;
  for (const std::string& name : context.trial_program.data.names()) options.hello.add_data(name);
  options.hello.mutable_labels()->insert(context.labels.begin(), context.labels.end());
  // Without a home folder there is no default. That is an error only when files have to be copied, which is not the
  // case if this machine sees the head's files.
  if (line.cache_dir != CommandLine().cache_dir || std::getenv("HOME") != nullptr) {
    LANISTA_ASSIGN_OR_RETURN(options.cache.folder, ResolvePath(line.cache_dir, UserDirectory()));
  }
  options.cache.max_bytes = static_cast<int64_t>(line.cache_size);
  options.give_up_after = std::chrono::seconds(line.give_up_after);
  options.on_joined = [&line, head_file, name = options.hello.name(), joined = false]() mutable {
    const std::string head = head_file == nullptr ? line.head : head_file->last();
    if (!line.json) {
      PrintLine(absl::StrCat("joined ", head, " as ", name));
    } else if (!joined) {
      PrintJson({{"joined", head}, {"name", name}});
    }
    joined = true;
    std::fflush(stdout);
  };
  // Until now a signal ends the process at once: it has nothing to hand back.
  CatchStopSignals();
  LocalNode node(std::move(options));
  const SignalThread signals([&node, first = std::chrono::steady_clock::time_point()](int count) mutable {
    const auto now = std::chrono::steady_clock::now();
    if (count == 1) {
      first = now;
      return node.Leave("it was told to end by a signal");
    }
    // Slurm signals a node twice at the same time: by itself, and through srun.
    if (now - first > kSameSignal) _exit(kExitKilled);
  });
  const absl::Status end = node.Wait();
  if (end.ok()) return kExitDone;
  // Starting the node again would not help.
  if (EndsNode(end)) return absl::FailedPreconditionError(end.message());
  return end;
}

absl::StatusOr<int> ShowNodes(const CommandContext& context) {
  LANISTA_ASSIGN_OR_RETURN(const std::unique_ptr<HeadClient> head, ConnectToHead(context));
  LANISTA_ASSIGN_OR_RETURN(const nlohmann::ordered_json document, head->ListNodes());
  if (context.line.json) {
    PrintJson(document);
  } else if (document["nodes"].empty()) {
    PrintLine(absl::StrCat("no node has joined; `lanista node --head ", context.line.head, "` on a machine does"));
  } else {
    PrintText(NodesText(document, OutputWidth()));
  }
  return kExitDone;
}

absl::StatusOr<int> DrainNode(const CommandContext& context) {
  LANISTA_ASSIGN_OR_RETURN(const std::unique_ptr<HeadClient> head, ConnectToHead(context));
  v1::DrainNodeRequest request;
  request.set_node(context.line.node);
  LANISTA_RETURN_IF_ERROR(head->DrainNode(request).status());
  if (context.line.json) {
    PrintJson({{"draining", context.line.node}});
  } else {
    PrintLine(absl::StrCat("draining ", context.line.node, ": it leaves when what it runs has ended"));
  }
  return kExitDone;
}

}  // namespace lanista

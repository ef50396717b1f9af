// node, nodes, drain.
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/base/build_id.h"
#include "src/base/node_link.h"
#include "src/base/status.h"
#include "src/base/version.h"
#include "src/config/paths.h"
#include "src/devices/device_source.h"
#include "src/launcher/commands.h"
#include "src/launcher/console.h"
#include "src/launcher/device_options.h"
#include "src/launcher/exit_codes.h"
#include "src/launcher/head_connection.h"
#include "src/launcher/local_node.h"
#include "src/launcher/signal_thread.h"
#include "src/launcher/trial_session.h"
#include "src/rpc/channel.h"
#include "src/views/nodes_view.h"

namespace lanista {
namespace {

// What the node says of itself.
absl::StatusOr<v1::NodeHello> DescribeNode(const CommandContext& context) {
  v1::NodeHello hello;
  LANISTA_ASSIGN_OR_RETURN(const std::vector<v1::Device> devices,
                           SelectDevices(DevicesOf(context.line).training_service()));
  hello.set_name(context.line.name.empty() ? devices.front().node() : context.line.name);
  const absl::Status name = CheckNodeName(hello.name());
  if (!name.ok()) return Annotate(name, "--name");
  for (const v1::Device& device : devices) {
    *hello.add_devices() = device;
    hello.mutable_devices()->rbegin()->set_node(hello.name());
  }
  LANISTA_ASSIGN_OR_RETURN(*hello.mutable_program(), ReadBuildId(context.trial_program.path));
  hello.set_version(kVersion);
  // A node whose trial processes do not come up would lose every trial that it gets.
  const absl::Status starts = TrialSession::Start(context.trial_program).status();
  if (!starts.ok()) return absl::FailedPreconditionError(starts.message());
  return hello;
}

}  // namespace

absl::StatusOr<int> RunNode(const CommandContext& context) {
  const CommandLine& line = context.line;
  CatchStopSignals();
  signal(SIGPIPE, SIG_IGN);
  LocalNode::Options options;
  LANISTA_ASSIGN_OR_RETURN(options.head, HeadAccessOf(line));
  LANISTA_RETURN_IF_ERROR(MakeChannel(options.head).status());
  LANISTA_ASSIGN_OR_RETURN(options.hello, DescribeNode(context));
  options.trial_program = context.trial_program;
  LANISTA_ASSIGN_OR_RETURN(options.cache.folder, ResolvePath(line.cache_dir, UserDirectory()));
  options.cache.max_bytes = static_cast<int64_t>(line.cache_size);
  options.give_up_after = std::chrono::seconds(line.give_up_after);
  options.on_joined = [&line, name = options.hello.name(), joined = false]() mutable {
    if (!line.json) {
      PrintLine(absl::StrCat("joined ", line.head, " as ", name));
    } else if (!joined) {
      PrintJson({{"joined", line.head}, {"name", name}});
    }
    joined = true;
    std::fflush(stdout);
  };
  LocalNode node(std::move(options));
  const SignalThread signals([&node](int count) {
    if (count > 1) _exit(kExitKilled);
    node.Leave("its user ended it");
  });
  const absl::Status end = node.Wait();
  if (end.ok()) return kExitDone;
  // Another try would end in the same way.
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

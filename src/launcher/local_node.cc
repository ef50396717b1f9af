#include "src/launcher/local_node.h"

#include <algorithm>
#include <future>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "actors/live_actors.h"
#include "actors/node.h"
#include "actors/worker.h"
#include "caf/actor_system.hpp"
#include "src/base/device_name.h"
#include "src/base/shared_bytes.h"
#include "src/base/status.h"
#include "src/base/unique_id.h"
#include "src/files/data_channel.h"
#include "src/launcher/actor_system.h"
#include "src/rpc/file_client.h"
#include "src/rpc/node_client.h"
#include "src/trial_process/event_window.h"
#include "src/trial_process/parent.h"

namespace lanista {
namespace {

// Assignments whose files come at the same time.
constexpr int kMostPreparing = 16;

// The place for discoveries is none.
int CountDevices(const v1::NodeHello& hello) {
  return static_cast<int>(std::count_if(hello.devices().begin(), hello.devices().end(),
                                        [](const v1::Device& device) { return !device.prepares(); }));
}

// A single trial process shares nothing.
std::string SharedDataFolder(const LocalNode::Options& options) {
  if (CountDevices(options.hello) < 2 || options.cache.folder.empty()) return "";
  return absl::StrCat(CachedFiles::MachineFolder(options.cache.folder), "-shared_data");
}

}  // namespace

class LocalNode::Impl {
 public:
  explicit Impl(Options options)
      : ended_(end_.get_future()), shared_data_(SharedDataFolder(options)), system_(system_config_) {
    NodeOptions node;
    node.hello = std::move(options.hello);
    node.hello.set_protocol_version(kNodeProtocolVersion);
    node.hello.set_instance(NewUniqueId());
    const auto head_files = std::make_shared<FileClient>(options.head, options.find_head, node.hello.instance());
    // Several devices may wait for one large file, while others need none.
    options.cache.threads = std::clamp(node.hello.devices_size(), 1, kMostPreparing);
    files_.emplace(std::move(options.cache), head_files, head_files);
    node.files = &*files_;
    node.give_up_after = options.give_up_after;
    node.on_joined = std::move(options.on_joined);
    node.on_end = [this](const absl::Status& status) { end_.set_value(status); };
    const EventAmount most_unrecorded = EventWindow::LimitOfOneIn(CountDevices(node.hello));
    node.spawn_worker = [this, most_unrecorded, program = options.trial_program](
                            int number, const v1::Device& device, const WorkerOwnerActor& owner) -> WorkerActor {
      WorkerConfig config;
      config.number = number;
      config.device = device;
      config.make_channel = [this, program, most_unrecorded] {
        return WithData(MakeTrialProcess(program.path, {shared_data_.path(), most_unrecorded}), program.data);
      };
      const WorkerActor worker = system_.spawn<caf::detached>(Worker, std::move(config), owner);
      live_.Add(worker, absl::StrCat("the worker of ", DeviceName(device)));
      return worker;
    };
    NodeClient::Options client{options.head, std::move(options.find_head), node.hello.instance()};
    node_ = system_.spawn<caf::detached>(Node, std::move(node));
    live_.Add(node_, "the node");
    NodeClient::Handlers handlers;
    handlers.on_open = [this](const HeadLinkPtr& link) { caf::anon_send(node_, link); };
    handlers.on_message = [this](const HeadLinkPtr& link, v1::HeadMessage message) {
      caf::anon_send(node_, link, std::move(message));
    };
    handlers.on_closed = [this](const HeadLinkPtr& link, const absl::Status& status) {
      caf::anon_send(node_, link, StatusToProto(status));
    };
    client_.emplace(std::move(client), std::move(handlers));
  }

  // Returns the names of actors that do not end; this object must then live as long as the process.
  std::vector<std::string> Shutdown() {
    constexpr std::chrono::seconds kLimit(10);
    caf::anon_send_exit(node_, caf::exit_reason::user_shutdown);
    client_.reset();
    std::vector<std::string> left = live_.WaitForNone(kLimit);
    // Its work in progress holds handles of the node actor, which must not outlive the actor system.
    if (left.empty()) files_.reset();
    return left;
  }

  void Leave(const std::string& because) {
    v1::NodeLeaving leaving;
    leaving.set_because(because);
    caf::anon_send(node_, std::move(leaving));
  }

  absl::Status Wait() { return ended_.get(); }

 private:
  std::promise<absl::Status> end_;
  std::shared_future<absl::Status> ended_;
  // Before the system, whose destructor waits for the actors that use them.
  LiveActors live_;
  const SharedBytesFolder shared_data_;
  std::optional<CachedFiles> files_;
  ActorSystemConfig system_config_;
  caf::actor_system system_;
  NodeActor node_;
  std::optional<NodeClient> client_;
};

LocalNode::LocalNode(Options options) : impl_(std::make_unique<Impl>(std::move(options))) {}

LocalNode::~LocalNode() {
  // If actors are left, they still use it.
  if (LeaveBehind(impl_->Shutdown())) static_cast<void>(impl_.release());
}

void LocalNode::Leave(const std::string& because) { impl_->Leave(because); }

absl::Status LocalNode::Wait() { return impl_->Wait(); }

}  // namespace lanista

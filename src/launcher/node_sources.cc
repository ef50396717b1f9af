#include "src/launcher/node_sources.h"

#include <chrono>
#include <utility>

#include "caf/scoped_actor.hpp"
#include "src/base/logging.h"

namespace lanista {
namespace {

constexpr std::chrono::seconds kInterval(1);

}  // namespace

NodeSources::NodeSources(caf::actor_system* system, TrainingServiceActor service, NodeGateway* nodes,
                         std::string program)
    : system_(*system), service_(std::move(service)), nodes_(*nodes), program_(std::move(program)) {}

NodeSources::~NodeSources() {
  Stop();
  for (Source& source : sources_) source.thread.join();
}

void NodeSources::Add(const std::string& name, std::unique_ptr<NodeSource> source) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Source& added = sources_.emplace_back();
  added.name = name;
  added.source = std::move(source);
  added.thread = std::thread([this, &added] { Run(added); });
}

std::vector<v1::NodeStatus> NodeSources::Coming() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::vector<v1::NodeStatus> all;
  for (const Source& source : sources_) all.insert(all.end(), source.coming.begin(), source.coming.end());
  return all;
}

void NodeSources::Stop() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!std::exchange(stopped_, true)) stopped_at_ = std::chrono::steady_clock::now();
  }
  changed_.notify_all();
}

std::vector<std::string> NodeSources::Wait(std::chrono::milliseconds limit) {
  std::vector<std::string> left;
  std::unique_lock<std::mutex> lock(mutex_);
  for (const Source& source : sources_) {
    if (!changed_.wait_until(lock, stopped_at_ + limit, [&source] { return source.ended; }))
      left.push_back(source.name);
  }
  return left;
}

void NodeSources::Run(Source& source) {
  NodeSource::Prospect prospect;
  std::unique_lock<std::mutex> lock(mutex_);
  while (!stopped_) {
    lock.unlock();
    NodeSource::Situation situation;
    // The nodes are asked first: if a device joins between the two questions, the result is too little waiting work,
    // never too much.
    situation.nodes = ListNodes();
    situation.waiting = AskDemand(source.name, prospect);
    situation.ending = [this] {
      const std::lock_guard<std::mutex> guard(mutex_);
      return stopped_;
    };
    prospect = source.source->Step(situation);
    for (const std::string& node : prospect.drain) {
      LogInfo("node {} has nothing to do, or is replaced: it is drained", node);
      v1::DrainNodeRequest request;
      request.set_node(node);
      // If the node is gone, nothing has to be done.
      nodes_.Drain(request, [](const absl::Status&) {});
    }
    lock.lock();
    source.coming = prospect.coming;
    changed_.wait_for(lock, kInterval, [this] { return stopped_; });
  }
  lock.unlock();
  source.source->End();
  lock.lock();
  source.ended = true;
  changed_.notify_all();
}

std::vector<v1::NodeStatus> NodeSources::ListNodes() {
  const absl::StatusOr<v1::NodeList> list = AwaitNodes(nodes_);
  if (!list.ok()) return {};
  std::vector<v1::NodeStatus> joined;
  for (const v1::NodeStatus& node : list->nodes()) {
    if (node.condition() != v1::NodeStatus::COMING) joined.push_back(node);
  }
  return joined;
}

int NodeSources::AskDemand(const std::string& name, const NodeSource::Prospect& prospect) {
  v1::ExpectDevices expect;
  expect.set_source(name);
  expect.set_program(program_);
  expect.set_devices(prospect.devices);
  expect.set_device_memory(prospect.device_memory);
  expect.set_device_kind(prospect.device_kind);
  expect.mutable_labels()->insert(prospect.labels.begin(), prospect.labels.end());
  for (const std::string& name : prospect.data) expect.add_data(name);
  expect.set_because(prospect.because);
  int waiting = 0;
  caf::scoped_actor self(system_);
  // If the service has ended, nothing waits for a device.
  self->request(service_, caf::infinite, std::move(expect))
      .receive([&](const v1::DeviceDemand& demand) { waiting = demand.waiting(); }, [](const caf::error&) {});
  return waiting;
}

}  // namespace lanista

#include "actors/nodes.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "actors/node_hello.h"
#include "src/base/bounded_message.h"
#include "src/base/display_text.h"
#include "src/base/logging.h"
#include "src/base/utf8.h"

namespace lanista {
namespace {

constexpr std::chrono::seconds kLookInterval(1);
// A head that looks later than this stood still (it was stopped, or its machine slept), and with it its ears.
constexpr std::chrono::seconds kStoodStill(5);
// What all nodes may have on their way to the journals, in excess of what each trial may; beyond that each has its turn
// when its own is recorded.
constexpr EventAmount kMostUnrecordedOfAll = {131072, 256 << 20};

std::string Text(std::chrono::milliseconds duration) {
  return absl::FormatDuration(absl::Seconds(std::chrono::duration_cast<std::chrono::seconds>(duration).count()));
}

}  // namespace

NodesSelf::behavior_type Nodes(NodesSelf::stateful_pointer<NodesState> self, NodesOptions options) {
  return self->state.MakeBehavior(std::move(options));
}

NodesSelf::behavior_type NodesState::MakeBehavior(NodesOptions options) {
  options_ = std::move(options);
  for (const v1::KnownNode& node : options_.known.nodes()) absent_[node.instance()] = node;
  remembered_ = options_.known.SerializeAsString();
  forgets_ = self_->clock().now() + options_.lost_after;
  return {
      [this](const NodeLinkPtr& link, v1::NodeMessage& message) { OnMessage(link, std::move(message)); },
      [this](const NodeLinkPtr& link) {
        for (auto& [instance, joining] : joining_) {
          if (joining.link == link) joining.link = nullptr;
        }
        const std::shared_ptr<RemoteNode> node = Find(link);
        if (node == nullptr) return;
        LogInfo("{}its connection is lost", NodeTag(node->name()));
        links_.erase(link.get());
        node->OnLinkLost();
      },
      [this](const HeartbeatPtr& beat) {
        const auto node = nodes_.find(beat->request().instance());
        if (node == nodes_.end()) return beat->Answer(absl::NotFoundError("no node of this instance has joined"));
        node->second->OnBeat(beat->request());
        beat->Answer(absl::OkStatus());
      },
      [this](const v1::ListInputsRequest& request) -> caf::result<v1::AssignmentInputs> {
        const auto node = nodes_.find(request.instance());
        if (node == nodes_.end()) return ToCafError(absl::NotFoundError("no node of this instance has joined"));
        absl::StatusOr<v1::AssignmentInputs> inputs = node->second->Inputs(request.assignment());
        if (!inputs.ok()) return ToCafError(inputs.status());
        return *std::move(inputs);
      },
      [this](const v1::OutputsRequest& request) -> caf::result<v1::AssignmentOutputs> {
        const auto node = nodes_.find(request.instance());
        if (node == nodes_.end()) return ToCafError(absl::NotFoundError("no node of this instance has joined"));
        absl::StatusOr<v1::AssignmentOutputs> outputs = node->second->Outputs(request.assignment());
        if (!outputs.ok()) return ToCafError(outputs.status());
        return *std::move(outputs);
      },
      [this](const v1::ListNodesRequest&) {
        std::vector<std::shared_ptr<RemoteNode>> sorted;
        for (const auto& [instance, node] : nodes_) sorted.push_back(node);
        std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a->name() < b->name(); });
        v1::NodeList list;
        for (const auto& node : sorted) *list.add_nodes() = node->Status();
        return list;
      },
      [this](const v1::DrainNodeRequest& request) -> caf::result<v1::DrainNodeReply> {
        const std::shared_ptr<RemoteNode> node = FindName(request.node());
        if (node == nullptr) {
          return ToCafError(
              absl::NotFoundError(absl::StrCat("there is no node '", OneLine(ToUtf8(request.node().substr(0, 200))),
                                               "'; `lanista nodes` lists those that have joined")));
        }
        node->Drain();
        CountNodes();
        Remember();
        return v1::DrainNodeReply();
      },
      [this](deadline_atom) { Look(); },
      [this](int32_t node, int32_t device, int32_t worker, v1::TrialSpec& spec) {
        // Where the node has left, the service hears that of the worker, and knows that the trial did not begin.
        if (const auto found = FindNumber(node)) found->OnTrial(device, worker, std::move(spec));
      },
      [this](int32_t node, int32_t device, const v1::CancelTrial& cancel) {
        if (const auto found = FindNumber(node)) found->OnCancel(device, cancel);
        ReadOnWhereItMayBe();
      },
      [this](int32_t node, int32_t device, const v1::StopModel& stop) {
        if (const auto found = FindNumber(node)) found->OnStop(device, stop);
      },
      [this](int32_t node, int32_t device, const v1::EventsRecorded& recorded) {
        if (const auto found = FindNumber(node)) found->OnRecorded(device, recorded);
        ReadOnWhereItMayBe();
      },
      [this](int32_t node, int32_t device, int32_t worker, v1::Discover& request) -> caf::result<v1::Discovered> {
        const auto promise = self_->make_response_promise<v1::Discovered>();
        const auto found = FindNumber(node);
        if (found == nullptr) return ToCafError(absl::AbortedError("its node has left"));
        found->OnDiscover(device, worker, std::move(request), promise);
        return promise;
      },
  };
}

void NodesState::OnMessage(const NodeLinkPtr& link, v1::NodeMessage message) {
  const absl::Status status = Handle(link, std::move(message));
  if (status.ok()) {
    ReadOn(link);
    return ReadOnWhereItMayBe();
  }
  Refuse(link, status);
}

void NodesState::Refuse(const NodeLinkPtr& link, const absl::Status& status) {
  const std::string why(status.message());
  const std::shared_ptr<RemoteNode> node = Find(link);
  if (node == nullptr) {
    LogWarning("a node was refused: {}", OneLine(why));
    return link->Close(status);
  }
  LogError("{}it is sent away: {}", NodeTag(node->name()), OneLine(why));
  Remove(node, v1::ModelEnded::NODE_LOST, absl::StrCat("node ", node->name(), " broke the protocol: ", why), status);
}

void NodesState::ReadOn(const NodeLinkPtr& link) {
  // It is read when it is welcome.
  const bool is_joining =
      std::any_of(joining_.begin(), joining_.end(), [&](const auto& entry) { return entry.second.link == link; });
  if (is_joining) return;
  const std::shared_ptr<RemoteNode> node = Find(link);
  if (node == nullptr || node->may_say_more(unrecorded_.reaches(kMostUnrecordedOfAll))) return link->Next();
  put_off_.push_back(link);
}

void NodesState::ReadOnWhereItMayBe() {
  if (put_off_.empty()) return;
  for (const NodeLinkPtr& link : std::exchange(put_off_, {})) ReadOn(link);
}

absl::Status NodesState::Handle(const NodeLinkPtr& link, v1::NodeMessage message) {
  const std::shared_ptr<RemoteNode> node = Find(link);
  if (message.has_hello()) {
    if (node != nullptr) return absl::InvalidArgumentError("the node said hello twice");
    return OnHello(link, message.hello());
  }
  if (node == nullptr) {
    // Perhaps what an earlier stream of a node's that has joined anew still had on its way.
    return absl::InvalidArgumentError("the node did not say hello");
  }
  node->Heard();
  switch (message.kind_case()) {
    case v1::NodeMessage::kNews:
      return node->OnNews(std::move(*message.mutable_news()));
    case v1::NodeMessage::kDevice:
      return node->OnDevice(message.device());
    case v1::NodeMessage::kBeat:
      node->OnBeat(message.beat());
      return absl::OkStatus();
    case v1::NodeMessage::kLeaving: {
      const std::string because = BoundedMessage(message.leaving().because());
      LogInfo("{}it leaves: {}", NodeTag(node->name()), OneLine(because));
      Remove(node, v1::ModelEnded::NODE_LEFT, absl::StrCat("node ", node->name(), " left: ", because),
             absl::OkStatus());
      return absl::OkStatus();
    }
    default:
      return absl::InvalidArgumentError("the node sent a message of an unknown kind");
  }
}

absl::Status NodesState::OnHello(const NodeLinkPtr& link, const v1::NodeHello& hello) {
  absl::Status status = CheckHello(hello);
  if (!status.ok()) return status;
  if (const auto known = nodes_.find(hello.instance()); known != nodes_.end()) {
    const std::shared_ptr<RemoteNode> node = known->second;
    if (const auto joining = joining_.find(hello.instance()); joining != joining_.end()) {
      if (joining->second.link != nullptr) joining->second.link->Close(absl::AbortedError("the node has joined anew"));
      joining->second = {link, hello};
      return absl::OkStatus();
    }
    status = Join(node, link, hello);
    if (status.ok()) LogInfo("{}has joined again", NodeTag(hello.name()));
    return status;
  }
  status = TakeName(hello);
  if (!status.ok()) return status;
  if (nodes_.size() >= kMaxNodes) {
    return absl::ResourceExhaustedError(absl::StrCat("this head has ", kMaxNodes, " nodes already"));
  }
  const auto node = std::make_shared<RemoteNode>(self_, options_, ++last_number_, hello, &unrecorded_);
  nodes_[hello.instance()] = node;
  numbers_[node->number()] = node;
  LogInfo("{}has joined with {} devices, Lanista {}, program {}", NodeTag(hello.name()), node->Status().devices(),
          hello.version(), hello.program());
  BeginLooking();
  if (const auto earlier = absent_.extract(hello.instance()); !earlier.empty() && earlier.mapped().draining()) {
    LogInfo("{}it was asked to leave before this head began", NodeTag(hello.name()));
    node->Drain();
  }
  v1::NodeReturned returned;
  returned.set_node(hello.name());
  const bool is_of_this_folder = !options_.marker.empty() && hello.marker() == options_.marker;
  if (is_of_this_folder) *returned.mutable_trials() = hello.held_trials();
  const bool waits = !returned.trials().empty();
  if (waits) joining_[hello.instance()] = {link, hello};
  const auto answered = [this, waits, instance = hello.instance()](const v1::KeptTrials& kept) {
    if (waits) OnReturned(instance, kept);
  };
  self_->request(options_.service, caf::infinite, std::move(returned), node->KeptWorker())
      .then(answered, [answered](const caf::error&) { answered(v1::KeptTrials()); });
  if (!waits) status = Join(node, link, hello);
  CountNodes();
  return status;
}

void NodesState::OnReturned(const std::string& instance, const v1::KeptTrials& kept) {
  const auto joining = joining_.extract(instance);
  const auto found = nodes_.find(instance);
  // It was lost meanwhile, and what it was to keep with it.
  if (joining.empty() || found == nodes_.end()) return;
  const std::shared_ptr<RemoteNode> node = found->second;
  const auto& [link, hello] = joining.mapped();
  for (const v1::ReturningTrial& trial : kept.trials()) {
    const v1::TrialSpec& spec = trial.spec();
    const auto held = std::find_if(hello.held_trials().begin(), hello.held_trials().end(), [&](const auto& candidate) {
      return candidate.experiment() == spec.experiment() && candidate.trial() == spec.trial();
    });
    // The service takes the first of two, and so does this.
    node->Keep(held == hello.held_trials().end() ? v1::HeldTrial() : *held, trial);
  }
  // It dials again, and is known then.
  if (link == nullptr) return node->OnLinkLost();
  if (const absl::Status status = Join(node, link, hello); !status.ok()) return Refuse(link, status);
  ReadOn(link);
}

void NodesState::Remember() {
  if (!options_.remember) return;
  if (self_->clock().now() > forgets_) absent_.clear();
  v1::KnownNodes known;
  for (const auto& [instance, node] : nodes_) {
    v1::KnownNode& proto = *known.add_nodes();
    proto.set_name(node->name());
    proto.set_instance(instance);
    proto.set_draining(node->draining());
  }
  for (const auto& entry : absent_) *known.add_nodes() = entry.second;
  std::string bytes = known.SerializeAsString();
  if (bytes == remembered_) return;
  if (options_.remember(known).ok()) {
    remembered_ = std::move(bytes);
  } else {
    // Also where no node is left.
    BeginLooking();
  }
}

absl::Status NodesState::Join(const std::shared_ptr<RemoteNode>& node, const NodeLinkPtr& link,
                              const v1::NodeHello& hello) {
  links_.erase(node->link().get());
  absl::Status status = node->Join(link, hello);
  // Where it was refused, the old stream may still be its.
  if (node->link() != nullptr) links_[node->link().get()] = node;
  return status;
}

absl::Status NodesState::TakeName(const v1::NodeHello& hello) {
  const std::shared_ptr<RemoteNode> holder = FindName(hello.name());
  if (holder == nullptr) return absl::OkStatus();
  const std::chrono::milliseconds silent = holder->SilentFor();
  if (silent > options_.lease) {
    const std::string why = absl::StrCat("node ", hello.name(), ": nothing was heard of it for ", Text(silent),
                                         ", and another one has its name now");
    LogWarning("{}{}", NodeTag(hello.name()), why);
    Remove(holder, v1::ModelEnded::NODE_LOST, why, absl::AbortedError("another node has the name now"));
    return absl::OkStatus();
  }
  if (holder->link() == nullptr || silent > options_.lease / 2) {
    return absl::UnavailableError(
        absl::StrCat("a node '", hello.name(), "' was here until ", Text(silent), " ago, and may return; try again"));
  }
  return absl::AlreadyExistsError(
      absl::StrCat("there is a node '", hello.name(), "' already; name this one otherwise (--name)"));
}

void NodesState::BeginLooking() {
  if (looked_.has_value()) return;
  looked_ = self_->clock().now();
  self_->delayed_send(self_, kLookInterval, deadline_atom_v);
}

void NodesState::Look() {
  const RemoteNode::TimePoint now = self_->clock().now();
  const auto since = std::chrono::duration_cast<std::chrono::milliseconds>(now - *looked_);
  looked_.reset();
  const std::map<int32_t, std::shared_ptr<RemoteNode>> all = numbers_;
  for (const auto& [instance, joining] : joining_) {
    // It says nothing before it is welcome.
    if (joining.link != nullptr) nodes_.at(instance)->Heard();
  }
  for (const auto& [number, node] : all) {
    if (since > kStoodStill) node->Forgive(since);
    const std::chrono::milliseconds silent = node->SilentFor();
    if (silent > options_.lost_after) {
      const std::string why = absl::StrCat("node ", node->name(), ": nothing was heard of it for ", Text(silent));
      LogWarning("{}{}: it is lost", NodeTag(node->name()), why);
      Remove(node, v1::ModelEnded::NODE_LOST, why,
             absl::UnavailableError("nothing was heard of the node for too long; join again"));
    } else if (silent > options_.lease) {
      node->SetSilent(true);
    }
  }
  CountNodes();
  Remember();
  ReadOnWhereItMayBe();
  if (!nodes_.empty()) BeginLooking();
}

void NodesState::CountNodes() {
  std::map<NodeCondition, int64_t> counts;
  for (const auto& entry : nodes_) ++counts[entry.second->state()];
  for (const NodeCondition state : {NodeCondition::kJoined, NodeCondition::kSilent, NodeCondition::kDraining}) {
    options_.telemetry->nodes[state].Set(counts[state]);
  }
}

std::shared_ptr<RemoteNode> NodesState::Find(const NodeLinkPtr& link) const {
  const auto found = links_.find(link.get());
  return found == links_.end() ? nullptr : found->second;
}

std::shared_ptr<RemoteNode> NodesState::FindName(const std::string& name) const {
  const auto found =
      std::find_if(nodes_.begin(), nodes_.end(), [&](const auto& node) { return node.second->name() == name; });
  return found == nodes_.end() ? nullptr : found->second;
}

std::shared_ptr<RemoteNode> NodesState::FindNumber(int32_t number) const {
  const auto found = numbers_.find(number);
  return found == numbers_.end() ? nullptr : found->second;
}

void NodesState::Remove(const std::shared_ptr<RemoteNode>& node, v1::ModelEnded::LostCause cause,
                        const std::string& why, const absl::Status& status) {
  links_.erase(node->link().get());
  nodes_.erase(node->instance());
  numbers_.erase(node->number());
  node->Leave(cause, why, status);
  if (const auto joining = joining_.extract(node->instance()); !joining.empty() && joining.mapped().link != nullptr) {
    joining.mapped().link->Close(status);
  }
  if (cause == v1::ModelEnded::NODE_LOST) options_.telemetry->nodes_lost.Add();
  CountNodes();
  if (nodes_.empty()) Remember();
}

}  // namespace lanista

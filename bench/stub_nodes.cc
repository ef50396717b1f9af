#include "bench/stub_nodes.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "google/protobuf/util/time_util.h"
#include "grpcpp/grpcpp.h"
#include "protos/node.grpc.pb.h"
#include "src/base/clock.h"
#include "src/base/node_link.h"
#include "src/base/status.h"
#include "src/rpc/grpc_setup.h"
#include "src/rpc/grpc_status.h"

namespace lanista::bench {
namespace {

using Clock = std::chrono::steady_clock;
using google::protobuf::util::TimeUtil;

// A head that takes longer for a heartbeat does not answer.
constexpr std::chrono::seconds kBeatLimit(30);
constexpr std::chrono::milliseconds kMinBeatInterval(100);

// All that trials report.
constexpr char kMetric[] = "default";
constexpr double kValue = 0.5;

double MillisecondsSince(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

}  // namespace

// What all nodes share: what has happened so far, and who waits for it. gRPC's threads call the On... functions.
class StubNodes::Impl {
 public:
  explicit Impl(Options options);
  ~Impl();

  const Options& options() const { return options_; }

  void OnJoined(std::chrono::milliseconds beat_interval);
  // A trial of this experiment has come.
  void OnTrial(const std::string& experiment, int node, int device);
  void OnTrialOver();
  void OnBeat(const std::string& node, Clock::time_point sent, const grpc::Status& status);
  // The last that is heard of a node.
  void OnStreamDone(const std::string& node, const grpc::Status& status);
  void Fail(const std::string& node, const absl::Status& status);

  // Until `reached`; `so_far` says how far it came meanwhile. Both are called with mutex_ held.
  absl::Status Await(absl::Duration limit, std::function<bool()> reached, const std::function<std::string()>& so_far);
  // As in StubNodes.
  absl::Status EndOldest(const std::string& experiment, absl::Duration limit);

 private:
  friend class StubNodes;
  class Node;
  // Where a trial runs.
  struct Place {
    int node = 0;
    int device = 0;
  };
  // Of an experiment.
  struct Held {
    // In order of arrival.
    std::deque<Place> trials;
    // When EndOldest freed the slots that were not filled since.
    std::deque<Clock::time_point> freed;
    std::vector<double> handovers_ms;
  };

  // The nodes beat in turn, each once in the interval, until the end.
  void Beat();
  // Wakes the one who waits, if it is time. REQUIRES: mutex_ is held.
  void Changed();

  const Options options_;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::thread beats_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  // Protected by mutex_.
  // What the one who waits waits for; null: nobody does.
  std::function<bool()> reached_;
  absl::Status failure_;
  bool ending_ = false;
  int joined_ = 0;
  std::chrono::milliseconds beat_interval_ = kMinBeatInterval;
  int open_streams_ = 0;
  int open_beats_ = 0;
  double slowest_beat_ms_ = 0;
  int ended_ = 0;
  std::map<std::string, Held> held_;
};

// One node's connection. Reads are handled one after the other; ends come from the bench's thread, too.
class StubNodes::Impl::Node : public grpc::ClientBidiReactor<v1::NodeMessage, v1::HeadMessage> {
 public:
  Node(int number, Impl* cluster)
      : number_(number),
        cluster_(*cluster),
        name_(absl::StrCat("stub-", number)),
        instance_(absl::StrCat(name_, "-", absl::ToUnixNanos(absl::Now()))),
        slots_(static_cast<size_t>(cluster->options().slots)) {}

  // Connects and says hello.
  void Start();
  // Begins the end of the connection: OnStreamDone will come.
  void Cancel() { context_.TryCancel(); }
  // OnBeat will come.
  void Beat();
  // The trial on this device succeeds.
  void EndTrial(int device);

 private:
  struct Slot {
    // Empty: it is idle.
    std::string assignment;
    v1::TrialSpec trial;
    // Of the last that was said of it.
    int64_t last_news = 0;
    bool over = false;
  };

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnDone(const grpc::Status& status) override { cluster_.OnStreamDone(name_, status); }

  absl::Status Handle(v1::HeadMessage message);
  absl::Status OnAssignment(v1::Assignment assignment);
  absl::Status OnReceived(const v1::NewsReceived& received);

  // What is added is sent by Flush. REQUIRES: mutex_ is held.
  void AddBeginning(Slot& slot, int device);
  v1::AssignmentNews& AddNews(Slot& slot);
  v1::ModelEvent& AddEvent(Slot& slot, const v1::TrialModel& model, int sequence);
  void AddIdle(int device);

  // REQUIRES: mutex_ is not held.
  void Flush();

  const int number_;
  Impl& cluster_;
  const std::string name_;
  const std::string instance_;
  std::unique_ptr<v1::NodeService::Stub> stub_;
  grpc::ClientContext context_;
  v1::HeadMessage incoming_;

  std::mutex mutex_;
  // Protected by mutex_.
  std::vector<Slot> slots_;
  // The first one is being written while `writing_`.
  std::deque<v1::NodeMessage> outgoing_;
  bool writing_ = false;
  // Nothing can be read any more, and nothing written.
  bool closed_ = false;
};

void StubNodes::Impl::Node::Start() {
  grpc::ChannelArguments arguments;
  // Else all nodes would share one connection, and the head's limits for one.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetMaxReceiveMessageSize(kMaxNodeMessageBytes);
  const Options& options = cluster_.options();
  stub_ =
      v1::NodeService::NewStub(grpc::CreateCustomChannel(options.head, grpc::InsecureChannelCredentials(), arguments));
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    v1::NodeHello& hello = *outgoing_.emplace_back().mutable_hello();
    hello.set_protocol_version(kNodeProtocolVersion);
    hello.set_instance(instance_);
    hello.set_name(name_);
    hello.set_program(options.program);
    hello.set_version("stub");
    *hello.mutable_now() = Now();
    for (size_t i = 0; i < slots_.size(); ++i) {
      v1::Device& device = *hello.add_devices();
      device.set_kind(v1::CPU);
      device.set_index(static_cast<int>(i));
      device.set_threads(1);
      device.set_node(name_);
    }
  }
  stub_->async()->Join(&context_, this);
  // Writes come from other threads; released when nothing can be read any more.
  AddHold();
  StartRead(&incoming_);
  StartCall();
  Flush();
}

void StubNodes::Impl::Node::Beat() {
  struct Call {
    grpc::ClientContext context;
    v1::BeatRequest request;
    v1::BeatReply reply;
  };
  auto call = std::make_shared<Call>();
  call->context.set_deadline(std::chrono::system_clock::now() + kBeatLimit);
  call->request.set_instance(instance_);
  stub_->async()->Beat(&call->context, &call->request, &call->reply,
                       [this, call, sent = Clock::now()](const grpc::Status& status) mutable {
                         // While the stub is there: the last channel must not end on a thread of gRPC's, for which it
                         // waits.
                         call.reset();
                         cluster_.OnBeat(name_, sent, status);
                       });
}

void StubNodes::Impl::Node::OnReadDone(bool ok) {
  if (ok) {
    if (const absl::Status status = Handle(std::move(incoming_)); !status.ok()) cluster_.Fail(name_, status);
    incoming_.Clear();
    return StartRead(&incoming_);
  }
  bool release = false;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    closed_ = true;
    // Else OnWriteDone does so.
    release = !writing_;
  }
  if (release) RemoveHold();
}

void StubNodes::Impl::Node::OnWriteDone(bool ok) {
  const v1::NodeMessage* next = nullptr;
  bool release = false;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    outgoing_.pop_front();
    // Then the read will fail, too, and the status say why.
    if (!ok) outgoing_.clear();
    if (closed_ || outgoing_.empty()) {
      writing_ = false;
      release = closed_;
    } else {
      next = &outgoing_.front();
    }
  }
  if (next != nullptr) StartWrite(next);
  if (release) RemoveHold();
}

void StubNodes::Impl::Node::Flush() {
  const v1::NodeMessage* next = nullptr;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (closed_ || writing_ || outgoing_.empty()) return;
    writing_ = true;
    next = &outgoing_.front();
  }
  // Outside of the lock, in case that gRPC calls OnWriteDone before it returns.
  StartWrite(next);
}

absl::Status StubNodes::Impl::Node::Handle(v1::HeadMessage message) {
  switch (message.kind_case()) {
    case v1::HeadMessage::kHello: {
      cluster_.OnJoined(std::chrono::milliseconds(TimeUtil::DurationToMilliseconds(message.hello().beat_interval())));
      {
        const std::lock_guard<std::mutex> lock(mutex_);
        for (size_t i = 0; i < slots_.size(); ++i) AddIdle(static_cast<int>(i));
      }
      Flush();
      return absl::OkStatus();
    }
    case v1::HeadMessage::kAssignment:
      return OnAssignment(std::move(*message.mutable_assignment()));
    case v1::HeadMessage::kReceived:
      return OnReceived(message.received());
    case v1::HeadMessage::kRecorded:
      // Nothing waits for it (Options::reports).
      return absl::OkStatus();
    default:
      return absl::InternalError(absl::StrCat("the head sent what no search of this benchmark should make it send: ",
                                              message.ShortDebugString()));
  }
}

absl::Status StubNodes::Impl::Node::OnAssignment(v1::Assignment assignment) {
  const int device = assignment.device();
  if (device < 0 || device >= cluster_.options().slots) {
    return absl::InternalError(absl::StrCat("the head gave work to device ", device, ", which is not there"));
  }
  const bool is_trial = assignment.has_trial();
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    Slot& slot = slots_[static_cast<size_t>(device)];
    if (!slot.assignment.empty()) {
      return absl::InternalError(absl::StrCat("the head gave ", assignment.id(), " to device ", device,
                                              " and has not received the end of ", slot.assignment));
    }
    slot = Slot();
    slot.assignment = std::move(*assignment.mutable_id());
    if (is_trial) {
      slot.trial = std::move(*assignment.mutable_trial());
      AddBeginning(slot, device);
      if (cluster_.options().hold) cluster_.OnTrial(slot.trial.experiment(), number_, device);
    } else {
      *AddNews(slot).mutable_discovered() = cluster_.options().discover(assignment.discover());
      AddIdle(device);
      slot.assignment.clear();
    }
  }
  if (is_trial && !cluster_.options().hold) {
    EndTrial(device);
  } else {
    Flush();
  }
  return absl::OkStatus();
}

absl::Status StubNodes::Impl::Node::OnReceived(const v1::NewsReceived& received) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto slot = std::find_if(slots_.begin(), slots_.end(),
                                 [&](const Slot& each) { return each.assignment == received.assignment(); });
  // Nobody waits for those of a discovery.
  if (slot == slots_.end() || !slot->over || received.number() < slot->last_news) return absl::OkStatus();
  slot->assignment.clear();
  cluster_.OnTrialOver();
  return absl::OkStatus();
}

void StubNodes::Impl::Node::EndTrial(int device) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    Slot& slot = slots_[static_cast<size_t>(device)];
    for (const v1::TrialModel& model : slot.trial.models()) {
      // Behind its start and its reports.
      v1::ModelEnded& ended = *AddEvent(slot, model, cluster_.options().reports + 2).mutable_ended();
      ended.set_outcome(v1::SUCCEEDED);
      (*ended.mutable_metrics()->mutable_values())[kMetric] = kValue;
    }
    v1::TrialEnded& ended = *AddNews(slot).mutable_ended();
    ended.set_experiment(slot.trial.experiment());
    ended.set_trial(slot.trial.trial());
    slot.over = true;
    AddIdle(device);
  }
  Flush();
}

void StubNodes::Impl::Node::AddBeginning(Slot& slot, int device) {
  for (const v1::TrialModel& model : slot.trial.models()) {
    v1::Device& started = *AddEvent(slot, model, 1).mutable_started()->mutable_device();
    started.set_kind(v1::CPU);
    started.set_index(device);
    for (int step = 0; step < cluster_.options().reports; ++step) {
      v1::Intermediate& report = *AddEvent(slot, model, step + 2).mutable_intermediate();
      report.set_step(step);
      (*report.mutable_metrics()->mutable_values())[kMetric] = kValue;
    }
  }
}

v1::AssignmentNews& StubNodes::Impl::Node::AddNews(Slot& slot) {
  v1::AssignmentNews& news = *outgoing_.emplace_back().mutable_news();
  news.set_assignment(slot.assignment);
  news.set_number(++slot.last_news);
  return news;
}

v1::ModelEvent& StubNodes::Impl::Node::AddEvent(Slot& slot, const v1::TrialModel& model, int sequence) {
  v1::ModelEvent& event = *AddNews(slot).mutable_event();
  event.set_experiment(slot.trial.experiment());
  event.set_trial(slot.trial.trial());
  event.set_model(model.model());
  event.set_attempt(model.attempt());
  event.set_sequence(sequence);
  *event.mutable_time() = Now();
  return event;
}

void StubNodes::Impl::Node::AddIdle(int device) {
  v1::DeviceNews& news = *outgoing_.emplace_back().mutable_device();
  news.set_device(device);
  news.set_idle(true);
  news.set_warm(true);
}

StubNodes::Impl::Impl(Options options) : options_(std::move(options)) {
  QuietGrpc();
  open_streams_ = options_.nodes;
  for (int i = 0; i < options_.nodes; ++i) nodes_.push_back(std::make_unique<Node>(i, this));
  for (const auto& node : nodes_) node->Start();
  beats_ = std::thread(&Impl::Beat, this);
}

StubNodes::Impl::~Impl() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ending_ = true;
    changed_.notify_all();
  }
  beats_.join();
  for (const auto& node : nodes_) node->Cancel();
  std::unique_lock<std::mutex> lock(mutex_);
  reached_ = [this] { return open_streams_ == 0 && open_beats_ == 0; };
  changed_.wait(lock, reached_);
}

void StubNodes::Impl::Beat() {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [this] { return ending_ || joined_ == options_.nodes; });
  for (size_t next = 0;; next = (next + 1) % nodes_.size()) {
    if (changed_.wait_for(lock, beat_interval_ / options_.nodes, [this] { return ending_; })) return;
    ++open_beats_;
    lock.unlock();
    nodes_[next]->Beat();
    lock.lock();
  }
}

void StubNodes::Impl::Changed() {
  if (!failure_.ok() || (reached_ && reached_())) changed_.notify_all();
}

void StubNodes::Impl::OnJoined(std::chrono::milliseconds beat_interval) {
  const std::lock_guard<std::mutex> lock(mutex_);
  beat_interval_ = std::max(beat_interval, kMinBeatInterval);
  if (++joined_ == options_.nodes) changed_.notify_all();
}

void StubNodes::Impl::OnTrial(const std::string& experiment, int node, int device) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Held& held = held_[experiment];
  if (!held.freed.empty()) {
    held.handovers_ms.push_back(MillisecondsSince(held.freed.front()));
    held.freed.pop_front();
  }
  held.trials.push_back({node, device});
  Changed();
}

void StubNodes::Impl::OnTrialOver() {
  const std::lock_guard<std::mutex> lock(mutex_);
  ++ended_;
  Changed();
}

void StubNodes::Impl::OnBeat(const std::string& node, Clock::time_point sent, const grpc::Status& status) {
  const std::lock_guard<std::mutex> lock(mutex_);
  slowest_beat_ms_ = std::max(slowest_beat_ms_, MillisecondsSince(sent));
  if (!status.ok()) failure_.Update(Annotate(FromGrpcStatus(status), absl::StrCat("a heartbeat of ", node)));
  --open_beats_;
  Changed();
}

void StubNodes::Impl::OnStreamDone(const std::string& node, const grpc::Status& status) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const std::string what = absl::StrCat("the connection of ", node, " ended");
  if (!ending_) {
    failure_.Update(status.ok() ? absl::UnavailableError(what) : Annotate(FromGrpcStatus(status), what));
  }
  --open_streams_;
  Changed();
}

void StubNodes::Impl::Fail(const std::string& node, const absl::Status& status) {
  const std::lock_guard<std::mutex> lock(mutex_);
  failure_.Update(Annotate(status, node));
  Changed();
}

absl::Status StubNodes::Impl::Await(absl::Duration limit, std::function<bool()> reached,
                                    const std::function<std::string()>& so_far) {
  std::unique_lock<std::mutex> lock(mutex_);
  reached_ = std::move(reached);
  const bool woken =
      changed_.wait_for(lock, absl::ToChronoMilliseconds(limit), [this] { return !failure_.ok() || reached_(); });
  reached_ = nullptr;
  if (!failure_.ok()) return failure_;
  if (woken) return absl::OkStatus();
  return absl::DeadlineExceededError(absl::StrCat("time is up: ", so_far()));
}

absl::Status StubNodes::Impl::EndOldest(const std::string& experiment, absl::Duration limit) {
  LANISTA_RETURN_IF_ERROR(Await(
      limit, [&] { return !held_[experiment].trials.empty(); }, [] { return "no trial ran that could end"; }));
  Place place;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    Held& held = held_[experiment];
    place = held.trials.front();
    held.trials.pop_front();
    held.freed.push_back(Clock::now());
  }
  nodes_[static_cast<size_t>(place.node)]->EndTrial(place.device);
  return absl::OkStatus();
}

StubNodes::StubNodes(Options options) : impl_(std::make_unique<Impl>(std::move(options))) {}
StubNodes::~StubNodes() = default;

absl::Status StubNodes::AwaitJoined(absl::Duration limit) {
  return impl_->Await(
      limit, [this] { return impl_->joined_ == impl_->options_.nodes; },
      [this] { return absl::StrCat(impl_->joined_, " of ", impl_->options_.nodes, " nodes had joined"); });
}

absl::Status StubNodes::AwaitEnded(int trials, absl::Duration limit) {
  return impl_->Await(
      limit, [=] { return impl_->ended_ >= trials; },
      [=] { return absl::StrCat("the head had received the ends of ", impl_->ended_, " of ", trials, " trials"); });
}

int StubNodes::held(const std::string& experiment) const {
  const std::lock_guard<std::mutex> lock(impl_->mutex_);
  return static_cast<int>(impl_->held_[experiment].trials.size());
}

absl::Status StubNodes::AwaitHeld(const std::string& experiment, int trials, absl::Duration limit) {
  const auto held = [=] { return impl_->held_[experiment].trials.size(); };
  return impl_->Await(
      limit, [=] { return held() >= static_cast<size_t>(trials); },
      [=] { return absl::StrCat(held(), " of ", trials, " trials of ", experiment, " ran"); });
}

absl::Status StubNodes::EndOldest(const std::string& experiment, absl::Duration limit) {
  return impl_->EndOldest(experiment, limit);
}

absl::Status StubNodes::AwaitHandovers(const std::string& experiment, int count, absl::Duration limit) {
  const auto filled = [=] { return impl_->held_[experiment].handovers_ms.size(); };
  return impl_->Await(
      limit, [=] { return filled() >= static_cast<size_t>(count); },
      [=] { return absl::StrCat("the head had filled ", filled(), " of ", count, " slots that became free"); });
}

std::vector<double> StubNodes::handovers_ms(const std::string& experiment) const {
  const std::lock_guard<std::mutex> lock(impl_->mutex_);
  return impl_->held_[experiment].handovers_ms;
}

double StubNodes::slowest_beat_ms() const {
  const std::lock_guard<std::mutex> lock(impl_->mutex_);
  return impl_->slowest_beat_ms_;
}

}  // namespace lanista::bench

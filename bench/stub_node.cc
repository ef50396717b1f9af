#include "bench/stub_node.h"

#include <string>
#include <utility>

#include "google/protobuf/util/time_util.h"
#include "src/base/clock.h"
#include "src/base/node_link.h"
#include "src/base/status.h"

namespace lanista::bench {
namespace {

using google::protobuf::util::TimeUtil;

// A head that takes longer for a heartbeat does not answer.
constexpr std::chrono::seconds kBeatLimit(30);

// All that trials report.
constexpr char kMetric[] = "default";
constexpr double kValue = 0.5;

}  // namespace

void StubNode::Start() {
  grpc::ChannelArguments arguments;
  // Else all nodes would share one connection, and the head's limits for one.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetMaxReceiveMessageSize(kMaxNodeMessageBytes);
  const StubNodes::Options& options = owner_.options();
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
      device.set_kind(v1::DeviceKind::CPU);
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

void StubNode::Beat() {
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
                         owner_.OnBeat(name_, sent, status);
                       });
}

void StubNode::OnReadDone(bool ok) {
  if (ok) {
    if (const absl::Status status = Handle(std::move(incoming_)); !status.ok()) owner_.Fail(name_, status);
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

void StubNode::OnWriteDone(bool ok) {
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

void StubNode::Flush() {
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

absl::Status StubNode::Handle(v1::HeadMessage message) {
  switch (message.kind_case()) {
    case v1::HeadMessage::kHello: {
      owner_.OnJoined(std::chrono::milliseconds(TimeUtil::DurationToMilliseconds(message.hello().beat_interval())));
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
    case v1::HeadMessage::kCancel: {
      // The last models of an experiment have their outcomes, and the end of their trial is still on its way.
      const std::lock_guard<std::mutex> lock(mutex_);
      if (ended_.count(message.cancel().assignment()) > 0) return absl::OkStatus();
      return absl::InternalError(absl::StrCat("the head canceled ", message.cancel().assignment(), ", which runs"));
    }
    default:
      return absl::InternalError(absl::StrCat("the head sent what no search of this benchmark should make it send: ",
                                              message.ShortDebugString()));
  }
}

absl::Status StubNode::OnAssignment(v1::Assignment assignment) {
  const int device = assignment.device();
  if (device < 0 || device >= owner_.options().slots) {
    return absl::InternalError(absl::StrCat("the head gave work to device ", device, ", which is not there"));
  }
  const bool is_trial = assignment.has_trial();
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    Slot& slot = slots_[static_cast<size_t>(device)];
    if (!slot.assignment.empty()) {
      return absl::InternalError(absl::StrCat("the head gave ", assignment.id(), " to device ", device,
                                              ", which has not ended ", slot.assignment));
    }
    slot = Slot();
    slot.assignment = std::move(*assignment.mutable_id());
    if (is_trial) {
      slot.trial = std::move(*assignment.mutable_trial());
      AddBeginning(slot, device);
      if (owner_.options().hold) owner_.OnTrial(slot.trial.experiment(), number_, device);
    } else {
      *AddNews(slot).mutable_discovered() = owner_.options().discover(assignment.discover());
      AddIdle(device);
      slot.assignment.clear();
    }
  }
  if (is_trial && !owner_.options().hold) {
    EndTrial(device);
  } else {
    Flush();
  }
  return absl::OkStatus();
}

absl::Status StubNode::OnReceived(const v1::NewsReceived& received) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto ended = ended_.find(received.assignment());
  // Nobody waits for those of a discovery.
  if (ended == ended_.end() || received.number() < ended->second) return absl::OkStatus();
  ended_.erase(ended);
  owner_.OnTrialOver();
  return absl::OkStatus();
}

void StubNode::EndTrial(int device) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    Slot& slot = slots_[static_cast<size_t>(device)];
    for (const v1::TrialModel& model : slot.trial.models()) {
      // Behind its start and its reports.
      v1::ModelEnded& ended = *AddEvent(slot, model, owner_.options().reports + 2).mutable_ended();
      ended.set_outcome(v1::ModelEnded::SUCCEEDED);
      (*ended.mutable_metrics()->mutable_values())[kMetric] = kValue;
    }
    v1::TrialEnded& ended = *AddNews(slot).mutable_ended();
    ended.set_experiment(slot.trial.experiment());
    ended.set_trial(slot.trial.trial());
    // The head may give the device its next trial before the end of this one is in the journal.
    ended_.emplace(std::exchange(slot.assignment, {}), slot.last_news);
    AddIdle(device);
  }
  Flush();
}

void StubNode::AddBeginning(Slot& slot, int device) {
  for (const v1::TrialModel& model : slot.trial.models()) {
    v1::Device& started = *AddEvent(slot, model, 1).mutable_started()->mutable_device();
    started.set_kind(v1::DeviceKind::CPU);
    started.set_index(device);
    for (int step = 0; step < owner_.options().reports; ++step) {
      v1::Intermediate& report = *AddEvent(slot, model, step + 2).mutable_intermediate();
      report.set_step(step);
      (*report.mutable_metrics()->mutable_values())[kMetric] = kValue;
    }
  }
}

v1::AssignmentNews& StubNode::AddNews(Slot& slot) {
  v1::AssignmentNews& news = *outgoing_.emplace_back().mutable_news();
  news.set_assignment(slot.assignment);
  news.set_number(++slot.last_news);
  return news;
}

v1::ModelEvent& StubNode::AddEvent(Slot& slot, const v1::TrialModel& model, int sequence) {
  v1::ModelEvent& event = *AddNews(slot).mutable_event();
  event.set_experiment(slot.trial.experiment());
  event.set_trial(slot.trial.trial());
  event.set_model(model.model());
  event.set_attempt(model.attempt());
  event.set_sequence(sequence);
  *event.mutable_time() = Now();
  return event;
}

void StubNode::AddIdle(int device) {
  v1::DeviceNews& news = *outgoing_.emplace_back().mutable_device();
  news.set_device(device);
  news.set_idle(true);
  news.set_warm(true);
}

}  // namespace lanista::bench

#include "src/rpc/node_client.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <random>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "google/protobuf/util/time_util.h"
#include "grpcpp/grpcpp.h"
#include "protos/node.grpc.pb.h"
#include "src/base/clock.h"
#include "src/base/logging.h"
#include "src/base/status.h"
#include "src/rpc/channel.h"
#include "src/rpc/grpc_status.h"

namespace lanista {
namespace {

using std::chrono::milliseconds;

// A head that takes longer to welcome the node is none.
constexpr std::chrono::seconds kWelcomeLimit(30);
// Of a beat. Some may be lost.
constexpr milliseconds kMinBeatLimit(1000);
constexpr int kMaxLostBeats = 3;
constexpr milliseconds kMinBeatInterval(50);
constexpr milliseconds kMaxBeatInterval(60000);

// The head does not take the token.
bool IsRefused(const absl::Status& status) {
  return absl::IsUnauthenticated(status) || absl::IsPermissionDenied(status);
}

// One stream. Writes one message at a time, and queues those that wait.
class Stream final : public grpc::ClientBidiReactor<v1::NodeMessage, v1::HeadMessage>,
                     public HeadLink,
                     public std::enable_shared_from_this<Stream> {
 public:
  explicit Stream(const NodeClient::Handlers* handlers) : handlers_(*handlers) {}

  // It keeps itself until it has ended.
  void Begin(v1::NodeService::Stub* stub) {
    const std::shared_ptr<Stream> self = self_ = shared_from_this();
    stub->async()->Join(&*context_, this);
    // For messages of other threads.
    AddHold();
    StartRead(&message_);
    StartCall();
    handlers_.on_open(self);
  }

  void Send(v1::NodeMessage message) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (released_) return;
    queue_.push_back(std::move(message));
    if (queue_.size() == 1) StartWrite(&queue_.front());
  }

  void Close() override {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (context_.has_value()) context_->TryCancel();
  }

  // Of the welcome; nullopt: there was none yet.
  std::optional<milliseconds> beat_interval() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return beat_interval_;
  }

  // Until it has ended, or the head has welcomed the node if that is waited for, or the deadline.
  void WaitUntil(std::chrono::steady_clock::time_point deadline, bool or_welcome) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait_until(lock, deadline, [&] { return end_.has_value() || (or_welcome && beat_interval_.has_value()); });
  }
  // How it ended; nullopt: it has not.
  std::optional<absl::Status> end() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return end_;
  }
  // Also lets go of the channel, which must not end with the last link: a link may end on a thread of gRPC's, and the
  // last channel waits for these threads.
  absl::Status WaitForEnd() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return end_.has_value(); });
    context_.reset();
    return *end_;
  }

 private:
  void OnReadDone(bool ok) override {
    if (!ok) return Release();
    if (message_.has_hello()) {
      const milliseconds interval(
          google::protobuf::util::TimeUtil::DurationToMilliseconds(message_.hello().beat_interval()));
      const std::lock_guard<std::mutex> lock(mutex_);
      beat_interval_ = std::clamp(interval, kMinBeatInterval, kMaxBeatInterval);
      changed_.notify_all();
    }
    handlers_.on_message(self_, std::exchange(message_, v1::HeadMessage()));
    StartRead(&message_);
  }

  void OnWriteDone(bool ok) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    queue_.pop_front();
    // Reading says why it ended.
    if (!ok || released_) return queue_.clear();
    if (!queue_.empty()) StartWrite(&queue_.front());
  }

  // No thread begins anything from now on.
  void Release() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (std::exchange(released_, true)) return;
    RemoveHold();
  }

  void OnDone(const grpc::Status& status) override {
    const std::shared_ptr<Stream> self = std::move(self_);
    const std::lock_guard<std::mutex> lock(mutex_);
    end_ = FromGrpcStatus(status);
    changed_.notify_all();
  }

  const NodeClient::Handlers& handlers_;
  v1::HeadMessage message_;
  std::shared_ptr<Stream> self_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  // Protected by mutex_. The first of the queue is being written.
  std::optional<grpc::ClientContext> context_{std::in_place};
  std::deque<v1::NodeMessage> queue_;
  bool released_ = false;
  std::optional<milliseconds> beat_interval_;
  std::optional<absl::Status> end_;
};

}  // namespace

class NodeClient::Impl {
 public:
  Impl(Options options, Handlers handlers)
      : options_(std::move(options)), handlers_(std::move(handlers)), random_(std::random_device()()) {
    thread_ = std::thread([this] { Run(); });
  }

  ~Impl() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      stopped_ = true;
      if (stream_ != nullptr) stream_->Close();
    }
    changed_.notify_all();
    thread_.join();
  }

 private:
  void Run() {
    milliseconds delay = options_.first_delay;
    while (true) {
      bool was_welcome = false;
      const absl::Status end = RunStream(&was_welcome);
      if (EndsNode(end)) return;
      if (was_welcome) delay = options_.first_delay;
      const auto jitter = std::uniform_real_distribution<>(0.5, 1)(random_);
      std::unique_lock<std::mutex> lock(mutex_);
      changed_.wait_for(lock, delay * jitter, [this] { return stopped_; });
      if (stopped_) return;
      delay = std::min(2 * delay, options_.longest_delay);
    }
  }

  // A channel to where the head is now, which `access` then has.
  absl::StatusOr<std::shared_ptr<grpc::Channel>> Dial(HeadAccess* access) const {
    if (options_.find_head) {
      LANISTA_ASSIGN_OR_RETURN(access->address, options_.find_head());
    }
    return MakeChannel(*access);
  }

  // Opens a stream, and returns why it ended.
  absl::Status RunStream(bool* was_welcome) {
    HeadAccess access = options_.head;
    const absl::StatusOr<std::shared_ptr<grpc::Channel>> channel = Dial(&access);
    // Once, and not at each dial: a head that has not started yet may take hours.
    const std::string mistake(channel.status().message());
    if (std::exchange(mistake_, mistake) != mistake && !mistake.empty()) LogWarning("{}; trying again", mistake);
    // The files were right when the node began: whoever replaces one may not be done with it.
    if (!channel.ok()) return absl::UnavailableError(mistake);
    const auto stub = v1::NodeService::NewStub(*channel);
    const auto stream = std::make_shared<Stream>(&handlers_);
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (stopped_) return absl::OkStatus();
      stream_ = stream;
      stream->Begin(stub.get());
    }
    stream->WaitUntil(std::chrono::steady_clock::now() + kWelcomeLimit, /*or_welcome=*/true);
    *was_welcome = stream->beat_interval().has_value();
    ever_welcome_ = ever_welcome_ || *was_welcome;
    absl::Status why = *was_welcome ? Beat(*stub, *stream) : absl::UnavailableError("the head does not answer");
    if (!stream->end().has_value()) stream->Close();
    const absl::Status end = stream->WaitForEnd();
    // A stream that was given up has no reason of its own.
    if (!absl::IsCancelled(end)) why = end;
    const std::string head = absl::StrCat("head ", access.address.ToText());
    if (absl::IsUnavailable(why) || absl::IsCancelled(why) || (ever_welcome_ && IsRefused(why))) {
      why = absl::UnavailableError(absl::StrCat(head, ": ", why.message()));
    }
    if (absl::IsUnimplemented(why)) {
      why = absl::UnimplementedError(absl::StrCat(
          head,
          " takes no nodes: it is older than this Lanista, or no head; install the same release on both machines"));
    }
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      stream_ = nullptr;
    }
    handlers_.on_closed(stream, why);
    return why;
  }

  // Until the stream ends, or is to be given up: why.
  absl::Status Beat(v1::NodeService::Stub& stub, Stream& stream) const {
    const milliseconds interval = *stream.beat_interval();
    int lost = 0;
    bool said = false;
    while (true) {
      stream.WaitUntil(std::chrono::steady_clock::now() + interval, /*or_welcome=*/false);
      if (const std::optional<absl::Status> end = stream.end()) return *end;
      grpc::ClientContext context;
      context.set_deadline(std::chrono::system_clock::now() + std::max(interval, kMinBeatLimit));
      v1::BeatRequest request;
      request.set_instance(options_.instance);
      *request.mutable_now() = Now();
      v1::BeatReply reply;
      const absl::Status status = FromGrpcStatus(stub.Beat(&context, request, &reply));
      if (IsRefused(status)) {
        if (!std::exchange(said, true)) {
          LogWarning("what runs goes on, but the node needs another token to join again: {}",
                     std::string(status.message()));
        }
        v1::NodeMessage message;
        *message.mutable_beat() = request;
        stream.Send(std::move(message));
        lost = 0;
        continue;
      }
      said = false;
      lost = status.ok() ? 0 : lost + 1;
      if (absl::IsNotFound(status) || lost >= kMaxLostBeats) return absl::UnavailableError(status.message());
    }
  }

  const Options options_;
  const Handlers handlers_;
  // Of the thread.
  std::mt19937_64 random_;
  // Why the last dial failed before anything was sent; empty: it did not.
  std::string mistake_;
  bool ever_welcome_ = false;

  std::mutex mutex_;
  std::condition_variable changed_;
  // Protected by mutex_.
  bool stopped_ = false;
  std::shared_ptr<Stream> stream_;

  std::thread thread_;
};

NodeClient::NodeClient(Options options, Handlers handlers)
    : impl_(std::make_unique<Impl>(std::move(options), std::move(handlers))) {}
NodeClient::~NodeClient() = default;

}  // namespace lanista

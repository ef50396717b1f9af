#include "bench/stub_nodes.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bench/stub_node.h"
#include "grpcpp/grpcpp.h"
#include "src/base/status.h"
#include "src/rpc/grpc_setup.h"
#include "src/rpc/grpc_status.h"

namespace lanista::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kMinBeatInterval(100);

double MillisecondsSince(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

}  // namespace

// What all nodes share: what has happened so far, and who waits for it. gRPC's threads call the On... functions.
class StubNodes::Impl : public StubNode::Owner {
 public:
  explicit Impl(Options options);
  ~Impl() override;

  const Options& options() const override { return options_; }
  void OnJoined(std::chrono::milliseconds beat_interval) override;
  void OnTrial(const std::string& experiment, int node, int device) override;
  void OnTrialOver() override;
  void OnBeat(const std::string& node, Clock::time_point sent, const grpc::Status& status) override;
  void OnStreamDone(const std::string& node, const grpc::Status& status) override;
  void Fail(const std::string& node, const absl::Status& status) override;

  // Until `reached`; `so_far` says how far it came meanwhile. Both are called with mutex_ held.
  absl::Status Await(absl::Duration limit, std::function<bool()> reached, const std::function<std::string()>& so_far);
  // As in StubNodes.
  absl::Status EndOldest(const std::string& experiment, absl::Duration limit);

 private:
  friend class StubNodes;
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
  std::vector<std::unique_ptr<StubNode>> nodes_;
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

StubNodes::Impl::Impl(Options options) : options_(std::move(options)) {
  SetUpGrpc();
  open_streams_ = options_.nodes;
  for (int i = 0; i < options_.nodes; ++i) nodes_.push_back(std::make_unique<StubNode>(i, this));
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

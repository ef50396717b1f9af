// One node of StubNodes: its connection, and what it says of the trials that it is given and does not run.
#ifndef LANISTA_BENCH_STUB_NODE_H_
#define LANISTA_BENCH_STUB_NODE_H_

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "bench/stub_nodes.h"
#include "grpcpp/grpcpp.h"
#include "protos/node.grpc.pb.h"

namespace lanista::bench {

// One node's connection. Reads are handled one after the other; ends come from the bench's thread, too.
class StubNode : public grpc::ClientBidiReactor<v1::NodeMessage, v1::HeadMessage> {
 public:
  using Clock = std::chrono::steady_clock;

  // What all nodes share. Called by threads of gRPC.
  class Owner {
   public:
    virtual ~Owner() = default;

    virtual const StubNodes::Options& options() const = 0;
    virtual void OnJoined(std::chrono::milliseconds beat_interval) = 0;
    // A trial of this experiment has come.
    virtual void OnTrial(const std::string& experiment, int node, int device) = 0;
    virtual void OnTrialOver() = 0;
    virtual void OnBeat(const std::string& node, Clock::time_point sent, const grpc::Status& status) = 0;
    // The last that is heard of a node.
    virtual void OnStreamDone(const std::string& node, const grpc::Status& status) = 0;
    virtual void Fail(const std::string& node, const absl::Status& status) = 0;
  };

  // `owner` must outlive it.
  StubNode(int number, Owner* owner)
      : number_(number),
        owner_(*owner),
        name_(absl::StrCat("stub-", number)),
        instance_(absl::StrCat(name_, "-", absl::ToUnixNanos(absl::Now()))),
        slots_(static_cast<size_t>(owner->options().slots)) {}

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
    // The number of the last that was said of it.
    int64_t last_news = 0;
  };

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnDone(const grpc::Status& status) override { owner_.OnStreamDone(name_, status); }

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
  Owner& owner_;
  const std::string name_;
  const std::string instance_;
  std::unique_ptr<v1::NodeService::Stub> stub_;
  grpc::ClientContext context_;
  v1::HeadMessage incoming_;

  std::mutex mutex_;
  // Protected by mutex_.
  std::vector<Slot> slots_;
  // Trials that have ended, and whose end is not in the journal yet: the number of the last that was said of each.
  std::map<std::string, int64_t> ended_;
  // The first one is being written while `writing_`.
  std::deque<v1::NodeMessage> outgoing_;
  bool writing_ = false;
  // Nothing can be read any more, and nothing written.
  bool closed_ = false;
};

}  // namespace lanista::bench

#endif  // LANISTA_BENCH_STUB_NODE_H_

// The head's end of the node protocol: three streams on which anything may be said, in any order, by whoever opened
// them; devices that join get trials.
// Input: steps, each of a byte (what happens, and on which stream), a length of two bytes, and a message.
#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "actors/nodes.h"
#include "caf/actor_system.hpp"
#include "caf/actor_system_config.hpp"
#include "caf/scheduler/test_coordinator.hpp"
#include "google/protobuf/stubs/logging.h"
#include "spdlog/spdlog.h"
#include "tests/fuzz/fuzz.h"

namespace lanista {
namespace {

constexpr size_t kStreams = 3;
constexpr int kMostSteps = 64;

// Of the head; whoever has closed it says nothing on it any more.
struct Stream : NodeLink {
  void Send(v1::HeadMessage) override {}
  void Next() override {}
  void Close(const absl::Status&) override { closed = true; }

  bool closed = false;
};

struct Service {
  static inline const char* name = "fuzz_service";
  std::vector<WorkerActor> workers;
};

// Gives each worker that is ready a trial of two models of `experiment`, and believes what it hears. (UBSan refuses
// CAF's way to spawn an actor without arguments: it dereferences a pointer that is null then.)
TrainingServiceActor::behavior_type FakeService(TrainingServiceActor::stateful_pointer<Service> self,
                                                const std::string& experiment) {
  self->set_down_handler([](const caf::down_msg&) {});
  return {
      [self, experiment](const v1::WorkerReady& ready) {
        const auto number = static_cast<size_t>(ready.worker());
        fuzz::Require(number < self->state.workers.size(), "a worker is ready that has never joined");
        v1::TrialSpec spec;
        spec.set_experiment(experiment);
        spec.set_trial(1);
        for (const int model : {1, 2}) {
          spec.add_models()->set_model(model);
          spec.mutable_models(model - 1)->set_attempt(1);
        }
        self->send(self->state.workers[number], spec);
      },
      [](const v1::ProcessUp&) {},
      [experiment](const v1::ModelEvent& event) {
        fuzz::Require(event.experiment() == experiment && event.trial() == 1,
                      "a node speaks of a trial that is not its own");
      },
      [](const v1::TrialEnded& ended) { fuzz::Require(ended.trial() == 1, "a trial ends that was never begun"); },
      [](const v1::TrialSpec&, const TrialOwnerActor&) {},
      [](const v1::CancelExperiment&) {},
      [](const v1::StopModel&) {},
      [](const v1::EventsRecorded&) {},
      [](const v1::ReturningTrials&, const TrialOwnerActor&) {},
      // Believes the node, where it has that trial.
      [experiment](const v1::NodeReturned& returned, const WorkerActor&) {
        v1::KeptTrials kept;
        for (const v1::HeldTrial& held : returned.trials()) {
          if (held.experiment() != experiment || held.trial() != 1) continue;
          v1::TrialSpec& spec = *kept.add_trials()->mutable_spec();
          spec.set_experiment(held.experiment());
          spec.set_trial(held.trial());
          for (const v1::HeldAttempt& attempt : held.attempts()) {
            spec.add_models()->set_model(attempt.model());
            spec.mutable_models(spec.models_size() - 1)->set_attempt(attempt.attempt());
            kept.mutable_trials(kept.trials_size() - 1)->add_recorded(attempt.recorded());
          }
        }
        return kept;
      },
      [](const v1::Discover&) -> caf::result<v1::Discovered> { return v1::Discovered(); },
      [](const v1::ListDevices&) { return v1::DeviceList(); },
      [self](const v1::DeviceJoined&, const v1::NodeOffer&, const WorkerActor& worker) {
        self->monitor(worker);
        v1::DeviceAdded added;
        added.set_worker(static_cast<int>(self->state.workers.size()));
        self->state.workers.push_back(worker);
        return added;
      },
      [](const v1::HoldNode&) {},
      [](const v1::WantDevices&, const DeviceUserActor&) {},
      [](const v1::AskWaiting&) { return v1::Waiting(); },
      [](const v1::ExpectDevices&) { return v1::DeviceDemand(); },
  };
}

// A head's nodes, whose time passes when told to.
class Head {
 public:
  Head() {
    service_ = system_.spawn(FakeService, "e");
    NodesOptions options;
    options.service = service_;
    options.head = "H";
    options.marker = "M";
    nodes_ = system_.spawn(Nodes, options);
    Run();
  }
  ~Head() {
    caf::anon_send_exit(nodes_, caf::exit_reason::kill);
    caf::anon_send_exit(service_, caf::exit_reason::kill);
    nodes_ = nullptr;
    service_ = nullptr;
    Run();
  }

  void Say(size_t stream, const v1::NodeMessage& message) {
    std::shared_ptr<Stream>& link = streams_[stream];
    if (link == nullptr || link->closed) link = std::make_shared<Stream>();
    caf::anon_send(nodes_, NodeLinkPtr(link), message);
    Run();
  }
  void Lose(size_t stream) {
    if (streams_[stream] == nullptr) return;
    caf::anon_send(nodes_, NodeLinkPtr(streams_[stream]));
    streams_[stream] = nullptr;
    Run();
  }
  void Beat(const std::string& instance) {
    v1::BeatRequest beat;
    beat.set_instance(instance);
    caf::anon_send(nodes_, std::make_shared<Heartbeat>(beat, [](const absl::Status&) {}));
    Run();
  }
  void Pass(std::chrono::seconds time) {
    scheduler().advance_time(time);
    Run();
  }

 private:
  struct Config : caf::actor_system_config {
    Config() {
      add_message_types<caf::id_block::lanista>();
      set("scheduler.policy", caf::atom("testing"));
    }
  };

  caf::scheduler::test_coordinator& scheduler() {
    return dynamic_cast<caf::scheduler::test_coordinator&>(system_.scheduler());
  }
  void Run() { scheduler().run(); }

  Config config_;
  caf::actor_system system_{config_};
  TrainingServiceActor service_;
  NodesSelf nodes_;
  std::map<size_t, std::shared_ptr<Stream>> streams_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  spdlog::set_level(spdlog::level::off);
  // Protobuf would print a line for each text that is no UTF-8.
  const google::protobuf::LogSilencer silencer;
  fuzz::Input input(data, size);
  Head head;
  for (int step = 0; step < kMostSteps && !input.empty(); ++step) {
    const uint8_t what = input.Byte();
    const size_t stream = what % kStreams;
    const size_t length = input.Byte() + (size_t{input.Byte()} << 8);
    const std::string bytes(input.Take(length));
    switch (what / kStreams % 8) {
      case 5:
        head.Lose(stream);
        break;
      case 6:
        head.Beat(bytes);
        break;
      case 7:
        head.Pass(std::chrono::seconds(length % 200));
        break;
      default:
        // What gRPC cannot parse never comes here.
        if (v1::NodeMessage message; message.ParseFromString(bytes)) head.Say(stream, message);
    }
  }
  return 0;
}

}  // namespace lanista

// A program outside of Lanista's tree: a component of each kind in one file, which includes nothing but public headers.
// direct.textproto and graph.textproto use all of them, by name.
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <torch/torch.h>
#include <unistd.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lanista/dataset.h"
#include "lanista/devices.h"
#include "lanista/evaluator.h"
#include "lanista/graph.h"
#include "lanista/main.h"
#include "lanista/mutator.h"
#include "lanista/nn.h"
#include "lanista/params.h"
#include "lanista/stopper.h"
#include "lanista/strategy.h"
#include "lanista/transform.h"

namespace {

namespace data = lanista::data;
namespace graph = lanista::graph;
namespace nn = lanista::nn;
namespace v1 = lanista::v1;
using lanista::Params;

// Three networks.
class OwnNet : public nn::ModelSpace {
 public:
  OwnNet() {
    const int64_t width = nn::ValueChoice({4, 8, 16}, "width");
    hidden_ = register_module("hidden", torch::nn::Linear(2, width));
    output_ = register_module("output", torch::nn::Linear(width, 2));
  }
  torch::Tensor forward(torch::Tensor x) override { return output_(torch::relu(hidden_(x))); }

 private:
  torch::nn::Linear hidden_{nullptr}, output_{nullptr};
};
LANISTA_REGISTER(model_space, "own_net", nn::MakeModelSpace<OwnNet>);

absl::StatusOr<v1::ModelGraph> MakeGraph(const Params& params) {
  graph::Builder net("OwnGraph", graph::kOperators);
  graph::Handle x = net.Input("x", graph::TensorType(v1::Tensor::FLOAT32, {-1, 2}));
  x = net.Add("hidden", graph::MakeOp("Linear", {{"in_features", 2}, {"out_features", params.Get<int64_t>("width")}}),
              {x});
  net.Output(net.Add("act", graph::MakeOp("ReLU"), {x}));
  return std::move(net).Build();
}
LANISTA_REGISTER(graph_space, "own_graph", MakeGraph);

// Two graphs: with ReLU or another activation.
class OwnMutator : public graph::Mutator {
 public:
  explicit OwnMutator(std::string other) : other_(std::move(other)) {}
  absl::Status Mutate(graph::MutableModel& model, graph::Chooser& chooser) const override {
    const auto type = chooser.ChooseValue("act", {graph::StringValue("ReLU"), graph::StringValue(other_)});
    if (!type.ok()) return type.status();
    const auto found = model.Find("act");
    if (!found.ok()) return found.status();
    return model.Replace(found->front(), graph::MakeOp(type->s()));
  }

 private:
  const std::string other_;
};
absl::StatusOr<std::unique_ptr<graph::Mutator>> MakeMutator(const Params& params) {
  return std::make_unique<OwnMutator>(params.Get<std::string>("other"));
}
LANISTA_REGISTER(mutator, "own_mutator", MakeMutator);

// From the last model of the space to the first.
class OwnStrategy : public lanista::Strategy {
 public:
  explicit OwnStrategy(const lanista::Space& space) : space_(space), next_(*space.size()) {}
  absl::StatusOr<Proposal> Ask(int count) override {
    Proposal proposal;
    while (next_ > 0 && proposal.samples.size() < static_cast<size_t>(count)) {
      proposal.samples.push_back(space_.Unrank(--next_));
    }
    proposal.exhausted = next_ == 0;
    return proposal;
  }
  void Tell(const v1::Sample&, const lanista::Observation&) override {}

 private:
  const lanista::Space& space_;
  mpz_class next_;
};
absl::StatusOr<std::unique_ptr<lanista::Strategy>> MakeStrategy(const Params&,
                                                                const lanista::StrategyContext& context) {
  return std::make_unique<OwnStrategy>(context.space);
}
LANISTA_REGISTER(strategy, "own_strategy", MakeStrategy);

// Stops the first model, after so many steps.
class OwnStopper : public lanista::Stopper {
 public:
  explicit OwnStopper(int64_t steps) : steps_(steps) {}
  Verdict Report(int model, int step, double) override { return {model == 1 && step >= steps_, "it is the first"}; }

 private:
  const int64_t steps_;
};
absl::StatusOr<std::unique_ptr<lanista::Stopper>> MakeStopper(const Params& params) {
  return std::make_unique<OwnStopper>(params.Get<int64_t>("steps"));
}
LANISTA_REGISTER(stopper, "own_stopper", MakeStopper);

// Points of the plane, and the side of a line on which they lie.
absl::StatusOr<data::DataSplits> MakeData(const Params& params, const data::DatasetRequest&) {
  const auto count = params.Get<int64_t>("samples");
  auto random = at::make_generator<at::CPUGeneratorImpl>(uint64_t{1});
  const torch::Tensor points = torch::rand({2 * count, 2}, random);
  const torch::Tensor sides = (points.select(1, 0) > points.select(1, 1)).to(torch::kLong);
  return data::ClassificationSplits({points.slice(0, 0, count), sides.slice(0, 0, count)},
                                    {points.slice(0, count), sides.slice(0, count)});
}
LANISTA_REGISTER(dataset, "own_data", MakeData);

class OwnTransform : public data::Transform {
 public:
  explicit OwnTransform(double factor) : factor_(factor) {}
  at::Tensor Apply(const at::Tensor& input, data::SampleRandom&) const override { return input * factor_; }

 private:
  const double factor_;
};
absl::StatusOr<std::unique_ptr<data::Transform>> MakeTransform(const Params& params) {
  return std::make_unique<OwnTransform>(params.Get<double>("factor"));
}
LANISTA_REGISTER(transform, "own_transform", MakeTransform);

// Scores a model by its number of weights, without training it.
void CountWeights(lanista::TrialContext& context) {
  int64_t weights = 0;
  for (const torch::Tensor& parameter : context.model()->parameters()) weights += parameter.numel();
  context.ReportFinal(static_cast<double>(weights));
}
LANISTA_REGISTER(evaluator, "own_evaluator", CountWeights);

// CPU slots of one thread.
class OwnDevices : public lanista::DeviceSource {
 public:
  explicit OwnDevices(int64_t count) : count_(count) {}
  absl::StatusOr<std::vector<v1::Device>> Devices() const override {
    v1::Device slot;
    slot.set_kind(v1::DeviceKind::CPU);
    slot.set_threads(1);
    slot.set_isolation(v1::LocalConfig::PROCESS);
    return std::vector<v1::Device>(static_cast<size_t>(count_), slot);
  }

 private:
  const int64_t count_;
};
absl::StatusOr<std::unique_ptr<lanista::DeviceSource>> MakeDevices(const Params& params) {
  return std::make_unique<OwnDevices>(params.Get<int64_t>("count"));
}
LANISTA_REGISTER(device_source, "own_devices", MakeDevices);

// A node on this machine, a process of this program.
class OwnNode : public lanista::NodeSource {
 public:
  OwnNode(const lanista::NodeSourceContext& context, int64_t slots)
      : words_{context.program,
               "node",
               "--name=own",
               "--head=" + context.head,
               "--cpu-slots=" + std::to_string(slots),
               "--give-up-after=60"},
        slots_(static_cast<int>(slots)) {}

  Prospect Step(const Situation& situation) override {
    Prospect prospect;
    if (!situation.nodes.empty()) return prospect;
    if (process_ < 0) Start();
    prospect.devices = slots_;
    prospect.because = "node own begins";
    return prospect;
  }
  void End() override {
    if (process_ < 0) return;
    kill(process_, SIGTERM);
    waitpid(process_, nullptr, 0);
  }

 private:
  void Start() {
    std::vector<char*> arguments;
    for (std::string& word : words_) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    // What the search prints stays alone.
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    if (posix_spawn(&process_, arguments[0], &actions, nullptr, arguments.data(), environ) != 0) process_ = -1;
    posix_spawn_file_actions_destroy(&actions);
  }

  std::vector<std::string> words_;
  const int slots_;
  pid_t process_ = -1;
};
absl::StatusOr<std::unique_ptr<lanista::NodeSource>> MakeNode(const Params& params,
                                                              const lanista::NodeSourceContext& context) {
  return std::make_unique<OwnNode>(context, params.Get<int64_t>("slots"));
}
LANISTA_REGISTER(node_source, "own_node", MakeNode);

}  // namespace

int main(int argc, char** argv) { return lanista::Main(argc, argv); }

// A user's own program whose models go wrong in every way there is. The choice "fault" says how.
#include <signal.h>
#include <torch/torch.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "src/evaluators/functional.h"
#include "src/nn/nn.h"
#include "src/trial/main.h"

namespace {

namespace nn = lanista::nn;

// Waits for ever, deaf to cancellation.
[[noreturn]] void Hang() {
  std::mutex mutex;
  std::condition_variable never;
  std::unique_lock<std::mutex> lock(mutex);
  while (true) never.wait(lock);
}

// A model with a fault, or "none".
class FaultyModel : public nn::ModelSpace {
 public:
  explicit FaultyModel(std::string fault) : fault_(std::move(fault)) {
    if (fault_ == "constructor") throw std::runtime_error("this candidate cannot be built");
    hidden_ = register_module("hidden", torch::nn::Linear(784, 16));
    output_ = register_module("output", torch::nn::Linear(fault_ == "shape" ? 32 : 16, 10));
  }

  torch::Tensor forward(torch::Tensor x) override {
    if (fault_ == "throw") throw std::runtime_error("this model throws");
    if (fault_ == "latin-1") throw std::runtime_error("this model throws in a caf\xe9");
    if (fault_ == "segfault") raise(SIGSEGV);
    if (fault_ == "abort") std::abort();
    if (fault_ == "exit") _Exit(7);
    if (fault_ == "hang") Hang();
    while (fault_ == "memory") hoard_.push_back(torch::ones({1 << 24}));
    if (fault_ == "slow") std::this_thread::sleep_for(std::chrono::milliseconds(50));
    x = output_(torch::relu(hidden_(x.flatten(1))));
    return fault_ == "nan" || (fault_ == "late nan" && ++calls_ > 50) ? x * std::numeric_limits<float>::quiet_NaN() : x;
  }

 private:
  const std::string fault_;
  int calls_ = 0;
  torch::nn::Linear hidden_{nullptr}, output_{nullptr};
  std::vector<torch::Tensor> hoard_;
};

class Faulty : public FaultyModel {
 public:
  Faulty()
      : FaultyModel(nn::ValueChoice(
            {"none", "throw", "shape", "segfault", "abort", "memory", "hang", "nan", "exit", "constructor", "latin-1"},
            "fault")) {}
};
LANISTA_REGISTER_MODEL_SPACE("faulty", Faulty);

// Eight models, of which those in the parameter `bad` have the fault in the parameter `fault`.
class SomeBad : public FaultyModel {
 public:
  explicit SomeBad(const nn::Params& params) : FaultyModel(ChooseFault(params)) {}

 private:
  static std::string ChooseFault(const nn::Params& params) {
    const int64_t member = nn::ValueChoice({0, 1, 2, 3, 4, 5, 6, 7}, "member");
    const auto bad = params.Get<std::vector<int64_t>>("bad");
    const auto fault = params.Get<std::string>("fault");
    return std::find(bad.begin(), bad.end(), member) == bad.end() ? "none" : fault;
  }
};
LANISTA_REGISTER_MODEL_SPACE("some_bad", SomeBad);

// One candidate ends the process while it is built.
class CrashesInConstructor : public nn::ModelSpace {
 public:
  CrashesInConstructor() {
    const int64_t candidate = nn::ValueChoice({0, 1, 2}, "candidate");
    if (candidate == 1) raise(SIGSEGV);
  }
  torch::Tensor forward(torch::Tensor x) override { return x; }
};
LANISTA_REGISTER_MODEL_SPACE("crashes_in_constructor", CrashesInConstructor);

class NoCandidates : public nn::ModelSpace {
 public:
  NoCandidates() { nn::ValueChoice(std::vector<int64_t>{}, "empty"); }
  torch::Tensor forward(torch::Tensor x) override { return x; }
};
LANISTA_REGISTER_MODEL_SPACE("no_candidates", NoCandidates);

class TwoMeanings : public nn::ModelSpace {
 public:
  TwoMeanings() {
    nn::ValueChoice({1, 2}, "width");
    nn::ValueChoice({1, 3}, "width");
  }
  torch::Tensor forward(torch::Tensor x) override { return x; }
};
LANISTA_REGISTER_MODEL_SPACE("two_meanings", TwoMeanings);

// Reports, builds the model, prints, leaves a file, and goes on until it is canceled if the parameter `wait` says so.
void Talkative(lanista::TrialContext& context, const lanista::EvaluatorParams& params) {
  context.ReportIntermediate(0.1);
  context.ReportIntermediate({{"default", 0.2}, {"loss", 2.5}});
  context.model();
  std::ofstream(context.output_folder() + "/note.txt") << context.seed();
  std::printf("hello from the evaluator\n");
  std::mutex mutex;
  std::condition_variable never;
  std::unique_lock<std::mutex> lock(mutex);
  while (params.count("wait") > 0 && !context.canceled()) never.wait_for(lock, std::chrono::milliseconds(20));
  context.ReportFinal({{"default", 0.75}, {"loss", 1.5}});
}
LANISTA_REGISTER_EVALUATOR_FUNCTION("talkative", Talkative);

}  // namespace

int main(int argc, char** argv) { return lanista::Main(argc, argv); }

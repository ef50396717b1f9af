// A user's own program whose models go wrong in every way there is. The choice "fault" says how.
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <torch/nn/modules/linear.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <mutex>
#include <new>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "src/base/unfinished_files.h"
#include "src/evaluators/functional.h"
#include "src/nn/nn.h"
#include "src/stopping/stopper.h"
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

// If a process reads from the FIFO at `path`, writes to it and waits for ever; otherwise returns.
void TellAndHang(const std::string& path) {
  const int fifo = open(path.c_str(), O_WRONLY | O_NONBLOCK);
  if (fifo < 0) return;
  if (write(fifo, "!", 1) == 1) Hang();
  close(fifo);
}

// A model with a fault, or "none". `fifo`: for the fault "tells".
class FaultyModel : public nn::ModelSpace {
 public:
  explicit FaultyModel(std::string fault, std::string fifo = "") : fault_(std::move(fault)), fifo_(std::move(fifo)) {
    // Any other exception would keep discovery from proposing the model at all.
    if (fault_ == "constructor") throw std::bad_alloc();
    hidden_ = register_module("hidden", torch::nn::Linear(784, 16));
    output_ = register_module("output", torch::nn::Linear(fault_ == "shape" ? 32 : 16, 10));
    calls_ = register_buffer("calls", torch::zeros({}, torch::kInt64));
  }

  torch::Tensor forward(torch::Tensor x) override {
    if (fault_ == "throw") throw std::runtime_error("this model throws");
    if (fault_ == "latin-1") throw std::runtime_error("this model throws in a caf\xe9");
    if (fault_ == "segfault") raise(SIGSEGV);
    if (fault_ == "abort") std::abort();
    if (fault_ == "exit") _Exit(7);
    if (fault_ == "hang") Hang();
    while (fault_ == "memory") hoard_.push_back(torch::ones({1 << 24}, x.options()));
    // On a GPU the process cannot go on after this.
    if (fault_ == "index")
      x = x + torch::embedding(output_->weight, torch::full({1}, 1 << 20, x.options().dtype(torch::kInt64))).sum();
    const auto calls = calls_.add_(1).item<int64_t>();
    late |= calls >= kLate;
    if (fault_ == "prints" && calls == 1) std::puts("hello from a model");
    if (fault_ == "tells" && calls == kLate) TellAndHang(fifo_);
    x = output_(torch::relu(hidden_(x.flatten(1))));
    return fault_ == "nan" || (fault_ == "late nan" && calls > kLate) ? x * std::numeric_limits<float>::quiet_NaN() : x;
  }

  // A model of this process was called so often.
  static inline bool late = false;

 private:
  // In the third epoch of cgo_test.cc.
  static constexpr int kLate = 50;

  const std::string fault_;
  const std::string fifo_;
  // Part of its state: an attempt that goes on from a checkpoint counts on.
  torch::Tensor calls_;
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
LANISTA_REGISTER(model_space, "faulty", nn::MakeModelSpace<Faulty>);

// Eight models, of which those in the parameter `bad` have the fault in the parameter `fault`.
class SomeBad : public FaultyModel {
 public:
  explicit SomeBad(const nn::Params& params) : FaultyModel(ChooseFault(params), params.Get<std::string>("fifo", "")) {}

 private:
  static std::string ChooseFault(const nn::Params& params) {
    const int64_t member = nn::ValueChoice({0, 1, 2, 3, 4, 5, 6, 7}, "member");
    const auto bad = params.Get<std::vector<int64_t>>("bad");
    const auto fault = params.Get<std::string>("fault");
    return std::find(bad.begin(), bad.end(), member) == bad.end() ? "none" : fault;
  }
};
LANISTA_REGISTER(model_space, "some_bad", nn::MakeModelSpace<SomeBad>);

// One candidate ends the process while it is built.
class CrashesInConstructor : public nn::ModelSpace {
 public:
  CrashesInConstructor() {
    const int64_t candidate = nn::ValueChoice({0, 1, 2}, "candidate");
    if (candidate == 1) raise(SIGSEGV);
  }
  torch::Tensor forward(torch::Tensor x) override { return x; }
};
LANISTA_REGISTER(model_space, "crashes_in_constructor", nn::MakeModelSpace<CrashesInConstructor>);

// The constructor fails with one candidate.
class ThrowsInConstructor : public nn::ModelSpace {
 public:
  ThrowsInConstructor() {
    const int64_t candidate = nn::ValueChoice({0, 1, 2}, "candidate");
    if (candidate == 1) throw std::runtime_error("this candidate cannot be built");
  }
  torch::Tensor forward(torch::Tensor x) override { return x; }
};
LANISTA_REGISTER(model_space, "throws_in_constructor", nn::MakeModelSpace<ThrowsInConstructor>);

class NoCandidates : public nn::ModelSpace {
 public:
  NoCandidates() { nn::ValueChoice(std::vector<int64_t>{}, "empty"); }
  torch::Tensor forward(torch::Tensor x) override { return x; }
};
LANISTA_REGISTER(model_space, "no_candidates", nn::MakeModelSpace<NoCandidates>);

class TwoMeanings : public nn::ModelSpace {
 public:
  TwoMeanings() {
    nn::ValueChoice({1, 2}, "width");
    nn::ValueChoice({1, 3}, "width");
  }
  torch::Tensor forward(torch::Tensor x) override { return x; }
};
LANISTA_REGISTER(model_space, "two_meanings", nn::MakeModelSpace<TwoMeanings>);

struct TalkativeParams {
  explicit TalkativeParams(const lanista::Params& params) : wait(params.Has("wait")) {}
  bool wait;
};

// Reports, builds the model, prints, leaves a file, and goes on until it is canceled if the parameter `wait` says so.
void Talkative(lanista::TrialContext& context, const TalkativeParams& params) {
  context.ReportIntermediate(0.1);
  context.ReportIntermediate({{"default", 0.2}, {"loss", 2.5}});
  context.model();
  std::ofstream(context.output_folder() + "/note.txt") << context.seed();
  std::printf("hello from the evaluator\n");
  std::mutex mutex;
  std::condition_variable never;
  std::unique_lock<std::mutex> lock(mutex);
  while (params.wait && !context.canceled()) never.wait_for(lock, std::chrono::milliseconds(20));
  context.ReportFinal({{"default", 0.75}, {"loss", 1.5}});
}
LANISTA_REGISTER(evaluator, "talkative", Talkative);

// Stops models of odd numbers at their second step; throws when it hears of the model in the parameter `throws_at`.
class OddModels : public lanista::Stopper {
 public:
  explicit OddModels(int64_t throws_at) : throws_at_(throws_at) {}
  Verdict Report(int model, int step, double /*value*/) override {
    if (model == throws_at_) throw std::runtime_error("model " + std::to_string(model) + " is too much");
    return {model % 2 == 1 && step == 2, "it is odd"};
  }

 private:
  const int64_t throws_at_;
};

absl::StatusOr<std::unique_ptr<lanista::Stopper>> MakeOddModels(const lanista::Params& params,
                                                                const lanista::StoppingContext& /*context*/) {
  return std::make_unique<OddModels>(params.Get<int64_t>("throws_at", 0));
}
LANISTA_REGISTER(stopper, "odd models", MakeOddModels);
struct ReportingParams {
  explicit ReportingParams(const lanista::Params& params) : reports(params.Get<int64_t>("reports")) {}
  int64_t reports;
};

// The model of the first candidate reports as much as the parameter says, as fast as it can, and is deaf meanwhile. The
// others wait until they are canceled.
void Reporting(lanista::TrialContext& context, const ReportingParams& params) {
  if (context.sample().decisions(0).index(0) == 0) {
    for (int64_t step = 0; step < params.reports; ++step) context.ReportIntermediate(static_cast<double>(step));
    return context.ReportFinal(1);
  }
  while (!context.canceled()) std::this_thread::sleep_for(std::chrono::milliseconds(20));
}
LANISTA_REGISTER(evaluator, "reporting", Reporting);

// Whether `file` is to be the checkpoint, in the place of an earlier one, of a model that has come far.
bool IsALateCheckpoint(int file) {
  std::error_code error;
  const std::filesystem::path path = std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(file), error);
  const std::string name = path.filename().string();
  // Linux calls a file without a name "#INODE (deleted)".
  return FaultyModel::late && (name[0] == '#' || name.rfind(lanista::kUnfinishedPrefix, 0) == 0) &&
         std::filesystem::exists(path.parent_path() / "checkpoint", error);
}

}  // namespace

// In the place of the system's. Where a process reads from the FIFO at FAULTY_FSYNC_FIFO, it is told when a late
// checkpoint of a model is half written, and the writer waits for ever.
extern "C" int fsync(int file) {
  const char* const fifo = std::getenv("FAULTY_FSYNC_FIFO");
  if (fifo != nullptr && IsALateCheckpoint(file)) {
    const int listener = open(fifo, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    struct stat written = {};
    if (listener >= 0 && fstat(file, &written) == 0 && ftruncate(file, written.st_size / 2) == 0 &&
        write(listener, "!", 1) == 1) {
      Hang();
    }
  }
  return static_cast<int>(syscall(SYS_fsync, file));
}

int main(int argc, char** argv) { return lanista::Main(argc, argv); }

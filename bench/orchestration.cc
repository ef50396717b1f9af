// What a trial costs beside its training: trials of the `constant` evaluator, in trial processes, with the journal.
//
// Measured: a head in this process (so that its memory can be read) on two CPU slots; the same through `lanista run`.
// Baseline in the same run: a fresh trial process for each trial, two at a time, which is what systems without warm
// processes pay at least. Then tpe against random, and one long search: what its head grows by
// after the first tenth, and how long a resume of it takes until its next trial starts.
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bench/harness.h"
#include "spdlog/spdlog.h"
#include "src/launcher/local_head.h"
#include "src/trial_process/parent.h"

namespace lanista {
namespace {

using bench::Median;
using bench::Program;
using bench::TempFolder;

constexpr int kSlots = 2;

struct Size {
  int rounds;
  int tpe_rounds;
  int trials;
  int cold_trials;
  // Of the long search.
  int history;
};

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

[[noreturn]] void Die(const std::string& why) {
  std::fprintf(stderr, "orchestration: %s\n", why.c_str());
  std::exit(1);
}

v1::ExperimentConfig ConstantSearch(int trials) {
  v1::ExperimentConfig config;
  config.set_name("orchestration");
  config.mutable_space()->set_registered("mnist_cnn");
  config.mutable_strategy()->mutable_random()->set_dedup(false);
  config.mutable_engine()->mutable_direct();
  config.mutable_evaluator()->mutable_constant()->set_value(0.5);
  config.add_training_service()->mutable_local()->set_cpu_slots(kSlots);
  config.set_max_trial_number(trials);
  config.set_seed(1);
  return config;
}

// The first 1,000 models of 20 choices of 5, drawn at random.
v1::ExperimentConfig SearchOfChoices() {
  v1::ExperimentConfig config = ConstantSearch(1000);
  v1::ChoicesConfig* const choices = config.mutable_space()->mutable_choices();
  for (int i = 0; i < 20; ++i) {
    v1::ChoiceConfig* const choice = choices->add_choice();
    choice->set_label(absl::StrCat("choice_", i));
    for (int option = 0; option < 5; ++option) choice->add_candidate()->set_i(option);
  }
  config.mutable_strategy()->mutable_random()->clear_dedup();
  return config;
}

int64_t ResidentBytes() {
  int64_t total = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> total >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

std::unique_ptr<LocalHead> StartHead(const std::string& state_dir, const v1::ExperimentConfig& config) {
  absl::StatusOr<StateDir> folder = StateDir::Open(state_dir);
  if (!folder.ok()) Die(std::string(folder.status().message()));
  auto head = LocalHead::Start({*std::move(folder), {Program("lanista-trial"), nullptr}}, config);
  if (!head.ok()) Die(std::string(head.status().message()));
  return *std::move(head);
}

struct HeadResult {
  std::string id;
  double trials_per_second = 0;
  // What the head grew by between the trial `early` and the last.
  double bytes = 0;
};

// Counts from the first model's end to the last's: processes have started by then. Memory that grows only at the
// beginning (allocators, caches) is no growth: it counts from the trial `early` on.
HeadResult MeasureHead(const std::string& state_dir, const v1::ExperimentConfig& config, int early) {
  const int trials = config.max_trial_number();
  const std::unique_ptr<LocalHead> head = StartHead(state_dir, config);
  int ended = 0;
  Clock::time_point first, last;
  int64_t bytes_early = 0, bytes_late = 0;
  const auto id = head->Submit(config, /*durable=*/false, [&](const v1::ExperimentEvent& event) {
    if (!event.has_outcome()) return;
    if (event.outcome().outcome() != v1::ModelEnded::SUCCEEDED) Die(event.outcome().failure().message());
    ++ended;
    if (ended == 1) first = Clock::now();
    if (ended == early) bytes_early = ResidentBytes();
    if (ended == trials) {
      last = Clock::now();
      bytes_late = ResidentBytes();
    }
  });
  if (!id.ok()) Die(std::string(id.status().message()));
  head->Wait(*id);
  if (ended != trials) Die("not all trials ended");
  HeadResult result;
  result.id = *id;
  result.trials_per_second = (trials - 1) / std::chrono::duration<double>(last - first).count();
  result.bytes = static_cast<double>(bytes_late - bytes_early);
  return result;
}

// Seconds until the first trial starts of an experiment that was at its end and goes on.
double MeasureResume(const std::string& state_dir, const std::string& id, int trials) {
  const v1::ExperimentConfig config = ConstantSearch(trials + kSlots);
  const Clock::time_point start = Clock::now();
  const std::unique_ptr<LocalHead> head = StartHead(state_dir, config);
  double seconds = 0;
  const absl::Status resumed = head->Resume(id, config, /*durable=*/false, [&](const v1::ExperimentEvent& event) {
    if (seconds == 0 && event.model().has_started()) seconds = SecondsSince(start);
  });
  if (!resumed.ok()) Die(std::string(resumed.message()));
  head->Wait(id);
  return seconds;
}

// Trials a second of the whole command, start and end included.
double MeasureRun(const std::string& state_dir, int trials) {
  const std::string config = state_dir + "/constant.textproto";
  std::ofstream(config) << ConstantSearch(trials).DebugString();
  const std::string command = absl::StrCat("'", Program("lanista"), "' run '", config, "' --state-dir '", state_dir,
                                           "' > '", state_dir, "/run.log' 2>&1");
  const Clock::time_point start = Clock::now();
  if (std::system(command.c_str()) != 0) Die("`lanista run` failed; see " + state_dir + "/run.log");
  return trials / SecondsSince(start);
}

void RunColdTrial(int trial) {
  std::promise<void> ended;
  const auto process = MakeTrialProcess(Program("lanista-trial"));
  v1::Device device;
  device.set_kind(v1::DeviceKind::CPU);
  device.set_threads(1);
  const auto on_event = [&](const v1::TrialEvent& event) {
    if (event.has_ended()) ended.set_value();
  };
  if (!process->Start(device, {on_event, [](const v1::ProcessExited&) {}}).ok()) Die("no trial process");
  v1::TrialRequest request;
  v1::TrialSpec& spec = *request.mutable_run();
  spec.set_trial(trial);
  spec.add_models()->set_model(trial);
  spec.mutable_evaluator()->mutable_constant();
  if (!process->Send(request).ok()) Die("the trial process takes no request");
  ended.get_future().wait();
}

// Trials a second where each has a process of its own, and as many run at a time as the search has slots.
double MeasureColdProcesses(int trials) {
  const Clock::time_point start = Clock::now();
  std::atomic<int> next{1};
  std::vector<std::thread> slots;
  for (int slot = 0; slot < kSlots; ++slot) {
    slots.emplace_back([&] {
      for (int trial = next++; trial <= trials; trial = next++) RunColdTrial(trial);
    });
  }
  for (std::thread& slot : slots) slot.join();
  return trials / SecondsSince(start);
}

// Trials a second of tpe against those of random: the median of some rounds, in each of which the two run one after the
// other.
double MeasureTpe(const std::string& state_dir, int rounds) {
  const v1::ExperimentConfig random_search = SearchOfChoices();
  v1::ExperimentConfig tpe_search = random_search;
  tpe_search.mutable_strategy()->mutable_tpe();
  std::vector<double> ratios;
  std::printf("%5s %16s %16s %8s\n", "round", "random, trials/s", "tpe, trials/s", "ratio");
  for (int round = 1; round <= rounds; ++round) {
    const double random = MeasureHead(state_dir, random_search, 1).trials_per_second;
    const double tpe = MeasureHead(state_dir, tpe_search, 1).trials_per_second;
    ratios.push_back(tpe / random);
    std::printf("%5d %16.0f %16.0f %8.2f\n", round, random, tpe, ratios.back());
  }
  return Median(ratios);
}

void RunBench(const Size& size) {
  const TempFolder state;
  const std::string& state_dir = state.path();
  std::vector<double> warm, bytes, run, cold, speedup;
  std::printf("%5s %16s %20s %18s %18s %8s\n", "round", "head, trials/s", "head, bytes/trial", "run, trials/s",
              "cold, trials/s", "ratio");
  for (int round = 1; round <= size.rounds; ++round) {
    const int early = size.trials / 5;
    const HeadResult head = MeasureHead(state_dir, ConstantSearch(size.trials), early);
    warm.push_back(head.trials_per_second);
    bytes.push_back(head.bytes / (size.trials - early));
    run.push_back(MeasureRun(state_dir, size.trials));
    cold.push_back(MeasureColdProcesses(size.cold_trials));
    speedup.push_back(warm.back() / cold.back());
    std::printf("%5d %16.0f %20.0f %18.0f %18.2f %8.0f\n", round, warm.back(), bytes.back(), run.back(), cold.back(),
                speedup.back());
  }
  const double tpe_of_random = MeasureTpe(state_dir, size.tpe_rounds);
  const HeadResult history = MeasureHead(state_dir, ConstantSearch(size.history), size.history / 10);
  const double resume_seconds = MeasureResume(state_dir, history.id, size.history);
  std::printf(
      "%d trials: the head grew by %.0f bytes after the first tenth; a resume starts its first trial after %.2f s\n",
      size.history, history.bytes, resume_seconds);
  std::printf("%d trials a round, %d slots; cold: a fresh trial process for each of %d trials, %d at a time\n",
              size.trials, kSlots, size.cold_trials, kSlots);
  std::printf(
      "{\"bench\": \"orchestration\", \"figures\": {\"trials_per_second\": %.1f, \"head_bytes_per_trial\": %.1f, "
      "\"run_trials_per_second\": %.1f, \"speedup_over_cold_processes\": %.1f, \"tpe_of_random\": %.3f, "
      "\"resume_seconds_100k\": %.2f, "
      "\"head_bytes_100k\": %.0f}}\n",
      Median(warm), Median(bytes), Median(run), Median(speedup), tpe_of_random, resume_seconds, history.bytes);
}

}  // namespace
}  // namespace lanista

int main(int argc, char** argv) {
  const bool quick = argc == 2 && std::strcmp(argv[1], "--quick") == 0;
  if (argc > 1 && !quick) {
    std::fprintf(stderr, "usage: orchestration [--quick]\n");
    return 2;
  }
  spdlog::set_level(spdlog::level::warn);
  lanista::RunBench(quick ? lanista::Size{1, 1, 2000, 4, 5000} : lanista::Size{3, 5, 10000, 10, 100000});
  return 0;
}

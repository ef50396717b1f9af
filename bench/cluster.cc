// What a head with many nodes can do: its own process, with nodes in this one that speak the real protocol over
// loopback and train nothing (stub_cluster.h). Each search has a head of its own, strategy `random`, and as many trials
// at a time as there are slots.
//
// trials_per_second: of trials that end at once, from RUNNING to DONE in the journal. reports_per_second: the same of
// what trials report that do so often. head_rss_bytes: the most memory that a head of these two had;
// head_growth_bytes: what that of the first one grew by after a tenth of the trials.
//
// assign_p99_ms: trials end at 500 a second, evenly, and always the oldest one; all other slots are busy. Counted is
// how long a slot stays free, from its trial's end until the assignment of the next one: the end goes to the journal,
// the strategy is told and asked, the new model and its trial go to the journal, and the trial to the node. A trial of
// a stub starts with its assignment, so this is more than the time from assignment to start.
//
// assign_p99_ms_planning: the same, while another experiment on eight more slots merges ResNets-18: ten windows of
// eight models a second are planned.
//
// report_growth_bytes: what the head of the trials that report grew by after a tenth of them. experiment_growth_bytes:
// what one grew by in the last nine tenths of many small experiments, one after the other.
//
// late_watch_seconds, trials_json_seconds: of a journal with as many reports as a long search has: all that happened
// through Watch, and `lanista trials --json --head` from its start to its last byte.
//
// growth_20_to_200: the same search on 20 nodes and on 200, one after the other in each round: CPU seconds of the head
// a trial, all its threads, once each slot has had a trial.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "bench/harness.h"
#include "bench/head_process.h"
#include "bench/made_search.h"
#include "bench/networks.h"
#include "bench/stub_cluster.h"
#include "bench/stub_nodes.h"
#include "google/protobuf/text_format.h"
#include "nlohmann/json.hpp"
#include "spdlog/spdlog.h"
#include "src/base/status.h"
#include "src/graph/io.h"
#include "src/rpc/head_client.h"
#include "src/storage/journal.h"
#include "src/storage/state_dir.h"

namespace lanista {
namespace {

using bench::Cluster;
using bench::Discover;
using bench::HeadProcess;
using bench::kSlots;
using bench::kStepLimit;
using bench::Median;
using bench::Search;
using bench::SearchConfig;
using bench::Spaces;
using bench::StubNodes;

constexpr int kReports = 100;
// Of an experiment of many.
constexpr int kFewTrials = 5;
constexpr char kLateId[] = "late-read";
constexpr int kPace = 500;
constexpr int kMergedTrials = 8;
constexpr int kMergedModels = 8;
constexpr int kWindowsPerSecond = 10;
constexpr int kFewNodes = 20;
constexpr int kManyNodes = 200;

// What takes longer hangs, and an error says what was waited for.
constexpr int kMinTrialsPerSecond = 50;
constexpr int kMinReportsPerSecond = 200;

struct Size {
  // Of all searches but those of the growth.
  int nodes;
  int trials;
  int reporting_trials;
  int paced_trials;
  int growth_rounds;
  int growth_trials;
  int experiments;
  // Models of the journal that is read late.
  int late_models;
};

struct Result {
  double seconds = 0;
  // Once each slot has had a trial, and at least a tenth of the trials are over.
  double cpu_seconds_per_trial = 0;
  double growth_bytes = 0;
  double peak_bytes = 0;
  double slowest_beat_ms = 0;
};

absl::Duration LimitFor(const Search& search) {
  return kStepLimit +
         absl::Seconds(search.trials / kMinTrialsPerSecond + search.trials * search.reports / kMinReportsPerSecond);
}

// Merges ResNets, of which only activations differ, and does not end.
constexpr char kWindows[] = R"(
  name: "windows"
  space {
    mutator { value_choice { target: "fc" attr: "out_features" candidate { i: 10 } } }
    mutator {
      layer_choice {
        target: "*.*.relu"
        candidate { keep {} }
        candidate { op { type: "SiLU" } }
        candidate { op { type: "GELU" } }
      }
    }
  }
  strategy { random { dedup: false } }
  evaluator {
    classification {
      dataset { synthetic_digits { train_samples: 50 validation_samples: 10 } }
      batch_size: 10
      max_epochs: 1
      optimizer { sgd { learning_rate: 0.01 } }
    }
  }
  max_trial_number: 1000000
  seed: 1
)";

v1::ExperimentConfig WindowsConfig(const std::string& graph_file) {
  v1::ExperimentConfig config;
  const bool parsed = google::protobuf::TextFormat::ParseFromString(kWindows, &config);
  bench::CheckOk(parsed ? absl::OkStatus() : absl::InternalError("the configuration of the windows does not parse"));
  config.mutable_space()->mutable_graph()->set_path(graph_file);
  v1::CgoEngineConfig& cgo = *config.mutable_engine()->mutable_cgo();
  cgo.set_max_concurrency_cgo(kMergedModels);
  cgo.set_batch_waiting_time(1);
  config.set_trial_concurrency(kMergedTrials);
  return config;
}

// Of trials that end at once.
absl::StatusOr<Result> Measure(Cluster& cluster, const Search& search) {
  const int early = std::max(search.trials / 10, std::min(search.nodes * kSlots, search.trials / 2));
  const absl::Duration limit = LimitFor(search);
  LANISTA_RETURN_IF_ERROR(cluster.Submit());
  LANISTA_RETURN_IF_ERROR(cluster.AwaitEnded(1, kStepLimit));
  LANISTA_RETURN_IF_ERROR(cluster.AwaitEnded(early, limit));
  LANISTA_ASSIGN_OR_RETURN(const double cpu_early, cluster.head().CpuSeconds());
  LANISTA_ASSIGN_OR_RETURN(const int64_t bytes_early, cluster.head().ResidentBytes());
  LANISTA_RETURN_IF_ERROR(cluster.AwaitEnded(search.trials, limit));
  LANISTA_ASSIGN_OR_RETURN(const int64_t bytes_late, cluster.head().ResidentBytes());
  Result result;
  LANISTA_ASSIGN_OR_RETURN(result.seconds, cluster.AwaitDone(limit));
  LANISTA_ASSIGN_OR_RETURN(const double cpu_late, cluster.head().CpuSeconds());
  LANISTA_ASSIGN_OR_RETURN(const int64_t peak_bytes, cluster.head().PeakResidentBytes());
  result.cpu_seconds_per_trial = (cpu_late - cpu_early) / (search.trials - early);
  result.growth_bytes = static_cast<double>(bytes_late - bytes_early);
  result.peak_bytes = static_cast<double>(peak_bytes);
  result.slowest_beat_ms = cluster.nodes().slowest_beat_ms();
  return result;
}

absl::StatusOr<Result> MeasureSearch(const std::string& folder, const Spaces& spaces, const Search& search) {
  LANISTA_ASSIGN_OR_RETURN(const auto cluster, Cluster::Start(folder, search, spaces));
  absl::StatusOr<Result> result = Measure(*cluster, search);
  if (!result.ok()) return cluster->Explain(result.status());
  std::printf("%6d %8d %8d %9.1f %10.0f %11.0f %13.0f %9.0f %9.0f\n", search.nodes, search.trials, search.reports,
              result->seconds, search.trials / result->seconds, search.trials * search.reports / result->seconds,
              result->cpu_seconds_per_trial * 1e6, result->peak_bytes / 1e6, result->slowest_beat_ms);
  std::fflush(stdout);
  return result;
}

struct Handovers {
  double ends_per_second = 0;
  double windows_per_second = 0;
  double median_ms = 0;
  double p99_ms = 0;
};

// REQUIRES: not empty; sorted.
double Quantile(const std::vector<double>& values, double quantile) {
  const auto rank = static_cast<size_t>(std::ceil(quantile * static_cast<double>(values.size())));
  return values[std::max<size_t>(rank, 1) - 1];
}

// `windows`: merged trials of this configuration end meanwhile; null: none do.
absl::StatusOr<Handovers> Pace(Cluster& cluster, const Search& search, const v1::ExperimentConfig* windows) {
  using Clock = std::chrono::steady_clock;
  StubNodes& nodes = cluster.nodes();
  const int slots = search.nodes * kSlots;
  LANISTA_RETURN_IF_ERROR(cluster.Submit());
  LANISTA_RETURN_IF_ERROR(nodes.AwaitHeld(cluster.experiment(), slots, kStepLimit));
  std::string merging;
  if (windows != nullptr) {
    LANISTA_ASSIGN_OR_RETURN(merging, cluster.Submit(*windows));
    LANISTA_RETURN_IF_ERROR(nodes.AwaitHeld(merging, kMergedTrials, kStepLimit));
  }

  // The last trials have no successor.
  const int ends = search.trials - slots;
  const auto start = Clock::now();
  for (int i = 0; i < ends; ++i) {
    const std::chrono::duration<double> due(static_cast<double>(i) / kPace);
    std::this_thread::sleep_until(start + std::chrono::duration_cast<Clock::duration>(due));
    LANISTA_RETURN_IF_ERROR(nodes.EndOldest(cluster.experiment(), kStepLimit));
    // Where all windows are still being planned, nothing can end.
    if (windows != nullptr && i % (kPace / kWindowsPerSecond) == 0 && nodes.held(merging) > 0) {
      LANISTA_RETURN_IF_ERROR(nodes.EndOldest(merging, kStepLimit));
    }
  }
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  LANISTA_RETURN_IF_ERROR(nodes.AwaitHandovers(cluster.experiment(), ends, kStepLimit));

  Handovers result;
  result.ends_per_second = ends / seconds;
  std::vector<double> times = nodes.handovers_ms(cluster.experiment());
  std::sort(times.begin(), times.end());
  result.median_ms = Quantile(times, 0.5);
  result.p99_ms = Quantile(times, 0.99);
  if (windows != nullptr) {
    result.windows_per_second = static_cast<double>(nodes.handovers_ms(merging).size()) / seconds;
  }
  return result;
}

absl::StatusOr<Handovers> MeasureHandovers(const std::string& folder, const Spaces& spaces, const Search& search,
                                           const v1::ExperimentConfig* windows) {
  const int more_nodes = windows == nullptr ? 0 : kMergedTrials / kSlots;
  LANISTA_ASSIGN_OR_RETURN(const auto cluster, Cluster::Start(folder, search, spaces, /*hold=*/true, more_nodes));
  absl::StatusOr<Handovers> result = Pace(*cluster, search, windows);
  if (!result.ok()) return cluster->Explain(result.status());
  std::printf("at %.0f ends/s (wanted: %d) and %.1f windows/s a slot is free for %.1f ms (median), %.1f ms (p99)\n",
              result->ends_per_second, kPace, result->windows_per_second, result->median_ms, result->p99_ms);
  std::fflush(stdout);
  return result;
}

// Bytes by which a head grows while it runs the last nine tenths of so many experiments.
absl::StatusOr<double> MeasureExperiments(const std::string& folder, const Spaces& spaces, int experiments) {
  const Search few{1, kFewTrials, 0};
  LANISTA_ASSIGN_OR_RETURN(const auto cluster, Cluster::Start(folder, few, spaces));
  int64_t early_bytes = 0;
  for (int i = 1; i <= experiments; ++i) {
    LANISTA_RETURN_IF_ERROR(cluster->Explain(cluster->Submit(SearchConfig(few)).status()));
    LANISTA_RETURN_IF_ERROR(cluster->Explain(cluster->AwaitEnded(i * kFewTrials, kStepLimit)));
    if (i == experiments / 10) {
      LANISTA_ASSIGN_OR_RETURN(early_bytes, cluster->head().ResidentBytes());
    }
  }
  LANISTA_ASSIGN_OR_RETURN(const int64_t late_bytes, cluster->head().ResidentBytes());
  return static_cast<double>(late_bytes - early_bytes);
}

struct LateReads {
  double watch_seconds = 0;
  double trials_seconds = 0;
};

// Reads all that the command prints, and forgets it.
absl::Status RunToItsEnd(const std::string& command) {
  FILE* const output = popen(command.c_str(), "r");
  if (output == nullptr) return ErrnoToStatus(errno, absl::StrCat("cannot start ", command));
  char buffer[1 << 16];
  while (std::fread(buffer, 1, sizeof(buffer), output) > 0) continue;
  return pclose(output) == 0 ? absl::OkStatus() : absl::InternalError(absl::StrCat("failed: ", command));
}

absl::StatusOr<LateReads> MeasureLateReads(const std::string& folder, int models) {
  using Clock = std::chrono::steady_clock;
  LANISTA_ASSIGN_OR_RETURN(const StateDir state, StateDir::Open(folder));
  LANISTA_ASSIGN_OR_RETURN(const std::string experiment, state.ExperimentFolder(kLateId));
  {
    LANISTA_ASSIGN_OR_RETURN(const auto search,
                             bench::MadeSearch::Create(experiment, kLateId, bench::MadeSearch::Metrics::kDefault));
    LANISTA_RETURN_IF_ERROR(search->AddPast(models, kReports));
  }
  LANISTA_ASSIGN_OR_RETURN(const JournalReader reader, JournalReader::Open(experiment));
  LANISTA_ASSIGN_OR_RETURN(const std::optional<int64_t> last, reader.LastNumber());
  LANISTA_ASSIGN_OR_RETURN(const auto head, HeadProcess::Start(folder));

  LateReads result;
  HeadClient client(head->address());
  v1::WatchRequest request;
  request.set_experiment(kLateId);
  int64_t seen = 0;
  const auto watch_start = Clock::now();
  LANISTA_RETURN_IF_ERROR(client.Watch(request, [&](const v1::ExperimentEvent& event) {
    seen = event.number();
    return seen < last.value_or(0);
  }));
  result.watch_seconds = std::chrono::duration<double>(Clock::now() - watch_start).count();
  if (seen != last) return absl::InternalError(absl::StrCat("the watcher saw ", seen, " of ", last.value_or(0)));

  const auto trials_start = Clock::now();
  LANISTA_RETURN_IF_ERROR(RunToItsEnd(
      absl::StrCat(bench::Program("lanista"), " trials ", kLateId, " --json --head ", head->address().ToText())));
  result.trials_seconds = std::chrono::duration<double>(Clock::now() - trials_start).count();
  return result;
}

// A figure, and what it should be on two idle cores without --quick.
struct Figure {
  const char* name;
  double value;
  std::optional<double> at_least = std::nullopt;
  std::optional<double> at_most = std::nullopt;
};

// Prints a table for people, then the line of JSON.
void PrintFigures(const std::vector<Figure>& figures) {
  nlohmann::ordered_json values, limits;
  for (const auto& [name, value, at_least, at_most] : figures) {
    const bool missed = value < at_least.value_or(value) || value > at_most.value_or(value);
    const std::string wanted = at_least.has_value()  ? absl::StrCat("at least ", *at_least)
                               : at_most.has_value() ? absl::StrCat("at most ", *at_most)
                                                     : "";
    std::printf("%-24s %12.5g   %s%s\n", name, value, wanted.c_str(), missed ? ", MISSED" : "");
    values[name] = value;
    if (!wanted.empty()) limits[name] = at_least.has_value() ? *at_least : *at_most;
  }
  std::printf("{\"bench\": \"cluster\", \"figures\": %s, \"limits\": %s}\n", values.dump().c_str(),
              limits.dump().c_str());
}

absl::Status RunBench(const std::string& folder, const Size& size) {
  const std::string graph_file = folder + "/resnet18.graph";
  LANISTA_RETURN_IF_ERROR(graph::WriteFile(graph_file, bench::ResNet18Graph(1, 28)));
  const v1::ExperimentConfig windows = WindowsConfig(graph_file);
  Spaces spaces;
  LANISTA_ASSIGN_OR_RETURN(spaces.search, Discover(SearchConfig({})));
  LANISTA_ASSIGN_OR_RETURN(spaces.windows, Discover(windows));
  int heads = 0;
  const auto next_folder = [&] { return absl::StrCat(folder, "/head-", ++heads); };
  std::printf("%6s %8s %8s %9s %10s %11s %13s %9s %9s\n", "nodes", "trials", "reports", "seconds", "trials/s",
              "reports/s", "CPU us/trial", "head, MB", "beat, ms");
  const Search no_ops{size.nodes, size.trials, 0};
  LANISTA_ASSIGN_OR_RETURN(const Result no_op, MeasureSearch(next_folder(), spaces, no_ops));
  const Search reports{size.nodes, size.reporting_trials, kReports};
  LANISTA_ASSIGN_OR_RETURN(const Result reporting, MeasureSearch(next_folder(), spaces, reports));
  std::vector<double> growth;
  for (int round = 0; round < size.growth_rounds; ++round) {
    LANISTA_ASSIGN_OR_RETURN(const Result few,
                             MeasureSearch(next_folder(), spaces, {kFewNodes, size.growth_trials, 0}));
    LANISTA_ASSIGN_OR_RETURN(const Result many,
                             MeasureSearch(next_folder(), spaces, {kManyNodes, size.growth_trials, 0}));
    growth.push_back(many.cpu_seconds_per_trial / few.cpu_seconds_per_trial);
  }
  const Search paced{size.nodes, size.paced_trials, 0};
  LANISTA_ASSIGN_OR_RETURN(const Handovers alone, MeasureHandovers(next_folder(), spaces, paced, nullptr));
  LANISTA_ASSIGN_OR_RETURN(const Handovers planning, MeasureHandovers(next_folder(), spaces, paced, &windows));

  LANISTA_ASSIGN_OR_RETURN(const double experiment_growth, MeasureExperiments(next_folder(), spaces, size.experiments));
  LANISTA_ASSIGN_OR_RETURN(const LateReads late, MeasureLateReads(next_folder(), size.late_models));

  PrintFigures({{"trials_per_second", size.trials / no_op.seconds, 1000, std::nullopt},
                {"reports_per_second", size.reporting_trials * kReports / reporting.seconds, 2000, std::nullopt},
                {"head_rss_bytes", std::max(no_op.peak_bytes, reporting.peak_bytes), std::nullopt, 1e9},
                {"head_growth_bytes", no_op.growth_bytes},
                {"report_growth_bytes", reporting.growth_bytes},
                {"experiment_growth_bytes", experiment_growth},
                {"assign_p99_ms", alone.p99_ms, std::nullopt, 100},
                {"assign_p99_ms_planning", planning.p99_ms, std::nullopt, 100},
                {"windows_per_second", planning.windows_per_second},
                {"late_watch_seconds", late.watch_seconds, std::nullopt, 2},
                {"trials_json_seconds", late.trials_seconds, std::nullopt, 2},
                {"growth_20_to_200", Median(growth)}});
  return absl::OkStatus();
}

}  // namespace
}  // namespace lanista

int main(int argc, char** argv) {
  const bool quick = argc == 2 && std::strcmp(argv[1], "--quick") == 0;
  if (argc > 1 && !quick) {
    std::fprintf(stderr, "usage: cluster [--quick]\n");
    return 2;
  }
  spdlog::set_level(spdlog::level::warn);
  const lanista::bench::TempFolder folder;
  // A failure leaves the folder: the head's log is there.
  lanista::bench::CheckOk(
      lanista::RunBench(folder.path(), quick ? lanista::Size{20, 2000, 320, 2000, 1, 4000, 50, 300}
                                             : lanista::Size{200, 100000, 3200, 20000, 3, 20000, 1000, 6000}));
  return 0;
}

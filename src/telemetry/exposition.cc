#include "src/telemetry/exposition.h"

#include <chrono>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "prometheus/metric_family.h"
#include "prometheus/text_serializer.h"
#include "src/base/version.h"
#include "src/telemetry/process_stats.h"

namespace lanista {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

// A label's value, or none, and the number.
using Sample = std::pair<std::string, double>;

double Number(const Counter& counter) { return static_cast<double>(counter.value()); }
double Number(const Gauge& gauge) { return static_cast<double>(gauge.value()); }

MetricFamily FamilyOf(MetricType type, const char* name, const char* help) {
  MetricFamily family;
  family.name = name;
  family.help = help;
  family.type = type;
  return family;
}

// A counter or a gauge. `label`: empty: it has none, and one sample.
MetricFamily NumbersOf(MetricType type, const char* name, const char* help, const std::string& label,
                       const std::vector<Sample>& samples) {
  MetricFamily family = FamilyOf(type, name, help);
  for (const auto& [value, number] : samples) {
    ClientMetric& metric = family.metric.emplace_back();
    if (!label.empty()) metric.label.push_back({label, value});
    (type == MetricType::Counter ? metric.counter.value : metric.gauge.value) = number;
  }
  return family;
}

MetricFamily CounterOf(const char* name, const char* help, double number) {
  return NumbersOf(MetricType::Counter, name, help, "", {{"", number}});
}
MetricFamily GaugeOf(const char* name, const char* help, double number) {
  return NumbersOf(MetricType::Gauge, name, help, "", {{"", number}});
}

// One sample for each value of the enumeration but UNSPECIFIED that has a name; `name_of` returns "" for the others.
template <typename Instrument, typename Enum, Enum kLast, typename NameOf>
std::vector<Sample> SamplesOf(const ByEnum<Instrument, Enum, kLast>& instruments, const NameOf& name_of) {
  std::vector<Sample> samples;
  for (int number = 1; number < ByEnum<Instrument, Enum, kLast>::kValues; ++number) {
    const auto value = static_cast<Enum>(number);
    const std::string name = name_of(value);
    if (!name.empty()) samples.emplace_back(absl::AsciiStrToLower(name), Number(instruments[value]));
  }
  return samples;
}

MetricFamily HistogramOf(const char* name, const char* help, const Histogram& histogram) {
  MetricFamily family = FamilyOf(MetricType::Histogram, name, help);
  ClientMetric::Histogram& shown = family.metric.emplace_back().histogram;
  shown.sample_sum = histogram.sum();
  for (size_t bucket = 0; bucket < Histogram::kBuckets; ++bucket) {
    shown.sample_count += histogram.count(bucket);
    // The serializer adds the one for infinity itself.
    if (bucket < Histogram::kBounds.size()) shown.bucket.push_back({shown.sample_count, Histogram::kBounds[bucket]});
  }
  return family;
}

std::string NameOfUse(DeviceUse use) {
  switch (use) {
    case DeviceUse::kUnspecified:
      return "";
    case DeviceUse::kBusy:
      return "busy";
    case DeviceUse::kIdle:
      return "idle";
    case DeviceUse::kHeld:
      return "held";
    case DeviceUse::kDown:
      return "down";
  }
  return "";
}

std::string NameOfNodeCondition(NodeCondition state) {
  switch (state) {
    case NodeCondition::kUnspecified:
      return "";
    case NodeCondition::kJoined:
      return "joined";
    case NodeCondition::kSilent:
      return "silent";
    case NodeCondition::kDraining:
      return "draining";
  }
  return "";
}

std::string NameOfRefusal(Refusal refusal) {
  switch (refusal) {
    case Refusal::kUnspecified:
      return "";
    case Refusal::kUnauthenticated:
      return "unauthenticated";
    case Refusal::kPermissionDenied:
      return "permission_denied";
  }
  return "";
}

std::string NameOfOutcome(v1::ModelEnded::Outcome outcome) { return v1::ModelEnded::Outcome_Name(outcome); }

// Attempts alone may end so.
std::string NameOfModelsOutcome(v1::ModelEnded::Outcome outcome) {
  return outcome == v1::ModelEnded::LOST || outcome == v1::ModelEnded::UNMERGED ? "" : NameOfOutcome(outcome);
}

std::string NameOfState(v1::ExperimentState::State state) { return v1::ExperimentState::State_Name(state); }

std::string NameOfLastState(v1::ExperimentState::State state) {
  return state < v1::ExperimentState::DONE ? "" : NameOfState(state);
}

// By the names that Prometheus' own clients have for them.
void AddProcess(const ProcessStats& stats, std::vector<MetricFamily>* families) {
  const auto gauge = [families](const char* name, const char* help, double number) {
    families->push_back(GaugeOf(name, help, number));
  };
  gauge("process_resident_memory_bytes", "Memory of this process that is in RAM.",
        static_cast<double>(stats.resident_memory));
  gauge("process_virtual_memory_bytes", "Address space of this process.", static_cast<double>(stats.virtual_memory));
  families->push_back(CounterOf("process_cpu_seconds_total", "Processor time of this process, without its children.",
                                stats.cpu_seconds));
  gauge("process_start_time_seconds", "When this process began, in seconds since 1970.", stats.start_time);
  gauge("process_open_fds", "Files and connections that are open.", static_cast<double>(stats.open_files));
  gauge("process_max_fds", "Files and connections that may be open.", static_cast<double>(stats.max_files));
  gauge("process_threads", "Threads of this process.", static_cast<double>(stats.threads));
}

}  // namespace

std::string PrometheusText(const Telemetry& telemetry) {
  const auto now = Since::Clock::now();
  std::vector<MetricFamily> families;

  MetricFamily build = GaugeOf("lanista_build_info", "Always 1; the label has the version.", 1);
  build.metric[0].label.push_back({"version", kVersion});
  families.push_back(std::move(build));

  families.push_back(
      NumbersOf(MetricType::Gauge, "lanista_trials", "Trials that wait for a device, and trials that run.", "state",
                {{"queued", Number(telemetry.trials_queued)}, {"running", Number(telemetry.trials_running)}}));
  families.push_back(
      CounterOf("lanista_trials_started_total", "Trials that a device was given.", Number(telemetry.trials_started)));
  families.push_back(NumbersOf(
      MetricType::Counter, "lanista_trials_ended_total",
      "Trials that left their device: they had finished (also where their models failed), were lost with a worker of "
      "the head's machine, or came back from a node that had not begun with them.",
      "end",
      {{"finished", Number(telemetry.trials_finished)},
       {"lost", Number(telemetry.trials_lost)},
       {"returned", Number(telemetry.trials_returned)}}));
  families.push_back(GaugeOf("lanista_queue_oldest_age_seconds",
                             "How long the trial that waits longest has waited for a device; 0: none waits.",
                             std::chrono::duration<double>(telemetry.oldest_queued.Age(now)).count()));
  families.push_back(
      GaugeOf("lanista_discoveries_queued",
              "Spaces that wait for a device that discovers them, and models that wait for a node that writes them.",
              Number(telemetry.discoveries_queued)));
  families.push_back(NumbersOf(MetricType::Gauge, "lanista_devices", "Devices, of this machine and of nodes.", "state",
                               SamplesOf(telemetry.devices, NameOfUse)));
  families.push_back(NumbersOf(MetricType::Gauge, "lanista_nodes", "Nodes that have joined.", "condition",
                               SamplesOf(telemetry.nodes, NameOfNodeCondition)));
  families.push_back(CounterOf("lanista_nodes_lost_total",
                               "Nodes of which nothing was heard for too long, or which broke the protocol.",
                               Number(telemetry.nodes_lost)));

  families.push_back(NumbersOf(MetricType::Gauge, "lanista_experiments",
                               "Experiments of this process that have not come to their end.", "state",
                               SamplesOf(telemetry.experiments, NameOfState)));
  families.push_back(NumbersOf(MetricType::Counter, "lanista_experiments_ended_total",
                               "Experiments that came to their end in this process.", "state",
                               SamplesOf(telemetry.experiments_ended, NameOfLastState)));
  families.push_back(NumbersOf(MetricType::Counter, "lanista_models_ended_total", "Models that have an outcome.",
                               "outcome", SamplesOf(telemetry.models_ended, NameOfModelsOutcome)));
  families.push_back(NumbersOf(MetricType::Counter, "lanista_attempts_ended_total",
                               "Attempts at models that ended. A model may take several.", "outcome",
                               SamplesOf(telemetry.attempts_ended, NameOfOutcome)));

  families.push_back(CounterOf("lanista_journal_records_total", "Facts that were written into journals.",
                               Number(telemetry.journal_records)));
  families.push_back(HistogramOf("lanista_journal_write_seconds",
                                 "How long a journal's transaction took, with the facts of a moment in it.",
                                 telemetry.journal_write));
  families.push_back(HistogramOf("lanista_journal_acknowledgement_seconds",
                                 "How long facts took from the experiment into its journal and back: what trials, "
                                 "strategies and watchers wait for.",
                                 telemetry.journal_acknowledgement));
  families.push_back(GaugeOf("lanista_journals_paused", "Journals, and so experiments, that wait for room on the disk.",
                             Number(telemetry.journals_paused)));
  families.push_back(CounterOf("lanista_journal_errors_total", "Attempts to write into journals that failed.",
                               Number(telemetry.journal_errors)));

  families.push_back(NumbersOf(MetricType::Counter, "lanista_grpc_calls_refused_total",
                               "Calls of clients and nodes that were not let in, by the code that they got.", "code",
                               SamplesOf(telemetry.calls_refused, NameOfRefusal)));

  if (const std::optional<ProcessStats> stats = ReadProcessStats()) AddProcess(*stats, &families);
  return prometheus::TextSerializer().Serialize(families);
}

}  // namespace lanista

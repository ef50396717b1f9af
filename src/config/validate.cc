#include "src/config/validate.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/duration.pb.h"
#include "google/protobuf/message.h"
#include "google/protobuf/util/time_util.h"
#include "protos/experiment.pb.h"
#include "protos/graph.pb.h"
#include "src/base/metric_names.h"
#include "src/base/utf8.h"
#include "src/config/choices.h"
#include "src/config/data_paths.h"
#include "src/config/fields.h"
#include "src/config/paths.h"
#include "src/config/steps.h"

namespace lanista {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::Duration;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::OneofDescriptor;
using google::protobuf::Reflection;
using google::protobuf::util::TimeUtil;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Numbers that a field may hold. NaN is in no range.
struct Range {
  double low;
  double high;
  bool low_open;
  bool high_open;

  // "in [1, 1000000]".
  static std::string Text(double x) {
    return std::floor(x) == x && std::abs(x) < 1e15 ? absl::StrCat(static_cast<int64_t>(x)) : absl::StrCat(x);
  }
  bool Holds(double x) const { return (low_open ? x > low : x >= low) && (high_open ? x < high : x <= high); }
  std::string ToString() const {
    if (high == kInfinity) return absl::StrCat(low_open ? "greater than " : "at least ", Text(low));
    return absl::StrCat("in ", low_open ? "(" : "[", Text(low), ", ", Text(high), high_open ? ")" : "]");
  }
};

constexpr Range AtLeast(double low) { return {low, kInfinity, false, true}; }
constexpr Range kPositive = {0, kInfinity, true, true};
constexpr Range kFraction = {0, 1, true, false};      // (0, 1]
constexpr Range kOpenFraction = {0, 1, true, true};   // (0, 1)
constexpr Range kDecay = {0, 1, false, true};         // [0, 1)
constexpr Range kProbability = {0, 1, false, false};  // [0, 1]
// Pixels: more would be a slip of the pen, and fill the memory.
constexpr Range kSide = {1, 8192, false, false};
// A day.
constexpr Range kStepSeconds = {0, 86400, false, false};
// 3 KB each.
constexpr Range kDrawnSamples = {1, 1000000, false, false};

// The only duration that may be 0: for "never".
constexpr char kNoCheckpointsIfZero[] = "CheckpointConfig.interval";
constexpr char kOfHeadAlone[] = "SlurmConfig.folder";

// message.field (without the package) -> its range.
const std::map<std::string, Range>& Ranges() {
  static const auto* const kRanges = [] {
    auto* const ranges = new std::map<std::string, Range>{
        {"ExperimentConfig.trial_concurrency", AtLeast(1)},
        {"ExperimentConfig.max_trial_number", AtLeast(1)},
        {"ExperimentConfig.priority", {-1000, 1000, false, false}},
        {"EvolutionConfig.population", AtLeast(2)},
        {"EvolutionConfig.sample", AtLeast(1)},
        {"EvolutionConfig.mutations", AtLeast(1)},
        {"TpeConfig.startup", AtLeast(1)},
        {"TpeConfig.candidates", AtLeast(1)},
        {"TpeConfig.good_fraction", kOpenFraction},
        {"TpeConfig.good_max", AtLeast(1)},
        {"TpeConfig.prior_weight", kPositive},
        {"PolicyRlConfig.models_per_update", AtLeast(1)},
        {"PolicyRlConfig.learning_rate", kPositive},
        {"PolicyRlConfig.clip", kOpenFraction},
        {"PolicyRlConfig.epochs", AtLeast(1)},
        {"PolicyRlConfig.entropy_weight", AtLeast(0)},
        {"Nsga2Config.population", AtLeast(2)},
        {"Nsga2Config.crossover", kProbability},
        {"Nsga2Config.mutation", kFraction},
        {"ChainStageConfig.models", AtLeast(1)},
        {"AshaConfig.min_steps", AtLeast(1)},
        {"AshaConfig.reduction_factor", AtLeast(2)},
        {"HyperbandConfig.min_steps", AtLeast(1)},
        {"HyperbandConfig.max_steps", AtLeast(1)},
        {"HyperbandConfig.reduction_factor", AtLeast(2)},
        {"MedianConfig.startup", AtLeast(1)},
        {"MedianConfig.warmup_steps", AtLeast(0)},
        {"MedianConfig.interval", AtLeast(1)},
        {"CgoEngineConfig.max_concurrency_cgo", {1, 1024, false, false}},
        {"CgoEngineConfig.batch_waiting_time", AtLeast(0)},
        {"ClassificationConfig.label_smoothing", kDecay},
        {"ClassificationConfig.top_k", AtLeast(1)},
        {"SgdConfig.momentum", AtLeast(0)},
        {"RmsPropConfig.momentum", AtLeast(0)},
        {"RmsPropConfig.alpha", kDecay},
        {"StepScheduleConfig.step_size", AtLeast(1)},
        {"StepScheduleConfig.gamma", kPositive},
        {"CosineScheduleConfig.min_learning_rate", AtLeast(0)},
        {"GradientClippingConfig.max_norm", kPositive},
        {"GradientClippingConfig.max_value", kPositive},
        {"SplitConfig.train", kOpenFraction},
        {"IdxConfig.classes", AtLeast(2)},
        {"ImageFolderConfig.height", kSide},
        {"ImageFolderConfig.width", kSide},
        {"SyntheticDigitsConfig.train_samples", kDrawnSamples},
        {"SyntheticDigitsConfig.validation_samples", kDrawnSamples},
        {"SyntheticDigitsConfig.noise", kProbability},
        {"NormalizeConfig.std", kPositive},
        {"RandomCropConfig.height", kSide},
        {"RandomCropConfig.width", kSide},
        {"RandomCropConfig.padding", {0, kSide.high, false, false}},
        {"RandomFlipConfig.probability", kProbability},
        {"RandomRotationConfig.degrees", {0, 180, false, false}},
        {"ResizeConfig.height", kSide},
        {"ResizeConfig.width", kSide},
        {"LocalConfig.cpu_slots", AtLeast(0)},
        {"LocalConfig.threads_per_slot", AtLeast(1)},
        {"LocalConfig.gpu_indices", AtLeast(0)},
        {"LocalConfig.memory_limit", AtLeast(1)},
        {"MachineConfig.port", {1, 65535, false, false}},
        {"MachineConfig.cpu_slots", {0, 4096, false, false}},
        {"MachineConfig.gpu_indices", AtLeast(0)},
        {"SlurmConfig.cpus", {1, 4096, false, false}},
        {"SlurmConfig.memory", AtLeast(1 << 20)},
        {"SlurmConfig.gpus", {0, 1024, false, false}},
        {"SlurmConfig.min_nodes", {0, 1000, false, false}},
        {"SlurmConfig.max_nodes", {1, 1000, false, false}},
        {"KeepWeightsConfig.best", AtLeast(0)},
        {"TableConfig.step_seconds", kStepSeconds},
        {"WarmStartConfig.top", AtLeast(1)},
    };
    for (const char* evaluator : {"ClassificationConfig", "RegressionConfig"}) {
      for (const char* count : {"batch_size", "validation_batch_size", "max_epochs", "max_train_batches"}) {
        ranges->emplace(absl::StrCat(evaluator, ".", count), AtLeast(1));
      }
      ranges->emplace(absl::StrCat(evaluator, ".limit_train_batches"), kFraction);
      ranges->emplace(absl::StrCat(evaluator, ".limit_validation_batches"), kFraction);
      ranges->emplace(absl::StrCat(evaluator, ".loader_threads"), Range{0, 256, false, false});
    }
    for (const char* optimizer : {"SgdConfig", "AdamConfig", "AdamWConfig", "RmsPropConfig"}) {
      ranges->emplace(absl::StrCat(optimizer, ".learning_rate"), kPositive);
      ranges->emplace(absl::StrCat(optimizer, ".weight_decay"), AtLeast(0));
      ranges->emplace(absl::StrCat(optimizer, ".eps"), AtLeast(0));
      ranges->emplace(absl::StrCat(optimizer, ".beta1"), kDecay);
      ranges->emplace(absl::StrCat(optimizer, ".beta2"), kDecay);
    }
    return ranges;
  }();
  return *kRanges;
}

// Fields that must be set (strings: not empty), and what they are for.
const std::map<std::string, std::string>& RequiredFields() {
  static const auto* const kRequired = new std::map<std::string, std::string>{
      {"ExperimentConfig.space", "the model space, for example space { registered: \"mnist_cnn\" }"},
      {"ExperimentConfig.strategy", "what proposes models, for example strategy { random {} }"},
      {"ExperimentConfig.evaluator", "what scores models, for example evaluator { classification { ... } }"},
      {"ChainConfig.stage", "at least one, for example stage { strategy { random {} } }"},
      {"ChainStageConfig.strategy", "what proposes the stage's models, for example strategy { random {} }"},
      {"ClassificationConfig.dataset", "for example dataset { synthetic_digits {} }"},
      {"RegressionConfig.dataset", "for example dataset { csv { path: \"data.csv\" } }"},
      {"Cifar10Config.root", "the folder with data_batch_1.bin to test_batch.bin"},
      {"ImageFolderConfig.root", "the folder of images"},
      {"CsvConfig.path", "the table's file"},
      {"StepScheduleConfig.step_size", "epochs between two steps"},
      {"RandomRotationConfig.degrees", "the largest angle"},
      {"ResizeConfig.height", "the new height"},
      {"ResizeConfig.width", "the new width"},
      {"SpaceConfig.registered", "the name of a registered space"},
      {"TorchScriptConfig.path", "the file that torch.jit.script(net).save(path) wrote"},
      {"GraphFileConfig.path", "the file that `lanista import` wrote"},
      {"ModuleCandidate.path", "the file that torch.jit.script(module).save(path) wrote"},
      {"FrozenConfig.target", "the path of a node"},
      {"TableConfig.path", "the table's file, a CSV"},
      {"WarmStartConfig.experiment", "the id of an earlier experiment, the beginning of one, or `latest`"},
      {"ConstraintConfig.metric", "what is limited, for example metric: \"params\""},
      {"InitialModelConfig.sample", "what the model chooses, for example '{\"width\": 64}'"},
      {"MachineConfig.host", "the machine's name or address, as ssh takes it"},
      {"TableColumnConfig.label", "the choice"},
      {"TableColumnConfig.column", "the column that has the choice"},
      {"Custom.name", "the name under which it was registered"},
  };
  return *kRequired;
}

// "ExperimentConfig.seed".
std::string ShortName(const FieldDescriptor& field) {
  return absl::StrCat(field.containing_type()->name(), ".", field.name());
}

std::string Join(const std::string& path, absl::string_view field) {
  return path.empty() ? std::string(field) : absl::StrCat(path, ".", field);
}

bool IsSet(const Message& message, const FieldDescriptor& field) {
  const Reflection* const reflection = message.GetReflection();
  if (field.is_repeated()) return reflection->FieldSize(message, &field) > 0;
  if (!reflection->HasField(message, &field)) return false;
  return field.cpp_type() != FieldDescriptor::CPPTYPE_STRING || !reflection->GetString(message, &field).empty();
}

// A number field's value; `index` is ignored where it is not repeated.
double Number(const Message& message, const FieldDescriptor& field, int index) {
  const Reflection* const reflection = message.GetReflection();
  const bool repeated = field.is_repeated();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return repeated ? reflection->GetRepeatedInt32(message, &field, index) : reflection->GetInt32(message, &field);
    case FieldDescriptor::CPPTYPE_INT64:
      return static_cast<double>(repeated ? reflection->GetRepeatedInt64(message, &field, index)
                                          : reflection->GetInt64(message, &field));
    default:
      return repeated ? reflection->GetRepeatedDouble(message, &field, index) : reflection->GetDouble(message, &field);
  }
}

// "FIELD[i]: 5 is named twice", of the first value that is.
template <typename Values>
std::optional<Violation> FindTwice(const Values& values, const std::string& path, absl::string_view field,
                                   absl::string_view what) {
  std::set<typename Values::value_type> seen;
  for (int i = 0; i < values.size(); ++i) {
    if (seen.insert(values.Get(i)).second) continue;
    return Violation{absl::StrCat(Join(path, field), "[", i, "]"),
                     absl::StrCat(what, values.Get(i), " is named twice; keep one")};
  }
  return std::nullopt;
}

// Rules over several fields of one message.
std::optional<Violation> CheckTogether(const v1::IdxConfig& idx, const std::string& path) {
  if (idx.has_root() && (idx.has_images() || idx.has_labels())) {
    return Violation{Join(path, "root"), "set either 'root' or the pair 'images' and 'labels'"};
  }
  if (!idx.has_root() && !(idx.has_images() && idx.has_labels())) {
    return Violation{path, "set 'root' (a folder with the four standard files) or both 'images' and 'labels'"};
  }
  if (idx.has_root() && idx.has_split()) {
    return Violation{Join(path, "split"),
                     "a folder has its own validation files; 'split' goes with 'images' and 'labels'"};
  }
  return std::nullopt;
}

std::optional<Violation> CheckTogether(const v1::EvolutionConfig& evolution, const std::string& path) {
  constexpr int kDefaultPopulation = 100;
  const int population = evolution.has_population() ? evolution.population() : kDefaultPopulation;
  if (evolution.sample() <= population) return std::nullopt;
  return Violation{Join(path, "sample"),
                   absl::StrCat("must be at most 'population', which is ", population, ", got ", evolution.sample())};
}

std::optional<Violation> CheckTogether(const v1::ChainConfig& chain, const std::string& path) {
  for (int i = 0; i + 1 < chain.stage_size(); ++i) {
    if (chain.stage(i).has_models()) continue;
    return Violation{absl::StrCat(Join(path, "stage"), "[", i, "].models"),
                     "is required: only the last stage may leave it out, the next stages would never get their turn"};
  }
  return std::nullopt;
}

std::optional<Violation> CheckTogether(const v1::HyperbandConfig& hyperband, const std::string& path) {
  const int min_steps = hyperband.has_min_steps() ? hyperband.min_steps() : 1;
  if (!hyperband.has_max_steps() || hyperband.max_steps() >= min_steps) return std::nullopt;
  return Violation{Join(path, "max_steps"),
                   absl::StrCat("must be at least 'min_steps', which is ", min_steps, ", got ", hyperband.max_steps())};
}

// What goes together with a space of choices, which has no networks.
std::optional<Violation> CheckWithoutNetworks(const v1::ExperimentConfig& config, const std::string& path) {
  if (!config.space().has_choices()) return std::nullopt;
  if (config.has_engine() && !config.engine().has_direct()) {
    return Violation{Join(path, "engine"),
                     "a space of `choices` has no networks to make graphs of or to train together: leave 'engine' out, "
                     "or use engine { direct {} }"};
  }
  if (config.keep_weights().best() > 0) {
    return Violation{Join(path, "keep_weights.best"),
                     "a space of `choices` has no networks, so there are no weights to keep: leave it out"};
  }
  for (const char* field : {"classification", "regression"}) {
    const v1::EvaluatorConfig& evaluator = config.evaluator();
    const FieldDescriptor* const kind = evaluator.GetDescriptor()->FindFieldByName(field);
    if (!evaluator.GetReflection()->HasField(evaluator, kind)) continue;
    return Violation{absl::StrCat(Join(path, "evaluator."), field),
                     "trains networks, and a space of `choices` has none: use `table`, `constant`, or a function of "
                     "your own that reads the sample (custom)"};
  }
  return std::nullopt;
}

std::optional<Violation> CheckTogether(const v1::ConstraintConfig& limit, const std::string& path) {
  if (!limit.has_max() && !limit.has_min()) {
    return Violation{path, "limits nothing: set 'max', 'min', or both"};
  }
  if (!limit.has_max() || !limit.has_min() || limit.min() <= limit.max()) return std::nullopt;
  return Violation{Join(path, "min"),
                   absl::StrCat("must be at most 'max', which is ", limit.max(), ", got ", limit.min())};
}

// What nobody could tell of the experiment's models; `field` (objectives or constraint) wants it.
std::optional<Violation> CheckMetric(const v1::ExperimentConfig& config, const std::string& metric,
                                     absl::string_view field, const std::string& path) {
  if (MayReportAnyMetric(config.evaluator())) return std::nullopt;
  // The engine `direct` is the default.
  const bool graphs = config.engine().has_graph() || config.engine().has_cgo();
  if (metric == kFlopsMetric && !graphs) {
    return Violation{path,
                     "on the engine `direct` a model is C++ code, and no graph whose operations could be counted: use "
                     "engine { graph {} } or engine { cgo {} }, or take the metric `params`"};
  }
  if (metric == kMemoryMetric && field == "objectives") {
    return Violation{path,
                     "`memory` is an estimate that is made before a model trains, and no metric that models have: "
                     "limit it by constraint { metric: \"memory\" max: ... }, or take the metric `params`"};
  }
  if (metric == kMemoryMetric && !graphs) {
    return Violation{path,
                     "the memory that a model takes is estimated from its graph, and models of the engine `direct` "
                     "have none: use engine { graph {} } or engine { cgo {} }, or limit `params`"};
  }
  return std::nullopt;
}

// What models are compared by, and their limits.
std::optional<Violation> CheckGoals(const v1::ExperimentConfig& config, const std::string& path) {
  const auto metric_path = [&path](absl::string_view field, int i) {
    return absl::StrCat(Join(path, field), "[", i, "].metric");
  };
  if (config.objective() != v1::OBJECTIVE_UNSPECIFIED && config.objectives_size() > 0) {
    return Violation{
        Join(path, "objective"),
        "'objective' and 'objectives' exclude each other: say it by objectives { metric: \"default\" goal: "
        "... }"};
  }
  std::set<std::string> seen;
  for (int i = 0; i < config.objectives_size(); ++i) {
    const v1::ObjectiveConfig& objective = config.objectives(i);
    const std::string metric = objective.has_metric() ? objective.metric() : kDefaultMetric;
    const std::string at = metric_path("objectives", i);
    if (metric.empty()) return Violation{at, "must not be empty; leave it out for the metric `default`"};
    if (!seen.insert(metric).second) {
      return Violation{at, absl::StrCat("'", metric, "' is an objective already; keep one")};
    }
    if (auto violation = CheckMetric(config, metric, "objectives", at)) return violation;
    if (i == 0 && metric != kDefaultMetric && config.has_early_stopping()) {
      return Violation{at, "early_stopping compares reports of `default`: it has to be the first of the objectives"};
    }
  }
  seen.clear();
  for (int i = 0; i < config.constraint_size(); ++i) {
    const std::string& metric = config.constraint(i).metric();
    const std::string at = metric_path("constraint", i);
    if (!seen.insert(metric).second) {
      return Violation{at, absl::StrCat("'", metric, "' is limited already; one block may have both 'max' and 'min'")};
    }
    if (auto violation = CheckMetric(config, metric, "constraint", at)) return violation;
  }
  return std::nullopt;
}

std::optional<Violation> CheckTogether(const v1::ExperimentConfig& config, const std::string& path) {
  if (auto violation = CheckWithoutNetworks(config, path)) return violation;
  if (auto violation = CheckGoals(config, path)) return violation;
  const v1::HyperbandConfig& hyperband = config.early_stopping().hyperband();
  if (!config.early_stopping().has_hyperband() || hyperband.has_max_steps()) return std::nullopt;
  const std::string hyperband_path = Join(path, "early_stopping.hyperband");
  const std::optional<int> steps = StepsOf(config.evaluator());
  if (!steps.has_value()) {
    return Violation{Join(hyperband_path, "max_steps"),
                     "is required with this evaluator: how often a model reports that runs to its end"};
  }
  if (hyperband.min_steps() <= *steps) return std::nullopt;
  return Violation{
      Join(hyperband_path, "min_steps"),
      absl::StrCat("must be at most the evaluator's max_epochs, which is ", *steps, ", got ", hyperband.min_steps())};
}

std::optional<Violation> CheckTogether(const v1::LocalConfig& local, const std::string& path) {
  if (auto twice = FindTwice(local.gpu_indices(), path, "gpu_indices", "GPU ")) return twice;
  if (local.has_cpu_slots() && local.cpu_slots() == 0 && local.gpu_indices().empty()) {
    return Violation{Join(path, "cpu_slots"), "0 slots and no gpu_indices: nothing could run; at least 1"};
  }
  return std::nullopt;
}

// A program's argument, as it is handed on without a shell.
std::optional<Violation> CheckArgument(const std::string& argument, const std::string& path) {
  if (argument.size() > 1 && argument.front() == '-' &&
      argument.find_first_of(std::string("\0\n\r", 3)) == std::string::npos) {
    return std::nullopt;
  }
  return Violation{path, "must be one argument that begins with '-', for example \"--constraint=a100\""};
}

// Arguments of sbatch that would break the promise of one machine a job, or of finding the head's own jobs again.
bool IsOurs(const std::string& option) {
  const std::string name = option.substr(0, option.find('='));
  for (const char* const ours : {"--job-name", "--array", "--nodes", "--ntasks", "--parsable", "--wait", "--wrap",
                                 "--test-only", "--hold", "--cpus-per-task", "--output", "--chdir"}) {
    // Slurm takes unique beginnings of names.
    if (name == ours || (name.size() > 4 && std::string(ours).compare(0, name.size(), name) == 0)) return true;
  }
  return option.size() >= 2 && option[1] != '-' && std::string("JaNnWHcoD").find(option[1]) != std::string::npos;
}

// What ssh reads as one word: it hands these on to commands of its configuration (ProxyCommand), and a '-' at the
// beginning would make it an option.
std::optional<Violation> CheckSshWord(const std::string& text, const char* also, const std::string& path) {
  const auto allowed = [also](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || std::string(also).find(c) != std::string::npos;
  };
  const bool good = text.size() <= 255 && text.front() != '-' && std::all_of(text.begin(), text.end(), allowed);
  if (good) return std::nullopt;
  return Violation{path, absl::StrCat("must be letters, digits and ", also, " (at most 255), and not begin with '-'")};
}

// Arguments of `lanista node` that say how it gets to its head, or what the machine's other fields say.
bool IsSetForMachines(const std::string& option) {
  const std::string name = option.substr(0, option.find('='));
  for (const char* const ours : {"--head", "--head-file", "--name", "--trial-program", "--cpu-slots", "--gpus", "--tls",
                                 "--tls-ca", "--tls-cert", "--tls-key", "--token-file", "--insecure"}) {
    if (name == ours) return true;
  }
  return false;
}

std::optional<Violation> CheckTogether(const v1::MachineConfig& machine, const std::string& path) {
  if (auto violation = CheckSshWord(machine.host(), "._-:%", Join(path, "host"))) return violation;
  if (machine.has_user()) {
    if (machine.user().empty()) return Violation{Join(path, "user"), "is empty; leave it out for ssh's own"};
    if (auto violation = CheckSshWord(machine.user(), "._-@+", Join(path, "user"))) return violation;
  }
  if (auto twice = FindTwice(machine.gpu_indices(), path, "gpu_indices", "GPU ")) return twice;
  if (machine.has_cpu_slots() && machine.cpu_slots() == 0 && machine.gpu_indices().empty()) {
    return Violation{Join(path, "cpu_slots"), "0 slots and no gpu_indices: nothing could run; at least 1"};
  }
  for (int i = 0; i < machine.node_option_size(); ++i) {
    const std::string at = absl::StrCat(Join(path, "node_option"), "[", i, "]");
    if (auto violation = CheckArgument(machine.node_option(i), at)) return violation;
    if (IsSetForMachines(machine.node_option(i))) {
      return Violation{at, absl::StrCat(machine.node_option(i), " is set by Lanista")};
    }
  }
  return std::nullopt;
}

std::optional<Violation> CheckTogether(const v1::SlurmConfig& slurm, const std::string& path) {
  if (slurm.has_time_limit() && slurm.time_limit().seconds() < 60) {
    return Violation{Join(path, "time_limit"), "must be at least a minute, because Slurm counts in minutes"};
  }
  if (slurm.has_poll_interval() && slurm.poll_interval().seconds() < 1) {
    return Violation{Join(path, "poll_interval"), "must be at least a second"};
  }
  if (slurm.min_nodes() > (slurm.has_max_nodes() ? slurm.max_nodes() : 1)) {
    return Violation{Join(path, "min_nodes"), "must be at most max_nodes, which is 1 where it is not set"};
  }
  for (const auto& [name, value] :
       {std::pair("partition", &slurm.partition()), std::pair("account", &slurm.account())}) {
    if (value->find_first_of(std::string("\0\n\r", 3)) != std::string::npos) {
      return Violation{Join(path, name), "must be on one line"};
    }
  }
  for (int i = 0; i < slurm.option_size(); ++i) {
    const std::string at = absl::StrCat(Join(path, "option"), "[", i, "]");
    if (auto violation = CheckArgument(slurm.option(i), at)) return violation;
    if (IsOurs(slurm.option(i))) {
      return Violation{at, absl::StrCat(slurm.option(i), " is set by Lanista: a node is one task on one machine")};
    }
  }
  for (int i = 0; i < slurm.node_option_size(); ++i) {
    if (auto violation = CheckArgument(slurm.node_option(i), absl::StrCat(Join(path, "node_option"), "[", i, "]"))) {
      return violation;
    }
  }
  return std::nullopt;
}

std::optional<Violation> CheckTogether(const v1::CsvConfig& csv, const std::string& path) {
  const std::string& delimiter = csv.delimiter();
  if (csv.has_delimiter() && (delimiter.size() != 1 || delimiter.find_first_of("\"\n\r") == 0)) {
    return Violation{Join(path, "delimiter"),
                     "must be one character and no quote or line break, for example \",\" or \"\\t\""};
  }
  if (auto twice = FindTwice(csv.feature_columns(), path, "feature_columns", "column ")) return twice;
  if (auto twice = FindTwice(csv.target_columns(), path, "target_columns", "column ")) return twice;
  if (csv.has_validation_path() && csv.has_split()) {
    return Violation{Join(path, "split"), "goes with one table: leave it out, or leave out 'validation_path'"};
  }
  return std::nullopt;
}

std::optional<Violation> CheckTogether(const v1::SgdConfig& sgd, const std::string& path) {
  if (!sgd.nesterov() || (sgd.momentum() > 0 && sgd.dampening() == 0)) return std::nullopt;
  return Violation{Join(path, "nesterov"), "needs a momentum greater than 0 and no dampening"};
}

std::optional<Violation> CheckTogether(const v1::TorchScriptConfig& torchscript, const std::string& path) {
  for (int i = 0; i < torchscript.input_shape_size(); ++i) {
    for (int j = 0; j < torchscript.input_shape(i).dims_size(); ++j) {
      const int64_t dim = torchscript.input_shape(i).dims(j);
      if (dim == -1 || dim >= 1) continue;
      return Violation{absl::StrCat(Join(path, "input_shape"), "[", i, "].dims[", j, "]"),
                       absl::StrCat("must be at least 1, or -1 (any size), got ", dim)};
    }
  }
  return std::nullopt;
}

std::optional<Violation> CheckTogether(const v1::NormalizeConfig& normalize, const std::string& path) {
  if (normalize.mean_size() == normalize.std_size()) return std::nullopt;
  return Violation{Join(path, "std"), "needs as many values as 'mean', one for each channel"};
}

std::optional<Violation> CheckTogether(const v1::ChoicesConfig& choices, const std::string& path) {
  return FindViolationInChoices(choices, path);
}

std::optional<Violation> CheckTogether(const v1::SpaceConfig& space, const std::string& path) {
  if (!space.has_choices()) return std::nullopt;
  const auto without_network = [&path](const char* field, const char* what) {
    return Violation{Join(path, field), absl::StrCat(what, "; a space of `choices` has none of these: leave it out")};
  };
  if (!space.params().empty()) return without_network("params", "is handed to the constructor of a registered space");
  if (!space.mutator().empty()) return without_network("mutator", "changes a graph");
  if (space.weights() != v1::WEIGHTS_MODE_UNSPECIFIED) {
    return without_network("weights", "is about what the weights of a graph start from");
  }
  if (!space.frozen().empty()) return without_network("frozen", "is about the weights of a graph");
  return std::nullopt;
}

std::optional<Violation> CheckTogether(const v1::TableConfig& table, const std::string& path) {
  std::set<std::string> labels;
  std::set<std::string> columns;
  for (int i = 0; i < table.column_size(); ++i) {
    const std::string at = absl::StrCat(Join(path, "column"), "[", i, "]");
    const v1::TableColumnConfig& column = table.column(i);
    if (!labels.insert(column.label()).second) {
      return Violation{at + ".label", absl::StrCat("choice '", column.label(), "' is named twice; keep one")};
    }
    if (!columns.insert(column.column()).second) {
      return Violation{at + ".column", absl::StrCat("column '", column.column(), "' is named twice; keep one")};
    }
  }
  return FindTwice(table.default_metric(), path, "default_metric", "column ");
}

std::optional<Violation> CheckTogether(const v1::ImageFolderConfig& images, const std::string& path) {
  if (images.has_height() != images.has_width()) {
    return Violation{Join(path, "height"), "'height' and 'width' go together"};
  }
  if (images.has_channels() && images.channels() != 1 && images.channels() != 3) {
    return Violation{Join(path, "channels"), absl::StrCat("must be 1 (grey) or 3 (RGB), got ", images.channels())};
  }
  return std::nullopt;
}

template <typename Evaluator>
std::optional<Violation> CheckBatches(const Evaluator& evaluator, const std::string& path) {
  if (!evaluator.has_limit_train_batches() || !evaluator.has_max_train_batches()) return std::nullopt;
  return Violation{Join(path, "max_train_batches"),
                   "not together with limit_train_batches: one is a fraction of the batches, the other their number"};
}

std::optional<Violation> CheckTogether(const v1::ClassificationConfig& evaluator, const std::string& path) {
  if (evaluator.has_label_smoothing() && evaluator.loss() == v1::NLL) {
    return Violation{Join(path, "label_smoothing"), "goes with loss: CROSS_ENTROPY only"};
  }
  if (auto twice = FindTwice(evaluator.top_k(), path, "top_k", "")) return twice;
  return CheckBatches(evaluator, path);
}

std::optional<Violation> CheckTogether(const v1::RegressionConfig& evaluator, const std::string& path) {
  return CheckBatches(evaluator, path);
}

// Calls CheckTogether if `message` is a T.
template <typename T>
std::optional<Violation> CheckIf(const Message& message, const std::string& path) {
  if (message.GetDescriptor() != T::descriptor()) return std::nullopt;
  return CheckTogether(static_cast<const T&>(message), path);
}

std::optional<Violation> CheckMessage(const Message& message, const std::string& path);

// Enums may come as numbers, which protobuf takes whether they stand for something or not.
std::optional<Violation> CheckEnum(const Message& message, const FieldDescriptor& field, int index,
                                   const std::string& path) {
  const Reflection* const reflection = message.GetReflection();
  const int number = field.is_repeated() ? reflection->GetRepeatedEnumValue(message, &field, index)
                                         : reflection->GetEnumValue(message, &field);
  const auto* const value = field.enum_type()->FindValueByNumber(number);
  // 0 is ..._UNSPECIFIED.
  if (value != nullptr && number != 0) return std::nullopt;
  return Violation{
      path, UnknownEnumValueMessage(field, value == nullptr ? absl::StrCat(number) : std::string(value->name()))};
}

std::optional<Violation> CheckPath(const FieldDescriptor& field, const std::string& value, const std::string& path) {
  if (value.find('\0') != std::string::npos) return Violation{path, "a path has no NUL byte"};
  if (!IsDataPath(value)) return std::nullopt;
  if (ShortName(field) == kOfHeadAlone) {
    return Violation{path, "must be a folder of the head's; data:// is for what trials read"};
  }
  const absl::Status status = ParseDataPath(value).status();
  if (status.ok()) return std::nullopt;
  return Violation{path, absl::StrCat("'", value, "': ", std::string(status.message()))};
}

// One value of a set field.
std::optional<Violation> CheckValue(const Message& message, const FieldDescriptor& field, int index,
                                    const std::string& path) {
  if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
    const Reflection* const reflection = message.GetReflection();
    const Message& value = field.is_repeated() ? reflection->GetRepeatedMessage(message, &field, index)
                                               : reflection->GetMessage(message, &field);
    if (field.message_type() != Duration::descriptor()) return CheckMessage(value, path);
    const auto& duration = static_cast<const Duration&>(value);
    if (duration.seconds() > TimeUtil::kDurationMaxSeconds) return Violation{path, "is too long"};
    const bool zero = duration.seconds() == 0 && duration.nanos() == 0;
    const bool may_be_zero = ShortName(field) == kNoCheckpointsIfZero;
    if (zero && may_be_zero) return std::nullopt;
    const bool positive = duration.seconds() >= 0 && duration.nanos() >= 0 && duration.nanos() < 1000000000 && !zero;
    if (!positive) {
      return Violation{
          path, may_be_zero ? "must be a positive duration, or 0 for no checkpoints" : "must be a positive duration"};
    }
    if (duration.seconds() == 0 && duration.nanos() < 1000000) return Violation{path, "must be at least 0.001s"};
    return std::nullopt;
  }
  if (field.cpp_type() == FieldDescriptor::CPPTYPE_ENUM) return CheckEnum(message, field, index, path);
  if (HoldsPath(field)) return CheckPath(field, message.GetReflection()->GetString(message, &field), path);
  const auto range = Ranges().find(ShortName(field));
  const bool real = field.cpp_type() == FieldDescriptor::CPPTYPE_DOUBLE;
  if (range == Ranges().end() && !real) return std::nullopt;
  const double number = Number(message, field, index);
  if (range == Ranges().end()) {
    if (std::isfinite(number)) return std::nullopt;
    return Violation{path, absl::StrCat("must be a finite number, got ", number)};
  }
  if (range->second.Holds(number)) return std::nullopt;
  return Violation{path, absl::StrCat("must be ", range->second.ToString(), ", got ", Range::Text(number))};
}

std::optional<Violation> CheckMessage(const Message& message, const std::string& path) {
  const Descriptor& descriptor = *message.GetDescriptor();
  // The user's own: whoever takes them checks them.
  if (&descriptor == v1::Value::descriptor()) return std::nullopt;
  const Reflection* const reflection = message.GetReflection();
  const OneofDescriptor* const kind = descriptor.FindOneofByName("kind");
  if (kind != nullptr && !reflection->HasOneof(message, kind)) {
    std::vector<std::string> names;
    for (int i = 0; i < kind->field_count(); ++i) names.emplace_back(kind->field(i)->name());
    return Violation{path, absl::StrCat("nothing is set; set one of: ", absl::StrJoin(names, ", "))};
  }
  for (int i = 0; i < descriptor.field_count(); ++i) {
    const FieldDescriptor& field = *descriptor.field(i);
    const std::string field_path = Join(path, field.name());
    // Another one of its kind is set.
    if (kind != nullptr && field.real_containing_oneof() == kind && !reflection->HasField(message, &field)) continue;
    const auto required = RequiredFields().find(ShortName(field));
    if (required != RequiredFields().end() && !IsSet(message, field)) {
      return Violation{field_path, absl::StrCat("is required: ", required->second)};
    }
    if (field.is_map()) continue;
    const int size = field.is_repeated() ? reflection->FieldSize(message, &field) : 0;
    for (int index = 0; index < size; ++index) {
      auto violation = CheckValue(message, field, index, absl::StrCat(field_path, "[", index, "]"));
      if (violation) return violation;
    }
    if (!field.is_repeated() && reflection->HasField(message, &field)) {
      if (auto violation = CheckValue(message, field, -1, field_path)) return violation;
    }
  }
  if (auto violation = CheckIf<v1::SpaceConfig>(message, path)) return violation;
  if (auto violation = CheckIf<v1::ChoicesConfig>(message, path)) return violation;
  if (auto violation = CheckIf<v1::TableConfig>(message, path)) return violation;
  if (auto violation = CheckIf<v1::EvolutionConfig>(message, path)) return violation;
  if (auto violation = CheckIf<v1::ChainConfig>(message, path)) return violation;
  if (auto violation = CheckIf<v1::HyperbandConfig>(message, path)) return violation;
  if (auto violation = CheckIf<v1::ConstraintConfig>(message, path)) return violation;
  if (auto violation = CheckIf<v1::ExperimentConfig>(message, path)) return violation;
  if (auto violation = CheckIf<v1::IdxConfig>(message, path)) return violation;
  if (auto violation = CheckIf<v1::ImageFolderConfig>(message, path)) return violation;
  if (auto violation = CheckIf<v1::CsvConfig>(message, path)) return violation;
  if (auto violation = CheckIf<v1::NormalizeConfig>(message, path)) return violation;
  if (auto violation = CheckIf<v1::SgdConfig>(message, path)) return violation;
  if (auto violation = CheckIf<v1::TorchScriptConfig>(message, path)) return violation;
  if (auto violation = CheckIf<v1::ClassificationConfig>(message, path)) return violation;
  if (auto violation = CheckIf<v1::RegressionConfig>(message, path)) return violation;
  if (auto violation = CheckIf<v1::MachineConfig>(message, path)) return violation;
  if (auto violation = CheckIf<v1::SlurmConfig>(message, path)) return violation;
  return CheckIf<v1::LocalConfig>(message, path);
}

}  // namespace

std::optional<Violation> FindViolation(const Message& config) {
  if (const std::optional<NonUtf8Field> found = FindNonUtf8(config)) {
    return Violation{found->path, absl::StrCat("'", found->text, "' is not UTF-8; texts and paths must be")};
  }
  return CheckMessage(config, "");
}

absl::Status CheckConfig(const Message& config, const std::string& path) {
  const std::optional<Violation> violation = FindViolation(config);
  if (!violation) return absl::OkStatus();
  std::string place = path;
  if (!violation->path.empty()) place = Join(path, violation->path);
  return absl::InvalidArgumentError(absl::StrCat(place, place.empty() ? "" : ": ", violation->message));
}

}  // namespace lanista

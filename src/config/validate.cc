#include "src/config/validate.h"

#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/duration.pb.h"
#include "google/protobuf/message.h"
#include "google/protobuf/util/time_util.h"
#include "protos/graph.pb.h"

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

  bool Holds(double x) const { return (low_open ? x > low : x >= low) && (high_open ? x < high : x <= high); }
  std::string ToString() const {
    if (high == kInfinity) return low_open ? absl::StrCat("greater than ", low) : absl::StrCat("at least ", low);
    return absl::StrCat("in ", low_open ? "(" : "[", low, ", ", high, high_open ? ")" : "]");
  }
};

constexpr Range AtLeast(double low) { return {low, kInfinity, false, true}; }
constexpr Range kPositive = {0, kInfinity, true, true};
constexpr Range kFraction = {0, 1, true, false};      // (0, 1]
constexpr Range kOpenFraction = {0, 1, true, true};   // (0, 1)
constexpr Range kDecay = {0, 1, false, true};         // [0, 1)
constexpr Range kProbability = {0, 1, false, false};  // [0, 1]

// message.field (without the package) -> its range.
const std::map<std::string, Range>& Ranges() {
  static const auto* const kRanges = [] {
    auto* const ranges = new std::map<std::string, Range>{
        {"ExperimentConfig.trial_concurrency", AtLeast(1)},
        {"ExperimentConfig.max_trial_number", AtLeast(1)},
        {"CgoEngineConfig.max_concurrency_cgo", {1, 1024, false, false}},
        {"CgoEngineConfig.batch_waiting_time", AtLeast(0)},
        {"ClassificationConfig.label_smoothing", kDecay},
        {"ClassificationConfig.top_k", AtLeast(1)},
        {"SgdConfig.momentum", AtLeast(0)},
        {"RmsPropConfig.momentum", AtLeast(0)},
        {"RmsPropConfig.alpha", kProbability},
        {"StepScheduleConfig.step_size", AtLeast(1)},
        {"StepScheduleConfig.gamma", kPositive},
        {"CosineScheduleConfig.min_learning_rate", AtLeast(0)},
        {"GradientClippingConfig.max_norm", kPositive},
        {"GradientClippingConfig.max_value", kPositive},
        {"SplitConfig.train", kOpenFraction},
        {"IdxConfig.classes", AtLeast(2)},
        {"ImageFolderConfig.height", AtLeast(1)},
        {"ImageFolderConfig.width", AtLeast(1)},
        {"SyntheticDigitsConfig.train_samples", AtLeast(1)},
        {"SyntheticDigitsConfig.validation_samples", AtLeast(1)},
        {"SyntheticDigitsConfig.noise", AtLeast(0)},
        {"NormalizeConfig.std", kPositive},
        {"RandomCropConfig.height", AtLeast(1)},
        {"RandomCropConfig.width", AtLeast(1)},
        {"RandomCropConfig.padding", AtLeast(0)},
        {"RandomFlipConfig.probability", kProbability},
        {"RandomRotationConfig.degrees", {0, 360, false, false}},
        {"ResizeConfig.height", AtLeast(1)},
        {"ResizeConfig.width", AtLeast(1)},
        {"LocalConfig.cpu_slots", AtLeast(0)},
        {"LocalConfig.threads_per_slot", AtLeast(1)},
        {"LocalConfig.gpu_indices", AtLeast(0)},
        {"LocalConfig.memory_limit", AtLeast(1)},
        {"KeepWeightsConfig.best", AtLeast(0)},
    };
    for (const char* evaluator : {"ClassificationConfig", "RegressionConfig"}) {
      for (const char* count : {"batch_size", "validation_batch_size", "max_epochs", "max_train_batches"}) {
        ranges->emplace(absl::StrCat(evaluator, ".", count), AtLeast(1));
      }
      ranges->emplace(absl::StrCat(evaluator, ".limit_train_batches"), kFraction);
      ranges->emplace(absl::StrCat(evaluator, ".limit_validation_batches"), kFraction);
      ranges->emplace(absl::StrCat(evaluator, ".loader_threads"), AtLeast(0));
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

std::optional<Violation> CheckTogether(const v1::LocalConfig& local, const std::string& path) {
  std::set<int> gpus;
  for (int i = 0; i < local.gpu_indices_size(); ++i) {
    if (gpus.insert(local.gpu_indices(i)).second) continue;
    return Violation{absl::StrCat(Join(path, "gpu_indices"), "[", i, "]"),
                     absl::StrCat("GPU ", local.gpu_indices(i), " is named twice")};
  }
  if (local.has_cpu_slots() && local.cpu_slots() == 0 && gpus.empty()) {
    return Violation{Join(path, "cpu_slots"), "0 slots and no gpu_indices: nothing could run; at least 1"};
  }
  return std::nullopt;
}

std::optional<Violation> CheckTogether(const v1::CsvConfig& csv, const std::string& path) {
  if (csv.has_delimiter() && csv.delimiter().size() != 1) {
    return Violation{Join(path, "delimiter"), "must be one character, for example \",\" or \"\\t\""};
  }
  if (csv.has_validation_path() && csv.has_split()) {
    return Violation{Join(path, "split"), "goes with one table: leave it out, or leave out 'validation_path'"};
  }
  return std::nullopt;
}

std::optional<Violation> CheckTogether(const v1::NormalizeConfig& normalize, const std::string& path) {
  if (normalize.mean_size() == normalize.std_size()) return std::nullopt;
  return Violation{Join(path, "std"), "needs as many values as 'mean', one for each channel"};
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
    const bool positive = duration.seconds() >= 0 && duration.nanos() >= 0 && duration.nanos() < 1000000000 &&
                          (duration.seconds() > 0 || duration.nanos() > 0);
    if (!positive) return Violation{path, "must be a positive duration"};
    return std::nullopt;
  }
  const auto range = Ranges().find(ShortName(field));
  if (range == Ranges().end()) return std::nullopt;
  const double number = Number(message, field, index);
  if (range->second.Holds(number)) return std::nullopt;
  return Violation{path, absl::StrCat("must be ", range->second.ToString(), ", got ", number)};
}

std::optional<Violation> CheckMessage(const Message& message, const std::string& path) {
  const Descriptor& descriptor = *message.GetDescriptor();
  const Reflection* const reflection = message.GetReflection();
  const OneofDescriptor* const kind = descriptor.FindOneofByName("kind");
  // A Value without a kind stands for "none".
  if (kind != nullptr && !reflection->HasOneof(message, kind) && &descriptor != v1::Value::descriptor()) {
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
  if (auto violation = CheckIf<v1::IdxConfig>(message, path)) return violation;
  if (auto violation = CheckIf<v1::ImageFolderConfig>(message, path)) return violation;
  if (auto violation = CheckIf<v1::CsvConfig>(message, path)) return violation;
  if (auto violation = CheckIf<v1::NormalizeConfig>(message, path)) return violation;
  if (auto violation = CheckIf<v1::ClassificationConfig>(message, path)) return violation;
  if (auto violation = CheckIf<v1::RegressionConfig>(message, path)) return violation;
  return CheckIf<v1::LocalConfig>(message, path);
}

}  // namespace

std::optional<Violation> FindViolation(const v1::ExperimentConfig& config) { return CheckMessage(config, ""); }

}  // namespace lanista

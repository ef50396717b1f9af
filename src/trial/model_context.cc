#include "src/trial/model_context.h"

#include <sys/stat.h>
#include <torch/utils.h>
#include <torch/version.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <set>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "src/base/bounded_message.h"
#include "src/base/clock.h"
#include "src/base/component.h"
#include "src/base/deterministic_bytes.h"
#include "src/base/metric_names.h"
#include "src/base/sha256.h"
#include "src/base/status.h"
#include "src/base/unfinished_files.h"
#include "src/exporters/graph_formats_torch.h"
#include "src/nn/state_dict.h"
#include "src/ops/registry.h"
#include "src/runtime/graph_module_torch.h"
#include "src/storage/state_dir.h"
#include "src/trial/program_id.h"
#include "src/views/graph_view.h"

namespace lanista {
namespace {

// Thrown through the evaluator: the model does not belong to the experiment's space.
struct BuildError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Thrown through the evaluator: the model is not to be trained, because of what it costs.
struct RefusedError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

GuardResult NoMetric(const std::string& message) {
  GuardResult result;
  result.outcome = v1::ModelEnded::FAILED;
  result.failure.set_reason(v1::Failure::NO_METRIC);
  result.failure.set_message(BoundedMessage(message));
  return result;
}

v1::Metrics ToProto(const MetricMap& metrics) {
  v1::Metrics proto;
  for (const auto& [name, value] : metrics) (*proto.mutable_values())[name] = value;
  return proto;
}

// What a report may hold: the head keeps all of it, for all models.
constexpr size_t kMostMetrics = 1000;
constexpr size_t kLongestName = 200;

// The least time between two looks at the files of the output folder.
constexpr std::chrono::seconds kCheckInterval(1);

// Everything that decides the model's results except its placement (device, threads, merging). The kind of device is
// part of it, because a GPU cannot go on with the random stream of a CPU.
std::string Identity(const v1::TrialSpec& spec, const v1::Device& device, const v1::TrialModel& model) {
  v1::TrialSpec parts;
  parts.set_program(ProgramId());
  *parts.mutable_space() = spec.space();
  parts.set_space_fingerprint(spec.space_fingerprint());
  *parts.mutable_space_files() = spec.space_files();
  *parts.mutable_evaluator() = spec.evaluator();
  parts.set_order_seed(spec.order_seed());
  if (spec.has_deterministic()) parts.set_deterministic(spec.deterministic());
  v1::TrialModel& only = *parts.add_models();
  *only.mutable_sample() = model.sample();
  only.set_model_seed(model.model_seed());
  return Sha256(absl::StrCat(TORCH_VERSION, " ", v1::DeviceKind::Kind_Name(device.kind()), " engine ",
                             static_cast<int>(spec.engine().kind_case()), " ", DeterministicBytes(parts)));
}

void CheckMetrics(const MetricMap& metrics) {
  if (metrics.size() > kMostMetrics) {
    throw std::invalid_argument(
        absl::StrCat("a report has ", metrics.size(), " metrics; at most ", kMostMetrics, " are allowed"));
  }
  for (const auto& [name, value] : metrics) {
    if (name.size() > kLongestName) {
      throw std::invalid_argument(absl::StrCat("the metric '", name.substr(0, 20), "...' has a name of ", name.size(),
                                               " bytes; at most ", kLongestName, " are allowed"));
    }
    if (!std::isfinite(value)) throw NanMetricError(absl::StrCat("the metric '", name, "' is ", value));
  }
}

}  // namespace

void NameMemoryLimit(const v1::Device& device, std::string* message) {
  if (device.memory_limit() <= 0) return;
  absl::StrAppend(message, " (memory_limit: ", device.memory_limit(), " bytes)");
}

ModelContext::ModelContext(const TrialEnvironment& trial, const v1::TrialModel& model)
    : trial_(trial), model_(model), identity_(Identity(trial.spec, trial.device, model)) {}

std::shared_ptr<nn::Model> ModelContext::model() {
  if (built_ != nullptr) return built_;
  trial_.memory.Start();
  const std::shared_ptr<nn::Model> model = Build();
  model->to(device());
  model->train();
  trial_.built(model);
  built_ = model;
  return built_;
}

std::shared_ptr<nn::Model> ModelContext::Build() {
  const auto check_costs = [this] {
    if (!refused_.has_value()) return;
    throw RefusedError(
        refused_->outcome == v1::ModelEnded::FAILED
            ? refused_->failure.message()
            : absl::StrCat("the model breaks a limit: ", trial_.goals.DescribeViolation(ToProto(costs_))));
  };
  // An evaluator may call this more than once.
  check_costs();
  auto builder = ModelBuilderRegistry::Get().Create(trial_.spec.engine());
  if (!builder.ok()) throw BuildError(std::string(builder.status().message()));
  (*builder)->set_data(data_);
  // The weights come from the seed alone, whatever the evaluator drew before.
  torch::manual_seed(seed());
  absl::StatusOr<BuiltModel> built = (*builder)->Build(trial_.spec.space(), sample(), seed());
  if (!built.ok()) throw BuildError(std::string(built.status().message()));
  actual_sample_ = std::move(built->actual_sample);
  CountCosts(*built->model);
  check_costs();
  return std::move(built->model);
}

void ModelContext::CountCosts(const nn::Model& model) {
  std::set<const void*> counted;
  int64_t parameters = 0;
  // A parameter that several modules share counts once.
  for (const torch::Tensor& parameter : model.parameters()) {
    if (counted.insert(parameter.unsafeGetTensorImpl()).second) parameters += parameter.numel();
  }
  costs_[kParamsMetric] = static_cast<double>(parameters);
  v1::ModelEvent event = NextEvent();
  event.mutable_built()->set_params(parameters);
  if (const auto* const graph = dynamic_cast<const runtime::GraphModule*>(&model)) {
    const auto costs = CountGraphCosts(graph->graph(), ops::FindOp);
    if (costs.ok() && costs->flops.has_value()) {
      costs_[kFlopsMetric] = static_cast<double>(*costs->flops);
      event.mutable_built()->set_flops(*costs->flops);
    } else if (trial_.goals.Names(kFlopsMetric) && !RulesOfComponent(trial_.spec.evaluator()).reports_any_metric()) {
      const std::string why = costs.ok() ? absl::StrCat("the node ", costs->without_flops,
                                                        " has no rule for them, or lacks a shape (see show-graph)")
                                         : std::string(costs.status().message());
      refused_ =
          NoMetric(absl::StrCat("the model is not trained: an objective or a limit is on its 'flops', and ", why));
    }
  }
  trial_.emit(std::move(event));
  if (refused_.has_value() || trial_.goals.Violation(ToProto(costs_)) <= 0) return;
  refused_.emplace();
  refused_->outcome = v1::ModelEnded::INFEASIBLE;
}

std::string ModelContext::output_folder() {
  std::filesystem::create_directories(model_.output_folder());
  return model_.output_folder();
}

std::string ModelContext::checkpoint_folder() {
  if (!model_.checkpoint_folder().empty()) std::filesystem::create_directories(model_.checkpoint_folder());
  return model_.checkpoint_folder();
}

void ModelContext::ExportOnnx(const at::Tensor& example) {
  if (!trial_.spec.keep_weights()) return;
  const auto* const graph = dynamic_cast<const runtime::GraphModule*>(model().get());
  if (graph == nullptr) return;
  const auto written = exporters::WriteModel(*graph, "onnx", output_folder() + "/model", {example}, {}, data_);
  if (!written.ok()) {
    std::fprintf(stderr, "model.onnx was not written: %s\n", std::string(written.status().message()).c_str());
  }
}

void ModelContext::ReportIntermediate(const MetricMap& metrics) {
  CheckMetrics(metrics);
  if (const auto now = std::chrono::steady_clock::now(); now >= next_check_) {
    next_check_ = now + kCheckInterval;
    if (const absl::Status status = CheckOutputs(); !status.ok())
      throw std::runtime_error(std::string(status.message()));
  }
  const int step = next_step_++;
  // It is recorded, with the same metrics.
  if (resumed_ && step < model_.reported_steps()) return;
  v1::ModelEvent event = NextEvent();
  event.mutable_intermediate()->set_step(step);
  *event.mutable_intermediate()->mutable_metrics() = ToProto(metrics);
  trial_.emit(std::move(event));
}

void ModelContext::ReportFinal(const MetricMap& metrics) {
  CheckMetrics(metrics);
  if (final_.has_value()) throw std::logic_error("ReportFinal was called twice");
  if (metrics.count(kDefaultMetric) == 0) throw std::invalid_argument("the final metrics lack 'default'");
  final_ = metrics;
}

GuardResult ModelContext::Run(const std::function<absl::Status()>& code) const {
  bool left_early = false;
  GuardResult result = GuardTrial(trial_.canceled, [&] {
    const absl::Status status = code();
    left_early = absl::IsCancelled(status) && !trial_canceled() && stopped();
    return left_early ? absl::OkStatus() : status;
  });
  if (left_early) result.outcome = v1::ModelEnded::STOPPED_EARLY;
  return refused_.value_or(result);
}

void ModelContext::Started(Evaluator* evaluator) {
  if (evaluator != nullptr && !model_.checkpoint_folder().empty()) {
    const absl::Status found = GuardStatus([&] { return FindCheckpoint(*evaluator); });
    resumed_ = found.ok();
    if (!found.ok() && !absl::IsNotFound(found)) {
      std::fprintf(stderr, "model %d begins anew, as its checkpoint cannot be used: %s\n", model_.model(),
                   std::string(found.message()).c_str());
    }
  }
  v1::ModelEvent event = NextEvent();
  *event.mutable_started()->mutable_device() = trial_.device;
  if (resumed_) event.mutable_started()->set_resumed_steps(model_.reported_steps());
  trial_.emit(std::move(event));
}

absl::Status ModelContext::FindCheckpoint(Evaluator& evaluator) {
  namespace fs = std::filesystem;
  // Left by a process that was killed while it wrote.
  RemoveUnfinishedFiles(model_.checkpoint_folder());
  std::error_code error;
  if (!fs::exists(model_.checkpoint_folder(), error) && !error) return absl::NotFoundError("there is no folder");
  if (fs::is_empty(model_.checkpoint_folder(), error) && !error) return absl::NotFoundError("the folder is empty");
  if (error) return ErrnoToStatus(error.value(), absl::StrCat("cannot read ", model_.checkpoint_folder()));
  const absl::Status usable = evaluator.CheckCheckpoint(*this);
  // The folder is not empty, but does not hold what the evaluator looks for.
  return absl::IsNotFound(usable) ? absl::FailedPreconditionError(usable.message()) : usable;
}

absl::Status ModelContext::Finish() {
  if (trial_.spec.keep_weights()) LANISTA_RETURN_IF_ERROR(KeepWeights());
  if (LacksCosts()) Build();
  return CheckOutputs();
}

absl::Status ModelContext::CheckOutputs() const {
  namespace fs = std::filesystem;
  if (trial_.spec.output_limit() <= 0) return absl::OkStatus();
  int64_t bytes = 0;
  std::error_code error;
  fs::recursive_directory_iterator entry(model_.output_folder(), error);
  for (const fs::recursive_directory_iterator end; !error && entry != end; entry.increment(error)) {
    // What is gone since counts as nothing; the targets of links are not this model's.
    struct stat info = {};
    if (lstat(entry->path().c_str(), &info) == 0 && S_ISREG(info.st_mode)) bytes += info.st_size;
  }
  if (bytes <= trial_.spec.output_limit()) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat("the evaluator left files of ", bytes, " bytes in ",
                                                   model_.output_folder(), "; output_limit allows ",
                                                   trial_.spec.output_limit()));
}

absl::Status ModelContext::KeepWeights() {
  // An evaluator that did not ask for its model has trained none.
  if (built_ == nullptr) return absl::OkStatus();
  LANISTA_RETURN_IF_ERROR(nn::WriteStateDict(output_folder() + "/" + kWeightsFile, nn::StateDictOf(*built_)));
  left_weights_ = true;
  return absl::OkStatus();
}

bool ModelContext::LacksCosts() const {
  if (built_ != nullptr || !final_.has_value() || trial_.spec.space().has_choices()) return false;
  const auto lacks = [this](const char* cost) { return trial_.goals.Names(cost) && final_->count(cost) == 0; };
  return lacks(kParamsMetric) || lacks(kFlopsMetric);
}

void ModelContext::CompleteMetrics(GuardResult* result) {
  if (!final_.has_value()) {
    *result = NoMetric("the evaluator ended without a final metric: call ReportFinal");
    return;
  }
  // If the evaluator reports metrics of these names itself, its values are kept.
  final_->insert(costs_.begin(), costs_.end());
  const std::string missing = trial_.goals.FindMissing(ToProto(*final_));
  if (missing.empty()) return;
  const auto name = [](std::string* out, const auto& metric) { out->append(metric.first); };
  *result = NoMetric(absl::StrCat(missing, " was not reported; the model has ", absl::StrJoin(*final_, ", ", name),
                                  absl::EndsWith(missing, "'flops'")
                                      ? "; FLOPs are known of graphs whose nodes and shapes all are (show-graph)"
                                      : ""));
}

void ModelContext::Ended(GuardResult result, const v1::SpaceSpec* actual_space) {
  const bool failed = result.outcome == v1::ModelEnded::FAILED || result.outcome == v1::ModelEnded::CANCELED;
  if (!failed && stopped()) result.outcome = v1::ModelEnded::STOPPED_EARLY;
  if (result.outcome == v1::ModelEnded::SUCCEEDED) CompleteMetrics(&result);
  v1::ModelEvent event = NextEvent();
  v1::ModelEnded& ended = *event.mutable_ended();
  ended.set_outcome(result.outcome);
  if (result.outcome == v1::ModelEnded::SUCCEEDED) {
    *ended.mutable_metrics() = ToProto(*final_);
    ended.set_left_weights(left_weights_);
  }
  if (result.outcome == v1::ModelEnded::INFEASIBLE) *ended.mutable_metrics() = ToProto(costs_);
  if (result.outcome == v1::ModelEnded::FAILED || result.outcome == v1::ModelEnded::UNMERGED) {
    *ended.mutable_failure() = std::move(result.failure);
    if (ended.failure().reason() == v1::Failure::OUT_OF_MEMORY) {
      NameMemoryLimit(trial_.device, ended.mutable_failure()->mutable_message());
    }
  }
  if (actual_space != nullptr) *ended.mutable_actual_space() = *actual_space;
  if (actual_sample_.has_value() && actual_sample_->SerializeAsString() != model_.sample().SerializeAsString()) {
    *ended.mutable_actual_sample() = *std::move(actual_sample_);
  }
  ended.set_models_memory(trial_.memory.Peak());
  built_ = nullptr;
  trial_.emit(std::move(event));
}

v1::ModelEvent ModelContext::NextEvent() {
  v1::ModelEvent event;
  event.set_experiment(trial_.spec.experiment());
  event.set_trial(trial_.spec.trial());
  event.set_model(model_.model());
  event.set_attempt(model_.attempt());
  event.set_sequence(++sequence_);
  *event.mutable_time() = Now();
  return event;
}

}  // namespace lanista

#include "src/trial/runner.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <c10/core/DefaultDtype.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/GradMode.h>
#include <torch/utils.h>
#include <torch/version.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engines/model_builder.h"
#include "src/base/clock.h"
#include "src/base/status.h"
#include "src/ops/graph_module_torch.h"
#include "src/trial/attempt_log.h"
#include "src/trial/graph_requests.h"
#include "src/trial/program_id.h"
#include "src/trial/torch_guard.h"

namespace lanista {
namespace {

c10::Device TorchDevice(const v1::Device& device) {
  return device.kind() == v1::GPU ? c10::Device(c10::kCUDA, static_cast<c10::DeviceIndex>(device.index()))
                                  : c10::Device(c10::kCPU);
}

// Bytes of this process in memory.
int64_t ResidentBytes() {
  int64_t total_pages = 0, resident_pages = 0;
  std::ifstream("/proc/self/statm") >> total_pages >> resident_pages;
  return resident_pages * sysconf(_SC_PAGESIZE);
}

// Past this share of its memory limit a process that does nothing is replaced: what it leaks would be the next trial's
// loss.
constexpr double kRecycleAtShareOfLimit = 0.5;

v1::Metrics ToProto(const MetricMap& metrics) {
  v1::Metrics proto;
  for (const auto& [name, value] : metrics) (*proto.mutable_values())[name] = value;
  return proto;
}

void RequireFinite(const MetricMap& metrics) {
  for (const auto& [name, value] : metrics) {
    if (!std::isfinite(value)) throw NanMetricError(absl::StrCat("the metric '", name, "' is ", value));
  }
}

// State that user code may have changed and that the next trial must find as it was.
void ResetTorch(const v1::TrialSpec& spec, const v1::Device& device) {
  c10::GradMode::set_enabled(true);
  c10::set_default_dtype(caffe2::TypeMeta::Make<float>());
  at::set_num_threads(device.threads());
  const bool deterministic = spec.has_deterministic() ? spec.deterministic() : device.kind() == v1::CPU;
  at::globalContext().setDeterministicAlgorithms(deterministic, /*warn_only=*/false);
  at::globalContext().setDeterministicCuDNN(deterministic);
  at::globalContext().setBenchmarkCuDNN(false);
}

}  // namespace

// One attempt at one model.
class TrialRunner::Context final : public TrialContext {
 public:
  Context(TrialRunner& runner, const v1::TrialSpec& spec, const v1::TrialModel& model)
      : runner_(runner), spec_(spec), model_spec_(model) {}

  std::shared_ptr<nn::Model> model() override {
    if (built_.model == nullptr) Build();
    return built_.model;
  }

  const v1::Sample& sample() const override { return model_spec_.sample(); }
  c10::Device device() const override { return TorchDevice(runner_.device_); }
  uint64_t seed() const override { return model_spec_.model_seed(); }
  uint64_t order_seed() const override { return spec_.order_seed(); }
  bool canceled() const override { return runner_.canceled_.load(std::memory_order_relaxed); }

  std::string output_folder() override {
    std::filesystem::create_directories(spec_.output_folder());
    return spec_.output_folder();
  }

  void ExportOnnx(const at::Tensor& example) override {
    const auto* const graph = dynamic_cast<const ops::GraphModule*>(model().get());
    if (graph == nullptr) return;
    const auto written = exporters::WriteModel(*graph, "onnx", output_folder() + "/model", {example});
    if (!written.ok()) {
      std::fprintf(stderr, "model.onnx was not written: %s\n", std::string(written.status().message()).c_str());
    }
  }

  void ReportIntermediate(const MetricMap& metrics) override {
    RequireFinite(metrics);
    v1::ModelEvent event = NextEvent();
    event.mutable_intermediate()->set_step(next_step_++);
    *event.mutable_intermediate()->mutable_metrics() = ToProto(metrics);
    Emit(std::move(event));
  }

  void ReportFinal(const MetricMap& metrics) override {
    RequireFinite(metrics);
    if (final_.has_value()) throw std::logic_error("ReportFinal was called twice");
    if (metrics.count("default") == 0) throw std::invalid_argument("the final metrics lack 'default'");
    final_ = metrics;
  }

  void Started() {
    v1::ModelEvent event = NextEvent();
    *event.mutable_started()->mutable_device() = runner_.device_;
    Emit(std::move(event));
  }

  // Leaves the trained weights for exports. Models that are no graphs have no export that needs them.
  absl::Status KeepWeights() {
    const auto* const graph = dynamic_cast<const ops::GraphModule*>(built_.model.get());
    return graph == nullptr ? absl::OkStatus() : graph->Save(output_folder() + "/weights.pt");
  }

  // Emits how the attempt ended. `actual_space`: where the space is not the experiment's.
  void Ended(GuardResult result, const v1::SpaceSpec* actual_space = nullptr) {
    if (result.outcome == v1::SUCCEEDED && !final_.has_value()) {
      result.outcome = v1::FAILED;
      result.failure.set_reason(v1::NO_METRIC);
      result.failure.set_message("the evaluator ended without a final metric: call ReportFinal");
    }
    v1::ModelEvent event = NextEvent();
    v1::ModelEnded& ended = *event.mutable_ended();
    ended.set_outcome(result.outcome);
    if (result.outcome == v1::SUCCEEDED) *ended.mutable_metrics() = ToProto(*final_);
    if (result.outcome == v1::FAILED) *ended.mutable_failure() = std::move(result.failure);
    if (actual_space != nullptr) *ended.mutable_actual_space() = *actual_space;
    if (built_.model != nullptr &&
        built_.actual_sample.SerializeAsString() != model_spec_.sample().SerializeAsString()) {
      *ended.mutable_actual_sample() = built_.actual_sample;
    }
    Emit(std::move(event));
  }

 private:
  // Thrown through the evaluator: the model does not belong to the experiment's space.
  struct BuildError : std::runtime_error {
    using std::runtime_error::runtime_error;
  };

  void Build() {
    auto builder = ModelBuilderRegistry::Get().Create(spec_.engine());
    if (!builder.ok()) throw BuildError(std::string(builder.status().message()));
    // The weights come from the seed alone, whatever the evaluator drew before.
    torch::manual_seed(seed());
    absl::StatusOr<BuiltModel> built = (*builder)->Build(spec_.space(), sample(), seed());
    if (!built.ok()) throw BuildError(std::string(built.status().message()));
    built_ = *std::move(built);
    built_.model->to(device());
    built_.model->train();
  }

  v1::ModelEvent NextEvent() {
    v1::ModelEvent event;
    event.set_experiment(spec_.experiment());
    event.set_trial(spec_.trial());
    event.set_model(model_spec_.model());
    event.set_attempt(model_spec_.attempt());
    event.set_sequence(++sequence_);
    *event.mutable_time() = Now();
    return event;
  }

  void Emit(v1::ModelEvent model_event) {
    v1::TrialEvent event;
    *event.mutable_model() = std::move(model_event);
    runner_.emit_(event);
  }

  TrialRunner& runner_;
  const v1::TrialSpec& spec_;
  const v1::TrialModel& model_spec_;
  BuiltModel built_;
  std::optional<MetricMap> final_;
  int next_step_ = 0;
  int sequence_ = 0;
};

TrialRunner::TrialRunner(Emit emit, bool redirect_output) : emit_(std::move(emit)), redirect_output_(redirect_output) {}
TrialRunner::~TrialRunner() = default;

void TrialRunner::Handle(const v1::TrialRequest& request) {
  switch (request.kind_case()) {
    case v1::TrialRequest::kSetup:
      return SetUp(request.setup());
    case v1::TrialRequest::kDiscover:
      return Discover(request.discover());
    case v1::TrialRequest::kRun:
      return Run(request.run());
    case v1::TrialRequest::kImport: {
      v1::TrialEvent event;
      *event.mutable_imported() = ImportGraph(request.import());
      return emit_(event);
    }
    case v1::TrialRequest::kConvert: {
      v1::TrialEvent event;
      *event.mutable_converted() = ConvertModel(request.convert());
      return emit_(event);
    }
    default:
      // Cancel and Shutdown are the reader's; a newer head's requests are never sent to this program.
      return;
  }
}

void TrialRunner::Cancel(const v1::CancelTrial& cancel) {
  const std::lock_guard<std::mutex> lock(mutex_);
  canceled_trial_ = cancel;
  if (cancel.experiment() == current_trial_.experiment() && cancel.trial() == current_trial_.trial()) canceled_ = true;
}

void TrialRunner::SetUp(const v1::Setup& setup) {
  device_ = setup.device();
  device_.set_threads(std::max(1, device_.threads()));
  at::set_num_threads(device_.threads());
  v1::TrialEvent event;
  event.mutable_ready()->set_pid(getpid());
  event.mutable_ready()->set_libtorch_version(TORCH_VERSION);
  emit_(event);
}

void TrialRunner::Discover(const v1::Discover& request) {
  DiscoveryOptions options;
  options.skip.assign(request.skip().begin(), request.skip().end());
  options.before_run = [this](const v1::Sample& assignment) {
    v1::TrialEvent event;
    *event.mutable_discovering()->mutable_assignment() = assignment;
    emit_(event);
  };
  v1::TrialEvent event;
  v1::Discovered& discovered = *event.mutable_discovered();
  const absl::Status status = GuardStatus([&]() -> absl::Status {
    if (const auto evaluator = PreparedEvaluator(request.evaluator(), request.order_seed()); !evaluator.ok()) {
      return Annotate(evaluator.status(), "evaluator");
    }
    auto builder = ModelBuilderRegistry::Get().Create(request.engine());
    if (!builder.ok()) return Annotate(builder.status(), "engine");
    LANISTA_ASSIGN_OR_RETURN(*discovered.mutable_space(), (*builder)->Discover(request.space(), options));
    return absl::OkStatus();
  });
  if (!status.ok()) *discovered.mutable_error() = StatusToProto(status);
  discovered.set_program(ProgramId());
  emit_(event);
}

void TrialRunner::Run(const v1::TrialSpec& spec) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    current_trial_.set_experiment(spec.experiment());
    current_trial_.set_trial(spec.trial());
    canceled_ = canceled_trial_.experiment() == spec.experiment() && canceled_trial_.trial() == spec.trial();
  }
  {
    std::optional<AttemptLog> log;
    if (redirect_output_ && !spec.log_file().empty()) log.emplace(spec.log_file());
    for (const v1::TrialModel& model : spec.models()) RunModel(spec, model);
  }
  v1::TrialEvent event;
  event.mutable_ended()->set_experiment(spec.experiment());
  event.mutable_ended()->set_trial(spec.trial());
  const auto limit = static_cast<double>(device_.memory_limit());
  event.mutable_ended()->set_recycle(limit > 0 &&
                                     static_cast<double>(ResidentBytes()) > kRecycleAtShareOfLimit * limit);
  emit_(event);
}

void TrialRunner::RunModel(const v1::TrialSpec& spec, const v1::TrialModel& model) {
  Context context(*this, spec, model);
  context.Started();
  v1::SpaceSpec here;
  if (const absl::Status status = CheckSpace(spec, &here); !status.ok()) {
    GuardResult mismatch;
    mismatch.outcome = v1::FAILED;
    mismatch.failure.set_reason(v1::SPACE_MISMATCH);
    mismatch.failure.set_message(std::string(status.message()));
    return context.Ended(std::move(mismatch), &here);
  }
  context.Ended(Guard([&]() -> absl::Status {
    if (canceled_) return absl::CancelledError();
    ResetTorch(spec, device_);
    const c10::OptionalDeviceGuard device_guard(device_.kind() == v1::GPU ? c10::make_optional(TorchDevice(device_))
                                                                          : c10::nullopt);
    LANISTA_ASSIGN_OR_RETURN(Evaluator * evaluator, PreparedEvaluator(spec.evaluator(), spec.order_seed()));
    torch::manual_seed(model.model_seed());
    LANISTA_RETURN_IF_ERROR(evaluator->Evaluate(context));
    return spec.keep_weights() ? context.KeepWeights() : absl::OkStatus();
  }));
}

absl::Status TrialRunner::CheckSpace(const v1::TrialSpec& spec, v1::SpaceSpec* here) {
  if (spec.program() == ProgramId() || spec.space_fingerprint() == checked_space_) return absl::OkStatus();
  // The program was built anew since the experiment learned its space.
  LANISTA_RETURN_IF_ERROR(GuardStatus([&]() -> absl::Status {
    LANISTA_ASSIGN_OR_RETURN(const auto builder, ModelBuilderRegistry::Get().Create(spec.engine()));
    LANISTA_ASSIGN_OR_RETURN(*here, builder->Discover(spec.space(), {}));
    return absl::OkStatus();
  }));
  if (here->fingerprint() != spec.space_fingerprint()) {
    return absl::FailedPreconditionError(
        "the program was rebuilt and its space is no longer the experiment's: start a new experiment, or put the old "
        "program back");
  }
  checked_space_ = spec.space_fingerprint();
  return absl::OkStatus();
}

absl::StatusOr<Evaluator*> TrialRunner::PreparedEvaluator(const v1::EvaluatorConfig& config, uint64_t order_seed) {
  const std::string key = absl::StrCat(config.SerializeAsString(), "/", order_seed);
  if (evaluator_ == nullptr || key != evaluator_key_) {
    evaluator_ = nullptr;
    LANISTA_ASSIGN_OR_RETURN(std::unique_ptr<Evaluator> evaluator, EvaluatorRegistry::Get().Create(config));
    LANISTA_RETURN_IF_ERROR(evaluator->Prepare(order_seed));
    evaluator_ = std::move(evaluator);
    evaluator_key_ = key;
  }
  return evaluator_.get();
}

}  // namespace lanista

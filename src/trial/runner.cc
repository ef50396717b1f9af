#include "src/trial/runner.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <c10/core/DefaultDtype.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/GradMode.h>
#include <malloc.h>
#include <torch/version.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engines/cgo/shared_prefix_torch.h"
#include "engines/model_builder.h"
#include "src/base/deterministic_bytes.h"
#include "src/base/out_of_memory.h"
#include "src/base/status.h"
#include "src/data/shared_data.h"
#include "src/goals/goals.h"
#include "src/trial/attempt_log.h"
#include "src/trial/graph_requests.h"
#include "src/trial/merged_trial.h"
#include "src/trial/model_context.h"
#include "src/trial/onednn_check.h"
#include "src/trial/program_id.h"
#include "src/trial/space_files.h"
#include "src/trial/torch_device.h"
#include "src/trial/torch_guard.h"
#include "src/trial/try_models.h"

namespace lanista {
namespace {

// Bytes in memory that are this process's alone: without programs, and without data that processes share.
int64_t PrivateBytes() {
  int64_t total_pages = 0, resident_pages = 0, shared_pages = 0;
  std::ifstream("/proc/self/statm") >> total_pages >> resident_pages >> shared_pages;
  return (resident_pages - shared_pages) * sysconf(_SC_PAGESIZE);
}

// An idle process is replaced once it has grown by this share of the memory that its evaluator's data left free: what
// it leaks is missing in the next trials.
constexpr double kRecycleAtShare = 0.5;
// A share of the limit. If the data leave less room than this below the limit, the process is not replaced: a new one
// would have to read the same data again.
constexpr double kLeastRoom = 0.1;

// A larger graph space is not sent: the head then plans without graphs.
constexpr size_t kMaxGraphSpaceBytes = 16 << 20;

// State that user code may have changed and that the next trial must find as it was.
void ResetTorch(const v1::TrialSpec& spec, const v1::Device& device) {
  c10::GradMode::set_enabled(true);
  c10::set_default_dtype(caffe2::TypeMeta::Make<float>());
  at::set_num_threads(device.threads());
  const bool deterministic = spec.has_deterministic() ? spec.deterministic() : device.kind() == v1::DeviceKind::CPU;
  at::globalContext().setDeterministicAlgorithms(deterministic, /*warn_only=*/false);
  at::globalContext().setDeterministicCuDNN(deterministic);
  at::globalContext().setBenchmarkCuDNN(false);
  at::globalContext().setFlushDenormal(false);
}

// What is done with each model once it is built, in a trial of `models` models.
std::function<void(const std::shared_ptr<nn::Model>&)> ShareWhatIsAlike(int models) {
  if (models == 1) return [](const auto&) {};
  return [prefix = SharedPrefix::Create()](const std::shared_ptr<nn::Model>& model) { prefix->Add(model); };
}

// What people have to know of oneDNN, empty if nothing. Runners may share a process: each asks before it computes, and
// the first one's answer is that of all. Where models are on a GPU, code of the user's may compute on the CPU.
const std::string& OneDnnWarning() {
  static const auto* const warning = new std::string(TurnOffWrongOneDnn());
  return *warning;
}

c10::OptionalDeviceGuard GuardDevice(const v1::Device& device) {
  return c10::OptionalDeviceGuard(device.kind() == v1::DeviceKind::GPU ? c10::make_optional(TorchDevice(device))
                                                                       : c10::nullopt);
}

}  // namespace

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
      // The reader thread handles Cancel, StopModel and Shutdown. Requests of a newer head never reach this program.
      return;
  }
}

void TrialRunner::Cancel(const v1::CancelTrial& cancel) {
  const std::lock_guard<std::mutex> lock(mutex_);
  canceled_trial_ = cancel;
  if (cancel.experiment() == current_trial_.experiment() && cancel.trial() == current_trial_.trial()) canceled_ = true;
}

void TrialRunner::Stop(const v1::StopModel& stop) {
  const std::lock_guard<std::mutex> lock(mutex_);
  stops_.push_back(stop);
}

bool TrialRunner::IsStopped(int model) {
  const std::lock_guard<std::mutex> lock(mutex_);
  return std::any_of(stops_.begin(), stops_.end(), [&](const v1::StopModel& stop) {
    return stop.model() == model && stop.trial() == current_trial_.trial() &&
           stop.experiment() == current_trial_.experiment();
  });
}

void TrialRunner::SetUp(const v1::Setup& setup) {
  device_ = setup.device();
  device_.set_threads(std::max(1, device_.threads()));
  at::set_num_threads(device_.threads());
  data::ShareDataIn(setup.shared_data());
  v1::TrialEvent event;
  event.mutable_ready()->set_pid(getpid());
  event.mutable_ready()->set_libtorch_version(TORCH_VERSION);
  OneDnnWarning();  // Turns oneDNN off where it is wrong, before anything is computed.
  const absl::Status usable = GuardStatus([this] { return CheckTorchDevice(device_); });
  if (!usable.ok()) *event.mutable_ready()->mutable_error() = StatusToProto(usable);
  prepared_bytes_ = PrivateBytes();
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
    const auto evaluator = PreparedEvaluator(request.evaluator(), request.order_seed());
    if (!evaluator.ok()) {
      // Those that are built in name their fields by the whole path.
      return request.evaluator().has_custom() ? Annotate(evaluator.status(), "evaluator") : evaluator.status();
    }
    discovered.set_multi_model_evaluator(dynamic_cast<MultiModelEvaluator*>(*evaluator) != nullptr);
    auto builder = ModelBuilderRegistry::Get().Create(request.engine());
    if (!builder.ok()) return Annotate(builder.status(), "engine");
    const std::optional<v1::DataSpec> data = (*evaluator)->Data();
    (*builder)->set_data(data);
    LANISTA_ASSIGN_OR_RETURN(*discovered.mutable_space(), (*builder)->Discover(request.space(), options));
    if (data.has_value()) *discovered.mutable_space()->mutable_data() = *data;
    LANISTA_RETURN_IF_ERROR((*evaluator)->CheckSpace(discovered.mutable_space()));
    for (v1::FileDigest& file : (*evaluator)->Files()) *discovered.mutable_space()->add_files() = std::move(file);
    if (!OneDnnWarning().empty()) discovered.mutable_space()->add_warnings(OneDnnWarning());
    if (request.space().has_choices()) return absl::OkStatus();  // There are no models to try.
    const int warnings = discovered.space().warnings_size();
    if (request.trying_failed().empty()) {
      LANISTA_RETURN_IF_ERROR(TryModels(request, **builder, **evaluator, discovered.mutable_space()));
    } else {
      discovered.mutable_space()->add_warnings(request.trying_failed());
    }
    discovered.set_tries_failed(discovered.space().warnings_size() > warnings);
    LANISTA_ASSIGN_OR_RETURN(auto graph_space, (*builder)->GraphSpace(request.space()));
    // Optional: with large constants it would not fit beside the space.
    if (graph_space.has_value() && graph_space->ByteSizeLong() <= kMaxGraphSpaceBytes) {
      *discovered.mutable_graph_space() = *std::move(graph_space);
    }
    return absl::OkStatus();
  });
  if (!status.ok()) *discovered.mutable_error() = StatusToProto(status);
  if (SaysOutOfMemory(discovered.error().message()))
    NameMemoryLimit(device_, discovered.mutable_error()->mutable_message());
  discovered.set_program(ProgramId());
  emit_(event);
}

absl::Status TrialRunner::TryModels(const v1::Discover& request, ModelBuilder& builder, Evaluator& evaluator,
                                    v1::SpaceSpec* space) {
  ResetTorch(v1::TrialSpec(), device_);
  const c10::OptionalDeviceGuard device_guard = GuardDevice(device_);
  const auto before_try = [this](const v1::Sample& sample) {
    v1::TrialEvent event;
    *event.mutable_discovering()->mutable_assignment() = sample;
    event.mutable_discovering()->set_trying(true);
    emit_(event);
  };
  return lanista::TryModels(builder, request.space(), evaluator, TorchDevice(device_), before_try, space);
}

void TrialRunner::Run(const v1::TrialSpec& spec) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    current_trial_.set_experiment(spec.experiment());
    current_trial_.set_trial(spec.trial());
    canceled_ = canceled_trial_.experiment() == spec.experiment() && canceled_trial_.trial() == spec.trial();
    stops_.erase(std::remove_if(stops_.begin(), stops_.end(),
                                [&](const v1::StopModel& stop) {
                                  return stop.experiment() != spec.experiment() || stop.trial() != spec.trial();
                                }),
                 stops_.end());
  }
  {
    std::optional<AttemptLog> log;
    if (redirect_output_ && !spec.log_file().empty()) log.emplace(spec.log_file());
    RunModels(spec);
  }
  v1::TrialEvent event;
  event.mutable_ended()->set_experiment(spec.experiment());
  event.mutable_ended()->set_trial(spec.trial());
  event.mutable_ended()->set_recycle_because(OutgrownBecause());
  event.mutable_ended()->set_recycle(!event.ended().recycle_because().empty());
  emit_(event);
}

std::string TrialRunner::OutgrownBecause() const {
  const auto limit = static_cast<double>(device_.memory_limit());
  // In the head's process, memory of other work would be counted.
  if (limit <= 0 || device_.isolation() == v1::LocalConfig::IN_PROCESS) return "";
  const auto prepared = static_cast<double>(prepared_bytes_);
  const double most = prepared + kRecycleAtShare * std::max(limit - prepared, kLeastRoom * limit);
  if (static_cast<double>(PrivateBytes()) <= most) return "";
  // Perhaps the allocator keeps what the models gave back.
  malloc_trim(0);
  const int64_t bytes = PrivateBytes();
  if (static_cast<double>(bytes) <= most) return "";
  return absl::StrCat("its memory grew from ", prepared_bytes_ >> 20, " MiB, with its data, to ", bytes >> 20,
                      " MiB (memory_limit: ", device_.memory_limit() >> 20, " MiB)");
}

void TrialRunner::RunModels(const v1::TrialSpec& spec) {
  ModelsMemory memory(device_);
  const auto emit = [this](v1::ModelEvent model_event) {
    // The receiver of the last end may end this process.
    if (model_event.has_ended()) FlushOutput();
    v1::TrialEvent event;
    *event.mutable_model() = std::move(model_event);
    emit_(event);
  };
  const Goals goals(spec);
  const TrialEnvironment environment{spec,
                                     device_,
                                     goals,
                                     canceled_,
                                     [this](int model) { return IsStopped(model); },
                                     emit,
                                     ShareWhatIsAlike(spec.models_size()),
                                     memory};
  std::vector<std::unique_ptr<ModelContext>> contexts;
  for (const v1::TrialModel& model : spec.models())
    contexts.push_back(std::make_unique<ModelContext>(environment, model));
  // Reading the data is not the models' time: they start after it.
  Evaluator* evaluator = nullptr;
  const GuardResult prepared = GuardTrial(canceled_, [&]() -> absl::Status {
    if (canceled_) return absl::OkStatus();
    ResetTorch(spec, device_);
    const c10::OptionalDeviceGuard device_guard = GuardDevice(device_);
    LANISTA_ASSIGN_OR_RETURN(evaluator, PreparedEvaluator(spec.evaluator(), spec.order_seed()));
    return absl::OkStatus();
  });
  for (const auto& context : contexts) context->Started(evaluator);
  if (prepared.outcome != v1::ModelEnded::SUCCEEDED) {
    for (const auto& context : contexts) context->Ended(prepared);
    return;
  }
  v1::SpaceSpec here;
  if (const absl::Status status = CheckSpace(spec, evaluator, &here); !status.ok()) {
    GuardResult mismatch;
    mismatch.outcome = v1::ModelEnded::FAILED;
    mismatch.failure.set_reason(v1::Failure::SPACE_MISMATCH);
    mismatch.failure.set_message(std::string(status.message()));
    for (const auto& context : contexts) context->Ended(mismatch, here.fingerprint().empty() ? nullptr : &here);
    return;
  }
  if (contexts.size() == 1) return RunAlone(spec, evaluator, *contexts[0]);
  RunMerged(spec, evaluator, std::move(contexts));
}

void TrialRunner::RunAlone(const v1::TrialSpec& spec, Evaluator* evaluator, ModelContext& context) {
  context.Ended(context.Run([&]() -> absl::Status {
    if (context.canceled()) return absl::CancelledError();
    ResetTorch(spec, device_);
    const c10::OptionalDeviceGuard device_guard = GuardDevice(device_);
    at::manual_seed(context.seed());
    context.set_data(evaluator->Data());
    LANISTA_RETURN_IF_ERROR(evaluator->Evaluate(context));
    return context.Finish();
  }));
}

void TrialRunner::RunMerged(const v1::TrialSpec& spec, Evaluator* evaluator,
                            std::vector<std::unique_ptr<ModelContext>> contexts) {
  MergedTrial trial(std::move(contexts), spec.engine().cgo().on_bad_model() == v1::CgoEngineConfig::DROP);
  trial.Ended(GuardTrial(canceled_, [&]() -> absl::Status {
    if (canceled_) return absl::CancelledError();
    ResetTorch(spec, device_);
    const c10::OptionalDeviceGuard device_guard = GuardDevice(device_);
    auto* const multi_model = dynamic_cast<MultiModelEvaluator*>(evaluator);
    if (multi_model == nullptr) return absl::InternalError("the evaluator trains one model at a time");
    trial.SetData(evaluator->Data());
    LANISTA_RETURN_IF_ERROR(multi_model->EvaluateTogether(trial));
    return trial.Finish();
  }));
}

absl::Status TrialRunner::CheckSpace(const v1::TrialSpec& spec, const Evaluator* evaluator, v1::SpaceSpec* here) {
  // Canceled.
  if (evaluator == nullptr) return absl::OkStatus();
  LANISTA_RETURN_IF_ERROR(GuardStatus(
      [&] { return CheckSpaceFiles(spec.space(), spec.engine(), spec.space_files(), evaluator->Files()); }));
  if (spec.program() == ProgramId() || spec.space_fingerprint() == checked_space_) return absl::OkStatus();
  // The program was built anew since the experiment learned its space.
  LANISTA_RETURN_IF_ERROR(GuardStatus([&]() -> absl::Status {
    LANISTA_ASSIGN_OR_RETURN(const auto builder, ModelBuilderRegistry::Get().Create(spec.engine()));
    // If data cannot be read, the trial itself reports it.
    const auto evaluator = PreparedEvaluator(spec.evaluator(), spec.order_seed());
    if (evaluator.ok()) builder->set_data((*evaluator)->Data());
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
  const std::string key = absl::StrCat(DeterministicBytes(config), "/", order_seed);
  if (evaluator_ == nullptr || key != evaluator_key_) {
    evaluator_ = nullptr;
    LANISTA_ASSIGN_OR_RETURN(std::unique_ptr<Evaluator> evaluator, EvaluatorRegistry::Get().Create(config));
    LANISTA_RETURN_IF_ERROR(evaluator->Prepare(order_seed));
    evaluator_ = std::move(evaluator);
    evaluator_key_ = key;
    prepared_bytes_ = PrivateBytes();
  }
  return evaluator_.get();
}

}  // namespace lanista

#include "src/service/submitted_devices.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include "src/base/status.h"

namespace lanista {
namespace {

constexpr char kAdvice[] =
    "the devices of a head are described where it is started (`serve`); a submitted configuration may only cap how "
    "many of its trials run at once, by cpu_slots, gpu_indices or trial_concurrency";

absl::Status CheckLocal(const v1::LocalConfig& local, const std::string& path) {
  // What a head's slots are without being told otherwise may be said.
  const char* field = nullptr;
  if (local.has_threads_per_slot() && local.threads_per_slot() != 1) field = "threads_per_slot";
  if (local.use_active_gpu()) field = "use_active_gpu";
  if (local.isolation() == v1::LocalConfig::IN_PROCESS) field = "isolation";
  if (local.has_memory_limit()) field = "memory_limit";
  if (field == nullptr) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(path, ".", field, ": ", kAdvice));
}

}  // namespace

absl::Status CapByTrainingService(v1::ExperimentConfig* config) {
  int64_t selected = 0;
  bool selects = false;
  // Nodes that join by themselves work for all of a head's experiments: there may be any number of them.
  bool joining = false;
  for (int i = 0; i < config->training_service_size(); ++i) {
    const v1::TrainingServiceConfig& service = config->training_service(i);
    const std::string path = absl::StrCat("training_service[", i, "]");
    if (service.remote().machine_list_size() > 0 || service.has_slurm()) {
      return absl::PermissionDeniedError(
          absl::StrCat(path,
                       ": which machines work for a head is said where it is started (`serve --config`), or to "
                       "`run`; a submitted configuration may only cap how many of its trials run at once"));
    }
    if (service.has_remote()) {
      joining = true;
      continue;
    }
    if (!service.has_local()) return absl::PermissionDeniedError(absl::StrCat(path, ": ", kAdvice));
    const v1::LocalConfig& local = service.local();
    LANISTA_RETURN_IF_ERROR(CheckLocal(local, absl::StrCat(path, ".local")));
    selects = selects || local.has_cpu_slots() || local.gpu_indices_size() > 0;
    selected += int64_t{local.cpu_slots()} + local.gpu_indices_size();
  }
  config->clear_training_service();
  config->add_training_service()->mutable_local();
  if (!selects || joining) return absl::OkStatus();
  const int64_t most =
      config->has_trial_concurrency() ? config->trial_concurrency() : std::numeric_limits<int32_t>::max();
  config->set_trial_concurrency(static_cast<int32_t>(std::min(most, selected)));
  return absl::OkStatus();
}

}  // namespace lanista

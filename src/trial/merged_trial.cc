#include "src/trial/merged_trial.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <c10/core/DefaultDtype.h>
#include <c10/core/GradMode.h>

#include <mutex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "src/base/status.h"

namespace lanista {
namespace {

GuardResult Unmerged(const std::string& why) {
  GuardResult result;
  result.outcome = v1::ModelEnded::UNMERGED;
  result.failure.set_reason(v1::Failure::MERGED_TRIAL_FAILED);
  result.failure.set_message(why);
  return result;
}

}  // namespace

// One model's state while it runs: as it left it or, at first, as in a trial of its own.
class MergedTrial::TorchScope {
 public:
  explicit TorchScope(Member* member) : state_(&member->torch) {
    const c10::Device device = member->context->device();
    generators_.push_back(at::globalContext().defaultGenerator(c10::kCPU));
    if (!device.is_cpu()) generators_.push_back(at::globalContext().defaultGenerator(device));
    outside_ = Current(/*random=*/false);
    if (!state_->has_value()) {
      at::manual_seed(member->context->seed());
      return;
    }
    for (size_t i = 0; i < generators_.size(); ++i) {
      const std::lock_guard<std::mutex> lock(generators_[i].mutex());
      generators_[i].set_state((*state_)->random[i]);
    }
    Set(**state_);
  }
  ~TorchScope() {
    *state_ = Current(/*random=*/true);
    Set(outside_);
  }

 private:
  TorchState Current(bool random) {
    TorchState state;
    for (at::Generator& generator : generators_) {
      if (!random) break;
      const std::lock_guard<std::mutex> lock(generator.mutex());
      state.random.push_back(generator.get_state());
    }
    state.grad_mode = c10::GradMode::is_enabled();
    state.default_dtype = c10::get_default_dtype();
    state.threads = at::get_num_threads();
    return state;
  }

  static void Set(const TorchState& state) {
    c10::GradMode::set_enabled(state.grad_mode);
    if (c10::get_default_dtype() != state.default_dtype) c10::set_default_dtype(state.default_dtype);
    if (at::get_num_threads() != state.threads) at::set_num_threads(state.threads);
  }

  std::optional<TorchState>* const state_;
  std::vector<at::Generator> generators_;
  TorchState outside_;
};

MergedTrial::MergedTrial(std::vector<std::unique_ptr<ModelContext>> contexts, bool drop_bad_models)
    : drop_bad_models_(drop_bad_models) {
  for (std::unique_ptr<ModelContext>& context : contexts) {
    Member member;
    member.context = std::move(context);
    members_.push_back(std::move(member));
  }
}

absl::Status MergedTrial::Step(int model, const std::function<absl::Status()>& step) {
  Member& stepping = member(model);
  const GuardResult result = stepping.context->Run([&]() -> absl::Status {
    if (stepping.context->stopped()) return absl::CancelledError();
    const TorchScope scope(&stepping);
    return step();
  });
  if (result.outcome == v1::ModelEnded::SUCCEEDED) return absl::OkStatus();
  if (result.outcome == v1::ModelEnded::CANCELED) return absl::CancelledError();
  EndOne(stepping, result);
  // A model that was stopped or breaks a limit does not count as bad, even if it failed after it was stopped.
  if (result.outcome != v1::ModelEnded::FAILED || drop_bad_models_ || stepping.context->stopped())
    return absl::OkStatus();
  const std::string why =
      absl::StrCat("model ", stepping.context->ordinal(), " of the merged trial failed: ", result.failure.message());
  for (Member& other : members_) {
    if (other.active) EndOne(other, Unmerged(why));
  }
  return absl::OkStatus();
}

absl::Status MergedTrial::Finish() {
  for (int model = 0; model < size(); ++model) {
    if (!active(model)) continue;
    LANISTA_RETURN_IF_ERROR(Step(model, [&] { return member(model).context->Finish(); }));
    if (active(model)) EndOne(member(model), {});
  }
  return absl::OkStatus();
}

void MergedTrial::Ended(const GuardResult& result) {
  for (Member& one : members_) {
    if (!one.active) continue;
    EndOne(one, result.outcome == v1::ModelEnded::FAILED ? Unmerged(result.failure.message()) : result);
  }
}

void MergedTrial::EndOne(Member& member, const GuardResult& result) {
  member.active = false;
  member.context->Ended(result);
}

}  // namespace lanista

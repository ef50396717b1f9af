#include "src/trial/merged_trial.h"

#include <ATen/Context.h>
#include <torch/utils.h>

#include <mutex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "src/base/status.h"

namespace lanista {
namespace {

// LibTorch's default generator of the device, with `state`; afterwards `state` is where it has got to.
class RandomStream {
 public:
  RandomStream(c10::Device device, at::Tensor* state)
      : generator_(at::globalContext().defaultGenerator(device)), state_(state) {
    const std::lock_guard<std::mutex> lock(generator_.mutex());
    generator_.set_state(*state_);
  }
  ~RandomStream() {
    const std::lock_guard<std::mutex> lock(generator_.mutex());
    *state_ = generator_.get_state();
  }

 private:
  at::Generator generator_;
  at::Tensor* const state_;
};

GuardResult Unmerged(const std::string& why) {
  GuardResult result;
  result.outcome = v1::UNMERGED;
  result.failure.set_reason(v1::MERGED_TRIAL_FAILED);
  result.failure.set_message(why);
  return result;
}

}  // namespace

MergedTrial::MergedTrial(std::vector<std::unique_ptr<ModelContext>> contexts, bool drop_bad_models)
    : drop_bad_models_(drop_bad_models) {
  for (std::unique_ptr<ModelContext>& context : contexts) {
    Member member;
    // As before a trial of its own.
    torch::manual_seed(context->seed());
    at::Generator generator = at::globalContext().defaultGenerator(context->device());
    const std::lock_guard<std::mutex> lock(generator.mutex());
    member.random_state = generator.get_state();
    member.context = std::move(context);
    members_.push_back(std::move(member));
  }
}

absl::Status MergedTrial::Step(int model, const std::function<absl::Status()>& step) {
  Member& stepping = member(model);
  GuardResult result;
  {
    const RandomStream stream(stepping.context->device(), &stepping.random_state);
    result = Guard(step);
  }
  if (result.outcome == v1::SUCCEEDED) return absl::OkStatus();
  if (result.outcome == v1::CANCELED) return absl::CancelledError();
  const std::string why =
      absl::StrCat("model ", stepping.context->ordinal(), " of the merged trial failed: ", result.failure.message());
  EndOne(stepping, result);
  if (drop_bad_models_) return absl::OkStatus();
  for (Member& other : members_) {
    if (other.active) EndOne(other, Unmerged(why));
  }
  return absl::OkStatus();
}

absl::Status MergedTrial::KeepWeights() {
  for (int model = 0; model < size(); ++model) {
    if (active(model)) {
      LANISTA_RETURN_IF_ERROR(Step(model, [&] { return member(model).context->KeepWeights(); }));
    }
  }
  return absl::OkStatus();
}

void MergedTrial::Ended(const GuardResult& result) {
  for (Member& one : members_) {
    if (!one.active) continue;
    EndOne(one, result.outcome == v1::FAILED ? Unmerged(result.failure.message()) : result);
  }
}

void MergedTrial::EndOne(Member& member, const GuardResult& result) {
  member.active = false;
  member.context->Ended(result);
}

}  // namespace lanista

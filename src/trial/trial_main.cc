#include "src/trial/trial_main.h"

#include <utility>

#include "src/trial/runner.h"
#include "src/trial_process/child.h"
#include "src/trial_process/in_process.h"

namespace lanista {
namespace {

// `redirect_output`: as TrialRunner's.
MakeRequestHandler RunnerWith(bool redirect_output) {
  return [redirect_output](RequestHandler::Emit emit) {
    return std::make_unique<TrialRunner>(std::move(emit), redirect_output);
  };
}

}  // namespace

int TrialMain() { return ServeTrialProcess(RunnerWith(/*redirect_output=*/true)); }

std::unique_ptr<TrialChannel> MakeInProcessTrial() {
  return MakeInProcessChannel(RunnerWith(/*redirect_output=*/false));
}

}  // namespace lanista

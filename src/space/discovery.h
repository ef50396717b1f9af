// Discovery: learns a define-by-run space by running its constructor many times.
#ifndef LANISTA_SRC_SPACE_DISCOVERY_H_
#define LANISTA_SRC_SPACE_DISCOVERY_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "protos/space.pb.h"

namespace lanista {

// One run of a constructor: the choices that it asked for, in order (without conditions), and the answers.
struct ConstructionTrace {
  struct Asked {
    v1::Choice choice;
    int32_t option = 0;
  };
  std::vector<Asked> asked;
  // Set if the constructor threw after those choices: the candidate cannot be built, but the space can still be
  // searched.
  std::string error;
};

// Runs the constructor once. Choices in `assignment` (label -> option) get that option, all others option 0. An error
// status means that the space itself is wrong (one label with different candidates, no candidates): discovery returns
// it.
using RunConstructor = std::function<absl::StatusOr<ConstructionTrace>(const v1::Sample& assignment)>;

struct DiscoveryOptions {
  // Most runs; if there are more options to try, the space is incomplete.
  int max_runs = 10000;
  // Assignments that must not be run, because they ended an earlier process; they count as candidates that cannot be
  // built. They stay in the space: a process may also end for reasons that are not the model's.
  std::vector<v1::Sample> skip;
  // Called before each run, so that a supervisor knows which run killed the process.
  std::function<void(const v1::Sample& assignment)> before_run;
};

// Runs the constructor once for every untried option of each choice, each time with the leading choices of the run in
// which the choice was first seen, and infers the conditions under which each choice appears. Warnings name candidates
// that could not be built. At the end some random samples are run: if a model asks for other choices than predicted,
// the space is marked incomplete. Models that give the same answers as a run that failed (unless memory was short) are
// left out of a complete space (SpaceSpec.impossible). Errors: those of `run`; FAILED_PRECONDITION if no run succeeded
// (with the first error).
absl::StatusOr<v1::SpaceSpec> DiscoverSpace(const RunConstructor& run, const DiscoveryOptions& options = {});

}  // namespace lanista

#endif  // LANISTA_SRC_SPACE_DISCOVERY_H_

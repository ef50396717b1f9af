// Discovery: learns a define-by-run space by running its constructor again and again.
#ifndef LANISTA_SRC_SPACE_DISCOVERY_H_
#define LANISTA_SRC_SPACE_DISCOVERY_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "protos/space.pb.h"

namespace lanista {

// One run of a constructor: the choices that it asked for, in order (without conditions), and what each was answered.
struct ConstructionTrace {
  struct Asked {
    v1::Choice choice;
    int32_t option = 0;
  };
  std::vector<Asked> asked;
  // Set where the constructor threw after those choices: the candidate cannot be built. Its trials will fail, and the
  // space goes on.
  std::string error;
};

// Runs the constructor once: choices named in `assignment` (label -> option) are answered so, all others with option 0.
// An error status means that the space itself is wrong (the same label with other candidates, no candidates): discovery
// ends with it.
using RunConstructor = std::function<absl::StatusOr<ConstructionTrace>(const v1::Sample& assignment)>;

struct DiscoveryOptions {
  // Most runs; past it the space is incomplete.
  int max_runs = 10000;
  // Assignments that must not be run (they ended an earlier process); they count as candidates that cannot be built.
  std::vector<v1::Sample> skip;
  // Called before each run; for a supervisor that wants to know what killed the process.
  std::function<void(const v1::Sample& assignment)> before_run;
};

// Runs the constructor once for every untried option of each choice, each time with the leading choices of the run in
// which the choice was first seen, and infers under which conditions each choice appears. Warnings name candidates that
// could not be built. A few random samples are run at the end: where a model asks for other choices than predicted the
// space is marked incomplete. Errors: the constructor's own; FAILED_PRECONDITION if no run succeeded at all (with the
// first error).
absl::StatusOr<v1::SpaceSpec> DiscoverSpace(const RunConstructor& run, const DiscoveryOptions& options = {});

}  // namespace lanista

#endif  // LANISTA_SRC_SPACE_DISCOVERY_H_

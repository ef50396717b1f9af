#include "src/space/discovery.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "src/base/status.h"
#include "src/space/condition_formula.h"
#include "src/space/exploration.h"
#include "src/space/inference.h"
#include "src/space/space.h"

namespace lanista {
namespace {

constexpr int kVerifications = 32;

class Discovery {
 public:
  Discovery(const RunConstructor& run, const DiscoveryOptions& options) : explored_(run, options) {}

  absl::StatusOr<v1::SpaceSpec> Discover() {
    LANISTA_RETURN_IF_ERROR(explored_.Explore());
    if (!explored_.any_success()) {
      return absl::FailedPreconditionError(
          absl::StrCat("no model of the space can be built: ", explored_.first_error()));
    }
    LANISTA_ASSIGN_OR_RETURN(const v1::SpaceSpec spec, inference_.InferSpec());
    LANISTA_ASSIGN_OR_RETURN(const Space space, Space::FromProto(spec));
    LANISTA_RETURN_IF_ERROR(Verify(space));
    v1::SpaceSpec result = explored_.complete() ? LeaveOutImpossible(space) : space.spec();
    result.set_complete(explored_.complete());
    for (const std::string& warning : explored_.warnings()) result.add_warnings(warning);
    return result;
  }

 private:
  // The spec without the models that are known to be impossible. If they entangle the space so much that it could not
  // be counted, only those of short conditions are left out.
  v1::SpaceSpec LeaveOutImpossible(const Space& space) {
    if (!space.size().has_value()) return space.spec();
    discovery::Formula left_out = inference_.Simplified(explored_.impossible());
    std::stable_sort(
        left_out.begin(), left_out.end(),
        [](const discovery::Conjunction& a, const discovery::Conjunction& b) { return a.size() < b.size(); });
    for (; !left_out.empty(); left_out.resize(left_out.size() / 2)) {
      v1::SpaceSpec spec = space.spec();
      for (const discovery::Conjunction& conjunction : left_out) {
        inference_.AddCondition(conjunction, spec.add_impossible());
      }
      const absl::StatusOr<Space> rest = Space::FromProto(std::move(spec));
      if (!rest.ok()) continue;
      explored_.Warn(
          absl::StrCat("left out because they cannot be built: ", mpz_class(*space.size() - *rest->size()).get_str(),
                       " of ", space.size()->get_str(), " models"));
      return rest->spec();
    }
    return space.spec();
  }

  // Builds some models (all models of a small space, else random ones) and compares the choices that they ask for with
  // the space's prediction.
  absl::Status Verify(const Space& space) {
    std::mt19937_64 random(1);
    const bool all = space.size().has_value() && *space.size() <= kVerifications;
    std::optional<v1::Sample> sample = space.First();
    for (int i = 0; i < kVerifications && explored_.complete() && sample.has_value() && !explored_.spent(); ++i) {
      if (!all) sample = space.Random(random);
      LANISTA_ASSIGN_OR_RETURN(const ConstructionTrace trace, explored_.Construct(*sample));
      std::set<std::string> predicted;
      for (const v1::Decision& decision : sample->decisions()) predicted.insert(decision.label());
      std::set<std::string> asked;
      std::vector<std::pair<int, int32_t>> answers;
      for (const ConstructionTrace::Asked& a : trace.asked) {
        LANISTA_ASSIGN_OR_RETURN(const int choice, explored_.NumberOf(a.choice));
        answers.emplace_back(choice, a.option);
        asked.insert(a.choice.label());
      }
      if (!trace.error.empty()) explored_.NoteFailure(trace, answers);
      std::vector<std::string> more;
      std::vector<std::string> fewer;
      std::set_difference(asked.begin(), asked.end(), predicted.begin(), predicted.end(), std::back_inserter(more));
      std::set_difference(predicted.begin(), predicted.end(), asked.begin(), asked.end(), std::back_inserter(fewer));
      if (!more.empty()) {
        explored_.MarkIncomplete(Unforeseen(more[0], "is asked for", *sample));
      } else if (!fewer.empty() && trace.error.empty()) {
        explored_.MarkIncomplete(Unforeseen(fewer[0], "is not asked for", *sample));
      }
      if (all) sample = space.Next(*sample);
    }
    return absl::OkStatus();
  }

  static std::string Unforeseen(const std::string& label, const std::string& what, const v1::Sample& sample) {
    return absl::StrCat(
        "choice '", label, "' ", what, " by the model ", Space::ToJson(sample),
        ", unlike what single changes of the first model told: ask for it inside of what it depends on, "
        "or always");
  }

  discovery::Exploration explored_;
  // Keeps a reference to it.
  discovery::Inference inference_{explored_};
};

}  // namespace

absl::StatusOr<v1::SpaceSpec> DiscoverSpace(const RunConstructor& run, const DiscoveryOptions& options) {
  return Discovery(run, options).Discover();
}

}  // namespace lanista

// The runs of a constructor from which discovery learns a space.
#ifndef LANISTA_SRC_SPACE_EXPLORATION_H_
#define LANISTA_SRC_SPACE_EXPLORATION_H_

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "protos/space.pb.h"
#include "src/space/condition_formula.h"
#include "src/space/discovery.h"

namespace lanista::discovery {

// The runs form a tree. The *home* of a choice is the run that first asked for it. A new run is made from a home by
// taking another option of that choice: the same constructor, the same answers before that choice, first options after
// it. The new option causes every difference between home and run. If a choice is active in the home, it is active in
// another model unless some option of that model ends it; if it is not, it becomes active when some option adds it; and
// so on for the choices that an option adds.
class Exploration {
 public:
  struct Run {
    // The choice whose option differs from its home's; -1 in the first run.
    int flipped = -1;
    // The choices and their answers, in order; kept for homes only.
    std::vector<std::pair<int, int32_t>> trace;
    // Indexed by choice; shorter if later runs found more choices.
    std::vector<bool> asked;
    // Why the constructor failed; then nothing is known about later choices.
    std::string error;

    bool Asked(int choice) const { return choice < static_cast<int>(asked.size()) && asked[choice]; }
  };

  struct KnownChoice {
    v1::Choice choice;
    // The same for equal choices, wherever they were declared.
    std::string identity;
    int32_t options = 0;
    int home = 0;
    // Its index in the home's trace.
    int position = 0;
    // Option -> the run that took it; for the home's own option, the home.
    std::map<int32_t, int> run_with;
  };

  // Keeps references to both.
  Exploration(const RunConstructor& run, const DiscoveryOptions& options);

  // Makes runs until every option of every choice has been taken once, or the budget is spent.
  absl::Status Explore();

  // Makes one run, and counts it. Assignments that must not be run give a trace with an error.
  absl::StatusOr<ConstructionTrace> Construct(const v1::Sample& assignment);

  // The number of a choice that a run asked for; a new choice gets the next number. INVALID_ARGUMENT if the label was
  // used for a different choice.
  absl::StatusOr<int> NumberOf(v1::Choice choice);

  // Learns from a constructor that failed after these answers: it fails in each model that gives the same ones, because
  // it depends on its choices alone. A lack of memory is not the model's: another device may have more.
  void NoteFailure(const ConstructionTrace& trace, const std::vector<std::pair<int, int32_t>>& answers);

  // ---- What the runs told ----

  // Indexed by number; the first is the run with first options only.
  const std::vector<Run>& runs() const { return runs_; }
  // Whether the budget of runs is spent.
  bool spent() const { return runs_made_ >= options_.max_runs; }
  bool any_success() const { return any_success_; }
  // Of the first run that failed.
  const std::string& first_error() const { return first_error_; }
  // Indexed by the choice's number.
  const std::vector<KnownChoice>& choices() const { return choices_; }
  // Choices in the order of asking, merged from all runs.
  const std::vector<int>& order() const { return order_; }
  // Holds in models whose constructors fail.
  const Formula& impossible() const { return impossible_; }

  // Whether `run` asks for `choice` but its home does not.
  bool Added(const Run& run, int choice) const {
    return run.Asked(choice) && (run.flipped < 0 || !HomeOf(run.flipped).Asked(choice));
  }

  const Run& HomeOf(int choice) const { return runs_[choices_[choice].home]; }

  // Calls `visit(option, run)` for each option of `choice` whose run was made.
  template <typename Visit>
  void ForEachRunOf(int choice, const Visit& visit) const {
    for (const auto& [option, run] : choices_[choice].run_with) visit(option, runs_[run]);
  }

  // ---- What users are told ----

  // False once MarkIncomplete was called.
  bool complete() const { return complete_; }
  const std::vector<std::string>& warnings() const { return warnings_; }
  void Warn(const std::string& text);
  void MarkIncomplete(const std::string& why);

 private:
  static std::string AssignmentKey(const v1::Sample& assignment);
  static Formula::iterator Longest(Formula& formula);
  // Makes the run that takes `option` of `flipped` (-1: the first run) and records what it asked.
  absl::Status Record(const v1::Sample& assignment, int flipped, int32_t option);
  void Introduce(int choice, int run, const std::vector<std::pair<int, int32_t>>& trace, int32_t taken);
  // Queues the first option, from `option` on, that the home did not take.
  void QueueFrom(int choice, int32_t option);
  absl::Status CompareWithHome(int flipped, int32_t option, Run* run);
  std::string OptionText(int choice, int32_t option) const;

  const RunConstructor& run_;
  const DiscoveryOptions& options_;
  absl::flat_hash_set<std::string> skip_;

  std::vector<KnownChoice> choices_;
  absl::flat_hash_map<std::string, int> number_of_;
  std::vector<int> order_;
  Formula impossible_;

  std::vector<Run> runs_;
  // The next option to try of each choice that has one.
  std::deque<std::pair<int, int32_t>> untried_;
  int runs_made_ = 0;
  bool any_success_ = false;
  std::string first_error_;
  bool complete_ = true;
  std::vector<std::string> warnings_;
};

}  // namespace lanista::discovery

#endif  // LANISTA_SRC_SPACE_EXPLORATION_H_

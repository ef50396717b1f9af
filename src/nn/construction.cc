#include "src/nn/construction.h"

#include <atomic>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "src/space/space.h"

namespace lanista::nn {
namespace {

thread_local Construction* current_construction = nullptr;

// Number of living SearchGuards.
std::atomic<int> searches{0};

const char* KindName(v1::Choice::Kind kind) {
  switch (kind) {
    case v1::Choice::LAYER_CHOICE:
      return "layer";
    case v1::Choice::INPUT_CHOICE:
      return "input";
    case v1::Choice::REPEAT:
      return "repeat";
    default:
      return "value";
  }
}

std::string Describe(const v1::Choice& choice) {
  return choice.label().empty() ? absl::StrCat("the choice at ", choice.declared_in())
                                : absl::StrCat("choice '", choice.label(), "' at ", choice.declared_in());
}

// Throws SpaceError unless `choice` has options.
void CheckChoice(const v1::Choice& choice) {
  if (choice.candidates().empty()) throw SpaceError(absl::StrCat(Describe(choice), " has no candidates"));
  std::set<std::string> seen;
  for (const v1::Value& candidate : choice.candidates()) {
    if (!seen.insert(candidate.SerializeAsString()).second) {
      throw SpaceError(absl::StrCat(Describe(choice), " has the candidate ", ValueToText(candidate), " twice"));
    }
  }
  if (choice.n_chosen() < 1 || choice.n_chosen() > choice.candidates_size()) {
    throw SpaceError(absl::StrCat(Describe(choice), " chooses ", choice.n_chosen(), " of ", choice.candidates_size(),
                                  " candidates"));
  }
  if (const auto options = CountOptions(choice); !options.ok()) {
    throw SpaceError(absl::StrCat(Describe(choice), ": ", std::string(options.status().message())));
  }
}

// Whether two choices with the same label are the same choice. The source position does not matter.
bool SameChoice(v1::Choice a, v1::Choice b) {
  a.clear_declared_in();
  b.clear_declared_in();
  return a.SerializeAsString() == b.SerializeAsString();
}

std::string DescribeCandidates(const v1::Choice& choice) {
  std::vector<std::string> candidates;
  for (const v1::Value& candidate : choice.candidates()) candidates.push_back(ValueToText(candidate));
  return absl::StrCat(KindName(choice.kind()), " choice of ", choice.n_chosen(), " from [",
                      absl::StrJoin(candidates, ", "), "]");
}

}  // namespace

Construction::Construction(Answer answer) : answer_(std::move(answer)), outer_(current_construction), scopes_(1) {
  current_construction = this;
}

Construction::~Construction() { current_construction = outer_; }

v1::Sample Construction::sample() const {
  v1::Sample sample;
  for (const Asked& asked : asked_) *sample.add_decisions() = asked.decision;
  return sample;
}

SearchGuard::SearchGuard() { ++searches; }

SearchGuard::~SearchGuard() { --searches; }

v1::Decision Ask(v1::Choice choice, Location where) {
  choice.set_declared_in(absl::StrCat(where.file, ":", where.line));
  CheckChoice(choice);
  Construction* const construction = current_construction;
  if (construction == nullptr && searches > 0) {
    throw SpaceError(absl::StrCat(Describe(choice),
                                  " is asked outside of a model's constructor (in its forward, perhaps), where the "
                                  "search cannot answer: ask in the constructor, and keep the answer in a member"));
  }
  choice.set_label(LabelOr(choice.label(), KindName(choice.kind())));
  if (construction == nullptr) return MakeDecision(choice, 0);

  const auto found = construction->position_of_label_.find(choice.label());
  if (found != construction->position_of_label_.end()) {
    const Construction::Asked& earlier = construction->asked_[found->second];
    if (!SameChoice(earlier.choice, choice)) {
      throw SpaceError(absl::StrCat("label '", choice.label(), "' stands for two different choices: at ",
                                    earlier.choice.declared_in(), " for a ", DescribeCandidates(earlier.choice),
                                    ", at ", choice.declared_in(), " for a ", DescribeCandidates(choice),
                                    "; give one of them another label"));
    }
    return earlier.decision;
  }
  v1::Decision decision = construction->answer_(choice);
  construction->position_of_label_[choice.label()] = construction->asked_.size();
  construction->asked_.push_back({std::move(choice), decision});
  return decision;
}

std::string LabelOr(const std::string& label, const std::string& kind) {
  if (!label.empty()) return label;
  if (current_construction == nullptr) return kind;
  Construction::Scope& scope = current_construction->scopes_.back();
  return absl::StrCat(scope.path, scope.path.empty() ? "" : "/", kind, "_", ++scope.ordinals[kind]);
}

LabelScope::LabelScope(std::string path) : construction_(current_construction) {
  if (construction_ != nullptr) construction_->scopes_.push_back({std::move(path), {}});
}

LabelScope::~LabelScope() {
  if (construction_ != nullptr) construction_->scopes_.pop_back();
}

}  // namespace lanista::nn

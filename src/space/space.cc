#include "src/space/space.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "src/base/status.h"
#include "src/space/decision_graph.h"
#include "src/space/draw.h"
#include "src/space/messages.h"
#include "src/space/space_index.h"

namespace lanista {
namespace {

// A random number in 0 .. bound-1; uniform but for one part in 2^64.
mpz_class DrawBelow(const mpz_class& bound, std::mt19937_64& random) {
  mpz_class drawn = 0;
  for (size_t bits = 0; bits < mpz_sizeinbase(bound.get_mpz_t(), 2) + 64; bits += 64) {
    const uint64_t word = random();
    mpz_class low;
    mpz_import(low.get_mpz_t(), 1, 1, sizeof(word), 0, 0, &word);
    drawn = (drawn << 64) + low;
  }
  return drawn % bound;
}

}  // namespace

int32_t Space::option_count(int choice) const { return index_->table.choices[choice].options; }

bool Space::IsActive(int choice, const Options& options) const { return index_->table.IsActive(choice, options); }

bool Space::IsPossible(const Options& options) const { return !index_->table.IsExcluded(options); }

v1::Sample Space::ToSample(const Options& options) const {
  v1::Sample sample;
  for (size_t i = 0; i < options.size(); ++i) {
    if (options[i] >= 0) *sample.add_decisions() = MakeDecision(spec_.choices(i), options[i]);
  }
  return sample;
}

void Space::SetToFirst(size_t first, Options* options) const {
  for (size_t i = first; i < options->size(); ++i) (*options)[i] = IsActive(i, *options) ? 0 : -1;
}

v1::Sample Space::Unrank(const mpz_class& number) const { return ToSample(index_->graph->Unrank(number)); }

Space::Options Space::FirstOptions() const {
  if (!spec_.impossible().empty()) return index_->graph->Unrank(0);
  Options options(choice_count(), -1);
  SetToFirst(0, &options);
  return options;
}

v1::Sample Space::First() const { return ToSample(FirstOptions()); }

bool Space::Advance(Options* options) const {
  if (!spec_.impossible().empty()) {
    // Steps over any number of impossible models at once.
    mpz_class next = index_->graph->Rank(*options) + 1;
    if (next == *size_) return false;
    *options = index_->graph->Unrank(std::move(next));
    return true;
  }
  for (size_t i = options->size(); i-- > 0;) {
    int32_t& option = (*options)[i];
    if (option < 0 || option + 1 == option_count(i)) continue;
    ++option;
    SetToFirst(i + 1, options);
    return true;
  }
  return false;
}

std::optional<v1::Sample> Space::Next(const v1::Sample& sample) const {
  absl::StatusOr<Options> options = OptionsOf(sample);
  if (!options.ok() || !Advance(&*options)) return std::nullopt;
  return ToSample(*options);
}

Space::Options Space::RandomOptions(std::mt19937_64& random) const {
  constexpr int kDraws = 100;
  for (int draw = 0; draw < kDraws; ++draw) {
    Options options(choice_count(), -1);
    for (size_t i = 0; i < options.size(); ++i) {
      if (IsActive(i, options)) options[i] = Uniform(random, option_count(i));
    }
    if (IsPossible(options)) return options;
  }
  // Nearly all models are impossible: draws the number of one that is not.
  return index_->graph->Unrank(DrawBelow(*size_, random));
}

v1::Sample Space::Random(std::mt19937_64& random) const { return ToSample(RandomOptions(random)); }

Space::Options Space::With(Options options, int choice, int32_t option, std::mt19937_64& random) const {
  options[choice] = option;
  for (size_t i = choice + 1; i < options.size(); ++i) {
    if (!IsActive(i, options)) {
      options[i] = -1;
    } else if (options[i] < 0) {
      options[i] = Uniform(random, option_count(i));
    }
  }
  return options;
}

v1::Sample Space::With(const v1::Sample& sample, int choice, int32_t option, std::mt19937_64& random) const {
  return ToSample(With(*OptionsOf(sample), choice, option, random));
}

absl::StatusOr<Space::Options> Space::OptionsOf(const v1::Sample& sample) const {
  Options options(choice_count(), -1);
  int next = 0;
  // Choices before `end` that the sample leaves out must not be active.
  const auto pass_over = [&](int end) {
    for (; next < end; ++next) {
      if (index_->table.IsActive(next, options)) return Missing(spec_.choices(next));
    }
    return absl::OkStatus();
  };
  for (const v1::Decision& decision : sample.decisions()) {
    const auto found = index_->by_label.find(decision.label());
    if (found == index_->by_label.end()) {
      if (!complete()) continue;
      return UnknownLabel(decision.label(), spec_);
    }
    const int i = found->second;
    const v1::Choice& choice = spec_.choices(i);
    if (i < next) {
      return absl::InvalidArgumentError(
          absl::StrCat("choice '", choice.label(), "' is there twice or not in the order of the space"));
    }
    LANISTA_RETURN_IF_ERROR(pass_over(i));
    if (!index_->table.IsActive(i, options)) return NotActive(choice, ByLabel(spec_));
    options[i] = OptionOf(choice, decision);
    if (options[i] < 0) return WrongCandidate(choice, absl::StrCat("{", decision.ShortDebugString(), "}"));
    next = i + 1;
  }
  LANISTA_RETURN_IF_ERROR(pass_over(spec_.choices_size()));
  return options;
}

absl::Status Space::Check(const v1::Sample& sample) const { return OptionsOf(sample).status(); }

std::string Space::Key(const v1::Sample& sample) {
  // Labels are not needed: the decisions so far determine which choice comes next.
  std::string key;
  for (const v1::Decision& decision : sample.decisions()) {
    absl::StrAppend(&key, key.empty() ? "" : ".", absl::StrJoin(decision.index(), "+"));
  }
  return key;
}

}  // namespace lanista

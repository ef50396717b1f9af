// Regularized evolution (Real, Aggarwal, Huang and Le, "Regularized Evolution for Image Classifier Architecture
// Search", 2019): the best of a few models, drawn from a population, is mutated; each new model displaces the oldest,
// not the worst.
//
// Unlike the paper's, it does not wait for the whole first population: as long as the population, with what is running,
// is not full, models are drawn at random; then any outcome is used as soon as it is there.
#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "src/base/field_rules.h"
#include "src/space/draw.h"
#include "src/strategies/proposals.h"
#include "src/strategies/strategy.h"
#include "src/strategies/variation.h"

namespace lanista {
namespace {

class Evolution : public ProposingStrategy {
 public:
  struct Options {
    int population = 0;
    int sample = 0;
    int mutations = 1;
    bool crossover = false;
    bool dedup = true;
    v1::OnFailure::Action on_failure = v1::OnFailure::IGNORE;
  };

  Evolution(const StrategyContext& context, const Options& options)
      : ProposingStrategy(context, options.dedup, options.on_failure), options_(options) {}

 private:
  // After this many children that may not be proposed, a model is drawn at random.
  static constexpr int kChildren = 32;

  struct Member {
    Space::Options model;
    Observation observation;
  };

  void Learn(const Space::Options& model, const Observation& observation) override {
    population_.push_back({model, observation});
    if (static_cast<int>(population_.size()) > options_.population) population_.pop_front();
  }

  // A new child of the population; nullopt where a model should be drawn at random.
  std::optional<Space::Options> Propose() override {
    const size_t filling = population_.size() + proposals().running().size();
    if (population_.empty() || filling < static_cast<size_t>(options_.population)) return std::nullopt;
    const Space& space = proposals().space();
    for (int i = 0; i < kChildren; ++i) {
      Space::Options parent = Select().model;
      if (options_.crossover) parent = Crossover(space, parent, Select().model, proposals().random());
      Space::Options child = Mutate(space, parent, options_.mutations, proposals().random());
      if (proposals().Take(child)) return child;
    }
    return std::nullopt;
  }

  // The best of `sample` members, drawn with replacement as in the paper.
  const Member& Select() {
    const Member* best = nullptr;
    for (int i = 0; i < options_.sample; ++i) {
      const Member& member = population_[Uniform(proposals().random(), population_.size())];
      if (best == nullptr || Ranks(member.observation, best->observation)) best = &member;
    }
    return *best;
  }

  const Options options_;
  // The oldest first.
  std::deque<Member> population_;
};

absl::StatusOr<std::unique_ptr<Strategy>> MakeEvolution(const v1::EvolutionConfig& config,
                                                        const StrategyContext& context) {
  if (const absl::Status one = CheckOneObjective(context, "evolution"); !one.ok()) return one;
  Evolution::Options options;
  if (config.has_population()) {
    options.population = config.population();
  } else {
    // If only the sample size is set, the population must not be smaller than that.
    options.population = std::max(DefaultPopulation(context, 100), config.sample());
  }
  options.sample = config.has_sample() ? config.sample() : std::max(options.population / 4, 1);
  if (config.has_mutations()) options.mutations = config.mutations();
  options.crossover = config.crossover();
  if (config.has_dedup()) options.dedup = config.dedup();
  options.on_failure = config.on_failure();
  WarnOfSmallBudget(context, absl::StrCat("evolution with a population of ", options.population), options.population);
  return std::make_unique<Evolution>(context, options);
}

std::optional<Violation> CheckEvolution(const v1::EvolutionConfig& evolution, const std::string& path) {
  constexpr int kDefaultPopulation = 100;
  const int population = evolution.has_population() ? evolution.population() : kDefaultPopulation;
  if (evolution.sample() <= population) return std::nullopt;
  return Violation{JoinPath(path, "sample"),
                   absl::StrCat("must be at most 'population', which is ", population, ", got ", evolution.sample())};
}

LANISTA_REGISTER_CHECK(v1::EvolutionConfig, CheckEvolution);
LANISTA_REGISTER_BUILT_IN(StrategyRegistry, evolution, v1::EvolutionConfig, MakeEvolution);

}  // namespace
}  // namespace lanista

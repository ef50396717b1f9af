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
#include <utility>

#include "absl/strings/str_cat.h"
#include "src/space/draw.h"
#include "src/strategies/proposals.h"
#include "src/strategies/strategy.h"
#include "src/strategies/variation.h"

namespace lanista {
namespace {

class Evolution : public Strategy {
 public:
  struct Options {
    int population = 0;
    int sample = 0;
    int mutations = 1;
    bool crossover = false;
    bool dedup = true;
    v1::OnFailure on_failure = v1::IGNORE;
  };

  Evolution(const StrategyContext& context, const Options& options)
      : options_(options), proposals_(context, options.dedup) {}

  absl::StatusOr<Proposal> Ask(int count) override {
    return proposals_.Fill(count, [this] { return Breed(); });
  }

  void Tell(const v1::Sample& sample, const Observation& observation) override {
    auto model = proposals_.space().OptionsOf(sample);
    if (!model.ok()) return;
    proposals_.Told(*model);
    if (!LearnsFrom(observation, options_.on_failure)) return;
    population_.push_back({*std::move(model), observation});
    if (static_cast<int>(population_.size()) > options_.population) population_.pop_front();
  }

  void Expect(const v1::Sample& sample) override {
    if (const auto model = proposals_.space().OptionsOf(sample); model.ok()) proposals_.Expect(*model);
  }

 private:
  // Children that may be known before a model is drawn at random.
  static constexpr int kChildren = 32;

  struct Member {
    Space::Options model;
    Observation observation;
  };

  // A new child of the population; nullopt where a model should be drawn at random.
  std::optional<Space::Options> Breed() {
    const size_t filling = population_.size() + proposals_.running().size();
    if (population_.empty() || filling < static_cast<size_t>(options_.population)) return std::nullopt;
    const Space& space = proposals_.space();
    for (int i = 0; i < kChildren; ++i) {
      Space::Options parent = Select().model;
      if (options_.crossover) parent = Crossover(space, parent, Select().model, proposals_.random());
      Space::Options child = Mutate(space, parent, options_.mutations, proposals_.random());
      if (proposals_.Take(child)) return child;
    }
    return std::nullopt;
  }

  // The best of `sample` members, drawn with replacement as in the paper.
  const Member& Select() {
    const Member* best = nullptr;
    for (int i = 0; i < options_.sample; ++i) {
      const Member& member = population_[Uniform(proposals_.random(), population_.size())];
      if (best == nullptr || Ranks(member.observation, best->observation)) best = &member;
    }
    return *best;
  }

  const Options options_;
  Proposals proposals_;
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
    // A population that is given by its sample is not cut below it.
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

LANISTA_REGISTER(StrategyRegistry, evolution, v1::EvolutionConfig, MakeEvolution);

}  // namespace
}  // namespace lanista

// NSGA-II (Deb, Pratap, Agarwal and Meyarivan, "A Fast and Elitist Multiobjective Genetic Algorithm: NSGA-II", 2002):
// search for the best trade-offs between several objectives.
//
// Steady state: there are no generations to wait for. Each outcome joins the population at once, and the worst member
// leaves: of the last front, the one with the nearest neighbours.
#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/space/draw.h"
#include "src/strategies/pareto.h"
#include "src/strategies/proposals.h"
#include "src/strategies/strategy.h"
#include "src/strategies/variation.h"

namespace lanista {
namespace {

class Nsga2 : public ProposingStrategy {
 public:
  struct Options {
    int population = 0;
    double crossover = 0.9;
    // Absent: 1 / active choices.
    std::optional<double> mutation;
    bool dedup = true;
    v1::OnFailure::Action on_failure = v1::OnFailure::IGNORE;
  };

  Nsga2(const StrategyContext& context, const Options& options)
      : ProposingStrategy(context, options.dedup, options.on_failure), options_(options) {}

 private:
  // After this many children that may not be proposed, a model is drawn at random.
  static constexpr int kChildren = 32;

  struct Member {
    Space::Options model;
    Observation observation;
    int front = 0;
    double crowding = 0;
  };

  // Deb's crowded comparison: `a` is in an earlier front, or in the same front and farther from its neighbours.
  static bool IsFitter(const Member& a, const Member& b) {
    return a.front != b.front ? a.front < b.front : a.crowding > b.crowding;
  }

  // Finds all members' fronts and crowding distances.
  void Sort() {
    std::vector<const Observation*> observations;
    for (const Member& member : population_) observations.push_back(&member.observation);
    const std::vector<int> fronts = SortIntoFronts(observations);
    for (size_t i = 0; i < fronts.size(); ++i) population_[i].front = fronts[i];
    const int last_front = *std::max_element(fronts.begin(), fronts.end());
    for (int front = 0; front <= last_front; ++front) MeasureCrowding(front);
  }

  // Finds the crowding distances within one front.
  void MeasureCrowding(int front) {
    std::vector<Member*> members;
    std::vector<const Observation*> observations;
    for (Member& member : population_) {
      if (member.front != front) continue;
      members.push_back(&member);
      observations.push_back(&member.observation);
    }
    const std::vector<double> distances = CrowdingDistances(observations);
    for (size_t i = 0; i < members.size(); ++i) members[i]->crowding = distances[i];
  }

  void Learn(const Space::Options& model, const Observation& observation) override {
    population_.push_back({model, observation, 0, 0});
    Sort();
    if (static_cast<int>(population_.size()) <= options_.population) return;
    const auto worst = std::max_element(population_.begin(), population_.end(), IsFitter);
    const int last_front = worst->front;
    population_.erase(worst);
    // It was in the last front and dominated nobody: the fronts stay as they are.
    MeasureCrowding(last_front);
  }

  // A new child of the population; nullopt where a model should be drawn at random.
  std::optional<Space::Options> Propose() override {
    const size_t filling = population_.size() + proposals().running().size();
    if (population_.empty() || filling < static_cast<size_t>(options_.population)) return std::nullopt;
    const Space& space = proposals().space();
    for (int i = 0; i < kChildren; ++i) {
      Space::Options child = Select().model;
      if (UniformReal(proposals().random()) < options_.crossover) {
        child = Crossover(space, child, Select().model, proposals().random());
      }
      const auto active = std::count_if(child.begin(), child.end(), [](int32_t option) { return option >= 0; });
      const double mutation = options_.mutation.value_or(1 / std::max(1.0, static_cast<double>(active)));
      child = MutateEach(space, child, mutation, proposals().random());
      if (proposals().Take(child)) return child;
    }
    return std::nullopt;
  }

  // The fitter of two members.
  const Member& Select() {
    const Member& a = population_[Uniform(proposals().random(), population_.size())];
    const Member& b = population_[Uniform(proposals().random(), population_.size())];
    return IsFitter(b, a) ? b : a;
  }

  const Options options_;
  std::vector<Member> population_;
};

absl::StatusOr<std::unique_ptr<Strategy>> MakeNsga2(const v1::Nsga2Config& config, const StrategyContext& context) {
  Nsga2::Options options;
  options.population = config.has_population() ? config.population() : DefaultPopulation(context, 50);
  if (config.has_crossover()) options.crossover = config.crossover();
  if (config.has_mutation()) options.mutation = config.mutation();
  if (config.has_dedup()) options.dedup = config.dedup();
  options.on_failure = config.on_failure();
  WarnOfSmallBudget(context, absl::StrCat("nsga2 with a population of ", options.population), options.population);
  return std::make_unique<Nsga2>(context, options);
}

LANISTA_REGISTER_BUILT_IN(StrategyRegistry, nsga2, v1::Nsga2Config, MakeNsga2);

}  // namespace
}  // namespace lanista

// Spaces, searches and statistics for tests of strategies.
#ifndef LANISTA_TESTS_STRATEGIES_TESTING_H_
#define LANISTA_TESTS_STRATEGIES_TESTING_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "google/protobuf/text_format.h"
#include "protos/experiment.pb.h"
#include "src/space/draw.h"
#include "src/space/space.h"
#include "src/strategies/strategy.h"
#include "tests/space/testing.h"

namespace lanista::testing {

// The 18 models of NNI's quick start.
inline Space MakeQuickStart() {
  return MakeSpace({MakeChoice("layer", 2), MakeChoice("dropout", 3), MakeChoice("feature", 3)});
}

// One model is as likely as all others together: rejection alone would not find these.
inline Space MakeLopsided() {
  std::vector<v1::Choice> choices = {MakeChoice("c0", 2)};
  for (int i = 1; i < 20; ++i) {
    choices.push_back(MakeChoice(absl::StrCat("c", i), 2, {{{absl::StrCat("c", i - 1), {1}}}}));
  }
  return MakeSpace(choices);
}

inline Space MakeHuge() {
  std::vector<v1::Choice> choices;
  for (int i = 0; i < 30; ++i) choices.push_back(MakeChoice(absl::StrCat("c", i), 10));
  return MakeSpace(choices);
}

// A block has 1 to 3 layers, each with an operator; two of the operators have a kernel.
inline Space MakeBlock() {
  return MakeSpace({MakeChoice("layers", 3), MakeChoice("op_0", 3), MakeChoice("kernel_0", 4, {{{"op_0", {0, 1}}}}),
                    MakeChoice("op_1", 3, {{{"layers", {1, 2}}}}), MakeChoice("kernel_1", 4, {{{"op_1", {0, 1}}}}),
                    MakeChoice("op_2", 3, {{{"layers", {2}}}}), MakeChoice("width", 2)});
}

inline v1::StrategyConfig ParseStrategy(const std::string& text) {
  v1::StrategyConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config)) << text;
  return config;
}

// The strategies that are not registered by a test.
inline std::vector<std::string> BuiltInNames() {
  std::vector<std::string> names = StrategyRegistry::Get().Names();
  names.erase(
      std::remove_if(names.begin(), names.end(), [](const auto& name) { return name.rfind("custom:", 0) == 0; }),
      names.end());
  return names;
}

// The strategy with its defaults; of chain, which has none, three stages.
inline v1::StrategyConfig Named(const std::string& name) {
  if (name == "chain") {
    return ParseStrategy(
        "chain { stage { models: 4 strategy { random {} } } stage { models: 3 strategy { grid_search {} } } "
        "stage { strategy { evolution { population: 5 } } } }");
  }
  return ParseStrategy(name + " {}");
}

inline std::unique_ptr<Strategy> Make(const v1::StrategyConfig& config, const StrategyContext& context) {
  auto strategy = StrategyRegistry::Get().Create(config, context);
  EXPECT_TRUE(strategy.ok()) << strategy.status();
  return *std::move(strategy);
}
inline std::unique_ptr<Strategy> Make(const v1::StrategyConfig& config, const Space& space, uint64_t seed = 1) {
  return Make(config, StrategyContext(space, seed));
}

inline Observation Succeeded(double value) {
  Observation observation;
  observation.outcome = v1::ModelEnded::SUCCEEDED;
  observation.value = value;
  return observation;
}

inline Observation Failed() {
  Observation observation;
  observation.outcome = v1::ModelEnded::FAILED;
  return observation;
}

// What a model scores here: any fixed function of the sample.
inline Observation Score(const v1::Sample& sample) {
  double value = 0;
  for (const v1::Decision& decision : sample.decisions()) value += decision.index(0);
  return Succeeded(value);
}

using Scorer = std::function<Observation(const v1::Sample&)>;

// Asks for up to `count` at a time, tells at once, until the strategy is exhausted or has proposed `limit`.
inline std::vector<v1::Sample> RunSearch(Strategy* strategy, int count, size_t limit, const Scorer& score = Score) {
  std::vector<v1::Sample> samples;
  bool exhausted = false;
  while (!exhausted && samples.size() < limit) {
    const auto proposal = strategy->Ask(count);
    EXPECT_TRUE(proposal.ok()) << proposal.status();
    if (!proposal.ok()) break;
    EXPECT_LE(proposal->samples.size(), count);
    if (proposal->searching) continue;
    EXPECT_TRUE(proposal->exhausted || !proposal->samples.empty()) << "nothing is in flight, so nothing to wait for";
    if (!proposal->exhausted && proposal->samples.empty()) break;
    for (const v1::Sample& sample : proposal->samples) {
      samples.push_back(sample);
      strategy->Tell(sample, score(sample));
    }
    exhausted = proposal->exhausted;
  }
  return samples;
}

// Keeps `in_flight` models running, which end in any order, until the strategy is exhausted or `models` were proposed.
// All are told in the end.
inline std::vector<v1::Sample> RunAtOnce(Strategy* strategy, size_t in_flight, size_t models, uint64_t seed,
                                         const Scorer& score = Score) {
  std::mt19937_64 random(seed);
  std::vector<v1::Sample> samples;
  std::vector<v1::Sample> running;
  bool exhausted = false;
  while (true) {
    if (!exhausted && running.size() < in_flight && samples.size() < models) {
      const auto wanted = static_cast<int>(std::min(in_flight - running.size(), models - samples.size()));
      const auto proposal = strategy->Ask(wanted);
      EXPECT_TRUE(proposal.ok()) << proposal.status();
      if (!proposal.ok()) return samples;
      EXPECT_TRUE(proposal->exhausted || static_cast<int>(proposal->samples.size()) == wanted) << "devices are idle";
      for (const v1::Sample& sample : proposal->samples) {
        samples.push_back(sample);
        running.push_back(sample);
      }
      exhausted = proposal->exhausted;
    }
    if (running.empty()) return samples;
    const auto ended = running.begin() + static_cast<ptrdiff_t>(Uniform(random, running.size()));
    strategy->Tell(*ended, score(*ended));
    running.erase(ended);
  }
}

inline std::vector<std::string> Keys(const std::vector<v1::Sample>& samples) {
  std::vector<std::string> keys;
  for (const v1::Sample& sample : samples) keys.push_back(Space::Key(sample));
  return keys;
}

// The probability of a chi-square statistic at least as large as that of `counts`, of draws that should be equally
// likely; by Wilson and Hilferty's approximation.
inline double ChiSquareP(const std::vector<int>& counts) {
  double total = 0;
  for (const int count : counts) total += count;
  const double expected = total / static_cast<double>(counts.size());
  double statistic = 0;
  for (const int count : counts) statistic += (count - expected) * (count - expected) / expected;
  const auto freedom = static_cast<double>(counts.size() - 1);
  const double spread = 2 / (9 * freedom);
  const double z = (std::cbrt(statistic / freedom) - (1 - spread)) / std::sqrt(spread);
  return 0.5 * std::erfc(z / std::sqrt(2.0));
}

}  // namespace lanista::testing

#endif  // LANISTA_TESTS_STRATEGIES_TESTING_H_

// Stoppers and learning curves for tests of early stopping.
#ifndef LANISTA_TESTS_STOPPING_TESTING_H_
#define LANISTA_TESTS_STOPPING_TESTING_H_

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "google/protobuf/text_format.h"
#include "protos/experiment.pb.h"
#include "src/stopping/stopper.h"

namespace lanista::testing {

inline v1::EarlyStoppingConfig ParseStopping(const std::string& text) {
  v1::EarlyStoppingConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config)) << text;
  return config;
}

inline std::unique_ptr<Stopper> MakeStopper(const std::string& config, const StoppingContext& context = {}) {
  auto stopper = StopperRegistry::Get().Create(ParseStopping(config), context);
  EXPECT_TRUE(stopper.ok()) << stopper.status();
  return *std::move(stopper);
}

inline StoppingContext WithMaxSteps(int max_steps) {
  StoppingContext context;
  context.max_steps = max_steps;
  return context;
}

inline Observation Ended(v1::ModelEnded::Outcome outcome, int steps = 0) {
  Observation observation;
  observation.outcome = outcome;
  observation.steps = steps;
  return observation;
}

// Runs models whose values are `curves` one after the other, each to its end or to its verdict: "go on" is "-".
inline std::vector<std::string> RunCurves(Stopper* stopper, const std::vector<std::vector<double>>& curves) {
  std::vector<std::string> verdicts;
  int model = 0;
  for (const std::vector<double>& curve : curves) {
    ++model;
    int step = 0;
    Stopper::Verdict verdict;
    for (size_t i = 0; i < curve.size() && !verdict.stop; ++i) verdict = stopper->Report(model, ++step, curve[i]);
    stopper->Ended(model, Ended(verdict.stop ? v1::ModelEnded::STOPPED_EARLY : v1::ModelEnded::SUCCEEDED, step));
    verdicts.push_back(verdict.stop ? "step " + std::to_string(step) + ": " + verdict.because : "-");
  }
  return verdicts;
}

}  // namespace lanista::testing

#endif  // LANISTA_TESTS_STOPPING_TESTING_H_

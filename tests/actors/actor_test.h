// What tests of actors share: a system whose scheduler runs when told to, and actors that write down what they are
// told.
#ifndef LANISTA_TESTS_ACTORS_ACTOR_TEST_H_
#define LANISTA_TESTS_ACTORS_ACTOR_TEST_H_

#include <memory>
#include <string>
#include <vector>

#include "actors/interfaces.h"
#include "caf/actor_system.hpp"
#include "caf/actor_system_config.hpp"
#include "caf/scheduler/test_coordinator.hpp"
#include "caf/scoped_actor.hpp"
#include "caf/stateful_actor.hpp"
#include "caf/typed_event_based_actor.hpp"
#include "gtest/gtest.h"

namespace lanista {

class ActorTest : public ::testing::Test {
 protected:
  struct Config : caf::actor_system_config {
    Config() {
      add_message_types<caf::id_block::lanista>();
      set("scheduler.policy", caf::atom("testing"));
    }
  };

  ~ActorTest() override {
    for (const caf::strong_actor_ptr& actor : actors_) {
      caf::anon_send_exit(caf::actor_cast<caf::actor>(actor), caf::exit_reason::kill);
    }
    actors_.clear();
    Run();
  }

  // Handles all messages that there are. Delayed messages stay.
  void Run() { scheduler().run(); }
  // Lets all delayed messages come, in order, with what follows from each.
  void RunDelayed() {
    while (scheduler().trigger_timeout()) Run();
  }

  // Spawns an actor that ends with the test.
  template <typename Function, typename... Args>
  auto Spawn(Function function, Args&&... args) {
    auto actor = system_.spawn(function, std::forward<Args>(args)...);
    actors_.push_back(caf::actor_cast<caf::strong_actor_ptr>(actor));
    return actor;
  }

  caf::scheduler::test_coordinator& scheduler() {
    return dynamic_cast<caf::scheduler::test_coordinator&>(system_.scheduler());
  }

  Config config_;
  caf::actor_system system_{config_};
  std::vector<caf::strong_actor_ptr> actors_;
};

// A sample of one decision, enough to tell samples apart.
inline v1::Sample MakeSample(int option) {
  v1::Sample sample;
  v1::Decision& decision = *sample.add_decisions();
  decision.set_label("x");
  decision.add_index(option);
  decision.add_value()->set_i(option);
  return sample;
}

inline v1::TrialModel MakeModel(int model, int attempt = 1) {
  v1::TrialModel proto;
  proto.set_model(model);
  proto.set_attempt(attempt);
  *proto.mutable_sample() = MakeSample(model);
  return proto;
}

inline v1::TrialSpec MakeTrial(const std::string& experiment, int trial, int model = 0) {
  v1::TrialSpec spec;
  spec.set_experiment(experiment);
  spec.set_trial(trial);
  *spec.add_models() = MakeModel(model == 0 ? trial : model);
  return spec;
}

}  // namespace lanista

#endif  // LANISTA_TESTS_ACTORS_ACTOR_TEST_H_

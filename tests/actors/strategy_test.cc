#include "actors/strategy.h"

#include <stdexcept>

#include "gmock/gmock.h"
#include "tests/actors/actor_test.h"

namespace lanista {
namespace {

// A space of one choice, "x", as MakeSample decides it.
v1::SpaceSpec OneChoice() {
  v1::SpaceSpec spec;
  v1::Choice& choice = *spec.add_choices();
  choice.set_label("x");
  choice.set_kind(v1::Choice::VALUE_CHOICE);
  for (int option = 0; option < 10; ++option) choice.add_candidates()->set_i(option);
  spec.set_complete(true);
  return spec;
}

// A user's strategy, perhaps with a defect.
class UsersStrategy final : public Strategy {
 public:
  enum Defect { kNone, kThrowsInAsk, kThrowsInTell, kProposesTooMany, kProposesOthers, kSearches };
  explicit UsersStrategy(Defect defect) : defect_(defect) {}

  absl::StatusOr<Proposal> Ask(int count) override {
    if (defect_ == kThrowsInAsk) throw 42;
    ++asks_;
    Proposal proposal;
    if (defect_ == kSearches && asks_ < kParts) {
      proposal.searching = true;
      return proposal;
    }
    proposal.samples.assign(static_cast<size_t>(count), MakeSample(defect_ == kProposesOthers ? 10 : 1));
    if (defect_ == kProposesTooMany) proposal.samples.push_back(MakeSample(2));
    return proposal;
  }
  void Tell(const v1::Sample&, const Observation&) override {
    ++tells_;
    if (defect_ == kThrowsInTell) throw std::out_of_range("no such arm");
  }
  int asks() const { return asks_; }
  int tells() const { return tells_; }

  // kSearches: it is to be asked as often before it has something to propose.
  static constexpr int kParts = 50;

 private:
  const Defect defect_;
  int asks_ = 0;
  int tells_ = 0;
};

class StrategyTest : public ActorTest {
 protected:
  void StartStrategy(UsersStrategy::Defect defect) {
    auto strategy = std::make_unique<UsersStrategy>(defect);
    strategy_ = strategy.get();
    absl::StatusOr<Space> space = Space::FromProto(OneChoice());
    ASSERT_TRUE(space.ok()) << space.status();
    actor_ = Spawn(StrategyBehavior, std::make_shared<GuardedStrategy>(*std::move(space), std::move(strategy)),
                   std::string("small-1"));
  }

  v1::AskReply Ask(int count = 1) {
    v1::AskRequest ask;
    ask.set_count(count);
    auto request = self_->request(actor_, std::chrono::seconds(1), ask);
    Run();
    v1::AskReply answer;
    request.receive([&](const v1::AskReply& reply) { answer = reply; },
                    [&](const caf::error& error) { ADD_FAILURE() << FromCafError(error); });
    return answer;
  }

  void Tell() {
    caf::anon_send(actor_, v1::TellRequest());
    Run();
  }

  UsersStrategy* strategy_ = nullptr;
  StrategyActor actor_;
  caf::scoped_actor self_{system_};
};

TEST_F(StrategyTest, ProposesWhatWasAskedFor) {
  StartStrategy(UsersStrategy::kNone);
  EXPECT_EQ(Ask(3).samples_size(), 3);
}

TEST_F(StrategyTest, AStrategyThatSearchesOnIsAskedUntilItHasSomething) {
  StartStrategy(UsersStrategy::kSearches);
  EXPECT_EQ(Ask(3).samples_size(), 3);
  EXPECT_EQ(strategy_->asks(), UsersStrategy::kParts);
}

TEST_F(StrategyTest, TheEndIsHeardBetweenTwoPartsOfASearch) {
  StartStrategy(UsersStrategy::kSearches);
  v1::AskRequest ask;
  ask.set_count(1);
  auto request = self_->request(actor_, std::chrono::seconds(1), ask);
  for (int i = 0; i < 5; ++i) scheduler().run_once();
  const int asks = strategy_->asks();
  EXPECT_GT(asks, 0);
  EXPECT_LT(asks, UsersStrategy::kParts);
  caf::anon_send_exit(actor_, caf::exit_reason::user_shutdown);
  Run();
  bool failed = false;
  request.receive([](const v1::AskReply&) { ADD_FAILURE() << "it searched to the end"; },
                  [&](const caf::error&) { failed = true; });
  EXPECT_TRUE(failed);
}

TEST_F(StrategyTest, WhateverAskThrowsIsAnAnswer) {
  StartStrategy(UsersStrategy::kThrowsInAsk);
  EXPECT_EQ(Ask().error().message(), "the strategy threw something that is no std::exception");
}

TEST_F(StrategyTest, MoreSamplesThanAskedForAreAnError) {
  StartStrategy(UsersStrategy::kProposesTooMany);
  const v1::AskReply reply = Ask(3);
  EXPECT_EQ(reply.error().message(), "the strategy proposed 4 samples where at most 3 were asked for");
  EXPECT_EQ(reply.samples_size(), 0);
}

TEST_F(StrategyTest, ASampleThatIsNoneOfTheSpaceIsAnError) {
  StartStrategy(UsersStrategy::kProposesOthers);
  const v1::AskReply reply = Ask();
  EXPECT_THAT(reply.error().message(), ::testing::StartsWith("the strategy proposed what is no model of the space: "));
  EXPECT_EQ(reply.samples_size(), 0);
}

TEST_F(StrategyTest, WhatTellThrowsIsTheAnswerToTheNextAsk) {
  StartStrategy(UsersStrategy::kThrowsInTell);
  EXPECT_EQ(Ask().samples_size(), 1);
  Tell();
  Tell();
  EXPECT_EQ(strategy_->tells(), 1) << "a strategy that is broken is left alone";
  EXPECT_EQ(Ask().error().message(), "the strategy threw: no such arm");
}

StrategyRegistry::Result MakeNone(const Params&, const StrategyContext&) { throw std::bad_alloc(); }
LANISTA_REGISTER(strategy, "throws when made", MakeNone);

TEST(GuardedStrategyTest, WhatAFactoryThrowsIsAnError) {
  v1::ExperimentConfig config;
  config.mutable_strategy()->mutable_custom()->set_name("throws when made");
  const auto strategy = GuardedStrategy::Create(config, OneChoice(), 1);
  EXPECT_TRUE(absl::IsInternal(strategy.status())) << strategy.status();
}

TEST(GuardedStrategyTest, SeveralObjectivesNeedAStrategyThatKnowsThem) {
  v1::ExperimentConfig config;
  config.mutable_strategy()->mutable_tpe();
  config.add_objectives();
  config.add_objectives()->set_metric("flops");
  const auto strategy = GuardedStrategy::Create(config, OneChoice(), 1);
  EXPECT_TRUE(absl::IsInvalidArgument(strategy.status())) << strategy.status();
  EXPECT_THAT(std::string(strategy.status().message()), ::testing::HasSubstr("use nsga2"));
  config.mutable_strategy()->mutable_nsga2();
  EXPECT_TRUE(GuardedStrategy::Create(config, OneChoice(), 1).ok());
}

TEST(GuardedStrategyTest, InitialModelsKeepTheLimits) {
  v1::ExperimentConfig config;
  config.mutable_strategy()->mutable_random();
  config.add_initial()->set_sample(R"({"x": 1})");
  LimitsOfSamples limits;
  limits.violation = [](const v1::Sample&) { return 0.5; };
  limits.describe = [](const v1::Sample&) { return "params 150 (at most 100)"; };
  const auto strategy = GuardedStrategy::Create(config, OneChoice(), 1, limits);
  EXPECT_EQ(std::string(strategy.status().message()),
            "initial[0].sample: it is not within the limits: it has params 150 (at most 100)");
}

TEST(GuardedStrategyTest, ObservationsAreTurnedByTheirObjectives) {
  v1::ExperimentConfig config;
  config.add_objectives();
  v1::ObjectiveConfig& flops = *config.add_objectives();
  flops.set_metric("flops");
  flops.set_goal(v1::ObjectiveConfig::MINIMIZE);
  v1::TellRequest tell;
  tell.set_outcome(v1::ModelEnded::SUCCEEDED);
  tell.set_value(0.5);
  tell.add_objectives(0.5);
  tell.add_objectives(9);
  tell.set_violation(0.25);
  const Observation observation = ObservationOf(tell, Goals(config));
  EXPECT_EQ(observation.value, 0.5);
  EXPECT_THAT(observation.objectives, ::testing::ElementsAre(0.5, -9));
  EXPECT_EQ(observation.violation, 0.25);
}

}  // namespace
}  // namespace lanista

#include "actors/strategy.h"

#include <stdexcept>

#include "tests/actors/actor_test.h"

namespace lanista {
namespace {

// A user's strategy with a defect.
class ThrowingStrategy final : public Strategy {
 public:
  explicit ThrowingStrategy(bool in_tell) : in_tell_(in_tell) {}

  absl::StatusOr<Proposal> Ask(int /*count*/) override {
    if (!in_tell_) throw 42;
    return Proposal{{MakeSample(1)}, false};
  }
  void Tell(const v1::Sample&, const Observation&) override {
    ++tells_;
    if (in_tell_) throw std::out_of_range("no such arm");
  }
  int tells() const { return tells_; }

 private:
  const bool in_tell_;
  int tells_ = 0;
};

class StrategyTest : public ActorTest {
 protected:
  void StartStrategy(bool throws_in_tell) {
    strategy_ = std::make_shared<ThrowingStrategy>(throws_in_tell);
    actor_ = Spawn(StrategyBehavior, strategy_, v1::MAXIMIZE);
  }

  v1::AskReply Ask() {
    v1::AskRequest ask;
    ask.set_count(1);
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

  std::shared_ptr<ThrowingStrategy> strategy_;
  StrategyActor actor_;
  caf::scoped_actor self_{system_};
};

TEST_F(StrategyTest, WhateverAskThrowsIsAnAnswer) {
  StartStrategy(/*throws_in_tell=*/false);
  EXPECT_EQ(Ask().error().message(), "the strategy threw something that is no std::exception");
}

TEST_F(StrategyTest, WhatTellThrowsIsTheAnswerToTheNextAsk) {
  StartStrategy(/*throws_in_tell=*/true);
  EXPECT_EQ(Ask().samples_size(), 1);
  Tell();
  Tell();
  EXPECT_EQ(strategy_->tells(), 1) << "a strategy that is broken is left alone";
  EXPECT_EQ(Ask().error().message(), "the strategy threw: no such arm");
}

StrategyRegistry::Result MakeNone(const v1::Custom&, const Space&, uint64_t) { throw std::bad_alloc(); }
LANISTA_REGISTER_STRATEGY("throws when made", MakeNone);

TEST(MakeStrategyGuarded, WhatAFactoryThrowsIsAnError) {
  const absl::StatusOr<Space> space = Space::FromProto(v1::SpaceSpec());
  ASSERT_TRUE(space.ok()) << space.status();
  v1::StrategyConfig config;
  config.mutable_custom()->set_name("throws when made");
  const auto strategy = MakeStrategyGuarded(config, *space, 1);
  EXPECT_TRUE(absl::IsInternal(strategy.status())) << strategy.status();
}

}  // namespace
}  // namespace lanista

#include "actors/stopper.h"

#include <stdexcept>

#include "tests/actors/actor_test.h"

namespace lanista {
namespace {

// A user's: throws where the value is negative, and at the end of model 13.
class UsersStopper final : public Stopper {
 public:
  Verdict Report(int, int, double value) override {
    ++calls_;
    if (value < 0) throw std::out_of_range("no such rung");
    return {value < 1, "too little"};
  }
  void Ended(int model, const Observation&) override {
    if (model == 13) throw std::runtime_error("unlucky");
  }
  int calls() const { return calls_; }

 private:
  int calls_ = 0;
};

class StopperTest : public ActorTest {
 protected:
  StopperTest() {
    auto stopper = std::make_unique<UsersStopper>();
    stopper_ = stopper.get();
    actor_ =
        Spawn(StopperBehavior, std::make_shared<GuardedStopper>(std::move(stopper), v1::ObjectiveConfig::MAXIMIZE));
  }

  template <typename Message>
  v1::StopVerdict Send(const Message& message) {
    auto request = self_->request(actor_, std::chrono::seconds(1), message);
    Run();
    v1::StopVerdict answer;
    request.receive([&](const v1::StopVerdict& verdict) { answer = verdict; },
                    [&](const caf::error& error) { ADD_FAILURE() << FromCafError(error); });
    return answer;
  }
  v1::StopVerdict Report(double value) {
    v1::StepReport report;
    report.set_model(1);
    report.set_value(value);
    return Send(report);
  }
  v1::StopVerdict End(int model) {
    v1::TellRequest ended;
    ended.set_model(model);
    return Send(ended);
  }

  UsersStopper* stopper_ = nullptr;
  StopperActor actor_;
  caf::scoped_actor self_{system_};
};

TEST_F(StopperTest, AnswersWithTheVerdict) {
  EXPECT_FALSE(Report(2).stop());
  const v1::StopVerdict verdict = Report(0.5);
  EXPECT_TRUE(verdict.stop());
  EXPECT_EQ(verdict.because(), "too little");
  EXPECT_FALSE(End(1).has_error());
}

TEST_F(StopperTest, WhatItThrowsIsTheAnswerAndItIsLeftAloneFromThenOn) {
  EXPECT_EQ(Report(-1).error().message(), "the stopper threw: no such rung");
  EXPECT_EQ(Report(1).error().message(), "the stopper threw: no such rung");
  EXPECT_EQ(End(1).error().message(), "the stopper threw: no such rung");
  EXPECT_EQ(stopper_->calls(), 1);
}

TEST_F(StopperTest, WhatAnEndMakesItThrowIsTheAnswer) {
  EXPECT_EQ(End(13).error().message(), "the stopper threw: unlucky");
  EXPECT_TRUE(Report(1).has_error());
  EXPECT_EQ(stopper_->calls(), 0);
}

}  // namespace
}  // namespace lanista

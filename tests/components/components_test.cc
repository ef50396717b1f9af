// Components from outside the tree's lists, one of each kind that needs no LibTorch: this file registers them, with the
// messages of own.proto, and no list or switch of Lanista knows them.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "protos/experiment.pb.h"
#include "src/config/paths.h"
#include "src/config/validate.h"
#include "src/devices/device_source.h"
#include "src/graph/builder.h"
#include "src/graph/graph.h"
#include "src/graph/mutator.h"
#include "src/stopping/stopper.h"
#include "src/strategies/strategy.h"
#include "tests/components/own.pb.h"

namespace lanista {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

// ---- The components ----

class WalkStrategy : public Strategy {
 public:
  explicit WalkStrategy(own::Walk config) : config_(std::move(config)) {}

  absl::StatusOr<Proposal> Ask(int count) override {
    Proposal proposal;
    proposal.samples.resize(static_cast<size_t>(count * config_.step()));
    return proposal;
  }
  void Tell(const v1::Sample&, const Observation&) override {}

 private:
  const own::Walk config_;
};

absl::StatusOr<std::unique_ptr<Strategy>> MakeWalk(const own::Walk& config, const StrategyContext&) {
  return std::make_unique<WalkStrategy>(config);
}

std::optional<Violation> CheckWalk(const own::Walk& walk, const std::string& path) {
  if (!walk.has_last() || walk.first() <= walk.last()) return std::nullopt;
  return Violation{JoinPath(path, "first"), absl::StrCat("must be at most 'last', which is ", walk.last())};
}

class BelowStopper : public Stopper {
 public:
  explicit BelowStopper(double limit) : limit_(limit) {}
  Verdict Report(int, int, double value) override { return {value < limit_, "it is below the limit"}; }

 private:
  const double limit_;
};

absl::StatusOr<std::unique_ptr<Stopper>> MakeBelow(const own::Below& config, const StoppingContext&) {
  return std::make_unique<BelowStopper>(config.limit());
}

class MachinesSource : public DeviceSource {
 public:
  explicit MachinesSource(int count) : count_(count) {}
  absl::StatusOr<std::vector<v1::Device>> Devices() const override {
    return std::vector<v1::Device>(static_cast<size_t>(count_));
  }

 private:
  const int count_;
};

absl::StatusOr<std::unique_ptr<DeviceSource>> MakeMachines(const own::Machines& config) {
  return std::make_unique<MachinesSource>(config.count());
}

// Lets the node "act" be another operator.
class ExchangeMutator : public graph::Mutator {
 public:
  explicit ExchangeMutator(std::string other) : other_(std::move(other)) {}

  absl::Status Mutate(graph::MutableModel& model, graph::Chooser& chooser) const override {
    const auto type = chooser.ChooseValue("act", {graph::StringValue("aten::relu"), graph::StringValue(other_)});
    if (!type.ok()) return type.status();
    const auto found = model.Find("act");
    if (!found.ok()) return found.status();
    return model.Replace(found->front(), graph::MakeOp(type->s()));
  }

 private:
  const std::string other_;
};

// Without what else factories of mutators get.
absl::StatusOr<std::unique_ptr<graph::Mutator>> MakeExchange(const own::Exchange& config) {
  return std::make_unique<ExchangeMutator>(config.other());
}

absl::StatusOr<std::unique_ptr<Strategy>> MakeBare(const own::Bare&, const StrategyContext&) {
  return std::make_unique<WalkStrategy>(own::Walk());
}
absl::StatusOr<std::unique_ptr<Strategy>> MakeAnything(const own::Anything&, const StrategyContext&) {
  return std::make_unique<WalkStrategy>(own::Walk());
}
absl::StatusOr<std::unique_ptr<Strategy>> MakeNested(const own::Nested&, const StrategyContext&) {
  return std::make_unique<WalkStrategy>(own::Walk());
}

// With Params instead of a message, and without the context.
absl::StatusOr<std::unique_ptr<Strategy>> MakeOfParams(const Params& params) {
  own::Walk walk;
  walk.set_step(static_cast<int>(params.Get<int64_t>("step")));
  return std::make_unique<WalkStrategy>(walk);
}

LANISTA_REGISTER_CHECK(own::Walk, CheckWalk);
LANISTA_REGISTER(strategy, "walk", MakeWalk);
LANISTA_REGISTER(stopper, "below", MakeBelow);
LANISTA_REGISTER(device_source, "machines", MakeMachines);
LANISTA_REGISTER(mutator, "exchange", MakeExchange);
LANISTA_REGISTER(strategy, "bare", MakeBare);
LANISTA_REGISTER(strategy, "anything", MakeAnything);
LANISTA_REGISTER(strategy, "nested", MakeNested);
LANISTA_REGISTER(strategy, "of params", MakeOfParams);

// ---- The tests ----

template <typename Config>
Config Parse(const std::string& text) {
  Config config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config)) << text;
  return config;
}

// `custom` with one parameter: "step" and "i: 3".
template <typename Config>
Config Custom(const std::string& name, const std::string& key, const std::string& value) {
  return Parse<Config>(absl::StrCat("custom { name: '", name, "' params { key: '", key, "' value { ", value, " } } }"));
}

// What is wrong with a strategy with one parameter, when its configuration is checked.
std::string Problem(const std::string& key, const std::string& value, const std::string& name = "walk") {
  return std::string(CheckConfig(Custom<v1::StrategyConfig>(name, key, value), "strategy").message());
}

class ComponentsTest : public ::testing::Test {
 protected:
  const Space space_ = *Space::FromProto(v1::SpaceSpec());
  const StrategyContext context_{space_, 1};
};

TEST_F(ComponentsTest, AStrategyOfAMessageRuns) {
  const auto config = Custom<v1::StrategyConfig>("walk", "step", "i: 3");
  EXPECT_TRUE(StrategyRegistry::Get().Validate(config).ok());
  const auto strategy = StrategyRegistry::Get().Create(config, context_);
  ASSERT_TRUE(strategy.ok()) << strategy.status();
  const auto proposal = (*strategy)->Ask(2);
  ASSERT_TRUE(proposal.ok());
  EXPECT_THAT(proposal->samples, SizeIs(6));
}

TEST_F(ComponentsTest, AStopperOfAMessageRuns) {
  const auto config = Custom<v1::EarlyStoppingConfig>("below", "limit", "f: 0.5");
  EXPECT_TRUE(StopperRegistry::Get().Validate(config).ok());
  const auto stopper = StopperRegistry::Get().Create(config, StoppingContext());
  ASSERT_TRUE(stopper.ok()) << stopper.status();
  EXPECT_TRUE((*stopper)->Report(1, 1, 0.4).stop);
  EXPECT_FALSE((*stopper)->Report(1, 2, 0.6).stop);
  EXPECT_EQ(CheckConfig(Custom<v1::EarlyStoppingConfig>("below", "limit", "f: 2"), "").message(),
            "custom.params.limit: must be at most 1, got 2");
  EXPECT_EQ(CheckConfig(Parse<v1::EarlyStoppingConfig>("custom { name: 'below' }"), "").message(),
            "custom.params.limit: is required: values below it stop a model");
}

TEST_F(ComponentsTest, DevicesOfAMessageAreSelected) {
  v1::ExperimentConfig config;
  *config.add_training_service() = Custom<v1::TrainingServiceConfig>("machines", "count", "i: 2");
  const auto devices = SelectDevices(config.training_service());
  ASSERT_TRUE(devices.ok()) << devices.status();
  EXPECT_THAT(*devices, SizeIs(2));
  *config.mutable_training_service(0) = Custom<v1::TrainingServiceConfig>("machines", "patience", "s: '0s'");
  EXPECT_EQ(CheckConfig(config.training_service(0), "").message(),
            "custom.params.patience: must be a positive duration");
}

// One operator, of which only LibTorch has a schema.
absl::StatusOr<v1::ModelGraph> OneRelu(graph::OpLookup find_op) {
  graph::Builder net("Net", find_op);
  const graph::Handle x = net.Input("x");
  net.Output(net.Add("act", graph::MakeOp("aten::relu"), {{"self", x}}));
  return std::move(net).Build();
}

TEST_F(ComponentsTest, AMutatorOfAMessageMakesASpace) {
  const graph::OpLookup find_op = [](absl::string_view) -> const graph::OpSchema* { return nullptr; };
  const auto base = OneRelu(find_op);
  ASSERT_TRUE(base.ok()) << base.status();
  v1::SpaceConfig config;
  *config.add_mutator() = Custom<v1::MutatorConfig>("exchange", "other", "s: 'aten::silu'");
  EXPECT_TRUE(graph::MutatorRegistry::Get().Validate(config.mutator(0)).ok());
  const auto space = graph::GraphSpace::Create(*base, config, find_op, nullptr);
  ASSERT_TRUE(space.ok()) << space.status();
  graph::Chooser second([](const v1::Choice& choice) -> absl::StatusOr<v1::Decision> {
    v1::Decision decision;
    decision.set_label(choice.label());
    decision.add_index(1);
    *decision.add_value() = choice.candidates(1);
    return decision;
  });
  const auto model = space->Materialise(second);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(graph::RootGraph(*model).nodes(0).op().type(), "aten::silu");
  EXPECT_EQ(CheckConfig(Parse<v1::MutatorConfig>("custom { name: 'exchange' }"), "").message(),
            "custom.params.other: is required: the operator that may stand in place of relu");
}

TEST_F(ComponentsTest, ParametersAreCheckedWithTheConfiguration) {
  EXPECT_EQ(Problem("step", "i: 1"), "");
  EXPECT_EQ(Problem("step", "i: 0"), "strategy.custom.params.step: must be at least 1, got 0");
  EXPECT_EQ(Problem("step", "i: 5000000000"),
            "strategy.custom.params.step: is { i: 5000000000 }; it must be an integer of 32 bits: value { i: 1 }");
  EXPECT_EQ(Problem("step", "s: '1'"),
            "strategy.custom.params.step: is { s: \"1\" }; it must be an integer of 32 bits: value { i: 1 }");
  EXPECT_EQ(Problem("stp", "i: 1"),
            "strategy.custom.params.stp: there is no such parameter; did you mean 'step'? allowed here: step, "
            "direction, table, more, first, last, dedup");
  EXPECT_EQ(Problem("direction", "s: 'BACKWARDS'"), "");
  EXPECT_THAT(Problem("direction", "s: 'BACKWARD'"),
              HasSubstr("params.direction: 'BACKWARD' is not a value of 'direction'; did you mean 'BACKWARDS'?"));
  EXPECT_EQ(Problem("more", "list { values { s: 'a' } values { s: 'a' } }"),
            "strategy.custom.params.more[1]: table a is named twice; keep one");
  EXPECT_THAT(Problem("more", "list { values { s: 'a' } values { i: 1 } }"), HasSubstr("params.more[1]: is { i: 1 }"));
  EXPECT_THAT(Problem("table", "s: 'data://../x'"), HasSubstr("params.table: 'data://../x': "));
}

TEST_F(ComponentsTest, ChecksOverSeveralFieldsAreMade) {
  const auto config = Parse<v1::StrategyConfig>(
      "custom { name: 'walk' params { key: 'first' value { i: 3 } } params { key: 'last' value { i: 2 } } }");
  EXPECT_EQ(CheckConfig(config, "").message(), "custom.params.first: must be at most 'last', which is 2");
}

// Whoever did not check the configuration, for example a trial process of another head, gets no component either.
TEST_F(ComponentsTest, BadParametersMakeNoComponent) {
  const auto strategy = StrategyRegistry::Get().Create(Custom<v1::StrategyConfig>("walk", "step", "i: 0"), context_);
  EXPECT_EQ(strategy.status(), absl::InvalidArgumentError("'walk': params.step: must be at least 1, got 0"));
}

TEST_F(ComponentsTest, PathsAmongParametersAreFound) {
  v1::ExperimentConfig config;
  *config.mutable_strategy() = Custom<v1::StrategyConfig>("walk", "table", "s: 'a.csv'");
  auto& params = *config.mutable_strategy()->mutable_custom()->mutable_params();
  params["more"].mutable_list()->add_values()->set_s("data://tables/b.csv");
  params["more"].mutable_list()->add_values()->set_s("c.csv");
  params["step"].set_i(1);
  ASSERT_TRUE(ResolvePaths(config, "/configs").ok());
  EXPECT_EQ(params["table"].s(), "/configs/a.csv");
  EXPECT_THAT(PathsIn(config), ElementsAre("/configs/a.csv", "data://tables/b.csv", "/configs/c.csv"));
  std::vector<std::string> fields;
  ASSERT_TRUE(VisitPaths(config, [&fields](const std::string& field, const std::string&) {
                fields.push_back(field);
                return absl::OkStatus();
              }).ok());
  EXPECT_THAT(fields, ElementsAre("strategy.custom.params.table", "strategy.custom.params.more[0]",
                                  "strategy.custom.params.more[1]"));
}

TEST_F(ComponentsTest, AMessageThatSaysNothingIsRefusedAndSaysWhatToDo) {
  EXPECT_THAT(Problem("width", "i: 1", "bare"),
              AllOf(HasSubstr("strategy.custom.name: 'bare' cannot be used: its message own.Bare does not say"),
                    HasSubstr("import \"protos/options.proto\""), HasSubstr("any_value = true")));
  const auto strategy = StrategyRegistry::Get().Create(Custom<v1::StrategyConfig>("bare", "width", "i: 1"), context_);
  EXPECT_EQ(strategy.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(Problem("width", "i: 1", "anything"), "");
  EXPECT_THAT(Problem("inner", "i: 1", "nested"),
              HasSubstr("the field 'inner' of its message own.Nested is a message"));
}

TEST_F(ComponentsTest, TellWhatOthersHaveToKnowOfThem) {
  EXPECT_EQ(NumberOfComponent(Custom<v1::StrategyConfig>("walk", "step", "i: 1"), v1::FieldRules::DEDUP), 1);
  EXPECT_EQ(NumberOfComponent(Custom<v1::StrategyConfig>("walk", "dedup", "b: false"), v1::FieldRules::DEDUP), 0);
  EXPECT_EQ(NumberOfComponent(Custom<v1::StrategyConfig>("of params", "step", "i: 1"), v1::FieldRules::DEDUP),
            std::nullopt);
}

TEST_F(ComponentsTest, ParamsServeWhereThereIsNoMessage) {
  const auto config = Custom<v1::StrategyConfig>("of params", "step", "i: 2");
  EXPECT_TRUE(CheckConfig(config, "").ok());
  const auto strategy = StrategyRegistry::Get().Create(config, context_);
  ASSERT_TRUE(strategy.ok()) << strategy.status();
  EXPECT_THAT((*strategy)->Ask(1)->samples, SizeIs(2));
}

TEST(ComponentsDeathTest, TwoOfOneNameSayWhatToDo) {
  EXPECT_DEATH(RegisterComponent<StrategyRegistry>("strategy", "walk", MakeWalk),
               "'walk' of StrategyConfig is registered twice: give one of the two another name");
}

TEST_F(ComponentsTest, WhatIsNotRegisteredIsToldByValidate) {
  const absl::Status status = StrategyRegistry::Get().Validate(Parse<v1::StrategyConfig>("custom { name: 'wlak' }"));
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("custom:walk"));
}

}  // namespace
}  // namespace lanista

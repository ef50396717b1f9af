#include "src/config/fields.h"

#include <string>

#include "gtest/gtest.h"
#include "protos/experiment.pb.h"

namespace lanista {
namespace {

// The configuration on one line after `path=value`, or the error.
std::string Set(v1::ExperimentConfig config, const std::string& path, const std::string& value) {
  const absl::Status status = SetField(config, path, value);
  return status.ok() ? config.ShortDebugString() : std::string(status.message());
}

std::string Set(const std::string& path, const std::string& value) { return Set({}, path, value); }

TEST(SetFieldTest, SetsScalarsByTheirType) {
  EXPECT_EQ(Set("seed", "42"), "seed: 42");
  EXPECT_EQ(Set("deterministic", "true"), "deterministic: true");
  EXPECT_EQ(Set("objective", "MINIMIZE"), "objective: MINIMIZE");
  EXPECT_EQ(Set("evaluator.constant.value", "0.5"), "evaluator { constant { value: 0.5 } }");
}

TEST(SetFieldTest, StringsNeedNoQuotesButMayHaveThem) {
  EXPECT_EQ(Set("name", "a b"), "name: \"a b\"");
  EXPECT_EQ(Set("name", "\"a b\""), "name: \"a b\"");
  EXPECT_EQ(Set("name", "x\" seed: 3"), "name: \"x\\\" seed: 3\"");
  EXPECT_EQ(Set("name", ""), "name: \"\"");
}

TEST(SetFieldTest, MakesTheMessagesOnTheWay) {
  EXPECT_EQ(Set("training_service.local.cpu_slots", "2"), "training_service { local { cpu_slots: 2 } }");
  EXPECT_EQ(Set("training_service[0].local.cpu_slots", "2"), "training_service { local { cpu_slots: 2 } }");
}

TEST(SetFieldTest, AMemberOfAOneofReplacesTheOneThatWasSet) {
  v1::ExperimentConfig config;
  config.mutable_strategy()->mutable_random()->set_dedup(true);
  EXPECT_EQ(Set(config, "strategy.grid_search.shuffle", "true"), "strategy { grid_search { shuffle: true } }");
  EXPECT_EQ(Set(config, "strategy", "{ grid_search {} }"), "strategy { grid_search { } }");
}

TEST(SetFieldTest, RepeatedFieldsAreReplacedAsAWholeOrByIndex) {
  v1::ExperimentConfig config;
  auto& local = *config.add_training_service()->mutable_local();
  local.add_gpu_indices(7);
  local.add_gpu_indices(8);
  const std::string path = "training_service.local.gpu_indices";
  EXPECT_EQ(Set(config, path, "[1, 2, 3]"),
            "training_service { local { gpu_indices: 1 gpu_indices: 2 gpu_indices: 3 } }");
  EXPECT_EQ(Set(config, path, "5"), "training_service { local { gpu_indices: 5 } }");
  EXPECT_EQ(Set(config, path, "[]"), "training_service { local { } }");
  EXPECT_EQ(Set(config, path + "[0]", "5"), "training_service { local { gpu_indices: 5 gpu_indices: 8 } }");
  EXPECT_EQ(Set(config, path + "[2]", "5"),
            "training_service { local { gpu_indices: 7 gpu_indices: 8 gpu_indices: 5 } }");
  EXPECT_EQ(Set(config, path + "[3]", "5"), "'gpu_indices' has 2 elements; [2] adds one");
  EXPECT_EQ(Set(config, path + "[1]", "[5, 6]"), "'gpu_indices' wants an integer, got [5, 6]");
}

TEST(SetFieldTest, SeveralElementsMustBeToldApart) {
  v1::ExperimentConfig config;
  config.add_training_service();
  config.add_training_service();
  EXPECT_EQ(Set(config, "training_service.local.cpu_slots", "1"),
            "'training_service' has 2 elements: name one, [0] to [1]");
}

TEST(SetFieldTest, ParamsAreNamedLikeFieldsAndTakePlainValues) {
  const auto value = [](const std::string& text) {
    v1::ExperimentConfig config;
    const absl::Status status = SetField(config, "space.params.p", text);
    return status.ok() ? config.space().params().at("p").ShortDebugString() : std::string(status.message());
  };
  EXPECT_EQ(value("64"), "i: 64");
  EXPECT_EQ(value("0.5"), "f: 0.5");
  EXPECT_EQ(value("true"), "b: true");
  EXPECT_EQ(value("relu"), "s: \"relu\"");
  EXPECT_EQ(value("\"64\""), "s: \"64\"");
  EXPECT_EQ(value("{ list { values { i: 1 } } }"), "list { values { i: 1 } }");
}

TEST(SetFieldTest, DurationsMayBeWrittenWithAUnit) {
  EXPECT_EQ(Set("max_duration", "90s"), "max_duration { seconds: 90 }");
  EXPECT_EQ(Set("max_duration", "{ seconds: 90 }"), "max_duration { seconds: 90 }");
  EXPECT_EQ(Set("max_duration.seconds", "90"), "max_duration { seconds: 90 }");
  EXPECT_EQ(Set("max_duration", "soon"), "'max_duration' wants a duration such as \"90s\", got soon");
}

TEST(SetFieldTest, ErrorsSayWhatIsAllowed) {
  EXPECT_EQ(Set("strategy.randon.dedup", "true"),
            "unknown field 'randon'; did you mean 'random'? allowed here: random, grid_search, evolution, tpe, "
            "policy_rl, nsga2, chain, custom");
  EXPECT_EQ(Set("objective", "MAXIMISE"),
            "'MAXIMISE' is not a value of 'objective'; did you mean 'MAXIMIZE'? allowed here: MAXIMIZE, MINIMIZE");
  EXPECT_EQ(Set("seed", "x"), "'seed' wants an integer, got x");
  EXPECT_EQ(Set("seed", ""), "'seed' wants an integer, got nothing");
  EXPECT_EQ(Set("seed", "1 name: \"x\""), "'seed' wants an integer, got 1 name: \"x\"");
  EXPECT_EQ(Set("strategy", "random"), "'strategy' wants a block { ... }, got random");
  EXPECT_EQ(Set("seed.x", "1"), "'seed' has no fields: it is an integer");
  EXPECT_EQ(Set("seed[0]", "1"), "'seed' is not a list: leave out the index");
  EXPECT_EQ(Set("training_service[x].local", "{}"), "'training_service[x]': write name[0] for the first element");
  EXPECT_EQ(Set("strategy..random", "{}"), "a name is missing; write path.to.field=value");
  EXPECT_EQ(Set("", "1"), "a name is missing; write path.to.field=value");
}

}  // namespace
}  // namespace lanista

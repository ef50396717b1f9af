#include "src/config/config.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "src/config/paths.h"

namespace lanista {
namespace {

using ::testing::HasSubstr;

// What every configuration needs.
constexpr char kText[] =
    "space { registered: \"net\" }\n"
    "strategy { random {} }\n"
    "evaluator { constant { value: 0.5 } }\n";
constexpr char kJson[] =
    R"("space": {"registered": "net"}, "strategy": {"random": {}}, "evaluator": {"constant": {"value": 0.5}})";

class ConfigTest : public ::testing::Test {
 protected:
  ConfigTest() : folder_(std::filesystem::path(::testing::TempDir()) / ("config_test_" + std::to_string(getpid()))) {
    std::filesystem::create_directories(folder_);
    setenv("BUILD_WORKING_DIRECTORY", folder_.c_str(), 1);
  }
  ~ConfigTest() override {
    unsetenv("BUILD_WORKING_DIRECTORY");
    std::filesystem::remove_all(folder_);
  }

  void Write(const std::string& name, const std::string& text) const { std::ofstream(folder_ / name) << text; }

  absl::StatusOr<v1::ExperimentConfig> Load(const std::string& text, const std::vector<std::string>& set = {},
                                            const std::string& name = "c.textproto") const {
    Write(name, text);
    return LoadConfig(name, set);
  }

  // The error message; of a text configuration, and of a JSON one.
  std::string TextError(const std::string& text, const std::vector<std::string>& set = {}) const {
    return std::string(Load(text, set).status().message());
  }
  std::string JsonError(const std::string& text, const std::vector<std::string>& set = {}) const {
    return std::string(Load(text, set, "c.json").status().message());
  }

  const std::filesystem::path folder_;
};

TEST_F(ConfigTest, FillsInWhatIsAbsent) {
  const auto config = Load(kText);
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->name(), "net");
  EXPECT_TRUE(config->engine().has_direct());
  ASSERT_EQ(config->training_service_size(), 1);
  EXPECT_TRUE(config->training_service(0).has_local());
}

TEST_F(ConfigTest, JsonAndTextGiveTheSameMessage) {
  const auto text = Load(
      "strategy { random {} }\nevaluator { constant { value: 0.5 } }\n"
      "max_duration { seconds: 90 }\nobjective: MINIMIZE\nseed: 12345678901234\n"
      "training_service { local { gpu_indices: [0, 1] } }\n"
      "space { registered: \"net\" params { key: \"width\" value { i: 64 } } }");
  ASSERT_TRUE(text.ok()) << text.status();
  const std::string rest =
      R"(, "objective": "MINIMIZE", "seed": 12345678901234, "trainingService": [{"local": {"gpu_indices": [0, 1]}}],
         "strategy": {"random": {}}, "evaluator": {"constant": {"value": 0.5}},
         "space": {"registered": "net", "params": {"width": {"i": 64}}}})";
  for (const char* duration : {R"({"max_duration": "90s")", R"({"max_duration": {"seconds": 90})"}) {
    const auto json = Load(duration + rest, {}, "c.json");
    ASSERT_TRUE(json.ok()) << json.status();
    EXPECT_EQ(json->DebugString(), text->DebugString());
  }
}

TEST_F(ConfigTest, UnknownFieldsAreNamedWithTheirPlaceAndTheNearestName) {
  const std::string fields =
      "allowed here: cpu_slots, threads_per_slot, gpu_indices, use_active_gpu, isolation, memory_limit";
  EXPECT_EQ(TextError(std::string(kText) + "training_service {\n  local { cpu_slot: 2 } }"),
            "c.textproto:5:11: unknown field 'cpu_slot'; did you mean 'cpu_slots'? " + fields);
  EXPECT_EQ(JsonError(R"({"training_service": [{"local": {"cpu_slot": 2}}], )" + std::string(kJson) + "}"),
            "c.json: training_service[0].local: unknown field 'cpu_slot'; did you mean 'cpu_slots'? " + fields);
  EXPECT_EQ(TextError(std::string(kText) + "training_service { local { zzz: 2 } }"),
            "c.textproto:4:28: unknown field 'zzz'; " + fields);
}

TEST_F(ConfigTest, WrongTypesAreNamed) {
  EXPECT_EQ(TextError("seed: \"x\""), "c.textproto:1:7: 'seed' wants an integer, got \"x\"");
  EXPECT_EQ(JsonError(R"({"seed": "x"})"), "c.json: seed: 'seed' wants an integer, got \"x\"");
  EXPECT_EQ(TextError("training_service { local { gpu_indices: [1, b] } }"),
            "c.textproto:1:45: 'gpu_indices' wants an integer, got b");
  EXPECT_EQ(JsonError(R"({"training_service": [{"local": {"gpu_indices": [1, "b"]}}]})"),
            "c.json: training_service[0].local.gpu_indices[1]: 'gpu_indices' wants an integer, got \"b\"");
  EXPECT_EQ(TextError("deterministic: maybe\nseed: 1"),
            "c.textproto:1:16: 'deterministic' wants true or false, got maybe");
  EXPECT_EQ(JsonError(R"({"deterministic": "maybe"})"),
            "c.json: deterministic: 'deterministic' wants true or false, got \"maybe\"");
  EXPECT_EQ(TextError("space: 3"), "c.textproto:1:8: 'space' wants a block { ... }, got 3");
  EXPECT_EQ(JsonError(R"({"space": 3})"), "c.json: space: 'space' wants a block { ... }, got 3");
  EXPECT_EQ(TextError("max_trial_number: 99999999999"),
            "c.textproto:1:19: 'max_trial_number' is out of range: 99999999999");
  EXPECT_EQ(JsonError(R"({"max_trial_number": 99999999999})"),
            "c.json: max_trial_number: 'max_trial_number' is out of range: 99999999999");
  EXPECT_EQ(JsonError(R"({"max_duration": 5})"),
            "c.json: max_duration: 'max_duration' wants a duration such as \"90s\", got 5");
  EXPECT_EQ(JsonError(R"({"training_service": {}})"),
            "c.json: training_service: 'training_service' wants a list [ ... ], got {}");
}

TEST_F(ConfigTest, WrongEnumValuesComeWithTheRightOnes) {
  EXPECT_EQ(TextError("name: \"a\"\nobjective: MAXIMISE\nseed: 1"),
            "c.textproto:2:12: 'MAXIMISE' is not a value of 'objective'; did you mean 'MAXIMIZE'? allowed here: "
            "MAXIMIZE, MINIMIZE");
  EXPECT_EQ(JsonError(R"({"objective": "MAXIMISE"})"),
            "c.json: objective: 'MAXIMISE' is not a value of 'objective'; did you mean 'MAXIMIZE'? allowed here: "
            "MAXIMIZE, MINIMIZE");
  // Two evaluators have a `loss`: the values are those of the one that is being configured.
  EXPECT_THAT(TextError("evaluator { regression { loss: NLL } }"), HasSubstr("allowed here: MSE, L1, HUBER"));
  EXPECT_THAT(TextError("evaluator { classification { loss: MSE } }"), HasSubstr("allowed here: CROSS_ENTROPY, NLL"));
}

TEST_F(ConfigTest, TwoMembersOfAOneofExcludeEachOther) {
  EXPECT_EQ(TextError("strategy { random {} grid_search {} }"),
            "c.textproto:1:22: 'grid_search' and 'random' exclude each other; keep one");
  EXPECT_EQ(JsonError(R"({"strategy": {"random": {}, "grid_search": {}}})"),
            "c.json: strategy: 'grid_search' and 'random' exclude each other; keep one");
}

TEST_F(ConfigTest, BrokenFilesAreToldWhereTheyBreak) {
  EXPECT_EQ(TextError("strategy { random {}\n"), "c.textproto:2:1: the file ends inside a block: a '}' is missing");
  EXPECT_THAT(TextError("name: \"abc"), HasSubstr("c.textproto:1:11: Unexpected end of string"));
  EXPECT_THAT(JsonError("{\n  \"seed\": }"), HasSubstr("c.json: not JSON: parse error at line 2, column 11"));
  EXPECT_EQ(JsonError("[]"), "c.json: must be an object { ... }");
}

TEST_F(ConfigTest, DeepNestingIsRefused) {
  std::string text = "space { registered: \"net\" params { key: \"x\" value ";
  std::string json = R"({"space": {"params": {"x": )";
  for (int i = 0; i < 100000; ++i) {
    text += "{ list { values ";
    json += R"({"list": {"values": [)";
  }
  EXPECT_THAT(TextError(text), HasSubstr("too deep"));
  for (int i = 0; i < 100000; ++i) json += "]}}";
  EXPECT_THAT(JsonError(json + "}}}"), HasSubstr("is nested too deeply"));
}

TEST_F(ConfigTest, AMissingFileIsNamed) {
  EXPECT_THAT(std::string(LoadConfig("none.textproto", {}).status().message()),
              HasSubstr("none.textproto: No such file or directory"));
  EXPECT_THAT(std::string(LoadConfig(".", {}).status().message()), HasSubstr("is a folder"));
}

TEST_F(ConfigTest, RequiredBlocksAreNamed) {
  EXPECT_THAT(TextError("strategy { random {} }"), HasSubstr("c.textproto: space: is required: the model space"));
  EXPECT_EQ(JsonError("{}"), TextError("").replace(0, std::string("c.textproto").size(), "c.json"));
  EXPECT_EQ(TextError("space { registered: \"net\" }\nstrategy { }\nevaluator { constant {} }"),
            "c.textproto:2:1: strategy: nothing is set; set one of: random, grid_search, custom");
  EXPECT_THAT(TextError("space { registered: \"net\" }\nstrategy { random {} }\nevaluator {\n  classification {} }"),
              HasSubstr("c.textproto:4:3: evaluator.classification.dataset: is required"));
}

TEST_F(ConfigTest, RangesAreChecked) {
  const auto error = [this](const std::string& text) { return TextError(std::string(kText) + text); };
  EXPECT_EQ(error("max_trial_number: 0"), "c.textproto:4:1: max_trial_number: must be at least 1, got 0");
  EXPECT_EQ(error("trial_concurrency: -1"), "c.textproto:4:1: trial_concurrency: must be at least 1, got -1");
  EXPECT_EQ(error("max_duration { }"), "c.textproto:4:1: max_duration: must be a positive duration");
  EXPECT_EQ(error("trial_timeout { seconds: -1 }"), "c.textproto:4:1: trial_timeout: must be a positive duration");
  EXPECT_EQ(error("training_service { local { } }\ntraining_service {\n  local {\n    threads_per_slot: 0 } }"),
            "c.textproto:7:5: training_service[1].local.threads_per_slot: must be at least 1, got 0");
  EXPECT_THAT(error("training_service { local { cpu_slots: 0 } }"), HasSubstr("nothing could run"));
  EXPECT_THAT(error("training_service { local { gpu_indices: [1, 1] } }"), HasSubstr("GPU 1 is named twice"));
}

TEST_F(ConfigTest, EvaluatorsAreCheckedWithoutLibTorch) {
  const auto error = [this](const std::string& fields) {
    return TextError("space { registered: \"net\" } strategy { random {} }\nevaluator { classification {\n" + fields +
                     " } }");
  };
  const std::string digits = "dataset { synthetic_digits {} } ";
  EXPECT_EQ(error(digits + "batch_size: 0"),
            "c.textproto:3:33: evaluator.classification.batch_size: must be at least 1, got 0");
  EXPECT_THAT(error(digits + "limit_train_batches: 0"), HasSubstr("must be in (0, 1], got 0"));
  EXPECT_THAT(error(digits + "limit_train_batches: nan"), HasSubstr("must be in (0, 1], got nan"));
  EXPECT_THAT(error(digits + "limit_train_batches: 0.5 max_train_batches: 3"), HasSubstr("not together"));
  EXPECT_THAT(error(digits + "optimizer { adam { learning_rate: -1 } }"), HasSubstr("must be greater than 0, got -1"));
  EXPECT_THAT(error(digits + "optimizer { }"), HasSubstr("set one of: sgd, adam, adamw, rmsprop"));
  EXPECT_THAT(error("dataset { idx { images: \"x\" } }"), HasSubstr("set 'root'"));
  EXPECT_THAT(error("dataset { idx { root: \"x\" labels: \"y\" } }"), HasSubstr("set either 'root'"));
  EXPECT_THAT(error("dataset { csv { } }"), HasSubstr("csv.path: is required"));
}

TEST_F(ConfigTest, ErrorsInOverridesNameTheOverride) {
  EXPECT_EQ(TextError(kText, {"max_trial_number=0"}),
            "--set max_trial_number: max_trial_number: must be at least 1, got 0");
  EXPECT_EQ(TextError(kText, {"sed=1"}).substr(0, 60), "--set sed=1: unknown field 'sed'; did you mean 'seed'? allow");
  EXPECT_EQ(TextError(kText, {"seed"}), "--set seed: write path.to.field=value");
}

TEST_F(ConfigTest, RelativePathsStartAtTheFileAndThoseOfOverridesAtTheUser) {
  std::filesystem::create_directories(folder_ / "sub");
  const std::string text =
      "space { registered: \"net\" } strategy { random {} } evaluator { classification { dataset { csv { path: "
      "\"../data/a.csv\" validation_path: \"~/b.csv\" } } } }";
  Write("sub/c.textproto", text);
  setenv("HOME", "/home/somebody", 1);
  const auto csv = [&](const std::vector<std::string>& set) {
    const auto config = LoadConfig("sub/c.textproto", set);
    EXPECT_TRUE(config.ok()) << config.status();
    return config->evaluator().classification().dataset().csv();
  };
  EXPECT_EQ(csv({}).path(), (folder_ / "data/a.csv").string());
  EXPECT_EQ(csv({}).validation_path(), "/home/somebody/b.csv");
  EXPECT_EQ(csv({"evaluator.classification.dataset.csv.path=x.csv"}).path(), (folder_ / "x.csv").string());
  EXPECT_EQ(csv({"evaluator.classification.dataset.csv.path=/x.csv"}).path(), "/x.csv");
}

TEST(ResolvePathTest, LeavesAbsolutePathsAndOtherPeoplesHomesAlone) {
  setenv("HOME", "/home/somebody", 1);
  EXPECT_EQ(ResolvePath("/a/../b", "/c"), "/b");
  EXPECT_EQ(ResolvePath("~", "/c"), "/home/somebody");
  EXPECT_EQ(ResolvePath("~other/x", "/c"), "/c/~other/x");
  EXPECT_EQ(ResolvePath("", "/c"), "");
}

}  // namespace
}  // namespace lanista

#include "src/config/config.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "src/config/paths.h"
#include "src/config/validate.h"

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
  EXPECT_EQ(TextError("strategy { random {}\n"), "c.textproto:2:1: the text ends inside a block: a '}' is missing");
  EXPECT_THAT(TextError("name: \"abc"), HasSubstr("c.textproto:1:11: Unexpected end of string"));
  EXPECT_THAT(JsonError("{\n  \"seed\": }"), HasSubstr("c.json: not JSON: parse error at line 2, column 11"));
  EXPECT_EQ(JsonError("[]"), "c.json: must be an object { ... }");
}

TEST_F(ConfigTest, DeepNestingIsRefused) {
  std::string text = "space { registered: \"net\" params { key: \"x\" value ";
  for (int i = 0; i < 100000; ++i) text += "{ list { values ";
  EXPECT_THAT(TextError(text), HasSubstr("too deep"));
  std::string json = R"({"space": {"params": {"x": )";
  for (int i = 0; i < 100; ++i) json += R"({"list": {"values": [)";
  for (int i = 0; i < 100; ++i) json += "]}}";
  EXPECT_THAT(JsonError(json + "}}}"), HasSubstr("is nested too deeply"));
  // Where no message is, either.
  EXPECT_THAT(JsonError("{\"name\": " + std::string(1000000, '[') + std::string(1000000, ']') + "}"),
              HasSubstr("c.json: the JSON is nested more than 1000 levels deep"));
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
            "c.textproto:2:1: strategy: nothing is set; set one of: random, grid_search, evolution, tpe, policy_rl, "
            "nsga2, chain, custom");
  EXPECT_THAT(TextError("space { registered: \"net\" }\nstrategy { random {} }\nevaluator {\n  classification {} }"),
              HasSubstr("c.textproto:4:3: evaluator.classification.dataset: is required"));
}

TEST_F(ConfigTest, RangesAreChecked) {
  const auto error = [this](const std::string& text) { return TextError(std::string(kText) + text); };
  EXPECT_EQ(error("max_trial_number: 0"), "c.textproto:4:1: max_trial_number: must be at least 1, got 0");
  EXPECT_EQ(error("trial_concurrency: -1"), "c.textproto:4:1: trial_concurrency: must be at least 1, got -1");
  EXPECT_EQ(error("priority: 1001"), "c.textproto:4:1: priority: must be in [-1000, 1000], got 1001");
  EXPECT_EQ(error("priority: -1000"), "");
  EXPECT_EQ(error("output_limit: 0"), "c.textproto:4:1: output_limit: must be at least 1, got 0");
  EXPECT_EQ(error("max_duration { }"), "c.textproto:4:1: max_duration: must be a positive duration");
  EXPECT_EQ(error("trial_timeout { seconds: -1 }"), "c.textproto:4:1: trial_timeout: must be a positive duration");
  EXPECT_EQ(error("trial_timeout { nanos: 1 }"), "c.textproto:4:1: trial_timeout: must be at least 0.001s");
  const auto checkpoint = [this](const std::string& interval) {
    return TextError(
        "space { registered: \"net\" } strategy { random {} }\nevaluator { classification { dataset { "
        "synthetic_digits {} }\n  checkpoint { interval { " +
        interval + " } } } }");
  };
  EXPECT_EQ(checkpoint("seconds: -1"),
            "c.textproto:3:16: evaluator.classification.checkpoint.interval: must be a positive duration, or 0 for no "
            "checkpoints");
  EXPECT_EQ(checkpoint("nanos: 1"),
            "c.textproto:3:16: evaluator.classification.checkpoint.interval: must be at least 0.001s");
  EXPECT_EQ(checkpoint(""), "") << "0 switches them off";
  EXPECT_EQ(error("training_service { local { } }\ntraining_service {\n  local {\n    threads_per_slot: 0 } }"),
            "c.textproto:7:5: training_service[1].local.threads_per_slot: must be at least 1, got 0");
  EXPECT_THAT(error("training_service { local { cpu_slots: 0 } }"), HasSubstr("nothing could run"));
  EXPECT_THAT(error("training_service { local { gpu_indices: [1, 1] } }"), HasSubstr("GPU 1 is named twice"));
}

TEST_F(ConfigTest, NodesThatAreAskedForAreChecked) {
  const auto error = [this](const std::string& block) {
    return TextError(
        "space { registered: \"net\" } strategy { random {} } evaluator { constant {} }\n"
        "training_service { " +
        block + " }");
  };
  EXPECT_EQ(error("slurm { partition: 'low' cpus: 4 min_nodes: 1 max_nodes: 8 option: '--constraint=a100' }"), "");
  EXPECT_EQ(error("slurm { min_nodes: 2 }"),
            "c.textproto:2:28: training_service[0].slurm.min_nodes: must be at most max_nodes, which is 1 where it is "
            "not set");
  EXPECT_THAT(error("slurm { cpus: 0 }"), HasSubstr("slurm.cpus: must be in [1, 4096], got 0"));
  EXPECT_THAT(error("slurm { time_limit { seconds: 59 } }"), HasSubstr("at least a minute"));
  EXPECT_THAT(error("slurm { poll_interval { nanos: 500000000 } }"), HasSubstr("at least a second"));
  EXPECT_THAT(error("slurm { option: 'constraint' }"), HasSubstr("slurm.option[0]: must be one argument"));
  EXPECT_THAT(error("slurm { option: '--x\\n#SBATCH' }"), HasSubstr("slurm.option[0]: must be one argument"));
  for (const char* const option : {"--array=1-9", "--arr=1-9", "-a1-9", "--job-name=x", "-N2", "--nodes=2"}) {
    EXPECT_THAT(error(absl::StrCat("slurm { option: '", option, "' }")),
                HasSubstr(absl::StrCat(option, " is set by Lanista")));
  }
  for (const char* const option : {"--clusters=b", "--clus=b", "-Mb", "-M b"}) {
    EXPECT_THAT(error(absl::StrCat("slurm { option: '", option, "' }")), HasSubstr("set SLURM_CLUSTERS"));
  }
  for (const char* const option : {"--cluster-constraint=x", "--nodelist=a", "--qos=x", "-A x", "--wait-all-nodes=1"}) {
    EXPECT_EQ(error(absl::StrCat("slurm { option: '", option, "' }")), "");
  }
  EXPECT_THAT(error("slurm { node_option: 'x' }"), HasSubstr("slurm.node_option[0]"));
  EXPECT_EQ(error("remote {}"), "");
}

TEST_F(ConfigTest, RequirementsAreChecked) {
  const std::string rest = "space { registered: \"net\" } strategy { random {} } evaluator { constant {} }\n";
  const auto error = [&](const std::string& fields) { return TextError(rest + "requirements { " + fields + " }"); };
  EXPECT_EQ(error("device_kind: GPU min_device_memory: 17179869184 node_labels { key: 'gpu' value: 'a100' } "
                  "node_labels { key: 'example.org/rack' value: '7' }"),
            "");
  EXPECT_EQ(error(""), "");
  EXPECT_THAT(error("device_kind: TPU"), HasSubstr("allowed here: CPU, GPU"));
  EXPECT_EQ(error("min_device_memory: 0"),
            "c.textproto:2:16: requirements.min_device_memory: must be at least 1, got 0");
  EXPECT_THAT(error("node_labels { key: 'a b' value: 'c' }"),
              HasSubstr("requirements.node_labels: 'a b': the key of a label has 1 to 64 letters"));
  EXPECT_THAT(error("node_labels { key: 'gpu' }"),
              HasSubstr("requirements.node_labels.gpu: '': the value of a label has 1 to 64 letters"));
  EXPECT_THAT(error("labels {}"), HasSubstr("unknown field 'labels'"));

  const absl::StatusOr<v1::ExperimentConfig> config = Load(
      rest,
      {"requirements.device_kind=GPU", "requirements.min_device_memory=1000", "requirements.node_labels.gpu=a100"});
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->requirements().device_kind(), v1::DeviceKind::GPU);
  EXPECT_EQ(config->requirements().min_device_memory(), 1000);
  EXPECT_EQ(config->requirements().node_labels().at("gpu"), "a100");
  EXPECT_EQ(
      TextError(rest, {"requirements.node_labels.gpu=a 100"}),
      "--set requirements.node_labels.gpu: requirements.node_labels.gpu: 'a 100': the value of a label has 1 to 64 "
      "letters, digits, '_', '.', '/' or '-', and begins with a letter or a digit");
  // They are placement: an experiment may go on elsewhere.
  const auto elsewhere = ConfigToResume(*config, {"requirements.node_labels.gpu=t4"});
  ASSERT_TRUE(elsewhere.ok()) << elsewhere.status();
  EXPECT_EQ(elsewhere->requirements().node_labels().at("gpu"), "t4");
  const auto anywhere = ConfigToResume(*config, {"requirements={}"});
  ASSERT_TRUE(anywhere.ok()) << anywhere.status();
  EXPECT_EQ(anywhere->requirements().ByteSizeLong(), 0u);
}

TEST_F(ConfigTest, MachinesThatAreStartedOverSshAreChecked) {
  const auto error = [this](const std::string& fields) {
    return TextError(
        "space { registered: \"net\" } strategy { random {} } evaluator { constant {} }\n"
        "training_service { remote { machine_list { " +
        fields + " } } }");
  };
  EXPECT_EQ(error("host: 'gpu1.example.org' port: 2222 user: 'ann' gpu_indices: [0, 1] cpu_slots: 0 "
                  "node_option: '--cache-size=1GB'"),
            "");
  EXPECT_EQ(error("host: 'fe80::1%eth0'"), "");
  EXPECT_THAT(error("port: 22"), HasSubstr("remote.machine_list[0].host: is required"));
  for (const char* const host : {"-oProxyCommand=x", "a b", "a;b", "a\\nb", "$(x)", "user@host", "a\\tb"}) {
    EXPECT_THAT(error(absl::StrCat("host: '", host, "'")), HasSubstr("remote.machine_list[0].host: must be letters"))
        << host;
  }
  for (const char* const user : {"-l", "a b", "`x`"}) {
    EXPECT_THAT(error(absl::StrCat("host: 'a' user: '", user, "'")), HasSubstr("machine_list[0].user: must be letters"))
        << user;
  }
  EXPECT_THAT(error("host: 'a' user: ''"), HasSubstr("machine_list[0].user: is empty"));
  EXPECT_THAT(error("host: 'a' port: 0"), HasSubstr("machine_list[0].port: must be in [1, 65535], got 0"));
  EXPECT_THAT(error("host: 'a' port: 65536"), HasSubstr("machine_list[0].port: must be in [1, 65535], got 65536"));
  EXPECT_THAT(error("host: 'a' gpu_indices: [1, 1]"), HasSubstr("GPU 1 is named twice"));
  EXPECT_THAT(error("host: 'a' cpu_slots: 0"), HasSubstr("machine_list[0].cpu_slots: 0 slots and no gpu_indices"));
  EXPECT_THAT(error("host: 'a' node_option: 'x'"), HasSubstr("machine_list[0].node_option[0]: must be one argument"));
  EXPECT_THAT(error("host: 'a' node_option: '--head=b:1'"), HasSubstr("--head=b:1 is set by Lanista"));
}

TEST_F(ConfigTest, AKeyFileOfAMachineIsFoundBesideTheConfiguration) {
  const auto config = Load(
      "space { registered: \"net\" } strategy { random {} } evaluator { constant {} } "
      "training_service { remote { machine_list { host: 'a' ssh_key_file: 'key' } } }");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_THAT(config->training_service(0).remote().machine_list(0).ssh_key_file(), ::testing::EndsWith("/key"));
  EXPECT_THAT(config->training_service(0).remote().machine_list(0).ssh_key_file(), ::testing::StartsWith("/"));
}

TEST_F(ConfigTest, EarlyStoppingIsChecked) {
  const auto error = [this](const std::string& stopping, const std::string& evaluator = "constant {}") {
    return TextError("space { registered: \"net\" } strategy { random {} } evaluator { " + evaluator +
                     " }\nearly_stopping { " + stopping + " }");
  };
  EXPECT_EQ(error("asha { min_steps: 0 }"),
            "c.textproto:2:25: early_stopping.asha.min_steps: must be at least 1, got 0");
  EXPECT_THAT(error("asha { reduction_factor: 1 }"), HasSubstr("reduction_factor: must be at least 2, got 1"));
  EXPECT_THAT(error("hyperband { max_steps: 9 reduction_factor: 1 }"), HasSubstr("must be at least 2, got 1"));
  EXPECT_THAT(error("hyperband { min_steps: 4 max_steps: 3 }"),
              HasSubstr("early_stopping.hyperband.max_steps: must be at least 'min_steps', which is 4, got 3"));
  EXPECT_THAT(error("hyperband { max_steps: 0 }"), HasSubstr("max_steps: must be at least 1, got 0"));
  EXPECT_THAT(error("hyperband {}"), HasSubstr("early_stopping.hyperband.max_steps: is required with this evaluator"));
  EXPECT_THAT(error("median { startup: 0 }"), HasSubstr("startup: must be at least 1, got 0"));
  EXPECT_THAT(error("median { warmup_steps: -1 }"), HasSubstr("warmup_steps: must be at least 0, got -1"));
  EXPECT_THAT(error("median { interval: 0 }"), HasSubstr("interval: must be at least 1, got 0"));
  EXPECT_THAT(error(""), HasSubstr("early_stopping: nothing is set; set one of: asha, hyperband, median, custom"));
  EXPECT_THAT(error("custom {}"), HasSubstr("early_stopping.custom.name: is required"));
  const std::string digits = "classification { dataset { synthetic_digits {} } max_epochs: 9 }";
  EXPECT_THAT(error("hyperband { min_steps: 10 }", digits),
              HasSubstr("hyperband.min_steps: must be at most the evaluator's max_epochs, which is 9, got 10"));
  for (const std::string fine : {"asha {}", "hyperband { min_steps: 9 }", "hyperband { max_steps: 20 }", "median {}"}) {
    EXPECT_TRUE(Load("space { registered: \"net\" } strategy { random {} } evaluator { " + digits +
                     " } early_stopping { " + fine + " }")
                    .ok())
        << fine;
  }
}

TEST_F(ConfigTest, ObjectivesAndLimitsAreChecked) {
  const auto error = [this](const std::string& goals, const std::string& rest = "evaluator { constant {} }") {
    return TextError("space { registered: \"net\" } strategy { random {} } " + rest + "\n" + goals);
  };
  const std::string limit =
      "constraint { metric: \"params\" max: 1e6 } constraint { metric: \"latency\" min: 1 max: 2 }";
  EXPECT_EQ(error("objectives {} objectives { metric: \"params\" goal: MINIMIZE } " + limit), "");
  EXPECT_EQ(error("objective: MINIMIZE objectives {}"),
            "c.textproto:2:1: objective: 'objective' and 'objectives' exclude each other: say it by objectives { "
            "metric: \"default\" goal: ... }");
  EXPECT_EQ(error("objectives {} objectives { metric: \"default\" goal: MINIMIZE }"),
            "c.textproto:2:28: objectives[1].metric: 'default' is an objective already; keep one");
  EXPECT_THAT(error("objectives { metric: \"\" }"), HasSubstr("objectives[0].metric: must not be empty"));
  EXPECT_THAT(error("objectives { goal: 7 }"), HasSubstr("objectives[0].goal: '7' is not a value of 'goal'"));
  EXPECT_THAT(error("constraint { max: 1 }"), HasSubstr("constraint[0].metric: is required"));
  EXPECT_EQ(error(limit + " constraint { metric: \"a\" }"),
            "c.textproto:2:89: constraint[2]: limits nothing: set 'max', 'min', or both");
  EXPECT_THAT(error("constraint { metric: \"a\" min: 2 max: 1 }"),
              HasSubstr("constraint[0].min: must be at most 'max', which is 1, got 2"));
  EXPECT_THAT(error("constraint { metric: \"a\" max: inf }"), HasSubstr("constraint[0].max: must be a finite number"));
  EXPECT_THAT(error("constraint { metric: \"a\" min: nan }"), HasSubstr("constraint[0].min: must be a finite number"));
  EXPECT_THAT(error("constraint { metric: \"a\" max: 1 } constraint { metric: \"a\" min: 0 }"),
              HasSubstr("constraint[1].metric: 'a' is limited already"));

  const std::string stopping = "evaluator { constant {} } early_stopping { asha {} }";
  EXPECT_THAT(error("objectives { metric: \"loss\" } objectives {}", stopping),
              HasSubstr("2:14: objectives[0].metric: early_stopping compares reports of `default`: it has to be the "
                        "first of the objectives"));
  EXPECT_EQ(error("objectives {} objectives { metric: \"loss\" }", stopping), "");
}

TEST_F(ConfigTest, WhatOnlyGraphsTellIsRefusedWithoutGraphs) {
  const auto error = [this](const std::string& goals, const std::string& rest) {
    return TextError("space { registered: \"net\" } strategy { random {} } " + rest + "\n" + goals);
  };
  const std::string trains = "evaluator { classification { dataset { synthetic_digits {} } } }";
  const std::string objective = "objectives {} objectives { metric: \"METRIC\" goal: MINIMIZE }";
  const std::string limit = "constraint { metric: \"METRIC\" max: 5e7 }";
  const auto of = [](std::string text, const std::string& metric) {
    return text.replace(text.find("METRIC"), 6, metric);
  };
  for (const std::string engine : {"", " engine { direct {} }"}) {
    EXPECT_THAT(error(of(objective, "flops"), trains + engine),
                HasSubstr("2:28: objectives[1].metric: on the engine `direct` a model is C++ code, and no graph"));
    EXPECT_THAT(error(of(limit, "flops"), trains + engine), HasSubstr("2:14: constraint[0].metric: on the engine"));
    EXPECT_THAT(error(of(limit, "memory"), trains + engine),
                HasSubstr("constraint[0].metric: the memory that a model takes is estimated from its graph"));
    EXPECT_EQ(error(of(limit, "params") + of(objective, "params"), trains + engine), "");
  }
  for (const std::string engine : {" engine { graph {} }", " engine { cgo {} }"}) {
    EXPECT_EQ(error(of(limit, "flops") + of(objective, "flops"), trains + engine), "");
    EXPECT_EQ(error(of(limit, "memory"), trains + engine), "");
    EXPECT_THAT(error(of(objective, "memory"), trains + engine),
                HasSubstr("objectives[1].metric: `memory` is an estimate that is made before a model trains"));
  }
  // These evaluators report what they like.
  for (const std::string evaluator : {"table { path: \"t.csv\" }", "custom { name: \"own\" }"}) {
    for (const std::string metric : {"flops", "memory"}) {
      EXPECT_EQ(error(of(limit, metric) + of(objective, metric), "evaluator { " + evaluator + " }"), "");
    }
  }
}

TEST_F(ConfigTest, ATextWithoutAFileIsReadAsAFileIs) {
  const absl::StatusOr<v1::ExperimentConfig> config = ParseConfig(
      "space { registered: \"net\" } strategy { random {} }\n"
      "evaluator { classification { dataset { csv { path: \"a.csv\" } } } }");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->evaluator().classification().dataset().csv().path(), (folder_ / "a.csv").string());
  EXPECT_EQ(config->name(), "net");
  EXPECT_TRUE(config->engine().has_direct());
  EXPECT_THAT(std::string(ParseConfig(kText + std::string("max_trials: 3")).status().message()),
              HasSubstr("the configuration:4:1: unknown field 'max_trials'"));
  EXPECT_THAT(std::string(ParseConfig(kText + std::string("\nmax_trial_number: 0")).status().message()),
              HasSubstr("the configuration:5:1: max_trial_number: "));
}

TEST_F(ConfigTest, TextThatIsNotUtf8IsRefused) {
  const std::string fine = "strategy { random {} } evaluator { constant {} } ";
  // As bytes of the file, and as an escape; in a field, in a list, as the key and the value of a parameter.
  for (const std::string bad : {"caf\xe9", "caf\\351", "\xf8\x90\x80\x80"}) {
    EXPECT_THAT(TextError(kText + std::string("name: \"") + bad + "\""),
                ::testing::MatchesRegex("c.textproto:4:1: name: '.*' is not UTF-8; texts and paths must be"));
    EXPECT_THAT(TextError(fine + "space { torchscript { path: \"x\"\n basic_unit: [\"a\", \"" + bad + "\"] } }"),
                HasSubstr("c.textproto:2:2: space.torchscript.basic_unit[1]: "));
    EXPECT_THAT(TextError(fine + "space { registered: \"net\"\n params { key: \"w\" value { s: \"" + bad + "\" } } }"),
                HasSubstr("c.textproto:1:50: space.params.w.s: "));
    EXPECT_THAT(TextError(fine + "space { registered: \"net\"\n params { key: \"" + bad + "\" value { i: 1 } } }"),
                HasSubstr("is not UTF-8"));
  }
  EXPECT_THAT(TextError(kText, {"name=caf\xe9"}), HasSubstr("--set name: name: 'caf\xef\xbf\xbd' is not UTF-8"));
  EXPECT_THAT(JsonError("{\"name\": \"caf\xe9\"}"), HasSubstr("ill-formed UTF-8 byte"));
  EXPECT_TRUE(Load(std::string(kText) + "name: \"caf\xc3\xa9\" # caf\xe9 in a comment").ok());
}

TEST_F(ConfigTest, AFolderWhoseNameIsNotUtf8GivesNoPath) {
  std::error_code error;
  std::filesystem::create_directory(folder_ / "caf\xe9", error);
  if (error) GTEST_SKIP() << "this file system takes no such name";
  Write("caf\xe9/c.textproto",
        "space { registered: \"net\" } strategy { random {} }\n"
        "evaluator { classification { dataset { csv { path: \"a.csv\" } } } }");
  EXPECT_THAT(std::string(LoadConfig("caf\xe9/c.textproto", {}).status().message()),
              HasSubstr(":2:46: evaluator.classification.dataset.csv.path: '" + folder_.string() +
                        "/caf\xef\xbf\xbd/a.csv' is not UTF-8"));
}

TEST_F(ConfigTest, AByteOrderMarkAndJsonInCapitalsAreFine) {
  EXPECT_TRUE(Load(std::string("\xef\xbb\xbf") + kText).ok());
  EXPECT_TRUE(Load(std::string("\xef\xbb\xbf{") + kJson + "}", {}, "c.JSON").ok());
}

TEST_F(ConfigTest, NumbersBeyondDoubleAreErrorsOfTheirField) {
  EXPECT_EQ(JsonError(R"({"evaluator": {"constant": {"value": 1e999}}})"),
            "c.json: evaluator.constant.value: 1e999 is out of range: the largest number is about 1.8e308");
  EXPECT_THAT(JsonError(R"({"training_service": [{}, {"local": {"gpu_indices": [0, -1e400]}}]})"),
              HasSubstr("c.json: training_service[1].local.gpu_indices[1]: -1e400 is out of range"));
  EXPECT_THAT(JsonError("1e999"), HasSubstr("c.json: 1e999 is out of range"));
  EXPECT_THAT(JsonError("{\"seed\": 18446744073709551615}"), HasSubstr("c.json: seed: 'seed' is out of range"));
  EXPECT_THAT(
      TextError("space { registered: \"net\" } strategy { random {} }\nevaluator { constant { value: 1e999 } }"),
      HasSubstr("c.textproto:2:24: evaluator.constant.value: must be a finite number, got inf"));
  // Smaller than what doubles hold at full precision.
  EXPECT_TRUE(Load(R"({"space": {"registered": "net"}, "strategy": {"random": {}},
                       "evaluator": {"constant": {"value": 1e-320}}})",
                   {}, "c.json")
                  .ok());
}

TEST_F(ConfigTest, EqualKeysInJsonAreRefusedAsInText) {
  EXPECT_EQ(JsonError(R"({"max_trial_number": 1, "max_trial_number": 3})"),
            "c.json: 'max_trial_number' is set twice; keep one");
  EXPECT_EQ(JsonError(R"({"max_trial_number": 1, "maxTrialNumber": 3})"),
            "c.json: 'max_trial_number' is set twice; keep one");
  EXPECT_EQ(JsonError(R"({"training_service": [{}, {"local": {"cpu_slots": 1, "cpu_slots": 1}}]})"),
            "c.json: training_service[1].local: 'cpu_slots' is set twice; keep one");
}

TEST_F(ConfigTest, NumbersThatStandForNoEnumValueAreRefused) {
  EXPECT_EQ(TextError(std::string(kText) + "objective: 77"),
            "c.textproto:4:1: objective: '77' is not a value of 'objective'; allowed here: MAXIMIZE, MINIMIZE");
  EXPECT_THAT(JsonError(R"({"objective": 77})"), HasSubstr("c.json: objective: '77' is not a value of 'objective'"));
  EXPECT_THAT(JsonError(R"({"objective": 99999999999})"), HasSubstr("c.json: objective: '99999999999' is not a value"));
  EXPECT_EQ(Load(std::string(kText) + "objective: 2")->objective(), v1::ObjectiveConfig::MINIMIZE);
}

TEST_F(ConfigTest, ListsThatNameSomethingTwiceAreRefused) {
  const auto error = [this](const std::string& fields) {
    return TextError("space { registered: \"net\" } strategy { random {} }\nevaluator { classification {\n" + fields +
                     " } }");
  };
  EXPECT_THAT(error("dataset { synthetic_digits {} } top_k: [5, 5]"),
              HasSubstr("c.textproto:3:33: evaluator.classification.top_k[1]: 5 is named twice"));
  EXPECT_THAT(error("dataset { csv { path: \"x\" feature_columns: [\"a\", \"b\", \"a\"] } }"),
              HasSubstr("csv.feature_columns[2]: column a is named twice"));
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
  EXPECT_THAT(error("dataset { csv { path: \"x\" delimiter: \"\\\"\" } }"), HasSubstr("no quote or line break"));
  EXPECT_THAT(error(digits + "loader_threads: 257"), HasSubstr("loader_threads: must be in [0, 256], got 257"));
  EXPECT_THAT(error("dataset { synthetic_digits { train_samples: 2000000 } }"),
              HasSubstr("must be in [1, 1000000], got 2000000"));
  EXPECT_THAT(error(digits + "transform { random_rotation { degrees: 270 } }"), HasSubstr("in [0, 180], got 270"));
  EXPECT_THAT(error(digits + "optimizer { rmsprop { alpha: 1 } }"), HasSubstr("in [0, 1), got 1"));
  EXPECT_THAT(error(digits + "optimizer { sgd { dampening: inf } }"), HasSubstr("must be a finite number, got inf"));
  EXPECT_THAT(error(digits + "optimizer { sgd { nesterov: true } }"),
              HasSubstr("optimizer.sgd.nesterov: needs a momentum greater than 0"));
}

TEST_F(ConfigTest, ASpaceOfChoicesHasNoNetworks) {
  const auto error = [this](const std::string& space, const std::string& rest) {
    return TextError("space { choices { choice { label: \"a\" candidate { i: 1 } } } " + space +
                     " } strategy { random {} }\n" + rest);
  };
  const std::string constant = "evaluator { constant {} } ";
  EXPECT_EQ(error("", constant), "");
  EXPECT_EQ(error("", constant + "engine { direct {} } keep_weights { best: 0 }"), "");
  EXPECT_THAT(error("", constant + "engine { graph {} }"), HasSubstr("2:27: engine: a space of `choices` has no net"));
  EXPECT_THAT(error("", constant + "engine { cgo {} }"), HasSubstr("use engine { direct {} }"));
  EXPECT_THAT(error("", constant + "keep_weights { best: 1 }"), HasSubstr("keep_weights.best: a space of `choices`"));
  for (const std::string evaluator : {"classification", "regression"}) {
    EXPECT_THAT(error("", "evaluator { " + evaluator + " { dataset { synthetic_digits {} } } }"),
                HasSubstr("2:13: evaluator." + evaluator + ": trains networks, and a space of `choices` has none"));
  }
  EXPECT_THAT(error("params { key: \"x\" value { i: 1 } }", constant), HasSubstr("space.params: "));
  EXPECT_THAT(error("mutator { repeat { target: \"x\" depth: 1 } }", constant), HasSubstr("space.mutator: "));
  EXPECT_THAT(error("weights: INIT", constant), HasSubstr("space.weights: "));
  EXPECT_THAT(error("frozen { target: \"x\" }", constant), HasSubstr("space.frozen: "));
  // The line and column of the candidate itself.
  EXPECT_THAT(TextError("space { choices { choice { label: \"a\"\ncandidate { i: 1 }\ncandidate { i: 1 } } } }\n"
                        "strategy { random {} } evaluator { constant {} }"),
              HasSubstr("c.textproto:3:1: space.choices.choice[0].candidate[1]: 1 is candidate number 1, too"));
}

TEST_F(ConfigTest, TablesAreChecked) {
  const auto error = [this](const std::string& table) {
    return TextError("space { registered: \"net\" } strategy { random {} }\nevaluator { table { " + table + " } }");
  };
  const auto config =
      Load("space { registered: \"net\" } strategy { random {} } evaluator { table { path: \"t.csv\" } }");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->evaluator().table().path(), (folder_ / "t.csv").string()) << "from the configuration's folder on";
  EXPECT_THAT(error(""), HasSubstr("evaluator.table.path: is required"));
  EXPECT_THAT(error("path: \"t\" step_seconds: -1"), HasSubstr("step_seconds: must be in [0, 86400], got -1"));
  EXPECT_THAT(error("path: \"t\" column { label: \"a\" }"), HasSubstr("column[0].column: is required"));
  EXPECT_THAT(error("path: \"t\" column { label: \"a\" column: \"x\" } column { label: \"a\" column: \"y\" }"),
              HasSubstr("column[1].label: choice 'a' is named twice"));
  EXPECT_THAT(error("path: \"t\" column { label: \"a\" column: \"x\" } column { label: \"b\" column: \"x\" }"),
              HasSubstr("column[1].column: column 'x' is named twice"));
  EXPECT_THAT(error("path: \"t\" default_metric: [\"m\", \"m\"]"), HasSubstr("default_metric[1]: column m is named"));
}

TEST_F(ConfigTest, SizesOfInputsAreSizesOrUnknown) {
  const auto error = [this](const std::string& dims) {
    return TextError(
        "strategy { random {} } evaluator { constant {} }\nspace { torchscript { path: \"x\"\ninput_shape { dims: [" +
        dims + "] } } }");
  };
  EXPECT_EQ(error("-1, 3, 32, 32"), "");
  EXPECT_THAT(error("-1, -5"),
              HasSubstr("c.textproto:3:15: space.torchscript.input_shape[0].dims[1]: must be at least 1"));
  EXPECT_THAT(error("0"), HasSubstr("or -1 (any size), got 0"));
}

TEST_F(ConfigTest, ErrorsInOverridesNameTheOverride) {
  EXPECT_EQ(TextError(kText, {"max_trial_number=0"}),
            "--set max_trial_number: max_trial_number: must be at least 1, got 0");
  EXPECT_EQ(TextError(kText, {"sed=1"}).substr(0, 60), "--set sed=1: unknown field 'sed'; did you mean 'seed'? allow");
  EXPECT_EQ(TextError(kText, {"seed"}), "--set seed: write path.to.field=value");
  EXPECT_EQ(TextError(kText, {"strategy={ randm {} }"}),
            "--set strategy={ randm {} }: unknown field 'randm'; did you mean 'random'? allowed here: random, "
            "grid_search, evolution, tpe, policy_rl, nsga2, chain, custom");
  EXPECT_THAT(TextError(kText, {"strategy={ random { dedup: maybe } }"}), HasSubstr("'dedup' wants true or false"));
  EXPECT_THAT(TextError(kText, {"strategy={ random {}"}), HasSubstr("a '}' is missing"));
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

TEST(CheckConfigTest, EveryBadFieldOfAnEvaluatorIsNamedWithWhatIsAllowed) {
  const std::pair<const char*, const char*> cases[] = {
      {"batch_size: 0", "e.batch_size: must be at least 1, got 0"},
      {"validation_batch_size: -2", "e.validation_batch_size: must be at least 1, got -2"},
      {"max_epochs: 0", "e.max_epochs: must be at least 1, got 0"},
      {"limit_train_batches: 0", "e.limit_train_batches: must be in (0, 1], got 0"},
      {"limit_train_batches: nan", "e.limit_train_batches: must be in (0, 1], got nan"},
      {"limit_validation_batches: 1.5", "e.limit_validation_batches: must be in (0, 1], got 1.5"},
      {"max_train_batches: 0", "e.max_train_batches: must be at least 1, got 0"},
      {"limit_train_batches: 0.5 max_train_batches: 3",
       "e.max_train_batches: not together with limit_train_batches: one is a fraction of the batches, the other their "
       "number"},
      {"loader_threads: -1", "e.loader_threads: must be in [0, 256], got -1"},
      {"optimizer {}", "e.optimizer: nothing is set; set one of: sgd, adam, adamw, rmsprop"},
      {"optimizer { sgd { learning_rate: 0 } }", "e.optimizer.sgd.learning_rate: must be greater than 0, got 0"},
      {"optimizer { sgd { momentum: -1 } }", "e.optimizer.sgd.momentum: must be at least 0, got -1"},
      {"optimizer { sgd { dampening: inf } }", "e.optimizer.sgd.dampening: must be a finite number, got inf"},
      {"optimizer { sgd { weight_decay: -1 } }", "e.optimizer.sgd.weight_decay: must be at least 0, got -1"},
      {"optimizer { sgd { nesterov: true } }",
       "e.optimizer.sgd.nesterov: needs a momentum greater than 0 and no dampening"},
      {"optimizer { adam { learning_rate: nan } }", "e.optimizer.adam.learning_rate: must be greater than 0, got nan"},
      {"optimizer { adam { beta1: 1 } }", "e.optimizer.adam.beta1: must be in [0, 1), got 1"},
      {"optimizer { adamw { beta2: -0.5 } }", "e.optimizer.adamw.beta2: must be in [0, 1), got -0.5"},
      {"optimizer { adamw { eps: -1 } }", "e.optimizer.adamw.eps: must be at least 0, got -1"},
      {"optimizer { adam { weight_decay: -1 } }", "e.optimizer.adam.weight_decay: must be at least 0, got -1"},
      {"optimizer { rmsprop { alpha: 2 } }", "e.optimizer.rmsprop.alpha: must be in [0, 1), got 2"},
      {"optimizer { rmsprop { eps: -1 } }", "e.optimizer.rmsprop.eps: must be at least 0, got -1"},
      {"optimizer { rmsprop { momentum: -1 } }", "e.optimizer.rmsprop.momentum: must be at least 0, got -1"},
      {"schedule { step {} }", "e.schedule.step.step_size: is required: epochs between two steps"},
      {"schedule { step { step_size: 1 gamma: 0 } }", "e.schedule.step.gamma: must be greater than 0, got 0"},
      {"schedule { cosine { min_learning_rate: -1 } }",
       "e.schedule.cosine.min_learning_rate: must be at least 0, got -1"},
      {"gradient_clipping { max_norm: 0 }", "e.gradient_clipping.max_norm: must be greater than 0, got 0"},
      {"gradient_clipping { max_value: nan }", "e.gradient_clipping.max_value: must be greater than 0, got nan"},
  };
  for (const auto& [text, message] : cases) {
    v1::RegressionConfig config;
    ASSERT_TRUE(
        google::protobuf::TextFormat::ParseFromString(absl::StrCat("dataset { csv { path: 'x' } } ", text), &config));
    EXPECT_EQ(CheckConfig(config, "e"), absl::InvalidArgumentError(message)) << text;
  }
}

TEST_F(ConfigTest, WithoutHomeATildeIsAnError) {
  unsetenv("HOME");
  const std::string csv = "evaluator { classification { dataset { csv { path: \"~/a.csv\" } } } }";
  EXPECT_EQ(TextError("space { registered: \"net\" } strategy { random {} } " + csv),
            "c.textproto: ~/a.csv: `~` is the home folder, but the variable HOME is not set; write the whole path");
  EXPECT_THAT(std::string(LoadConfig("~/c.textproto", {}).status().message()), HasSubstr("HOME is not set"));
  setenv("HOME", "/home/somebody", 1);
}

TEST(ResolvePathTest, LeavesAbsolutePathsAndOtherPeoplesHomesAlone) {
  setenv("HOME", "/home/somebody", 1);
  EXPECT_EQ(*ResolvePath("/a/../b", "/c"), "/b");
  EXPECT_EQ(*ResolvePath("~", "/c"), "/home/somebody");
  EXPECT_EQ(*ResolvePath("~other/x", "/c"), "/c/~other/x");
  EXPECT_EQ(*ResolvePath("", "/c"), "");
}

TEST_F(ConfigTest, AMessageIsCompletedAndCheckedAsAFileIs) {
  const auto parse = [](const std::string& text) {
    v1::ExperimentConfig config;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config));
    return config;
  };
  const auto complete = CompleteConfig(parse(kText));
  ASSERT_TRUE(complete.ok()) << complete.status();
  EXPECT_EQ(complete->name(), "net");
  EXPECT_TRUE(complete->engine().has_direct());
  EXPECT_EQ(complete->training_service_size(), 1);
  EXPECT_EQ(Load(kText)->SerializeAsString(), complete->SerializeAsString());

  EXPECT_THAT(std::string(CompleteConfig(parse("space { registered: 'net' }")).status().message()),
              HasSubstr("strategy: "));
  const auto error = [&](const std::string& evaluator) {
    return std::string(
        CompleteConfig(
            parse(absl::StrCat("space { registered: 'net' } strategy { random {} } evaluator { ", evaluator, " }")))
            .status()
            .message());
  };
  EXPECT_THAT(error("classification { dataset { csv { path: 'a.csv' } } }"),
              HasSubstr("evaluator.classification.dataset.csv.path: 'a.csv' is a path of the client's machine"));
  EXPECT_THAT(error("table { path: '~/a.csv' }"), HasSubstr("evaluator.table.path: '~/a.csv' is a path of the client"));
  for (const char* way : {"submit", "data://NAME/sub"}) EXPECT_THAT(error("table { path: 'a.csv' }"), HasSubstr(way));
  EXPECT_EQ(error("table { path: 'data://mnist/a.csv' }"), "");
  EXPECT_THAT(error("table { path: 'data://mnist/../a.csv' }"), HasSubstr("evaluator.table.path: 'data://mnist/../a"));
}

}  // namespace
}  // namespace lanista

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "nlohmann/json.hpp"
#include "src/base/display_text.h"
#include "src/storage/experiment_lock.h"
#include "src/storage/state_dir.h"
#include "src/views/document_parts.h"
#include "src/views/documents.h"
#include "src/views/tables.h"
#include "src/views/trials_csv.h"
#include "src/views/trials_document.h"
#include "tests/storage/storage_testing.h"

namespace lanista {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Json = nlohmann::ordered_json;

// An experiment of four models: one succeeded, one failed twice, one succeeded and is better, one still runs.
constexpr char kRecords[] = R"pb(
  records {
    discovered {
      space {
        choices {
          label: "op"
          kind: LAYER_CHOICE
          candidates { s: "conv" }
          candidates { s: "depthwise" }
          n_chosen: 1
        }
        choices {
          label: "p"
          kind: VALUE_CHOICE
          candidates { f: 0.25 }
          candidates { f: 0.5 }
          n_chosen: 1
        }
        complete: true
      }
    }
  }
  records {
    time { seconds: 1000 }
    state { state: RUNNING }
  }
  records {
    model {
      model: 1
      sample {
        decisions {
          label: "op"
          index: 0
          value { s: "conv" }
        }
        decisions {
          label: "p"
          index: 0
          value { f: 0.25 }
        }
      }
    }
  }
  records {
    model {
      model: 2
      sample {
        decisions {
          label: "op"
          index: 1
          value { s: "depthwise" }
        }
        decisions {
          label: "p"
          index: 0
          value { f: 0.25 }
        }
      }
    }
  }
  records {
    model {
      model: 3
      sample {
        decisions {
          label: "op"
          index: 0
          value { s: "conv" }
        }
        decisions {
          label: "p"
          index: 1
          value { f: 0.5 }
        }
      }
    }
  }
  records {
    model {
      model: 4
      sample {
        decisions {
          label: "op"
          index: 1
          value { s: "depthwise" }
        }
        decisions {
          label: "p"
          index: 1
          value { f: 0.5 }
        }
      }
    }
  }
  records {
    trial {
      trial: 1
      members { model: 1 attempt: 1 }
      members { model: 2 attempt: 1 }
    }
  }
  records {
    trial {
      trial: 2
      members { model: 2 attempt: 2 }
      alone_because: "it runs again"
    }
  }
  records {
    trial {
      trial: 3
      members { model: 3 attempt: 1 }
    }
  }
  records {
    trial {
      trial: 4
      members { model: 4 attempt: 1 }
    }
  }
  records {
    event {
      model: 1
      attempt: 1
      sequence: 1
      time { seconds: 1001 }
      started { device { kind: CPU index: 0 node: "host" } }
    }
  }
  records {
    event {
      model: 1
      attempt: 1
      sequence: 4
      time { seconds: 1001 }
      built { params: 25600000 flops: 8200000000 }
    }
  }
  records {
    event {
      model: 1
      attempt: 1
      sequence: 2
      time { seconds: 1002 }
      intermediate {
        step: 0
        metrics {
          values { key: "default" value: 0.5 }
          values { key: "accuracy" value: 0.5 }
        }
      }
    }
  }
  records {
    event {
      model: 1
      attempt: 1
      sequence: 3
      time { seconds: 1003 nanos: 250000000 }
      ended {
        outcome: SUCCEEDED
        metrics {
          values { key: "default" value: 0.75 }
          values { key: "accuracy" value: 0.75 }
        }
      }
    }
  }
  records {
    outcome {
      model: 1
      attempt: 1
      outcome: SUCCEEDED
      metrics {
        values { key: "default" value: 0.75 }
        values { key: "accuracy" value: 0.75 }
      }
    }
  }
  records {
    event {
      model: 2
      attempt: 1
      sequence: 1
      time { seconds: 1001 }
      started { device { kind: CPU index: 0 node: "host" } }
    }
  }
  records {
    event {
      model: 2
      attempt: 1
      sequence: 3
      time { seconds: 1001 }
      built { params: 12 }
    }
  }
  records {
    event {
      model: 2
      attempt: 1
      sequence: 2
      time { seconds: 1002 }
      ended { outcome: LOST models_memory: 5000000000 }
    }
  }
  records {
    event {
      model: 2
      attempt: 2
      sequence: 1
      time { seconds: 1003 }
      started { device { kind: GPU index: 1 node: "host" } }
    }
  }
  records {
    event {
      model: 2
      attempt: 2
      sequence: 2
      time { seconds: 1004 }
      ended {
        outcome: FAILED
        failure { reason: SIGNAL message: "segmentation\nfault" signal: 11 }
      }
    }
  }
  records {
    outcome {
      model: 2
      attempt: 2
      outcome: FAILED
      failure { reason: SIGNAL message: "segmentation\nfault" signal: 11 }
    }
  }
  records {
    event {
      model: 3
      attempt: 1
      sequence: 1
      time { seconds: 1004 }
      started { device { kind: CPU index: 0 node: "host" } }
    }
  }
  records {
    event {
      model: 3
      attempt: 1
      sequence: 2
      time { seconds: 1005 }
      ended {
        outcome: SUCCEEDED
        metrics { values { key: "default" value: 0.9 } }
      }
    }
  }
  records {
    outcome {
      model: 3
      attempt: 1
      outcome: SUCCEEDED
      metrics { values { key: "default" value: 0.9 } }
    }
    weights { folder: "trials/3" }
  }
  records {
    event {
      model: 4
      attempt: 1
      sequence: 1
      time { seconds: 1006 }
      started { device { kind: CPU index: 1 node: "host" } }
    }
  }
  records {
    event {
      model: 4
      attempt: 1
      sequence: 2
      time { seconds: 1007 }
      intermediate {
        step: 0
        metrics { values { key: "default" value: 0.125 } }
      }
    }
  }
)pb";

class ViewsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(state_dir_.ok());
    folder_ = state_dir_->ExperimentFolder("mnist-k3f9").value();
    Create("");
    Write(kRecords);
  }

  // Begins the experiment anew, with these fields in its configuration.
  void Create(const std::string& fields) {
    writer_ = nullptr;
    std::filesystem::remove_all(folder_);
    writer_ = JournalWriter::Create(
                  folder_,
                  Parse<v1::ExperimentCreated>(
                      "experiment: 'mnist-k3f9' seed: 42 config { space { registered: 'mnist_cnn' } " + fields + " }"))
                  .value();
  }

  void Write(const std::string& records) {
    const absl::Status status = writer_->Write(Batch(records)).status();
    ASSERT_TRUE(status.ok()) << status;
  }

  // `document` less what depends on the clock.
  static Json Timeless(Json document) {
    for (const char* key : {"created", "seconds", "ended"}) document.erase(key);
    return document;
  }

  JournalReader Read() { return JournalReader::Open(folder_).value(); }

  TempFolder temp_;
  absl::StatusOr<StateDir> state_dir_ = StateDir::Open(temp_.path());
  std::string folder_;
  std::unique_ptr<JournalWriter> writer_;
};

TEST_F(ViewsTest, ModelsThatSucceededAreATable) {
  const Json document = TrialsDocument(Read()).value();
  EXPECT_EQ(TrialsCsv(Read(), document, {}).value(),
            "op,p,default,accuracy,default@1\n"
            "conv,0.25,0.75,0.75,0.5\n"
            "conv,0.5,0.9,,\n");
  const Json sorted = TrialsDocument(Read(), {"", 1, "best"}).value();
  EXPECT_EQ(TrialsCsv(Read(), sorted, {}).value(), "op,p,default\nconv,0.5,0.9\n");
  EXPECT_EQ(TrialsCsvDocument(Read(), 1, "best", {}).value()["lines"], Json({"op,p,default", "conv,0.5,0.9", ""}));
}

// A model of a space with conditions, whose texts need quotes.
constexpr char kQuotedRecords[] = R"pb(
  records {
    discovered {
      space {
        choices {
          label: "a \"b\", c"
          kind: VALUE_CHOICE
          candidates { s: "x,y" }
          candidates { s: "line\nbreak \033[31m" }
          n_chosen: 1
        }
        choices {
          label: "later"
          kind: VALUE_CHOICE
          candidates { i: 1 }
          n_chosen: 1
          active_if { all_of { label: "a \"b\", c" chosen: 0 } }
        }
        choices {
          label: "inputs"
          kind: INPUT_CHOICE
          candidates { s: "u" }
          candidates { i: 7 }
          candidates { i: 8 }
          n_chosen: 2
        }
        complete: true
      }
    }
  }
  records {
    model {
      model: 1
      sample {
        decisions {
          label: "a \"b\", c"
          index: 1
          value { s: "line\nbreak \033[31m" }
        }
        decisions {
          label: "inputs"
          index: [ 0, 1 ]
          value { s: "u" }
          value { i: 7 }
        }
      }
    }
  }
  records {
    trial {
      trial: 1
      members { model: 1 attempt: 1 }
    }
  }
  records {
    outcome {
      model: 1
      attempt: 1
      outcome: SUCCEEDED
      metrics { values { key: "METRIC" value: NUMBER } }
    }
  }
)pb";

// The table of kQuotedRecords, where its metric is called so and has this value.
absl::StatusOr<std::string> QuotedCsv(const std::string& metric, bool for_terminal, const std::string& value = "0.1") {
  const TempFolder temp;
  const std::string folder = temp.path() + "/quoted";
  const auto writer =
      JournalWriter::Create(folder, Parse<v1::ExperimentCreated>("experiment: 'quoted' config { space {} }")).value();
  EXPECT_TRUE(writer->Write(Batch(absl::StrReplaceAll(kQuotedRecords, {{"METRIC", metric}, {"NUMBER", value}}))).ok());
  const JournalReader reader = JournalReader::Open(folder).value();
  TrialsCsvOptions options;
  options.for_terminal = for_terminal;
  return TrialsCsv(reader, TrialsDocument(reader).value(), options);
}

TEST(TrialsCsvTest, QuotesWhatNeedsQuotes) {
  EXPECT_EQ(QuotedCsv("default", false).value(),
            "\"a \"\"b\"\", c\",later,inputs,default\n"
            "\"line\nbreak \033[31m\",,\"[\"\"u\"\",7]\",0.1\n");
  EXPECT_EQ(QuotedCsv("default", true).value(),
            "\"a \"\"b\"\", c\",later,inputs,default\n"
            "line break  [31m,,\"[\"\"u\"\",7]\",0.1\n");
}

TEST(TrialsCsvTest, LeavesOutWhatIsNoNumberOfATable) {
  for (const char* const value : {"nan", "inf", "-inf"}) {
    EXPECT_EQ(QuotedCsv("default", true, value).value(),
              "\"a \"\"b\"\", c\",later,inputs\nline break  [31m,,\"[\"\"u\"\",7]\"\n");
  }
}

TEST(TrialsCsvTest, AChoiceAndAMetricOfOneNameAreRefused) {
  EXPECT_THAT(std::string(QuotedCsv("later", false).status().message()), HasSubstr("'later' is a choice and a metric"));
}

TEST_F(ViewsTest, ShowsARunningExperiment) {
  const auto lock = ExperimentLock::Acquire(folder_);
  ASSERT_TRUE(lock.ok());
  const auto document = ShowDocument(Read());
  ASSERT_TRUE(document.ok()) << document.status();
  EXPECT_EQ(Timeless(*document), Json::parse(R"json({
    "id": "mnist-k3f9",
    "name": "mnist_cnn",
    "status": "RUNNING",
    "reason": "",
    "waiting_for": null,
    "objective": "MAXIMIZE",
    "objectives": [{"metric": "default", "goal": "MAXIMIZE"}],
    "constraints": [],
    "seed": 42,
    "space_size": "4",
    "models": {"total": 4, "succeeded": 2, "failed": 1, "stopped_early": 0, "infeasible": 0, "canceled": 0,
               "unfinished": 1},
    "best": [
      {"model": 3, "default": 0.9, "metrics": {"default": 0.9}, "sample": {"op": "conv", "p": 0.5}},
      {"model": 1, "default": 0.75, "metrics": {"default": 0.75, "accuracy": 0.75},
       "sample": {"op": "conv", "p": 0.25}}
    ],
    "nearest": null,
    "failures": [
      {"reason": "SIGNAL", "message": "segmentation\nfault", "signal": 11, "count": 1, "models": [2]}
    ]})json"));
  EXPECT_TRUE((*document)["ended"].is_null());
  EXPECT_GE((*document)["seconds"], 0);
}

TEST_F(ViewsTest, SaysInterruptedWhenNobodyHoldsIt) {
  const auto show = ShowDocument(Read()).value();
  EXPECT_EQ(show["status"], "INTERRUPTED");
  EXPECT_TRUE(show["ended"].is_null());
  const auto trials = TrialsDocument(Read()).value();
  EXPECT_EQ(trials["models"][3]["status"], "INTERRUPTED");
  EXPECT_EQ(ListDocument(*state_dir_).value()["experiments"][0]["status"], "INTERRUPTED");
}

TEST_F(ViewsTest, ShowsHowAnExperimentEnded) {
  Write("records { time { seconds: 4000000000 nanos: 5000000 } state { state: FAILED reason: 'why' } }");
  const auto show = ShowDocument(Read()).value();
  EXPECT_EQ(show["status"], "FAILED");
  EXPECT_EQ(show["reason"], "why");
  EXPECT_EQ(show["ended"], "2096-10-02T07:06:40.005Z");
  EXPECT_GT(show["seconds"], 1e9);
}

TEST_F(ViewsTest, BestIsAsLongAsAskedFor) {
  const auto best = ShowDocument(Read(), {/*best=*/1}).value()["best"];
  ASSERT_EQ(best.size(), 1);
  EXPECT_EQ(best[0]["model"], 3);
}

TEST_F(ViewsTest, AnUnknownSizeIsNull) {
  writer_ = JournalWriter::Create(temp_.path() + "/other", v1::ExperimentCreated()).value();
  EXPECT_TRUE(ShowDocument(JournalReader::Open(temp_.path() + "/other").value()).value()["space_size"].is_null());
  Write(
      "records { discovered { space { choices { label: 'x' kind: REPEAT candidates { i: 1 } n_chosen: 1 } complete: "
      "false } } }");
  EXPECT_TRUE(ShowDocument(JournalReader::Open(temp_.path() + "/other").value()).value()["space_size"].is_null());
}

TEST_F(ViewsTest, ShowsEveryModelWithItsAttempts) {
  const auto lock = ExperimentLock::Acquire(folder_);
  const auto document = TrialsDocument(Read());
  ASSERT_TRUE(document.ok()) << document.status();
  EXPECT_EQ(*document, Json::parse(R"json({
    "id": "mnist-k3f9",
    "objective": "MAXIMIZE",
    "objectives": [{"metric": "default", "goal": "MAXIMIZE"}],
    "constraints": [],
    "models": [
      {"id": 1, "sample": {"op": "conv", "p": 0.25}, "status": "SUCCEEDED",
       "params": 25600000, "flops": 8200000000,
       "metrics": {"final": {"default": 0.75, "accuracy": 0.75}, "intermediate": [
         {"step": 0, "time": "1970-01-01T00:16:42.000Z", "metrics": {"default": 0.5, "accuracy": 0.5}}]},
       "failure": null, "stopped": null, "violation": 0.0, "breaks": null, "front": 1, "weights": null,
       "attempts": [{"attempt": 1, "trial": 1, "device": "cpu:0", "node": "host",
         "start": "1970-01-01T00:16:41.000Z", "end": "1970-01-01T00:16:43.250Z", "seconds": 2.25, "merged_with": [2], "alone_because": null, "models_memory": null,
         "outcome": "SUCCEEDED", "failure": null, "lost_cause": null, "resumed_steps": 0, "assignment": null}]},
      {"id": 2, "sample": {"op": "depthwise", "p": 0.25}, "status": "FAILED",
       "params": 12, "flops": null,
       "metrics": {"final": null, "intermediate": []},
       "failure": {"reason": "SIGNAL", "message": "segmentation\nfault", "signal": 11, "exit_status": null}, "stopped": null,
       "violation": null, "breaks": null, "front": null, "weights": null,
       "attempts": [
         {"attempt": 1, "trial": 1, "device": "cpu:0", "node": "host",
          "start": "1970-01-01T00:16:41.000Z", "end": "1970-01-01T00:16:42.000Z", "seconds": 1.0, "merged_with": [1], "alone_because": null, "models_memory": 5000000000,
          "outcome": "LOST", "failure": null, "lost_cause": null, "resumed_steps": 0, "assignment": null},
         {"attempt": 2, "trial": 2, "device": "cuda:1", "node": "host",
          "start": "1970-01-01T00:16:43.000Z", "end": "1970-01-01T00:16:44.000Z", "seconds": 1.0, "merged_with": [], "alone_because": "it runs again", "models_memory": null,
          "outcome": "FAILED",
          "failure": {"reason": "SIGNAL", "message": "segmentation\nfault", "signal": 11, "exit_status": null}, "lost_cause": null, "resumed_steps": 0, "assignment": null}]},
      {"id": 3, "sample": {"op": "conv", "p": 0.5}, "status": "SUCCEEDED",
       "params": null, "flops": null,
       "metrics": {"final": {"default": 0.9}, "intermediate": []}, "failure": null, "stopped": null,
       "violation": 0.0, "breaks": null, "front": 0, "weights": "trials/3/weights.pt",
       "attempts": [{"attempt": 1, "trial": 3, "device": "cpu:0", "node": "host",
         "start": "1970-01-01T00:16:44.000Z", "end": "1970-01-01T00:16:45.000Z", "seconds": 1.0, "merged_with": [], "alone_because": null, "models_memory": null,
         "outcome": "SUCCEEDED", "failure": null, "lost_cause": null, "resumed_steps": 0, "assignment": null}]},
      {"id": 4, "sample": {"op": "depthwise", "p": 0.5}, "status": "RUNNING",
       "params": null, "flops": null,
       "metrics": {"final": null, "intermediate": [
         {"step": 0, "time": "1970-01-01T00:16:47.000Z", "metrics": {"default": 0.125}}]},
       "failure": null, "stopped": null, "violation": null, "breaks": null, "front": null, "weights": null,
       "attempts": [{"attempt": 1, "trial": 4, "device": "cpu:1", "node": "host",
         "start": "1970-01-01T00:16:46.000Z", "end": null, "seconds": null, "merged_with": [], "alone_because": null, "models_memory": null, "outcome": null, "failure": null, "lost_cause": null, "resumed_steps": 0, "assignment": null}]}
    ]})json"))
      << ToText(*document);
}

TEST_F(ViewsTest, AFilterKeepsModelsBeforeTheirReportsAreRead) {
  for (int model = 5; model <= 250; ++model) Write(absl::StrCat("records { model { model: ", model, " } }"));
  Write("records { outcome { model: 240 attempt: 0 outcome: FAILED } }");
  const Json all = TrialsDocument(Read()).value()["models"];
  const auto next = [](TrialsReader& trials) {
    Json numbers = Json::array();
    const std::vector<Json> entries = trials.Next().value();
    for (const Json& entry : entries) numbers.push_back(entry["id"]);
    return numbers;
  };
  const JournalReader reader = Read();
  TrialsReader failed = TrialsReader::Open(reader, {"FAILED"}).value();
  const std::vector<Json> entries = failed.Next().value();
  ASSERT_EQ(entries.size(), 2u) << "all at once, however far from each other";
  EXPECT_EQ(entries[0], all[1]) << "with its attempts, merged trials and reports";
  EXPECT_EQ(entries[1], all[239]);
  EXPECT_EQ(next(failed), Json::array());
  TrialsReader succeeded = TrialsReader::Open(reader, {"SUCCEEDED", 1}).value();
  EXPECT_EQ(next(succeeded), Json::array({1}));
  EXPECT_EQ(next(succeeded), Json::array());
  TrialsReader unfinished = TrialsReader::Open(reader, {"INTERRUPTED", 120}).value();
  EXPECT_EQ(next(unfinished).at(0), 4);
  EXPECT_EQ(next(unfinished).at(19), 123);
  EXPECT_EQ(next(unfinished), Json::array());
  TrialsReader first = TrialsReader::Open(reader, {"", 3}).value();
  EXPECT_EQ(next(first), Json::array({1, 2, 3}));
}

TEST_F(ViewsTest, ListsExperimentsAndSaysWhichCannotBeRead) {
  const std::string broken = state_dir_->ExperimentFolder("broken").value();
  std::filesystem::create_directory(broken);
  std::ofstream(broken + "/journal.db") << std::string(1000, 'x');
  const auto experiments = ListDocument(*state_dir_).value()["experiments"];
  ASSERT_EQ(experiments.size(), 2);
  EXPECT_EQ(experiments[0]["id"], "broken");
  EXPECT_EQ(experiments[0]["status"], "UNREADABLE");
  EXPECT_THAT(experiments[0]["reason"].get<std::string>(), HasSubstr("not a database"));
  EXPECT_EQ(experiments[1]["id"], "mnist-k3f9");
  EXPECT_EQ(experiments[1]["models"]["succeeded"], 2);
  EXPECT_TRUE(experiments[1]["max_trial_number"].is_null()) << "it has no limit";
  // As `show` has it.
  ASSERT_EQ(experiments[1]["best"].size(), 1);
  EXPECT_EQ(experiments[1]["best"][0], ShowDocument(Read()).value()["best"][0]);
  EXPECT_EQ(experiments[0]["best"], Json::array());
}

TEST_F(ViewsTest, AListSaysHowManyModelsThereWillBe) {
  Create("max_trial_number: 7");
  EXPECT_EQ(ListDocument(*state_dir_).value()["experiments"][0]["max_trial_number"], 7);
}

TEST_F(ViewsTest, ManyEqualFailuresAreOneLine) {
  for (int model = 100; model < 130; ++model) {
    Write("records { model { model: " + std::to_string(model) + " } } records { outcome { outcome: FAILED model: " +
          std::to_string(model) + " failure { reason: EXCEPTION message: 'again' } } }");
  }
  const auto failures = ShowDocument(Read()).value()["failures"];
  ASSERT_EQ(failures.size(), 2);
  EXPECT_EQ(failures[0]["count"], 30);
  EXPECT_EQ(failures[0]["models"].size(), 10);
}

TEST_F(ViewsTest, TextThatIsNoUtf8AndNumbersThatJsonDoesNotKnowStayValidJson) {
  v1::JournalBatch batch = Batch(R"pb(records { model { model: 9 } }
                                      records {
                                        outcome {
                                          model: 9
                                          outcome: FAILED
                                          failure { reason: NAN_LOSS }
                                          metrics {
                                            values { key: "default" value: nan }
                                            values { key: "x" value: inf }
                                          }
                                        }
                                      })pb");
  batch.mutable_records(1)->mutable_outcome()->mutable_failure()->set_message("caf\xe9 \xff");
  ASSERT_TRUE(writer_->Write(batch).ok());
  for (const auto& document : {ShowDocument(Read()).value(), TrialsDocument(Read()).value()}) {
    EXPECT_FALSE(Json::parse(ToText(document), nullptr, false).is_discarded());
  }
  EXPECT_THAT(ShowText(ShowDocument(Read()).value()), HasSubstr("NAN_LOSS: caf\ufffd \ufffd"));
}

TEST_F(ViewsTest, TextOfShowIsATableOfTheTopModelsAndOfWhatFailed) {
  Json document = ShowDocument(Read()).value();
  document["status"] = "DONE";
  document["reason"] = "the space is exhausted";
  document["created"] = "2026-01-02T03:04:05.000Z";
  document["seconds"] = 187.2;
  EXPECT_EQ(ShowText(document), R"(experiment  mnist-k3f9
name        mnist_cnn
status      DONE: the space is exhausted
space       4 models
tried       4 models: 2 succeeded, 1 failed, 1 unfinished
created     2026-01-02T03:04:05.000Z
took        3m 07s

top models
  all models: op=conv
  rank  model  default  metrics        p
     1      3      0.9                 0.5
     2      1     0.75  accuracy=0.75  0.25

failures
  count  models  failure
      1  2       SIGNAL 11: segmentation fault
)");
}

TEST_F(ViewsTest, TextOfShowSaysWhatAnExperimentWaitsFor) {
  EXPECT_THAT(ShowText(ShowDocument(Read()).value()), Not(HasSubstr("waits for")));
  ViewOptions options;
  options.waiting_for = "a device: there is none";
  const Json document = ShowDocument(Read(), options).value();
  EXPECT_EQ(document["waiting_for"], "a device: there is none");
  EXPECT_THAT(ShowText(document), HasSubstr("\nwaits for   a device: there is none\n"));
}

TEST_F(ViewsTest, TextOfTrialsHasALineForEachModel) {
  const auto lock = ExperimentLock::Acquire(folder_);
  EXPECT_EQ(TrialsText(TrialsDocument(Read()).value()),
            R"(model  status     default  took  attempts  device  op         p     reason
    1  SUCCEEDED     0.75  2.2s         1  cpu:0   conv       0.25
    2  FAILED           -  1.0s         2  cuda:1  depthwise  0.25  SIGNAL 11: segmentation fault
    3  SUCCEEDED      0.9  1.0s         1  cpu:0   conv       0.5
    4  RUNNING      0.125     -         1  cpu:1   depthwise  0.5
)");
}

TEST_F(ViewsTest, AModelThatWasStoppedSaysWhereAndWhy) {
  Write(R"pb(records {
               outcome {
                 model: 4
                 attempt: 1
                 outcome: STOPPED_EARLY
                 metrics { values { key: "default" value: 0.95 } }
                 stopped_step: 3
                 stopped_because: "0.95, not among\nthe best 4 of 17"
               }
             })pb");
  Json document = TrialsDocument(Read()).value();
  const Json& model = document["models"][3];
  EXPECT_EQ(model["status"], "STOPPED_EARLY");
  EXPECT_EQ(model["stopped"], Json::parse(R"({"step": 3, "because": "0.95, not among\nthe best 4 of 17"})"));
  EXPECT_THAT(TrialsText(document), HasSubstr("step 3: 0.95, not among the best 4 of 17\n"));
  document = TrialsDocument(Read(), {"", 0, "best"}).value();
  EXPECT_EQ(document["models"][0]["id"], 3) << "models that ran to their end come first";
  EXPECT_EQ(document["models"][2]["id"], 4);
  EXPECT_EQ(ShowDocument(Read()).value()["models"]["stopped_early"], 1);
  EXPECT_THAT(ShowText(ShowDocument(Read()).value()), HasSubstr("2 succeeded, 1 failed, 1 stopped early"));
}

TEST_F(ViewsTest, TextOfListHasALineForEachExperiment) {
  Json document = ListDocument(*state_dir_).value();
  document["experiments"][0]["created"] = "2026-01-02T03:04:05.000Z";
  document["experiments"][0]["seconds"] = 4.25;
  EXPECT_EQ(ListText(document),
            R"(id          status       models  failed  best  created                   took  reason
mnist-k3f9  INTERRUPTED       4       1   0.9  2026-01-02T03:04:05.000Z  4.2s  )"
            "the process that ran it ended before the experiment did; `resume mnist-k3f9` goes on with it\n");
}

TEST_F(ViewsTest, TextOfListSaysWhatAnExperimentWaitsFor) {
  const auto lock = ExperimentLock::Acquire(folder_);
  ViewOptions options;
  options.waiting_for = "a device: there is none";
  Json document = ListDocument(*state_dir_, options).value();
  Json& entry = document["experiments"][0];
  EXPECT_EQ(entry["waiting_for"], "a device: there is none");
  EXPECT_THAT(ListText(document), HasSubstr("  waits for a device: there is none\n"));
  entry["reason"] = "stopping";
  EXPECT_THAT(ListText(document), HasSubstr("  stopping; waits for a device: there is none\n"));
  // As a head of an earlier version says it.
  entry.erase("waiting_for");
  EXPECT_THAT(ListText(document), HasSubstr("  stopping\n"));
}

TEST_F(ViewsTest, TrialsCanBeSelectedAndSorted) {
  const auto ids = [&](const std::string& sort, const std::string& status, int limit) {
    const Json document = TrialsDocument(Read(), {status, limit, sort}).value();
    std::vector<int> ids;
    for (const Json& model : document["models"]) ids.push_back(model["id"].get<int>());
    return ids;
  };
  EXPECT_THAT(ids("model", "", 0), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(ids("model", "succeeded", 0), ElementsAre(1, 3));
  EXPECT_THAT(ids("best", "", 2), ElementsAre(3, 1));
  EXPECT_THAT(ids("best", "", 0), ElementsAre(3, 1, 2, 4));
  EXPECT_THAT(ids("duration", "", 1), ElementsAre(1));
  Create("objective: MINIMIZE");
  Write(kRecords);
  EXPECT_THAT(ids("best", "", 0), ElementsAre(1, 3, 2, 4));
}

// Of six models: 1 and 3 are the front, 2 is beaten by 1, 4 and 5 break limits (4 was not even trained), 6 was stopped.
constexpr char kGoals[] = R"pb(
  objectives {}
  objectives { metric: "flops" goal: MINIMIZE }
  constraint { metric: "params" max: 1000 }
  constraint { metric: "latency" min: 1 max: 5 }
)pb";

class GoalsViewsTest : public ViewsTest {
 protected:
  void SetUp() override {
    ViewsTest::SetUp();
    Create(kGoals);
    AddModel(1, "SUCCEEDED", {{"default", 0.75}, {"flops", 500}, {"params", 1000}, {"latency", 2}});
    AddModel(2, "SUCCEEDED", {{"default", 0.5}, {"flops", 600}, {"params", 900}, {"latency", 2}});
    AddModel(3, "SUCCEEDED", {{"default", 0.25}, {"flops", 100}, {"params", 100}, {"latency", 2}});
    AddModel(4, "INFEASIBLE", {{"params", 1750}});
    AddModel(5, "SUCCEEDED", {{"default", 0.875}, {"flops", 50}, {"params", 1250}, {"latency", 2}});
    AddModel(6, "STOPPED_EARLY", {{"default", 0.9375}, {"flops", 700}});
  }

  void AddModel(int model, const std::string& outcome, const std::map<std::string, double>& metrics) {
    std::string text;
    for (const auto& [name, value] : metrics) {
      absl::StrAppend(&text, "values { key: '", name, "' value: ", value, " } ");
    }
    Write(absl::StrCat("records { model { model: ", model,
                       " sample { decisions { label: 'p' index: 0 value { i: ", model, " } } } } }",
                       "records { outcome { model: ", model, " outcome: ", outcome, " metrics { ", text, "} } }"));
  }
};

TEST_F(GoalsViewsTest, ShowHasTheFrontAndWhatModelsAreJudgedBy) {
  const Json show = ShowDocument(Read(), {/*best=*/1}).value();
  EXPECT_EQ(show["objective"], "MAXIMIZE");
  EXPECT_EQ(show["objectives"], Json::parse(R"([{"metric": "default", "goal": "MAXIMIZE"},
                                                {"metric": "flops", "goal": "MINIMIZE"}])"));
  EXPECT_EQ(show["constraints"], Json::parse(R"([{"metric": "params", "max": 1000.0, "min": null},
                                                 {"metric": "latency", "max": 5.0, "min": 1.0}])"));
  EXPECT_EQ(show["models"]["infeasible"], 1);
  ASSERT_EQ(show["best"].size(), 2) << "all of the front";
  EXPECT_EQ(show["best"][0]["model"], 1);
  EXPECT_EQ(show["best"][1]["model"], 3);
  EXPECT_TRUE(show["nearest"].is_null());
  const std::string text = ShowText(show);
  EXPECT_THAT(text, HasSubstr("objectives  default: MAXIMIZE, flops: MINIMIZE\n"
                              "limits      params at most 1000, latency at least 1 and at most 5\n"
                              "tried       6 models: 4 succeeded, 1 stopped early, 1 infeasible\n"));
  EXPECT_THAT(text, HasSubstr(R"(
Pareto front: no other model beats these
  rank  model  default  flops  metrics                p
     1      1     0.75    500  latency=2 params=1000  1
     2      3     0.25    100  latency=2 params=100   3
)"));
}

TEST_F(GoalsViewsTest, TrialsSayWhichLimitsModelsBreak) {
  Json document = TrialsDocument(Read()).value();
  const auto column = [&document](const char* key) {
    Json values = Json::array();
    for (const Json& model : document["models"]) values.push_back(model[key]);
    return values;
  };
  EXPECT_EQ(column("violation"), Json::parse("[0.0, 0.0, 0.0, 0.75, 0.25, 0.0]"));
  EXPECT_EQ(column("front"), Json::parse("[0, 1, 0, null, null, null]"));
  EXPECT_EQ(column("breaks"), Json::parse(R"json([null, null, null, "params 1750 (at most 1000)",
                                                  "params 1250 (at most 1000)", null])json"));
  EXPECT_EQ(TrialsText(document),
            R"text(model  status         default  flops  took  attempts  device  p  reason
    1  SUCCEEDED         0.75    500     -         0  -       1
    2  SUCCEEDED          0.5    600     -         0  -       2
    3  SUCCEEDED         0.25    100     -         0  -       3
    4  INFEASIBLE           -      -     -         0  -       4  params 1750 (at most 1000)
    5  SUCCEEDED        0.875     50     -         0  -       5  params 1250 (at most 1000)
    6  STOPPED_EARLY   0.9375    700     -         0  -       6
)text");
  document = TrialsDocument(Read(), {"", 0, "best"}).value();
  EXPECT_EQ(column("id"), Json::parse("[1, 3, 2, 6, 5, 4]"));
  document = TrialsDocument(Read(), {"infeasible"}).value();
  EXPECT_EQ(column("id"), Json::parse("[4]"));
}

TEST_F(GoalsViewsTest, ListHasTheBestByTheFirstObjective) {
  Create("objectives { metric: 'flops' goal: MINIMIZE }");
  AddModel(1, "SUCCEEDED", {{"default", 0.75}, {"flops", 500}});
  AddModel(2, "SUCCEEDED", {{"flops", 250}});
  const Json document = ListDocument(*state_dir_).value();
  EXPECT_EQ(document["experiments"][0]["objectives"], Json::parse(R"([{"metric": "flops", "goal": "MINIMIZE"}])"));
  EXPECT_EQ(document["experiments"][0]["best"][0]["model"], 2);
  EXPECT_TRUE(document["experiments"][0]["best"][0]["default"].is_null());
  EXPECT_THAT(ListText(document), HasSubstr("  250  "));
  EXPECT_THAT(ShowText(ShowDocument(Read()).value()), HasSubstr("objectives  flops: MINIMIZE\n"));
}

TEST_F(GoalsViewsTest, WhereNoModelKeepsTheLimitsTheNearestIsNamed) {
  Create("constraint { metric: 'params' max: 1000 }");
  EXPECT_TRUE(ShowDocument(Read()).value()["nearest"].is_null()) << "there are no models";
  AddModel(1, "SUCCEEDED", {{"default", 0.75}, {"params", 1500}});
  AddModel(2, "INFEASIBLE", {{"params", 1250}});
  AddModel(3, "INFEASIBLE", {{"params", 1250}});
  AddModel(4, "FAILED", {{"params", 1125}});
  const Json show = ShowDocument(Read()).value();
  EXPECT_TRUE(show["best"].empty());
  EXPECT_EQ(show["nearest"],
            Json::parse(R"json({"model": 2, "violation": 0.25, "breaks": "params 1250 (at most 1000)"})json"));
  EXPECT_THAT(ShowText(show),
              HasSubstr("\nno model is within the limits; the nearest: model 2, params 1250 (at most 1000)\n"));
  AddModel(5, "SUCCEEDED", {{"default", 0.5}, {"params", 1000}});
  EXPECT_TRUE(ShowDocument(Read()).value()["nearest"].is_null());
  EXPECT_THAT(ShowText(ShowDocument(Read()).value()), HasSubstr("\ntop models\n"));
}

// A document of `show` with two good models, whose samples have these choices.
Json TwoBest(const Json& one, const Json& other) {
  return {{"objectives", {{{"metric", "default"}, {"goal", "MAXIMIZE"}}}},
          {"best",
           {{{"model", 1}, {"default", 0.5}, {"metrics", {{"default", 0.5}}}, {"sample", one}},
            {{"model", 2}, {"default", 0.25}, {"metrics", {{"default", 0.25}}}, {"sample", other}}}}};
}

TEST(BestTextTest, AChoiceThatOneModelLacksIsAColumn) {
  EXPECT_EQ(
      BestText(TwoBest({{"kind", "attention"}, {"heads", 4}, {"act", "relu"}}, {{"kind", "mlp"}, {"act", "relu"}})),
      R"(  all models: act=relu
  rank  model  default  metrics  kind       heads
     1      1      0.5           attention  4
     2      2     0.25           mlp        -
)");
}

TEST(BestTextTest, FitsTheTerminal) {
  Json one, other;
  for (int i = 0; i < 30; ++i) {
    one[absl::StrCat("stage", i, "/a very long name of a choice")] = "a long candidate";
    other[absl::StrCat("stage", i, "/a very long name of a choice")] = "another long candidate";
  }
  one["日本語"] = other["日本語"] = std::string(300, 'x');
  for (const int width : {60, 80, 200}) {
    const std::string text = BestText(TwoBest(one, other), width);
    for (const absl::string_view line : absl::StrSplit(text, '\n')) EXPECT_LE(DisplayWidth(line), width) << line;
    EXPECT_THAT(text, HasSubstr("more choices: --json shows all"));
    EXPECT_THAT(text, HasSubstr("a long c"));
  }
}

TEST(BestTextTest, OfOneModelTheSampleIsALine) {
  Json document = TwoBest({{"act", "relu"}}, {});
  document["best"].erase(1);
  EXPECT_THAT(BestText(document), HasSubstr("  sample: act=relu\n"));
}

TEST_F(ViewsTest, FailuresThatDifferInNumbersAreOneLine) {
  Json document = ShowDocument(Read()).value();
  document["failures"] = Json::array();
  for (int i = 1; i <= 12; ++i) {
    document["failures"].push_back({{"reason", "EXCEPTION"},
                                    {"message", absl::StrCat("shapes [", i * 7, ", 64] and [", i, "]")},
                                    {"signal", nullptr},
                                    {"count", 1},
                                    {"models", {i}}});
  }
  EXPECT_THAT(ShowText(document),
              HasSubstr("     12  1, 2, 3, 4, 5, 6, 7, 8, 9, 10, ...  EXCEPTION: shapes [7, 64] and [1]\n"));
}

TEST_F(ViewsTest, ManyKindsOfFailuresAreCounted) {
  Json document = ShowDocument(Read()).value();
  document["failures"] = Json::array();
  for (char kind = 'a'; kind <= 'z'; ++kind) {
    document["failures"].push_back({{"reason", "EXCEPTION"},
                                    {"message", std::string(1, kind)},
                                    {"signal", nullptr},
                                    {"count", 1},
                                    {"models", {1}}});
  }
  EXPECT_THAT(ShowText(document), HasSubstr("EXCEPTION: j\n  and 16 other kinds of failure"));
}

TEST_F(ViewsTest, TextFromOutsideCannotMoveTheCursor) {
  Write(
      "records { model { model: 9 sample { decisions { label: 'l\\033[31mab' index: 0 value { s: '\\302\\23331m' } } } "
      "} }"
      "records { outcome { outcome: FAILED model: 9 failure { reason: EXCEPTION message: 'a\\033[2J\\nb\\000c' } } }");
  const Json show = ShowDocument(Read()).value(), trials = TrialsDocument(Read()).value();
  for (const std::string& text : {ShowText(show), TrialsText(trials), ToText(show), ToText(trials),
                                  ListText(ListDocument(*state_dir_).value())}) {
    EXPECT_THAT(text, ::testing::Not(::testing::ContainsRegex("[\x01-\x09\x0b-\x1f\x7f]")));
    EXPECT_EQ(text.find("\u009b"), std::string::npos);
    EXPECT_EQ(text.find('\0'), std::string::npos);
  }
  EXPECT_THAT(ShowText(show), HasSubstr("EXCEPTION: a [2J b c"));
}

TEST(TextTableTest, AlignsTextThatIsNotAscii) {
  TextTable table({{"n", TextTable::Align::kLeft}, {"value", TextTable::Align::kRight}});
  table.AddRow({"\xc3\xa9t\xc3\xa9", "1"});
  table.AddRow({"summer", "20"});
  EXPECT_EQ(table.ToText(), "n       value\n\xc3\xa9t\xc3\xa9         1\nsummer     20\n");
}

TEST(DurationTextTest, IsShort) {
  EXPECT_EQ(DurationText(4.21), "4.2s");
  EXPECT_EQ(DurationText(59.96), "1m 00s");
  EXPECT_EQ(DurationText(187), "3m 07s");
  EXPECT_EQ(DurationText(7500), "2h 05m");
}

}  // namespace
}  // namespace lanista

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "src/storage/experiment_lock.h"
#include "src/storage/state_dir.h"
#include "src/views/documents.h"
#include "src/views/tables.h"
#include "tests/storage/storage_testing.h"

namespace lanista {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::ordered_json;

// An experiment of four models: one succeeded, one failed twice, one succeeded and is better, one still runs.
constexpr char kRecords[] = R"pb(
  records {
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
    writer_ = JournalWriter::Create(folder_, Parse<v1::ExperimentCreated>(R"pb(
                                      experiment: "mnist-k3f9"
                                      seed: 42
                                      config { space { registered: "mnist_cnn" } })pb"))
                  .value();
    Write(kRecords);
  }

  void Write(const std::string& records) {
    const absl::Status status = writer_->Write(Batch(records));
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
    "objective": "MAXIMIZE",
    "seed": 42,
    "space_size": "4",
    "models": {"total": 4, "succeeded": 2, "failed": 1, "stopped_early": 0, "canceled": 0, "unfinished": 1},
    "best": [
      {"model": 3, "default": 0.9, "metrics": {"default": 0.9}, "sample": {"op": "conv", "p": 0.5}},
      {"model": 1, "default": 0.75, "metrics": {"default": 0.75, "accuracy": 0.75},
       "sample": {"op": "conv", "p": 0.25}}
    ],
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
  Write("records { time { seconds: 4000000000 nanos: 5000000 } state { state: EXPERIMENT_FAILED reason: 'why' } }");
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
  Write("records { space { choices { label: 'x' kind: REPEAT candidates { i: 1 } n_chosen: 1 } complete: false } }");
  EXPECT_TRUE(ShowDocument(JournalReader::Open(temp_.path() + "/other").value()).value()["space_size"].is_null());
}

TEST_F(ViewsTest, ShowsEveryModelWithItsAttempts) {
  const auto lock = ExperimentLock::Acquire(folder_);
  const auto document = TrialsDocument(Read());
  ASSERT_TRUE(document.ok()) << document.status();
  EXPECT_EQ(*document, Json::parse(R"json({
    "id": "mnist-k3f9",
    "models": [
      {"id": 1, "sample": {"op": "conv", "p": 0.25}, "status": "SUCCEEDED",
       "metrics": {"final": {"default": 0.75, "accuracy": 0.75}, "intermediate": [
         {"step": 0, "time": "1970-01-01T00:16:42.000Z", "metrics": {"default": 0.5, "accuracy": 0.5}}]},
       "failure": null,
       "attempts": [{"attempt": 1, "trial": 1, "device": "cpu:0", "node": "host",
         "start": "1970-01-01T00:16:41.000Z", "end": "1970-01-01T00:16:43.250Z", "merged_with": [2], "alone_because": null, "models_memory": null,
         "outcome": "SUCCEEDED", "failure": null}]},
      {"id": 2, "sample": {"op": "depthwise", "p": 0.25}, "status": "FAILED",
       "metrics": {"final": null, "intermediate": []},
       "failure": {"reason": "SIGNAL", "message": "segmentation\nfault", "signal": 11, "exit_status": null},
       "attempts": [
         {"attempt": 1, "trial": 1, "device": "cpu:0", "node": "host",
          "start": "1970-01-01T00:16:41.000Z", "end": "1970-01-01T00:16:42.000Z", "merged_with": [1], "alone_because": null, "models_memory": 5000000000,
          "outcome": "LOST", "failure": null},
         {"attempt": 2, "trial": 2, "device": "cuda:1", "node": "host",
          "start": "1970-01-01T00:16:43.000Z", "end": "1970-01-01T00:16:44.000Z", "merged_with": [], "alone_because": "it runs again", "models_memory": null,
          "outcome": "FAILED",
          "failure": {"reason": "SIGNAL", "message": "segmentation\nfault", "signal": 11, "exit_status": null}}]},
      {"id": 3, "sample": {"op": "conv", "p": 0.5}, "status": "SUCCEEDED",
       "metrics": {"final": {"default": 0.9}, "intermediate": []}, "failure": null,
       "attempts": [{"attempt": 1, "trial": 3, "device": "cpu:0", "node": "host",
         "start": "1970-01-01T00:16:44.000Z", "end": "1970-01-01T00:16:45.000Z", "merged_with": [], "alone_because": null, "models_memory": null,
         "outcome": "SUCCEEDED", "failure": null}]},
      {"id": 4, "sample": {"op": "depthwise", "p": 0.5}, "status": "RUNNING",
       "metrics": {"final": null, "intermediate": [
         {"step": 0, "time": "1970-01-01T00:16:47.000Z", "metrics": {"default": 0.125}}]},
       "failure": null,
       "attempts": [{"attempt": 1, "trial": 4, "device": "cpu:1", "node": "host",
         "start": "1970-01-01T00:16:46.000Z", "end": null, "merged_with": [], "alone_because": null, "models_memory": null, "outcome": null, "failure": null}]}
    ]})json"))
      << ToText(*document);
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
  EXPECT_EQ(experiments[1]["best"], 0.9);
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
  EXPECT_THAT(ShowText(ShowDocument(Read()).value()), HasSubstr("NAN_LOSS: caf\xe9"));
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
  rank  model  default  metrics        sample
     1      3      0.9                 op=conv p=0.5
     2      1     0.75  accuracy=0.75  op=conv p=0.25

failures
  count  models  failure
      1  2       SIGNAL 11: segmentation fault
)");
}

TEST_F(ViewsTest, TextOfTrialsHasALineForEachModel) {
  const auto lock = ExperimentLock::Acquire(folder_);
  EXPECT_EQ(TrialsText(TrialsDocument(Read()).value()),
            R"(model  status     default  attempts  device  sample               failure
    1  SUCCEEDED     0.75         1  cpu:0   op=conv p=0.25
    2  FAILED           -         2  cuda:1  op=depthwise p=0.25  SIGNAL 11: segmentation fault
    3  SUCCEEDED      0.9         1  cpu:0   op=conv p=0.5
    4  RUNNING      0.125         1  cpu:1   op=depthwise p=0.5
)");
}

TEST_F(ViewsTest, TextOfListHasALineForEachExperiment) {
  Json document = ListDocument(*state_dir_).value();
  document["experiments"][0]["created"] = "2026-01-02T03:04:05.000Z";
  document["experiments"][0]["seconds"] = 4.25;
  EXPECT_EQ(ListText(document),
            R"(id          status       models  failed  best  created                   took  reason
mnist-k3f9  INTERRUPTED       4       1   0.9  2026-01-02T03:04:05.000Z  4.2s  )"
            "the process that ran it ended before the experiment did\n");
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

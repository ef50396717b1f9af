#include "src/storage/journal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <fstream>
#include <limits>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "google/protobuf/util/message_differencer.h"
#include "src/space/space.h"
#include "src/storage/sqlite.h"
#include "tests/storage/old_journal.h"
#include "tests/storage/small_disk.h"
#include "tests/storage/storage_testing.h"

namespace lanista {
namespace {

using google::protobuf::util::MessageDifferencer;
using ::testing::HasSubstr;

// The batch that makes model `model`, its trial and its attempt.
v1::JournalBatch NewModel(int model) {
  return Batch(absl::StrCat(R"pb(
                              records { model { model:)pb",
                            model, R"pb(
              sample { decisions { label: "width" index: 1 value { i: 128 } } } }
                                            }
    records { trial { trial: )pb",
                            model, " members { model: ", model, " attempt: 1 } } }"));
}

// The batch that ends it.
v1::JournalBatch EndedModel(int model, double value) {
  return Batch(absl::StrCat(R"pb(
                              records { event { sequence: 1 attempt: 1 model:)pb",
                            model, R"pb(
                              ended { outcome: SUCCEEDED
                                      metrics { values { key: "default" value:)pb",
                            value, R"pb(}
                                        } } } }
    records { outcome { attempt: 1 outcome: SUCCEEDED model: )pb",
                            model, R"pb(
                              metrics { values { key: "default" value:)pb",
                            value, " } } } }"));
}

class JournalTest : public ::testing::Test {
 protected:
  // Starts a journal in `folder()`.
  std::unique_ptr<JournalWriter> Create(const JournalOptions& options = {}) {
    auto writer = JournalWriter::Create(folder(), created_, options);
    EXPECT_TRUE(writer.ok()) << writer.status();
    return *std::move(writer);
  }

  JournalReader Read() {
    auto reader = JournalReader::Open(folder());
    EXPECT_TRUE(reader.ok()) << reader.status();
    return *std::move(reader);
  }

  std::string folder() const { return temp_.path() + "/experiment"; }
  std::string file() const { return folder() + "/journal.db"; }

  TempFolder temp_;
  v1::ExperimentCreated created_ = Parse<v1::ExperimentCreated>(R"pb(
    experiment: "mnist-k3f9"
    seed: -7
    config {
      name: "mnist"
      space { registered: "mnist_cnn" }
      strategy { random { dedup: true } }
    })pb");
};

TEST_F(JournalTest, GivesBackEveryRecordAsItWasWritten) {
  const std::string sample = R"pb(decisions {
                                    label: "op"
                                    index: 1
                                    value { s: "depth\"wise" }
                                  }
                                  decisions {
                                    label: "p"
                                    index: 0
                                    value { f: 0.25 }
                                  })pb";
  const std::string device = R"pb(kind: GPU index: 1 threads: 2 memory_limit: 5000000000 node: "host" model: "H100")pb";
  auto writer = Create();
  const auto batch = Batch(absl::StrCat(R"pb(
                                          records {
                                            time { seconds: 100 nanos: 5000 }
                                            discovered {
                                              space {
                                                choices {
                                                  label: "op"
                                                  kind: LAYER_CHOICE
                                                  candidates { s: "conv" }
                                                  candidates { s: "depth\"wise" }
                                                  n_chosen: 1
                                                }
                                                complete: true
                                                fingerprint: "0123456789abcdef"
                                                warnings: "careful"
                                              }
                                              program: "build 7"
                                              multi_model_evaluator: true
                                            }
                                          }
                                          records {
                                            time { seconds: 101 }
                                            state { state: RUNNING }
                                          }
                                          records { strategy_call { sequence: 1
                                                                    ask { count: 2
                                                                          reply { samples {)pb",
                                        sample, R"pb(}
                                                     exhausted: true } } } }
    records { time { seconds: 102 } model { model: 1 sample { )pb",
                                        sample, R"pb(}
                                                     } }
    records { time { seconds: 103 } trial { trial: 4 members { model: 1 attempt: 1 } } }
    records { event { trial: 4 model: 1 attempt: 1 sequence: 1 time { seconds: 104 }
              started { device { )pb",
                                        device, R"pb(}
                                                     assignment: "H/1/2" } } }
    records { event { trial: 4 model: 1 attempt: 1 sequence: 2 time { seconds: 105 } intermediate { step: 0
              metrics { values { key: "default" value: 0.1 } values { key: "loss" value: 2.5 } } } } }
    records { event { trial: 4 model: 1 attempt: 1 sequence: 3 time { seconds: 106 } ended {
              outcome: FAILED failure { reason: SIGNAL message: "segmentation fault" signal: 11 }
              actual_sample { )pb",
                                        sample, R"pb(}
                                                     } } }
    records { trial { trial: 5 members { model: 1 attempt: 2 } } }
    records { event { trial: 5 model: 1 attempt: 2 sequence: 1 ended { outcome: SUCCEEDED
              metrics { values { key: "default" value: 0.30000000000000004 } values { key: "loss" value: 1e-300 } } } } }
    records { outcome { model: 1 attempt: 2 outcome: SUCCEEDED
              metrics { values { key: "default" value: 0.30000000000000004 } values { key: "loss" value: 1e-300 } } } }
    records { strategy_call { sequence: 2 tell { model: 1 sample { )pb",
                                        sample, R"pb(}
                                                     outcome: SUCCEEDED value: 0.30000000000000004 } } }
    records { time { seconds: 107 } state { state: FAILED reason: "no reason" } })pb"));
  ASSERT_TRUE(writer->Write(batch).ok());

  const JournalReader reader = Read();
  EXPECT_TRUE(MessageDifferencer::Equals(reader.experiment(), created_));
  EXPECT_EQ(reader.name(), "mnist");
  EXPECT_TRUE(MessageDifferencer::Equals(**reader.Discovery(), batch.records(0).discovered()));
  EXPECT_TRUE(MessageDifferencer::Equals(**reader.Space(), batch.records(0).discovered().space()));

  const auto states = reader.States().value();
  ASSERT_EQ(states.size(), 2);
  EXPECT_EQ(states[0].time, absl::FromUnixSeconds(101));
  EXPECT_TRUE(MessageDifferencer::Equals(states[0].change, batch.records(1).state()));
  EXPECT_TRUE(MessageDifferencer::Equals(reader.State()->change, batch.records(12).state()));

  std::vector<v1::StrategyCall> calls;
  ASSERT_TRUE(reader
                  .VisitStrategyCalls([&calls](const v1::StrategyCall& call) {
                    calls.push_back(call);
                    return absl::OkStatus();
                  })
                  .ok());
  ASSERT_EQ(calls.size(), 2);
  EXPECT_TRUE(MessageDifferencer::Equals(calls[0], batch.records(2).strategy_call()));
  EXPECT_TRUE(MessageDifferencer::Equals(calls[1], batch.records(11).strategy_call()));

  const auto models = reader.Models().value();
  ASSERT_EQ(models.size(), 1);
  EXPECT_EQ(models[0].created, absl::FromUnixSeconds(102));
  EXPECT_TRUE(MessageDifferencer::Equals(models[0].sample, batch.records(3).model().sample()));
  EXPECT_EQ(models[0].sample_json, Space::ToJson(models[0].sample));
  v1::ModelOutcome outcome = batch.records(10).outcome();
  outcome.clear_model();
  EXPECT_TRUE(MessageDifferencer::Equals(*models[0].outcome, outcome)) << models[0].outcome->DebugString();

  const auto attempts = reader.Attempts().value();
  ASSERT_EQ(attempts.size(), 2);
  EXPECT_EQ(attempts[0].model, 1);
  EXPECT_EQ(attempts[0].attempt, 1);
  EXPECT_EQ(attempts[0].trial, 4);
  EXPECT_EQ(attempts[0].queued, absl::FromUnixSeconds(103));
  EXPECT_EQ(attempts[0].started, absl::FromUnixSeconds(104));
  EXPECT_EQ(attempts[0].ended, absl::FromUnixSeconds(106));
  EXPECT_TRUE(MessageDifferencer::Equals(attempts[0].device, batch.records(5).event().started().device()));
  EXPECT_TRUE(MessageDifferencer::Equals(attempts[0].end, batch.records(7).event().ended()));
  EXPECT_EQ(attempts[0].assignment, "H/1/2");
  EXPECT_EQ(attempts[1].started, std::nullopt);
  EXPECT_EQ(attempts[1].assignment, "");
  EXPECT_TRUE(MessageDifferencer::Equals(attempts[1].end, batch.records(9).event().ended()));

  const auto intermediates = reader.Intermediates().value();
  ASSERT_EQ(intermediates.size(), 1);
  EXPECT_EQ(intermediates[0].sequence, 2);
  EXPECT_EQ(intermediates[0].time, absl::FromUnixSeconds(105));
  EXPECT_TRUE(MessageDifferencer::Equals(intermediates[0].intermediate, batch.records(6).event().intermediate()));
}

TEST_F(JournalTest, ExplainsANewExperiment) {
  const auto writer = Create();
  const JournalReader reader = Read();
  EXPECT_EQ(reader.State()->change.state(), v1::ExperimentState::CREATED);
  EXPECT_EQ(reader.Space().value(), std::nullopt);
  EXPECT_EQ(reader.LastTime().value(), reader.created());
  EXPECT_EQ(reader.CountModels()->total, 0);
}

TEST_F(JournalTest, IsCreatedOnceAndOpenedAgain) {
  EXPECT_TRUE(absl::IsNotFound(JournalWriter::Open(folder()).status()));
  EXPECT_TRUE(absl::IsNotFound(JournalReader::Open(folder()).status()));
  Create();
  EXPECT_TRUE(absl::IsAlreadyExists(JournalWriter::Create(folder(), created_).status()));
  const auto writer = JournalWriter::Open(folder());
  ASSERT_TRUE(writer.ok()) << writer.status();
  EXPECT_TRUE((*writer)->Write(NewModel(1)).ok());
  EXPECT_EQ(Read().CountModels()->unfinished, 1);
}

TEST_F(JournalTest, RefusesASecondOutcomeAndTheWholeBatchWithIt) {
  const auto writer = Create();
  ASSERT_TRUE(writer->Write(NewModel(1)).ok());
  ASSERT_TRUE(writer->Write(EndedModel(1, 0.5)).ok());
  v1::JournalBatch batch = NewModel(2);
  *batch.add_records() = Batch("records { outcome { model: 1 outcome: CANCELED } }").records(0);
  const absl::Status status = writer->Write(batch).status();
  EXPECT_TRUE(absl::IsAlreadyExists(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("the outcome of model 1"));
  const JournalReader reader = Read();
  EXPECT_EQ(reader.CountModels()->total, 1);
  EXPECT_EQ(reader.CountModels()->succeeded, 1);
  EXPECT_TRUE(writer->Write(NewModel(2)).ok());
}

TEST_F(JournalTest, RefusesFactsThatContradictItself) {
  const auto writer = Create();
  ASSERT_TRUE(writer->Write(NewModel(1)).ok());
  for (const char* text : {
           "records { event { model: 9 attempt: 1 sequence: 1 started {} } }",
           "records { event { model: 1 attempt: 2 sequence: 1 ended { outcome: FAILED } } }",
           "records { event { model: 1 attempt: 2 sequence: 1 intermediate { metrics { values { key: 'a' } } } } }",
           "records { outcome { model: 9 outcome: FAILED } }",
           "records { trial { trial: 9 members { model: 9 attempt: 1 } } }",
       }) {
    const absl::Status status = writer->Write(Batch(text)).status();
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << text << ": " << status;
  }
  for (const char* text : {"records { model { model: 1 } }", "records { trial { trial: 1 } }"}) {
    const absl::Status status = writer->Write(Batch(text)).status();
    EXPECT_TRUE(absl::IsAlreadyExists(status)) << text << ": " << status;
  }
  for (const char* text : {
           "records {}",
           "records { event { model: 1 attempt: 1 } }",
           "records { event { model: 1 attempt: 1 intermediate { metrics { values { key: 'a' } } } } }",
           "records { outcome { model: 1 } }",
           "records { outcome { model: 1 outcome: LOST } }",
       }) {
    const absl::Status status = writer->Write(Batch(text)).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << text << ": " << status;
  }
}

TEST_F(JournalTest, TakesAnEventTwiceAndKeepsTheFirstEndOfAnAttempt) {
  const auto writer = Create();
  ASSERT_TRUE(writer->Write(NewModel(1)).ok());
  const auto report = Batch(R"pb(records {
                                   event {
                                     model: 1
                                     attempt: 1
                                     sequence: 2
                                     intermediate {
                                       step: 3
                                       metrics { values { key: "default" value: 1 } }
                                     }
                                   }
                                 })pb");
  ASSERT_TRUE(writer->Write(report).ok());
  ASSERT_TRUE(writer->Write(report).ok());
  ASSERT_TRUE(writer->Write(Batch("records { event { model: 1 attempt: 1 ended { outcome: LOST } } }")).ok());
  // The network comes back, and with it the node's own end of the attempt.
  ASSERT_TRUE(writer
                  ->Write(Batch(R"pb(records {
                                       event {
                                         model: 1
                                         attempt: 1
                                         sequence: 3
                                         ended {
                                           outcome: SUCCEEDED
                                           metrics { values { key: "default" value: 1 } }
                                         }
                                       }
                                     })pb"))
                  .ok());
  const JournalReader reader = Read();
  EXPECT_EQ(reader.Intermediates()->size(), 1);
  const auto attempts = reader.Attempts().value();
  ASSERT_EQ(attempts.size(), 1);
  EXPECT_EQ(attempts[0].end.outcome(), v1::ModelEnded::LOST);
  EXPECT_TRUE(attempts[0].end.metrics().values().empty());
}

TEST_F(JournalTest, ShowsTheSampleThatTheModelReallyHad) {
  const auto writer = Create();
  ASSERT_TRUE(writer->Write(NewModel(1)).ok());
  v1::JournalBatch batch = EndedModel(1, 1);
  const auto sample = Parse<v1::Sample>(R"pb(decisions {
                                               label: "width"
                                               index: 1
                                               value { i: 128 }
                                             }
                                             decisions {
                                               label: "late"
                                               index: 0
                                               value { b: true }
                                             })pb");
  *batch.mutable_records(1)->mutable_outcome()->mutable_sample() = sample;
  ASSERT_TRUE(writer->Write(batch).ok());
  const auto models = Read().Models().value();
  EXPECT_TRUE(MessageDifferencer::Equals(models[0].sample, sample));
  EXPECT_EQ(models[0].sample_json, Space::ToJson(sample));
}

TEST_F(JournalTest, RanksModelsByTheObjective) {
  for (const v1::ObjectiveConfig::Goal objective : {v1::ObjectiveConfig::MAXIMIZE, v1::ObjectiveConfig::MINIMIZE}) {
    created_.mutable_config()->set_objective(objective);
    const auto writer = Create();
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    // The last three are no results.
    const double values[] = {0.5, -2, 0.5, 3, std::nan(""), kInfinity, -kInfinity};
    for (int model = 1; model <= 7; ++model) {
      ASSERT_TRUE(writer->Write(NewModel(model)).ok());
      v1::JournalBatch batch = EndedModel(model, 0);
      for (auto* metrics : {batch.mutable_records(0)->mutable_event()->mutable_ended()->mutable_metrics(),
                            batch.mutable_records(1)->mutable_outcome()->mutable_metrics()}) {
        (*metrics->mutable_values())["default"] = values[model - 1];
      }
      ASSERT_TRUE(writer->Write(batch).ok());
    }
    std::vector<int> best;
    const auto models = Read().BestModels(10);
    for (const ModelRecord& model : *models) best.push_back(model.model);
    if (objective == v1::ObjectiveConfig::MAXIMIZE) {
      EXPECT_THAT(best, ::testing::ElementsAre(4, 1, 3, 2));
    } else {
      EXPECT_THAT(best, ::testing::ElementsAre(2, 1, 3, 4));
    }
    EXPECT_EQ(Read().BestModels(1)->size(), 1);
    std::filesystem::remove_all(folder());
  }
}

TEST_F(JournalTest, RanksModelsBySeveralObjectivesAndLimits) {
  *created_.mutable_config() = Parse<v1::ExperimentConfig>(R"pb(
    objectives {}
    objectives { metric: "flops" goal: MINIMIZE }
    constraint { metric: "params" max: 100 }
  )pb");
  const auto writer = Create();
  struct Costs {
    double value, flops, params;
  };
  // 3 is beaten by 2, 5 breaks the limit.
  const Costs costs[] = {{0.9, 50, 100}, {0.8, 20, 10}, {0.7, 30, 10}, {0.6, 10, 10}, {1, 1, 101}};
  for (int model = 1; model <= 5; ++model) {
    ASSERT_TRUE(writer->Write(NewModel(model)).ok());
    v1::JournalBatch batch = EndedModel(model, costs[model - 1].value);
    auto& metrics = *batch.mutable_records(1)->mutable_outcome()->mutable_metrics()->mutable_values();
    metrics["flops"] = costs[model - 1].flops;
    metrics["params"] = costs[model - 1].params;
    ASSERT_TRUE(writer->Write(batch).ok());
  }
  const auto numbers = [](const absl::StatusOr<std::vector<ModelRecord>>& models) {
    std::vector<int> numbers;
    for (const ModelRecord& model : *models) numbers.push_back(model.model);
    return numbers;
  };
  EXPECT_THAT(numbers(Read().ParetoFront()), ::testing::ElementsAre(1, 2, 4));
  EXPECT_THAT(numbers(Read().BestModels(10)), ::testing::ElementsAre(1, 2, 4, 3));
  EXPECT_THAT(numbers(Read().BestModels(2)), ::testing::ElementsAre(1, 2));
}

TEST_F(JournalTest, AReaderSeesTheJournalAsItWasWhenOpened) {
  const auto writer = Create();
  ASSERT_TRUE(writer->Write(NewModel(1)).ok());
  const JournalReader before = Read();
  ASSERT_TRUE(writer->Write(NewModel(2)).ok());
  EXPECT_EQ(before.CountModels()->total, 1);
  EXPECT_EQ(before.Models()->size(), 1);
  EXPECT_EQ(Read().CountModels()->total, 2);
}

// Run under ThreadSanitizer too.
TEST_F(JournalTest, OneThreadWritesWhileOthersRead) {
  constexpr int kModels = 300;
  const auto writer = Create();
  std::atomic<bool> done{false};
  std::vector<std::thread> readers;
  for (int i = 0; i < 3; ++i) {
    readers.emplace_back([&] {
      int seen = 0;
      for (bool last = false; !last;) {
        last = done;
        const JournalReader reader = Read();
        const auto counts = reader.CountModels().value();
        EXPECT_GE(counts.total, seen);
        // Both records of a batch, or none.
        EXPECT_EQ(reader.Attempts()->size(), counts.total);
        seen = counts.total;
      }
      EXPECT_EQ(seen, kModels);
    });
  }
  for (int model = 1; model <= kModels; ++model) ASSERT_TRUE(writer->Write(NewModel(model)).ok());
  done = true;
  for (std::thread& reader : readers) reader.join();
}

TEST_F(JournalTest, AKilledWriterLosesNothingThatItAcknowledged) {
  int acknowledged = 0;
  {
    const ChildProcess child([&](int pipe) {
      auto writer = JournalWriter::Create(folder(), created_);
      for (int model = 1; writer.ok(); ++model) {
        if (!(*writer)->Write(NewModel(model)).ok() || !(*writer)->Write(EndedModel(model, model)).ok()) _exit(1);
        if (write(pipe, &model, sizeof(model)) != sizeof(model)) _exit(1);
      }
    });
    // Reads in the middle, then kills it at whatever it is doing.
    while (acknowledged < 500) ASSERT_EQ(read(child.pipe(), &acknowledged, sizeof(acknowledged)), sizeof(acknowledged));
    EXPECT_GE(Read().CountModels()->succeeded, acknowledged);
    child.Kill();
    while (read(child.pipe(), &acknowledged, sizeof(acknowledged)) == sizeof(acknowledged)) {
    }
  }
  {
    const JournalReader reader = Read();
    EXPECT_GE(reader.CountModels()->succeeded, acknowledged);
    EXPECT_LE(reader.CountModels()->succeeded, acknowledged + 1);
    EXPECT_EQ(reader.BestModels(1)->front().model, reader.CountModels()->succeeded);
  }
  const auto writer = JournalWriter::Open(folder());
  ASSERT_TRUE(writer.ok()) << writer.status();
  EXPECT_TRUE((*writer)->Write(NewModel(acknowledged + 10)).ok());
}

TEST_F(JournalTest, RefusesAJournalOfAnotherVersion) {
  Create();
  const std::string knows = absl::StrCat("this program knows ", kJournalVersion);
  for (const auto& [version, what] : {std::pair(1000, "a newer Lanista (schema 1000, " + knows + "): upgrade"),
                                      std::pair(1, "an older Lanista (schema 1, " + knows + "): read it with that")}) {
    const std::string pragma = absl::StrCat("PRAGMA user_version = ", version);
    ASSERT_TRUE(SqliteDatabase::Open(file(), SQLITE_OPEN_READWRITE)->Execute(pragma).ok());
    for (const absl::Status& status :
         {JournalReader::Open(folder()).status(), JournalWriter::Open(folder()).status()}) {
      EXPECT_TRUE(absl::IsFailedPrecondition(status));
      EXPECT_THAT(std::string(status.message()), HasSubstr("written by " + what));
    }
  }
}

TEST_F(JournalTest, RefusesFilesThatAreNoJournal) {
  std::filesystem::create_directories(folder());
  for (const std::string& content : {std::string(), std::string(5000, 'x')}) {
    std::ofstream(file(), std::ios::trunc) << content;
    for (const absl::Status& status :
         {JournalReader::Open(folder()).status(), JournalWriter::Open(folder()).status()}) {
      EXPECT_TRUE(absl::IsDataLoss(status)) << status;
      EXPECT_THAT(std::string(status.message()), HasSubstr(file()));
    }
  }
}

TEST_F(JournalTest, ADamagedJournalIsAnErrorAndNotACrash) {
  const auto fill = [&] {
    std::filesystem::remove_all(folder());
    const auto writer = Create();
    for (int model = 1; model <= 200; ++model) ASSERT_TRUE(writer->Write(NewModel(model)).ok());
  };
  fill();
  const auto size = std::filesystem::file_size(file());
  for (uint64_t offset = 0; offset < size; offset += 4096) {
    fill();
    std::fstream damaged(file(), std::ios::in | std::ios::out | std::ios::binary);
    damaged.seekp(offset + 100);
    damaged << std::string(2000, '\x7f');
    damaged.close();
    const auto reader = JournalReader::Open(folder());
    if (!reader.ok()) continue;
    (void)reader->Models();
    (void)reader->Attempts();
    (void)reader->CountModels();
    (void)reader->LastTime();
  }
}

TEST_F(JournalTest, IsReadInAFolderThatCannotBeWritten) {
  using std::filesystem::perms;
  const TempFolder readable("/tmp");  // Where nobody may look for it.
  const std::string folder = readable.path() + "/journal";
  CreateJournal(folder, "a");
  std::filesystem::permissions(readable.path(), perms::all);
  std::filesystem::permissions(folder, static_cast<perms>(0555));
  const ChildProcess child([&](int pipe) {
    // Permissions do not stop root.
    if (geteuid() == 0 && seteuid(65534) != 0) _exit(1);
    if (euidaccess(folder.c_str(), W_OK) == 0) _exit(1);
    const auto reader = JournalReader::Open(folder);
    if (reader.ok() && reader->Models().ok() && write(pipe, "+", 1) != 1) _exit(1);
  });
  EXPECT_TRUE(child.WaitForByte());
  std::filesystem::permissions(folder, perms::owner_all);
}

// Writes models into the journal in `folder()` until that fails; then room is made, and it must go on.
void FillUntilItFails(JournalWriter& writer, const std::function<JournalReader()>& read,
                      const std::function<void()>& make_room, absl::StatusCode expected) {
  v1::JournalBatch batch;
  absl::Status status;
  int model = 0;
  while (status.ok() && model < 100000) {
    batch = NewModel(++model);
    batch.mutable_records(0)->mutable_model()->mutable_sample()->mutable_decisions(0)->set_label(
        std::string(5000, 'x'));
    status = writer.Write(batch).status();
  }
  EXPECT_EQ(status.code(), expected) << status;
  EXPECT_EQ(read().CountModels()->total, model - 1);
  make_room();
  EXPECT_TRUE(writer.Write(batch).ok());
  EXPECT_EQ(read().CountModels()->total, model);
}

TEST_F(JournalTest, ADiskThatIsFullIsAnErrorAndNothingIsLost) {
  const std::string mounted = temp_.path() + "/experiment";
  std::filesystem::create_directory(mounted);
  const SmallDisk disk(mounted, "4m");
  if (!disk.mounted()) GTEST_SKIP() << "only root may mount";
  const auto writer = Create();
  FillUntilItFails(
      *writer, [&] { return Read(); }, [&] { ASSERT_TRUE(disk.Resize("16m")); }, absl::StatusCode::kResourceExhausted);
}

TEST_F(JournalTest, AFileThatMayNotGrowIsAnErrorAndNothingIsLost) {
  const ChildProcess child([&](int pipe) {
    std::signal(SIGXFSZ, SIG_IGN);
    const auto writer = Create();
    const rlimit small = {1 << 20, RLIM_INFINITY}, large = {RLIM_INFINITY, RLIM_INFINITY};
    setrlimit(RLIMIT_FSIZE, &small);
    FillUntilItFails(
        *writer, [&] { return Read(); }, [&] { setrlimit(RLIMIT_FSIZE, &large); }, absl::StatusCode::kUnavailable);
    if (!HasFailure() && write(pipe, "+", 1) != 1) _exit(1);
  });
  EXPECT_TRUE(child.WaitForByte());
}

TEST_F(JournalTest, AJournalThatWasDeletedOrReplacedTakesNothingMore) {
  const auto replace = [](const std::string& path) {
    std::filesystem::rename(path, path + ".old");
    std::filesystem::copy_file(path + ".old", path);
  };
  for (const std::string suffix : {"", "-wal", "-shm"}) {
    for (const bool replaced : {false, true}) {
      std::filesystem::remove_all(folder());
      const auto writer = Create();
      ASSERT_TRUE(writer->Write(NewModel(1)).ok());
      if (replaced) {
        replace(file() + suffix);
      } else {
        std::filesystem::remove(file() + suffix);
      }
      const absl::Status status = writer->Write(NewModel(2)).status();
      EXPECT_TRUE(absl::IsDataLoss(status)) << status;
      EXPECT_THAT(std::string(status.message()),
                  HasSubstr(file() + suffix + (replaced ? " was replaced by" : " was deleted")));
    }
  }
  std::filesystem::remove_all(folder());
  {
    const auto writer = Create();
    std::filesystem::remove_all(folder());
    EXPECT_TRUE(absl::IsDataLoss(writer->Write(NewModel(1)).status()));
  }
  // What was recorded must not be written again, so whatever hides the journal is this error.
  const auto writer = Create();
  std::filesystem::rename(folder(), folder() + ".moved");
  std::filesystem::create_directory_symlink(folder(), folder());
  const absl::Status status = writer->Write(NewModel(1)).status();
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
}

TEST_F(JournalTest, AnAbandonedJournalSaysWhy) {
  auto writer = Create();
  ASSERT_TRUE(writer->Write(Batch("records { state { state: RUNNING } }")).ok());
  ASSERT_TRUE(writer->Write(NewModel(1)).ok());
  ASSERT_TRUE(writer->Abandon("model 2 has no name").ok());
  EXPECT_EQ(Read().State()->change.state(), v1::ExperimentState::FAILED);
  EXPECT_EQ(Read().State()->change.reason(), "model 2 has no name");
  EXPECT_EQ(Read().CountModels()->total, 1);
}

TEST_F(JournalTest, AnAbandonedJournalThatCannotBeWrittenSaysWhyBesideIt) {
  const ChildProcess child([&](int pipe) {
    std::signal(SIGXFSZ, SIG_IGN);
    const auto writer = Create();
    EXPECT_TRUE(writer->Write(Batch("records { state { state: RUNNING } }")).ok());
    // The log of the database may not grow; the words' room has been taken.
    const rlimit small = {4096, RLIM_INFINITY};
    setrlimit(RLIMIT_FSIZE, &small);
    EXPECT_FALSE(writer->Write(NewModel(1)).ok());
    const absl::Status abandoned = writer->Abandon("the disk\nis full: caf\xe9");
    EXPECT_TRUE(abandoned.ok()) << abandoned;
    if (!HasFailure() && write(pipe, "+", 1) != 1) _exit(1);
  });
  ASSERT_TRUE(child.WaitForByte());
  EXPECT_EQ(Read().State()->change.state(), v1::ExperimentState::FAILED);
  EXPECT_EQ(Read().State()->change.reason(), "the disk is full: caf\xef\xbf\xbd");
  // Who goes on with the journal leaves the words behind.
  const auto writer = JournalWriter::Open(folder());
  ASSERT_TRUE(writer.ok()) << writer.status();
  ASSERT_TRUE((*writer)->Write(Batch("records { state { state: RUNNING } }")).ok());
  EXPECT_EQ(Read().State()->change.state(), v1::ExperimentState::RUNNING);
}

TEST_F(JournalTest, TextThatIsNotUtf8IsShownAllTheSame) {
  // As older versions let it in.
  created_.mutable_config()->set_name("caf\xe9");
  {
    const auto writer = Create();
    v1::JournalBatch batch = NewModel(1);
    v1::Sample& sample = *batch.mutable_records(0)->mutable_model()->mutable_sample();
    sample.mutable_decisions(0)->set_label("\xe9t\xe9");
    sample.mutable_decisions(0)->mutable_value(0)->set_s("\xff");
    ASSERT_TRUE(writer->Write(batch).ok());
    batch = EndedModel(1, 0.5);
    (*batch.mutable_records(0)->mutable_event()->mutable_ended()->mutable_metrics()->mutable_values())["pr\xe9"] = 1;
    ASSERT_TRUE(writer->Write(batch).ok());
  }
  const JournalReader reader = Read();
  EXPECT_EQ(reader.name(), "caf\xef\xbf\xbd");
  EXPECT_EQ(reader.experiment().config().name(), "caf\xef\xbf\xbd");
  EXPECT_EQ(reader.experiment().config().space().registered(), "mnist_cnn");
  const auto models = reader.Models();
  ASSERT_TRUE(models.ok()) << models.status();
  EXPECT_EQ(models->at(0).sample.decisions(0).label(), "\xef\xbf\xbdt\xef\xbf\xbd");
  EXPECT_EQ(models->at(0).sample.decisions(0).value(0).s(), "\xef\xbf\xbd");
  const auto attempts = reader.Attempts();
  ASSERT_TRUE(attempts.ok()) << attempts.status();
  EXPECT_EQ(attempts->at(0).end.metrics().values().count("pr\xef\xbf\xbd"), 1u);
}

TEST_F(JournalTest, FactsOfAllKindsAreCountedTogether) {
  auto writer = Create();
  // The experiment itself is the first.
  EXPECT_EQ(writer->Write(NewModel(1)).value(), 2);
  const int64_t next = 2 + NewModel(1).records_size();
  EXPECT_EQ(writer->Write(EndedModel(1, 0.5)).value(), next);
  EXPECT_TRUE(absl::IsAlreadyExists(writer->Write(NewModel(1)).status()));
  writer.reset();
  auto again = JournalWriter::Open(folder());
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ((*again)->Write(NewModel(2)).value(), next + EndedModel(1, 0.5).records_size())
      << "what was rolled back has no number";

  const auto database = SqliteDatabase::Open(file(), SQLITE_OPEN_READONLY);
  auto row = database->Prepare("SELECT number, kind, id FROM fact ORDER BY number");
  std::vector<std::string> facts;
  while (row->Next().value()) facts.push_back(absl::StrCat(row->Int64(0), row->Bytes(1), row->Int64(2)));
  EXPECT_EQ(facts, (std::vector<std::string>{"1experiment1", "2model1", "3trial1", "4attempt_ended1", "5outcome1",
                                             "6model2", "7trial2"}));
}

std::vector<v1::StoppingCall> StoppingCalls(const JournalReader& reader) {
  std::vector<v1::StoppingCall> calls;
  const absl::Status visited = reader.VisitStoppingCalls([&calls](const v1::StoppingCall& call) {
    calls.push_back(call);
    return absl::OkStatus();
  });
  EXPECT_TRUE(visited.ok()) << visited;
  return calls;
}

TEST_F(JournalTest, TheStoppersCallsAndWhatTheyDecidedComeBackAsTheyWere) {
  const auto writer = Create();
  ASSERT_TRUE(writer->Write(NewModel(1)).ok());
  const v1::JournalBatch batch = Batch(R"pb(
    records {
      stopping_call {
        sequence: 1
        report {
          report { model: 1 step: 2 value: 0.30000000000000004 }
          verdict {}
        }
      }
    }
    records {
      stopping_call {
        sequence: 2
        report {
          report { model: 1 step: 3 value: 0.25 }
          verdict { stop: true because: "0.25, not among the best 4 of 17" }
        }
      }
    }
    records {
      outcome {
        model: 1
        attempt: 1
        outcome: STOPPED_EARLY
        metrics { values { key: "default" value: 0.25 } }
        stopped_step: 3
        stopped_because: "0.25, not among the best 4 of 17"
      }
    }
    records {
      stopping_call {
        sequence: 3
        ended { model: 1 outcome: STOPPED_EARLY value: 0.25 steps: 3 }
      }
    }
    records {
      stopping_call {
        sequence: 4
        ended { model: 2 outcome: FAILED }
      }
    })pb");
  ASSERT_TRUE(writer->Write(batch).ok());
  const JournalReader reader = Read();
  const std::vector<v1::StoppingCall> calls = StoppingCalls(reader);
  ASSERT_EQ(calls.size(), 4);
  for (const auto& [call, record] : {std::pair(0, 0), {1, 1}, {2, 3}, {3, 4}}) {
    EXPECT_TRUE(MessageDifferencer::Equals(calls[call], batch.records(record).stopping_call()))
        << calls[call].DebugString();
  }
  v1::ModelOutcome outcome = batch.records(2).outcome();
  outcome.clear_model();
  const std::vector<ModelRecord> models = reader.Models().value();
  EXPECT_TRUE(MessageDifferencer::Equals(*models[0].outcome, outcome)) << models[0].outcome->DebugString();
  EXPECT_EQ(reader.CountModels()->stopped_early, 1);
  EXPECT_TRUE(reader.BestModels(5)->empty()) << "only models that ran to their end are ranked";
  EXPECT_EQ(writer->Write(Batch("records { stopping_call { sequence: 4 ended { model: 3 } } }")).status().code(),
            absl::StatusCode::kAlreadyExists);
}

TEST_F(JournalTest, AModelThatRunsAgainHasNoOutcome) {
  const auto writer = Create();
  ASSERT_TRUE(writer->Write(NewModel(1)).ok());
  EXPECT_EQ(writer->Write(Batch("records { reopened { model: 1 } }")).status().code(),
            absl::StatusCode::kFailedPrecondition);
  ASSERT_TRUE(writer->Write(Batch("records { outcome { model: 1 outcome: CANCELED } }")).ok());
  EXPECT_EQ(Read().CountModels()->canceled, 1);
  ASSERT_TRUE(writer->Write(Batch("records { reopened { model: 1 } }")).ok());
  EXPECT_EQ(Read().CountModels()->unfinished, 1);
  ASSERT_TRUE(writer->Write(EndedModel(1, 0.5)).ok());
  EXPECT_EQ(Read().CountModels()->succeeded, 1);
}

TEST_F(JournalTest, TheLastConfigurationIsTheOneInForce) {
  const auto writer = Create();
  ASSERT_TRUE(writer->Write(Batch("records { config { config { max_trial_number: 7 } } }")).ok());
  ASSERT_TRUE(writer->Write(Batch("records { config { config { max_trial_number: 9 } } }")).ok());
  EXPECT_EQ(Read().experiment().config().max_trial_number(), 9);
}

TEST_F(JournalTest, TimeIsCountedByState) {
  const auto writer = Create();
  ASSERT_TRUE(writer
                  ->Write(Batch(R"pb(records {
                                       time { seconds: 2000000100 }
                                       state { state: RUNNING }
                                     }
                                     records {
                                       time { seconds: 2000000130 }
                                       state { state: INTERRUPTED }
                                     }
                                     records {
                                       time { seconds: 2000000500 }
                                       state { state: RUNNING }
                                     }
                                     records {
                                       time { seconds: 2000000505 }
                                       state { state: STOPPING }
                                     }
                                     records {
                                       time { seconds: 2000000507 }
                                       state { state: STOPPED }
                                     })pb"))
                  .ok());
  EXPECT_EQ(Read().TimeIn({v1::ExperimentState::RUNNING}, absl::Now()).value(), absl::Seconds(35));
  EXPECT_EQ(Read().TimeIn({v1::ExperimentState::RUNNING, v1::ExperimentState::STOPPING}, absl::Now()).value(),
            absl::Seconds(37));
  EXPECT_EQ(Read().TimeIn({v1::ExperimentState::INTERRUPTED}, absl::Now()).value(), absl::Seconds(370));
}

// Whatever a reader says of the journal, as text.
std::string Everything(const JournalReader& reader) {
  std::string text = reader.experiment().DebugString();
  const v1::Discovered discovered = **reader.Discovery();
  absl::StrAppend(&text, discovered.space().DebugString(), absl::FormatTime(*reader.LastTime()));
  const auto states = reader.States().value();
  for (const StateRecord& state : states) absl::StrAppend(&text, state.change.DebugString());
  const auto models = reader.Models().value();
  for (const ModelRecord& model : models) {
    absl::StrAppend(&text, model.model, model.sample_json, model.outcome->DebugString());
  }
  const auto attempts = reader.Attempts().value();
  const auto weights = reader.Weights().value();
  for (const auto& [model, weights_folder] : weights) absl::StrAppend(&text, model, " ", weights_folder);
  for (const AttemptRecord& attempt : attempts) {
    absl::StrAppend(&text, attempt.model, " ", attempt.attempt, " ", attempt.trial, " ", attempt.members,
                    attempt.end.DebugString());
  }
  return text;
}

TEST_F(JournalTest, OlderVersionsAreReadAsTheyAreAndUpgradedByTheFirstWriter) {
  created_.mutable_config()->mutable_keep_weights()->set_best(1);
  for (void (*const make_old)(const std::string& file) :
       {MakeVersion2, MakeVersion3, MakeVersion4, MakeVersion5, MakeVersion6, MakeVersion7, MakeVersion8}) {
    std::filesystem::remove_all(folder());
    {
      const auto writer = Create();
      ASSERT_TRUE(writer->Write(Batch("records { discovered { space { fingerprint: 'f' } } }")).ok());
      for (const int model : {1, 2}) {
        ASSERT_TRUE(writer->Write(NewModel(model)).ok());
        ASSERT_TRUE(writer->Write(EndedModel(model, 0.5)).ok());
      }
      ASSERT_TRUE(writer->Write(Batch("records { state { state: FAILED reason: 'no space left' } }")).ok());
    }
    make_old(file());
    // The head was killed before it removed those of model 2.
    for (const std::string trial : {"/trials/1", "/trials/2"}) {
      std::filesystem::create_directories(folder() + trial);
      std::ofstream(folder() + trial + "/weights.pt") << "weights";
    }
    const std::string before = Everything(Read());
    EXPECT_EQ(*Read().Weights(), (std::map<int, std::string>{{1, "trials/1"}}));
    EXPECT_EQ(Read().State()->change.state(), v1::ExperimentState::FAILED);
    EXPECT_EQ(Everything(Read()), before) << "reading changes nothing";
    EXPECT_THAT(StoppingCalls(Read()), ::testing::IsEmpty());
    const auto writer = JournalWriter::Open(folder());
    ASSERT_TRUE(writer.ok()) << writer.status();
    EXPECT_EQ(Everything(Read()), before);
    std::filesystem::remove_all(folder() + "/trials");
    EXPECT_EQ(Everything(Read()), before) << "the journal knows it now";
    {
      // For those who read it with SQL.
      const auto database = SqliteDatabase::Open(file(), SQLITE_OPEN_READONLY);
      auto last_state = database->Prepare("SELECT state FROM state_change ORDER BY number DESC");
      ASSERT_TRUE(*last_state->Next());
      EXPECT_EQ(last_state->Bytes(0), "FAILED");
    }
    const absl::StatusOr<int64_t> number = (*writer)->Write(NewModel(3));
    ASSERT_TRUE(number.ok()) << number.status();
    EXPECT_GT(*number, 8) << "its facts are numbered";
    EXPECT_TRUE((*writer)->Write(Batch("records { config { config { max_trial_number: 7 } } }")).ok());
    EXPECT_TRUE((*writer)->Write(Batch("records { stopping_call { sequence: 1 ended { model: 1 } } }")).ok());
    EXPECT_TRUE((*writer)->Write(Batch("records { outcome { model: 3 outcome: INFEASIBLE } }")).ok());
    EXPECT_EQ(Read().CountModels()->infeasible, 1);
    EXPECT_THAT(*Read().PlannedTrials(), ::testing::IsEmpty());
    ASSERT_TRUE((*writer)->Write(Batch("records { trial { trial: 9 plan { memory: 5 } } }")).ok());
    EXPECT_EQ(Read().PlannedTrials()->at(0).plan.memory(), 5);
    EXPECT_EQ(Read().FindModel(1)->params, std::nullopt);
    ASSERT_TRUE((*writer)->Write(Batch("records { event { model: 1 attempt: 1 built { params: 7 } } }")).ok());
    EXPECT_EQ(Read().FindModel(1)->params, 7);
  }
}

// As on file systems without shared memory, and as VACUUM INTO copies: there each reader locks out writers.
TEST_F(JournalTest, AnOlderVersionWithoutWalIsUpgraded) {
  {
    const auto writer = Create();
    ASSERT_TRUE(writer->Write(Batch("records { discovered { space { fingerprint: 'f' } } }")).ok());
  }
  MakeVersion8(file());
  {
    const auto database = SqliteDatabase::Open(file(), SQLITE_OPEN_READWRITE);
    ASSERT_TRUE(database->Execute("PRAGMA journal_mode = DELETE").ok());
  }
  const auto writer = JournalWriter::Open(folder());
  ASSERT_TRUE(writer.ok()) << writer.status();
  EXPECT_TRUE((*writer)->Write(NewModel(1)).ok());
}

TEST_F(JournalTest, KnowsWhereTheWeightsOfTheBestModelsAre) {
  const auto writer = Create();
  for (const int model : {1, 2, 3}) ASSERT_TRUE(writer->Write(NewModel(model)).ok());
  const auto end = [&](int model, const std::string& weights) {
    v1::JournalBatch batch = EndedModel(model, 0.5);
    *batch.mutable_records(1)->mutable_weights() = Parse<v1::WeightsKept>(weights);
    ASSERT_TRUE(writer->Write(batch).ok());
  };
  EXPECT_THAT(*Read().Weights(), ::testing::IsEmpty());
  end(1, "folder: 'trials/4'");
  end(2, "folder: 'trials/5/2'");
  EXPECT_EQ(*Read().Weights(), (std::map<int, std::string>{{1, "trials/4"}, {2, "trials/5/2"}}));
  end(3, "folder: 'trials/6' instead_of: 1");
  EXPECT_EQ(*Read().Weights(), (std::map<int, std::string>{{2, "trials/5/2"}, {3, "trials/6"}}));
}

TEST_F(JournalTest, KnowsWhatTheEngineSaidOfTrials) {
  const auto writer = Create();
  for (const int model : {1, 2}) {
    ASSERT_TRUE(writer->Write(Batch(absl::StrCat("records { model { model: ", model, " } }"))).ok());
  }
  ASSERT_TRUE(writer
                  ->Write(Batch(R"(
    records { trial { trial: 1 members { model: 1 attempt: 1 } members { model: 2 attempt: 1 }
                      plan { memory: 1000 work { models: [1, 2] steps: 3 first: "a" last: "c" } } } }
    records { trial { trial: 2 members { model: 1 attempt: 2 } alone_because: "it runs again" } }
    records { trial { trial: 3 members { model: 2 attempt: 2 } } })"))
                  .ok());
  const auto trials = Read().PlannedTrials();
  ASSERT_TRUE(trials.ok()) << trials.status();
  ASSERT_EQ(trials->size(), 2u) << "of the last one there is nothing to say";
  EXPECT_EQ((*trials)[0].plan.memory(), 1000);
  EXPECT_EQ((*trials)[0].plan.work(0).models_size(), 2);
  EXPECT_EQ((*trials)[0].plan.work(0).last(), "c");
  EXPECT_EQ((*trials)[1].alone_because, "it runs again");
  EXPECT_FALSE((*trials)[1].plan.memory() > 0);
  EXPECT_EQ(Read().FindModel(2)->model, 2);
  EXPECT_TRUE(absl::IsNotFound(Read().FindModel(3).status()));
}

TEST_F(JournalTest, AModelCostsWhatTheFirstAttemptThatBuiltItCounted) {
  const auto writer = Create();
  ASSERT_TRUE(writer->Write(NewModel(1)).ok());
  ASSERT_TRUE(writer->Write(NewModel(2)).ok());
  const auto built = [&](int model, int attempt, const std::string& costs) {
    return writer->Write(
        Batch(absl::StrCat("records { event { model: ", model, " attempt: ", attempt, " built { ", costs, " } } }")));
  };
  EXPECT_TRUE(absl::IsFailedPrecondition(built(1, 2, "params: 5").status())) << "there is no such attempt";
  EXPECT_TRUE(absl::IsFailedPrecondition(built(3, 1, "params: 5").status())) << "there is no such model";
  EXPECT_EQ(Read().FindModel(1)->params, std::nullopt);
  ASSERT_TRUE(built(1, 1, "params: 0").ok());
  EXPECT_EQ(Read().FindModel(1)->params, 0);
  EXPECT_EQ(Read().FindModel(1)->flops, std::nullopt);
  ASSERT_TRUE(built(2, 1, "params: 25600000 flops: 8200000000").ok());
  ASSERT_TRUE(built(2, 1, "params: 1 flops: 2").ok());
  EXPECT_EQ(Read().FindModel(2)->params, 25600000);
  EXPECT_EQ(Read().FindModel(2)->flops, 8200000000);
}

TEST_F(JournalTest, AReaderOfVersionTwoIsNotDisturbedByItsUpgrade) {
  {
    const auto writer = Create();
    ASSERT_TRUE(writer->Write(Batch("records { discovered { space { fingerprint: 'f' } } }")).ok());
    ASSERT_TRUE(writer->Write(NewModel(1)).ok());
    ASSERT_TRUE(writer->Write(EndedModel(1, 0.5)).ok());
  }
  MakeVersion2(file());
  const JournalReader reader = Read();
  const std::string before = Everything(reader);
  ASSERT_TRUE(JournalWriter::Open(folder()).ok());
  EXPECT_EQ(Everything(reader), before);
}

TEST_F(JournalTest, ADurableJournalWaitsForTheDisk) {
  const auto writer = Create({/*durable=*/true});
  EXPECT_TRUE(writer->Write(NewModel(1)).ok());
  EXPECT_EQ(Read().CountModels()->total, 1);
}

}  // namespace
}  // namespace lanista

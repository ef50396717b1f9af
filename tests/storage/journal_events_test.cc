// What watchers read of a journal.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "src/storage/journal.h"
#include "tests/storage/old_journal.h"
#include "tests/storage/storage_testing.h"

namespace lanista {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

constexpr size_t kAnySize = std::numeric_limits<size_t>::max();

class JournalEventsTest : public ::testing::Test {
 protected:
  std::unique_ptr<JournalWriter> Create() {
    auto writer = JournalWriter::Create(
        folder(), Parse<v1::ExperimentCreated>(R"pb(
          experiment: "mnist-k3f9" request_id: "request 7" served: true
        )pb"));
    EXPECT_TRUE(writer.ok()) << writer.status();
    return *std::move(writer);
  }

  // Two models in all kinds of facts, those that no watcher sees in between.
  void WriteSearch(JournalWriter& writer) {
    const auto write = [&](const std::string& text) {
      const auto written = writer.Write(Batch(text));
      ASSERT_TRUE(written.ok()) << written.status();
    };
    write("records { discovered { space { fingerprint: 'f' } } } records { state { state: RUNNING served: true } }");
    write("records { strategy_call { sequence: 1 ask { count: 2 } } }");
    write("records { model { model: 1 } } records { model { model: 2 } }");
    write("records { trial { trial: 4 members { model: 1 attempt: 1 } members { model: 2 attempt: 1 } } }");
    write(R"(records { event { model: 1 attempt: 1 sequence: 1
                               started { device { kind: GPU index: 1 node: "host" } resumed_steps: 2 assignment: "H/1/2" } } })");
    write("records { event { model: 1 attempt: 1 sequence: 2 built { params: 12 flops: 34 } } }");
    write(R"(records { event { model: 1 attempt: 1 sequence: 3 time { seconds: 9 } intermediate { step: 3
                 metrics { values { key: "default" value: 0.1 } values { key: "loss" value: 2.5 } } } } })");
    write(R"(records { event { model: 1 attempt: 1 sequence: 4 ended { outcome: SUCCEEDED
                 metrics { values { key: "default" value: 0.5 } } models_memory: 77 left_weights: true } } }
             records { outcome { model: 1 attempt: 1 outcome: SUCCEEDED
                 metrics { values { key: "default" value: 0.5 } }
                 sample { decisions { label: "width" index: 1 value { i: 128 } } } } })");
    write(R"(records { event { model: 2 attempt: 1 sequence: 1 ended { outcome: FAILED
                 failure { reason: SIGNAL message: "crash" signal: 11 } } } }
             records { outcome { model: 2 attempt: 1 outcome: FAILED
                 failure { reason: SIGNAL message: "crash" signal: 11 } } })");
    write("records { state { state: DONE reason: 'enough' } }");
  }

  std::vector<v1::ExperimentEvent> Events(int64_t after, int limit = 1000, size_t max_bytes = kAnySize) {
    const auto reader = JournalReader::Open(folder());
    EXPECT_TRUE(reader.ok()) << reader.status();
    auto events = reader->EventsAfter(after, limit, max_bytes);
    EXPECT_TRUE(events.ok()) << events.status();
    return *std::move(events);
  }

  // "7: model { ... }": without times, which are now.
  static std::vector<std::string> Lines(std::vector<v1::ExperimentEvent> events) {
    std::vector<std::string> lines;
    for (v1::ExperimentEvent& event : events) {
      EXPECT_EQ(event.experiment(), "mnist-k3f9");
      EXPECT_TRUE(event.has_time());
      const int64_t number = event.number();
      event.clear_experiment();
      event.clear_time();
      event.clear_number();
      if (event.has_model()) {
        EXPECT_EQ(event.model().experiment(), "mnist-k3f9");
        event.mutable_model()->clear_experiment();
        event.mutable_model()->clear_time();
      }
      lines.push_back(absl::StrCat(number, ": ", event.ShortDebugString()));
    }
    return lines;
  }

  std::string folder() const { return temp_.path() + "/experiment"; }

  TempFolder temp_;
};

TEST_F(JournalEventsTest, AreWhatHappenedInItsOrder) {
  WriteSearch(*Create());
  const std::vector<std::string> lines = Lines(Events(0));
  ASSERT_EQ(lines.size(), 11u);
  EXPECT_EQ(lines[0], "1: state { state: CREATED served: true }");
  EXPECT_EQ(lines[1], R"(2: space { fingerprint: "f" })");
  EXPECT_EQ(lines[2], "3: state { state: RUNNING served: true }");
  EXPECT_EQ(lines[3], R"(8: model { trial: 4 model: 1 attempt: 1 started { device { kind: GPU index: 1 node: "host" } )"
                      "resumed_steps: 2 assignment: \"H/1/2\" } }");
  EXPECT_EQ(lines[4], "9: model { trial: 4 model: 1 attempt: 1 built { params: 12 flops: 34 } }");
  EXPECT_THAT(lines[5], HasSubstr("10: model { trial: 4 model: 1 attempt: 1 sequence: 3 intermediate { step: 3"));
  EXPECT_THAT(lines[5], HasSubstr(R"(key: "loss" value: 2.5)"));
  EXPECT_THAT(lines[6], HasSubstr("sequence: 4 ended { outcome: SUCCEEDED metrics"));
  EXPECT_THAT(lines[6], HasSubstr("models_memory: 77"));
  EXPECT_THAT(lines[7], HasSubstr("12: outcome { model: 1 attempt: 1 outcome: SUCCEEDED metrics"));
  EXPECT_THAT(lines[7], HasSubstr(R"(sample { decisions { label: "width" index: 1 value { i: 128 } } })"));
  EXPECT_THAT(lines[8], HasSubstr(R"(ended { outcome: FAILED failure { reason: SIGNAL message: "crash" signal: 11 })"));
  EXPECT_THAT(lines[9],
              HasSubstr("14: outcome { model: 2 attempt: 1 outcome: FAILED metrics { } failure { reason: SIGNAL"));
  EXPECT_EQ(lines[10], R"(15: state { state: DONE reason: "enough" })");
}

TEST_F(JournalEventsTest, ComeInPartsOfAnySizeWithoutGapOrRepetition) {
  WriteSearch(*Create());
  const std::vector<std::string> all = Lines(Events(0));
  for (const auto& [limit, bytes] : std::vector<std::pair<int, size_t>>{{1, kAnySize}, {3, kAnySize}, {1000, 1}}) {
    std::vector<std::string> parts;
    for (int64_t after = 0;;) {
      const std::vector<v1::ExperimentEvent> part = Events(after, limit, bytes);
      if (part.empty()) break;
      EXPECT_LE(part.size(), static_cast<size_t>(limit));
      after = part.back().number();
      for (std::string& line : Lines(part)) parts.push_back(std::move(line));
    }
    EXPECT_THAT(parts, ElementsAreArray(all));
  }
}

TEST_F(JournalEventsTest, FactsBehindOneTellWhichModelsChanged) {
  const auto writer = Create();
  WriteSearch(*writer);
  const std::vector<v1::ExperimentEvent> events = Events(0);
  const auto facts_after = [this](int64_t number, int64_t limit = std::numeric_limits<int64_t>::max()) {
    const auto reader = JournalReader::Open(folder());
    EXPECT_TRUE(reader.ok()) << reader.status();
    const auto facts = reader->FactsAfter(number, [limit](const JournalReader::NewFacts& facts) {
      return facts.own + facts.of_models + facts.reports >= limit;
    });
    EXPECT_TRUE(facts.ok()) << facts.status();
    const auto models = reader->ChangedModels(*facts);
    EXPECT_TRUE(models.ok()) << models.status();
    return std::pair(*facts, *models);
  };

  const auto [all, changed] = facts_after(0);
  EXPECT_EQ(all.own + all.of_models + all.reports, static_cast<int64_t>(events.size()));
  EXPECT_EQ(all.own, 4) << "its creation, its space, RUNNING and DONE";
  EXPECT_EQ(all.reports, 1);
  EXPECT_EQ(all.last, events.back().number());
  EXPECT_THAT(changed, ElementsAre(1, 2));

  const auto [first, none_changed] = facts_after(0, 3);
  EXPECT_EQ(first.last, events[2].number());
  EXPECT_THAT(none_changed, ElementsAre());

  // A merged trial of which one model has begun, and the other has no fact of its own.
  int64_t began = 0;
  for (const v1::ExperimentEvent& event : events) {
    if (began == 0 && event.model().has_started()) began = event.number();
  }
  ASSERT_GT(began, 2);
  const auto [half_begun, members] = facts_after(began - 2, 1);
  EXPECT_EQ(half_begun.last, began);
  EXPECT_THAT(half_begun.trials, ElementsAre(4));
  EXPECT_THAT(members, ElementsAre(1, 2));

  // Queued again, which no event tells; and another one that is only proposed.
  ASSERT_TRUE(writer->Write(Batch("records { trial { trial: 5 members { model: 2 attempt: 2 } } }")).ok());
  const auto [queued, again] = facts_after(all.last);
  EXPECT_EQ(queued.last, 0);
  EXPECT_EQ(queued.of_models, 0);
  EXPECT_THAT(again, ElementsAre(2));
  ASSERT_TRUE(writer->Write(Batch("records { model { model: 3 } }")).ok());
  EXPECT_THAT(facts_after(all.last).second, ElementsAre(2, 3));
}

TEST_F(JournalEventsTest, EachReportHasTheTrialOfItsAttempt) {
  const auto writer = Create();
  const auto write = [&](const std::string& text) { ASSERT_TRUE(writer->Write(Batch(text)).ok()); };
  write("records { model { model: 1 } } records { model { model: 2 } }");
  write("records { trial { trial: 1 members { model: 1 attempt: 1 } members { model: 2 attempt: 1 } } }");
  write("records { trial { trial: 2 members { model: 1 attempt: 2 } } }");
  write("records { trial { trial: 3 members { model: 2 attempt: 2 } } }");
  std::vector<std::string> written;
  for (int sequence = 1; sequence <= 3; ++sequence) {
    for (const auto& [trial, model, attempt] :
         std::vector<std::array<int, 3>>{{1, 1, 1}, {1, 2, 1}, {2, 1, 2}, {3, 2, 2}}) {
      const std::string place = absl::StrCat("model: ", model, " attempt: ", attempt, " sequence: ", sequence);
      write(absl::StrCat("records { event { ", place,
                         " intermediate { step: 1 metrics { values { key: 'default' value: 1 } } } } }"));
      written.push_back(absl::StrCat("trial: ", trial, " ", place, " intermediate"));
    }
  }
  for (const int limit : {1000, 5, 1}) {
    std::vector<v1::ExperimentEvent> all;
    for (int64_t after = 0; true; after = all.back().number()) {
      const std::vector<v1::ExperimentEvent> part = Events(after, limit);
      if (part.empty()) break;
      all.insert(all.end(), part.begin(), part.end());
    }
    std::vector<std::string> lines = Lines(all);
    lines.erase(lines.begin());
    ASSERT_EQ(lines.size(), written.size());
    for (size_t i = 0; i < lines.size(); ++i) EXPECT_THAT(lines[i], HasSubstr(written[i]));
  }
}

TEST_F(JournalEventsTest, AnOutcomeThatAResumeRemovedIsOneWithoutDetails) {
  const auto writer = Create();
  ASSERT_TRUE(writer->Write(Batch("records { model { model: 1 } }")).ok());
  ASSERT_TRUE(
      writer->Write(Batch("records { time { seconds: 5 } outcome { model: 1 outcome: CANCELED attempt: 3 } }")).ok());
  EXPECT_THAT(Lines(Events(2)),
              ElementsAre("3: outcome { model: 1 attempt: 3 outcome: CANCELED metrics { } sample { } }"));
  ASSERT_TRUE(writer->Write(Batch("records { reopened { model: 1 } }")).ok());
  EXPECT_THAT(Lines(Events(2)), ElementsAre("3: outcome { model: 1 outcome: CANCELED }"));
  ASSERT_TRUE(writer->Write(Batch("records { outcome { model: 1 outcome: FAILED attempt: 4 } }")).ok());
  EXPECT_THAT(Lines(Events(2)),
              ElementsAre("3: outcome { model: 1 outcome: CANCELED }",
                          "5: outcome { model: 1 attempt: 4 outcome: FAILED metrics { } sample { } }"));
}

TEST_F(JournalEventsTest, AreInJournalsOfOlderVersionsThatCountTheirFacts) {
  for (void (*const make_old)(const std::string& file) : {MakeVersion3, MakeVersion4}) {
    std::filesystem::remove_all(folder());
    WriteSearch(*Create());
    std::vector<std::string> lines = Lines(Events(0));
    make_old(folder() + "/journal.db");
    lines[0] = "1: state { state: CREATED }";
    lines[2] = "3: state { state: RUNNING }";
    // Neither what models cost nor assignments were recorded.
    lines.erase(lines.begin() + 4);
    lines[3] = absl::StrReplaceAll(lines[3], {{" assignment: \"H/1/2\"", ""}});
    EXPECT_THAT(Lines(Events(0)), ElementsAreArray(lines));
  }
  std::filesystem::remove_all(folder());
  WriteSearch(*Create());
  std::vector<std::string> lines = Lines(Events(0));
  lines.erase(lines.begin() + 4);
  lines[3] = absl::StrReplaceAll(lines[3], {{" assignment: \"H/1/2\"", ""}});
  MakeVersion5(folder() + "/journal.db");
  EXPECT_THAT(Lines(Events(0)), ElementsAreArray(lines));
  std::filesystem::remove_all(folder());
  Create();
  MakeVersion2(folder() + "/journal.db");
  const auto reader = JournalReader::Open(folder());
  for (const absl::Status& status : {reader->EventsAfter(0, 1, 1).status(), reader->FactsAfter(0).status()}) {
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
    EXPECT_THAT(status.message(), HasSubstr("`resume` upgrades it"));
  }
}

TEST_F(JournalEventsTest, AJournalSaysWhoseRequestItIsAndWhoHadItLast) {
  const auto writer = Create();
  const auto served = [this] { return JournalReader::Open(folder())->Served().value(); };
  EXPECT_EQ(JournalReader::Open(folder())->experiment().request_id(), "request 7");
  EXPECT_TRUE(served()) << "a server made it";
  ASSERT_TRUE(writer->Write(Batch("records { state { state: RUNNING } }")).ok());
  EXPECT_FALSE(served()) << "`resume` ran it";
  ASSERT_TRUE(writer->Write(Batch("records { state { state: RUNNING served: true } }")).ok());
  ASSERT_TRUE(writer->Write(Batch("records { state { state: STOPPING } }")).ok());
  EXPECT_TRUE(served()) << "a server runs it again";
}

}  // namespace
}  // namespace lanista

#include "src/telemetry/telemetry.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <regex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "src/base/unique_fd.h"
#include "src/telemetry/exposition.h"
#include "src/telemetry/process_stats.h"
#include "tests/telemetry/prometheus_text.h"

namespace lanista {
namespace {

using ::testing::HasSubstr;

TEST(InstrumentsTest, NothingIsLostThatSeveralThreadsReport) {
  Telemetry telemetry;
  constexpr int kTimes = 20000;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&telemetry] {
      for (int time = 0; time < kTimes; ++time) {
        telemetry.trials_started.Add();
        telemetry.trials_running.Add(time % 2 == 0 ? 1 : -1);
        telemetry.journal_write.Observe(std::chrono::milliseconds(1));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(telemetry.trials_started.value(), 4u * kTimes);
  EXPECT_EQ(telemetry.trials_running.value(), 0);
  // A millisecond is a bound, and belongs to the bucket below it.
  EXPECT_EQ(telemetry.journal_write.count(3), 4u * kTimes);
  EXPECT_NEAR(telemetry.journal_write.sum(), 4 * kTimes * 0.001, 1e-6);
}

TEST(InstrumentsTest, WhatTakesLongerThanAllBoundsIsCounted) {
  Histogram histogram;
  histogram.Observe(std::chrono::hours(1));
  // A clock that was set back.
  histogram.Observe(std::chrono::nanoseconds(-1));
  EXPECT_EQ(histogram.count(Histogram::kBuckets - 1), 1u);
  EXPECT_EQ(histogram.count(0), 1u);
  EXPECT_EQ(histogram.sum(), 3600.0);
}

TEST(InstrumentsTest, AThingIsCountedInOneGaugeAsLongAsItLives) {
  const TelemetryPtr telemetry = std::make_shared<Telemetry>();
  auto& experiments = telemetry->experiments;
  {
    CountedIn experiment;
    experiment.Move({telemetry, &experiments[v1::ExperimentState::RUNNING]});
    experiment.Move({telemetry, &experiments[v1::ExperimentState::RUNNING]});
    EXPECT_EQ(experiments[v1::ExperimentState::RUNNING].value(), 1);
    experiment.Move({telemetry, &experiments[v1::ExperimentState::STOPPING]});
    EXPECT_EQ(experiments[v1::ExperimentState::RUNNING].value(), 0);
    EXPECT_EQ(experiments[v1::ExperimentState::STOPPING].value(), 1);
  }
  EXPECT_EQ(experiments[v1::ExperimentState::STOPPING].value(), 0);
}

TEST(InstrumentsTest, ValuesThatALaterVersionHasCountAsUnspecified) {
  Telemetry telemetry;
  telemetry.attempts_ended[static_cast<v1::ModelEnded::Outcome>(1000)].Add();
  telemetry.attempts_ended[static_cast<v1::ModelEnded::Outcome>(-1)].Add();
  EXPECT_EQ(telemetry.attempts_ended[v1::ModelEnded::OUTCOME_UNSPECIFIED].value(), 2u);
}

TEST(InstrumentsTest, AgesAreThoseOfTheOldest) {
  Since since;
  const auto now = Since::Clock::now();
  EXPECT_EQ(since.Age(now).count(), 0);
  since.Set(now - std::chrono::seconds(7));
  EXPECT_EQ(since.Age(now), std::chrono::seconds(7));
  EXPECT_EQ(since.Age(now - std::chrono::seconds(8)).count(), 0) << "it began after this";
  since.Set(std::nullopt);
  EXPECT_EQ(since.Age(now).count(), 0);
}

TEST(ProcessStatsTest, NamesOfProgramsMayLookLikeFields) {
  const auto line = ParseProcessLine(
      "42 (a) b) R 1 2) S 1 42 42 0 -1 4194304 5 0 0 0 700 300 0 0 20 0 9 0 12345 1048576 64 18446744073709551615 1\n");
  ASSERT_TRUE(line.has_value());
  EXPECT_EQ(line->user_ticks, 700);
  EXPECT_EQ(line->system_ticks, 300);
  EXPECT_EQ(line->threads, 9);
  EXPECT_EQ(line->start_ticks, 12345);
  EXPECT_EQ(line->virtual_memory, 1048576);
  EXPECT_EQ(line->resident_pages, 64);
  for (const char* const bad :
       {"", "42 (a", "42 (a) S 1 2 3", "42 (a) S 1 x x x x x x x x x x x x x x x x x x x x x"}) {
    EXPECT_FALSE(ParseProcessLine(bad).has_value()) << bad;
  }
}

TEST(ProcessStatsTest, FollowWhatTheProcessDoes) {
  const std::optional<ProcessStats> before = ReadProcessStats();
  ASSERT_TRUE(before.has_value());
  EXPECT_GT(before->resident_memory, 1 << 20);
  EXPECT_GE(before->virtual_memory, before->resident_memory);
  EXPECT_GE(before->threads, 1);
  EXPECT_LT(before->open_files, before->max_files);
  const auto now = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  EXPECT_NEAR(before->start_time, now, 24 * 3600);

  const UniqueFd file(open("/dev/null", O_RDONLY | O_CLOEXEC));
  constexpr size_t kBytes = 32 << 20;
  const std::string memory(kBytes, 'x');
  const std::optional<ProcessStats> after = ReadProcessStats();
  ASSERT_TRUE(after.has_value());
  EXPECT_EQ(after->open_files, before->open_files + 1);
  EXPECT_GT(after->resident_memory, before->resident_memory + static_cast<int64_t>(kBytes / 2)) << memory.size();
  EXPECT_GE(after->cpu_seconds, before->cpu_seconds);
}

TEST(ExpositionTest, IsPrometheusTextWithWhatWasReported) {
  Telemetry telemetry;
  telemetry.trials_queued.Set(3);
  telemetry.trials_lost.Add(2);
  telemetry.trials_returned.Add(3);
  telemetry.oldest_queued.Set(Since::Clock::now() - std::chrono::seconds(90));
  telemetry.devices[DeviceUse::kIdle].Add(5);
  telemetry.nodes[NodeCondition::kSilent].Set(1);
  telemetry.experiments[v1::ExperimentState::RUNNING].Add(1);
  telemetry.experiments_ended[v1::ExperimentState::FAILED].Add();
  telemetry.attempts_ended[v1::ModelEnded::UNMERGED].Add(4);
  telemetry.models_ended[v1::ModelEnded::STOPPED_EARLY].Add();
  telemetry.journal_write.Observe(std::chrono::milliseconds(3));
  telemetry.journal_write.Observe(std::chrono::minutes(2));
  telemetry.calls_refused[Refusal::kPermissionDenied].Add();
  const std::string text = PrometheusText(telemetry);
  EXPECT_EQ(SampleOf(text, "lanista_trials{state=\"queued\"}"), 3);
  EXPECT_EQ(SampleOf(text, "lanista_trials{state=\"running\"}"), 0);
  EXPECT_EQ(SampleOf(text, "lanista_trials_ended_total{end=\"lost\"}"), 2);
  EXPECT_EQ(SampleOf(text, "lanista_trials_ended_total{end=\"returned\"}"), 3);
  EXPECT_GE(SampleOf(text, "lanista_queue_oldest_age_seconds"), 90);
  EXPECT_EQ(SampleOf(text, "lanista_devices{state=\"idle\"}"), 5);
  EXPECT_EQ(SampleOf(text, "lanista_nodes{condition=\"silent\"}"), 1);
  EXPECT_EQ(SampleOf(text, "lanista_experiments{state=\"running\"}"), 1);
  EXPECT_EQ(SampleOf(text, "lanista_experiments_ended_total{state=\"failed\"}"), 1);
  EXPECT_EQ(SampleOf(text, "lanista_attempts_ended_total{outcome=\"unmerged\"}"), 4);
  EXPECT_EQ(SampleOf(text, "lanista_models_ended_total{outcome=\"stopped_early\"}"), 1);
  EXPECT_EQ(SampleOf(text, "lanista_journal_write_seconds_bucket{le=\"0.0025\"}"), 0);
  EXPECT_EQ(SampleOf(text, "lanista_journal_write_seconds_bucket{le=\"0.005\"}"), 1);
  EXPECT_EQ(SampleOf(text, "lanista_journal_write_seconds_bucket{le=\"60\"}"), 1);
  EXPECT_EQ(SampleOf(text, "lanista_journal_write_seconds_bucket{le=\"+Inf\"}"), 2);
  EXPECT_EQ(SampleOf(text, "lanista_journal_write_seconds_count"), 2);
  EXPECT_NEAR(SampleOf(text, "lanista_journal_write_seconds_sum"), 120.003, 1e-9);
  EXPECT_EQ(SampleOf(text, "lanista_grpc_calls_refused_total{code=\"permission_denied\"}"), 1);
  EXPECT_GT(SampleOf(text, "process_resident_memory_bytes"), 1 << 20);
}

TEST(ExpositionTest, NamesAreThoseThatPrometheusExpectsAndLabelsAreFew) {
  static const std::regex kName("(lanista|process)(_[a-z]+)+");
  const auto families = ParsePrometheusText(PrometheusText(Telemetry()));
  std::set<std::string> labels;
  size_t samples = 0;
  for (const auto& [name, family] : families) {
    EXPECT_TRUE(std::regex_match(name, kName)) << name;
    EXPECT_EQ(absl::EndsWith(name, "_total"), family.type == "counter") << name;
    if (family.type == "histogram") {
      EXPECT_TRUE(absl::EndsWith(name, "_seconds")) << name;
    }
    for (const char* const unit : {"_ms", "_millis", "_kb", "_mb", "_percent", "_minutes"}) {
      EXPECT_FALSE(absl::StrContains(name + "_", absl::StrCat(unit, "_"))) << name;
    }
    samples += family.samples.size();
    for (const auto& sample : family.samples) {
      static const std::regex kLabel("[{,]([a-z]+)=");
      const std::string& key = sample.first;
      for (std::sregex_iterator match(key.begin(), key.end(), kLabel), end; match != end; ++match)
        labels.insert((*match)[1]);
    }
  }
  // Whoever adds one: it must not grow with experiments, trials, nodes or callers.
  EXPECT_EQ(labels, (std::set<std::string>{"code", "condition", "end", "le", "outcome", "state", "version"}));
  EXPECT_LT(samples, 120u);
}

TEST(ExpositionTest, EveryMeasurementIsInTheDocuments) {
  std::ifstream file("docs/telemetry.md");
  const std::string document((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  ASSERT_NE(document, "");
  for (const auto& [name, family] : ParsePrometheusText(PrometheusText(Telemetry()))) {
    EXPECT_THAT(document, HasSubstr("`" + name)) << family.help;
  }
}

}  // namespace
}  // namespace lanista

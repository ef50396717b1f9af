#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <random>
#include <set>
#include <thread>

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "src/base/json_line.h"
#include "src/views/documents.h"
#include "src/views/trials_document.h"
#include "src/web/columns.h"
#include "src/web/curves.h"
#include "src/web/experiment_table.h"
#include "src/web/http.h"
#include "src/web/importance.h"
#include "src/web/table_cache.h"
#include "tests/service/service_testing.h"
#include "tests/web/random_journal.h"

namespace lanista {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Json = nlohmann::ordered_json;

// As `trials` has it: NaN and infinities print as null there.
Json AsInTrials(const Json& column_value) { return column_value.is_string() ? Json() : column_value; }

// A number as it prints: a document that was printed and read again has null for NaN.
Json Printed(const Json& document) { return Json::parse(JsonLine(document)); }

// Column `column` with an entry for each of so many models, as docs/web.md has it.
Json Expanded(const Json& column, size_t models) { return column.is_array() ? column : Json(models, column); }

// The document of `columns` with an entry for each model in all of its lists, and with times since 1970.
Json Expanded(Json columns) {
  const size_t models = columns["model"].size();
  for (const char* const name : {"status_of", "start", "end", "begun", "attempts", "params", "flops", "steps", "latest",
                                 "violation", "front", "stopped_step", "failure_of"}) {
    columns[name] = Expanded(columns[name], models);
    EXPECT_EQ(columns[name].size(), models) << name;
  }
  for (Json& choice : columns["choices"]) choice["chosen"] = Expanded(choice["chosen"], models);
  for (Json& values : columns["metrics"]) values = Expanded(values, models);
  const int64_t began = columns["started"].is_null() ? 0 : columns["started"].get<int64_t>();
  for (size_t i = 0; i < models; ++i) {
    Json& start = columns["start"][i];
    if (!start.is_null()) start = began + start.get<int64_t>();
    for (const char* const name : {"end", "begun"}) {
      Json& time = columns[name][i];
      if (!time.is_null()) time = (start.is_null() ? began : start.get<int64_t>()) + time.get<int64_t>();
    }
  }
  return columns;
}

std::string TimeText(const Json& millis) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", absl::FromUnixMillis(millis.get<int64_t>()), absl::UTCTimeZone());
}

// The attempt that an entry of `trials` is shown by, where its outcome was decided by the last one.
Json LastAttempt(const Json& entry) { return entry["attempts"].empty() ? Json() : entry["attempts"].back(); }

class Curve {
 public:
  Curve(const std::string& bytes, int model) {
    const auto number = [&bytes](size_t i) {
      uint32_t value = 0;
      std::memcpy(&value, bytes.data() + 4 * i, 4);
      return value;
    };
    EXPECT_EQ(bytes.substr(0, 4), "LNC2");
    fact_ = number(4) | static_cast<uint64_t>(number(5)) << 32;
    const size_t models = number(1), points = number(2), flags = number(3);
    const size_t has_steps = flags & 1;
    const size_t wide_at = kHeader + 2 * models + points * (has_steps + 1);
    const size_t wide = (flags & 2) != 0 ? number(wide_at) : 0;
    EXPECT_EQ(bytes.size(), 4 * (wide_at + ((flags & 2) != 0 ? 1 + 3 * wide : 0)));
    std::map<size_t, double> wide_values;
    for (size_t i = 0; i < wide; ++i) {
      std::memcpy(&wide_values[number(wide_at + 1 + i)], bytes.data() + 4 * (wide_at + 1 + wide + 2 * i), 8);
    }
    size_t first = 0;
    for (size_t i = 0; i < models; ++i) {
      const size_t count = number(kHeader + models + i);
      if (static_cast<int>(number(kHeader + i)) == model) {
        for (size_t k = 0; k < count; ++k) {
          steps_.push_back(has_steps == 0 ? static_cast<uint32_t>(k) : number(kHeader + 2 * models + first + k));
          const uint32_t bits = number(kHeader + 2 * models + has_steps * points + first + k);
          float value = 0;
          std::memcpy(&value, &bits, 4);
          const auto found = wide_values.find(first + k);
          values_.push_back(found == wide_values.end() ? value : found->second);
        }
      }
      first += count;
    }
    EXPECT_EQ(first, points);
  }

  // In numbers of 32 bits.
  static constexpr size_t kHeader = 6;

  uint64_t fact_ = 0;
  std::vector<uint32_t> steps_;
  std::vector<double> values_;
};

class TablesTest : public ::testing::TestWithParam<int> {
 protected:
  ExperimentTable Read() const {
    const auto reader = JournalReader::Open(temp_.path());
    EXPECT_TRUE(reader.ok()) << reader.status();
    ExperimentTable table;
    const absl::Status status = table.Update(*reader);
    EXPECT_TRUE(status.ok()) << status;
    return table;
  }
  Json Trials() const { return Printed(*TrialsDocument(*JournalReader::Open(temp_.path()))); }

  void CheckModel(const Json& columns, size_t i, const Json& entry) const {
    SCOPED_TRACE(entry.dump());
    EXPECT_EQ(columns["model"][i], entry["id"]);
    EXPECT_EQ(columns["statuses"][columns["status_of"][i].get<size_t>()], entry["status"]);
    EXPECT_EQ(columns["attempts"][i], entry["attempts"].size());
    for (const char* const cost : {"params", "flops"}) EXPECT_EQ(columns[cost][i], entry[cost]);
    EXPECT_EQ(columns["steps"][i], entry["metrics"]["intermediate"].size());
    EXPECT_EQ(AsInTrials(columns["violation"][i]), entry["violation"]);
    EXPECT_EQ(columns["front"][i], entry["front"]);
    EXPECT_EQ(columns["stopped_step"][i], entry["stopped"].is_null() ? Json() : entry["stopped"]["step"]);
    const Json& final_metrics = entry["metrics"]["final"];
    for (const auto& [name, values] : columns["metrics"].items()) {
      const Json expected = final_metrics.is_object() ? final_metrics.value(name, Json()) : Json();
      EXPECT_EQ(AsInTrials(values[i]), expected) << name;
    }
    if (final_metrics.is_object()) {
      for (const auto& [name, value] : final_metrics.items()) EXPECT_TRUE(columns["metrics"].contains(name)) << name;
    }
    Json latest;
    for (const Json& step : entry["metrics"]["intermediate"]) {
      if (step["metrics"].contains("default")) latest = step["metrics"]["default"];
    }
    const bool has_default = final_metrics.is_object() && final_metrics.contains("default");
    EXPECT_EQ(AsInTrials(columns["latest"][i]), has_default ? Json() : latest);
    if (columns["failure_of"][i].is_null()) {
      EXPECT_TRUE(entry["failure"].is_null());
    } else {
      const Json& failure = columns["failures"][columns["failure_of"][i].get<size_t>()];
      EXPECT_EQ(failure["reason"], entry["failure"]["reason"]);
      EXPECT_EQ(failure["message"], entry["failure"]["message"]);
    }
    for (const char* const time : {"start", "end"}) {
      const Json expected = LastAttempt(entry).is_null() ? Json() : LastAttempt(entry)[time];
      EXPECT_EQ(columns[time][i].is_null() ? Json() : Json(TimeText(columns[time][i])), expected);
    }
    const Json& reports = entry["metrics"]["intermediate"];
    EXPECT_EQ(columns["begun"][i].is_null(), reports.empty());
    if (!reports.empty()) {
      const std::string begun = TimeText(columns["begun"][i]);
      EXPECT_LE(begun, reports[0]["time"].get<std::string>());
      EXPECT_TRUE(std::any_of(entry["attempts"].begin(), entry["attempts"].end(),
                              [&begun](const Json& attempt) { return attempt["start"] == begun; }));
    }
    size_t decided = 0;
    for (const Json& choice : columns["choices"]) {
      const Json& chosen = choice["chosen"][i];
      const std::string label = choice["label"];
      EXPECT_EQ(chosen.is_null(), !entry["sample"].contains(label)) << label;
      if (chosen.is_null()) continue;
      ++decided;
      Json expected = chosen.is_array() ? Json::array() : choice["candidates"][chosen.get<size_t>()];
      if (chosen.is_array()) {
        for (const Json& index : chosen) expected.push_back(choice["candidates"][index.get<size_t>()]);
      }
      EXPECT_EQ(expected, entry["sample"][label]) << label;
    }
    EXPECT_EQ(decided, entry["sample"].size());
  }

  void CheckCurves(const ExperimentTable& table, const Json& entry, const std::string& metric) const {
    SCOPED_TRACE(metric);
    const Curve curve(EncodeCurves(table, metric, false), entry["id"]);
    const Curve times(EncodeCurves(table, metric, true), entry["id"]);
    EXPECT_EQ(curve.fact_, static_cast<uint64_t>(table.number()));
    size_t point = 0;
    for (const Json& step : entry["metrics"]["intermediate"]) {
      if (!step["metrics"].contains(metric)) continue;
      ASSERT_LT(point, curve.values_.size());
      EXPECT_EQ(curve.steps_[point], step["step"]);
      const double value = curve.values_[point];
      if (step["metrics"][metric].is_null()) {
        EXPECT_FALSE(std::isfinite(value));
      } else {
        const double reported = step["metrics"][metric].get<double>();
        EXPECT_TRUE(value == reported || (std::isfinite(value) && value == static_cast<float>(reported)))
            << value << " is not " << reported;
      }
      EXPECT_GE(times.values_[point], 0);
      ++point;
    }
    EXPECT_EQ(point, curve.values_.size());
    EXPECT_EQ(point, times.values_.size());
  }

  TempFolder temp_;
};

TEST_P(TablesTest, EveryNumberIsTheOneOfTrials) {
  RandomJournal journal(temp_.path(), GetParam());
  journal.Grow(60);
  const ExperimentTable table = Read();
  const Json columns = Expanded(Printed(ColumnsDocument(table)));
  const Json trials = Trials();
  ASSERT_EQ(columns["model"].size(), trials["models"].size());
  EXPECT_EQ(columns["status"], "INTERRUPTED") << "nobody holds its lock";
  EXPECT_EQ(columns["objectives"], trials["objectives"]);
  for (size_t i = 0; i < trials["models"].size(); ++i) {
    CheckModel(columns, i, trials["models"][i]);
    for (const char* const metric : {"default", "params", "loss"}) CheckCurves(table, trials["models"][i], metric);
  }
  EXPECT_EQ(EncodeCurves(table, "nothing", false).size(), 24u);
}

TEST_P(TablesTest, AModelAloneIsItsEntryInTrials) {
  RandomJournal journal(temp_.path(), GetParam());
  journal.Grow(40);
  const Json trials = Trials();
  for (const Json& entry : trials["models"]) {
    const auto alone = TrialDocument(*JournalReader::Open(temp_.path()), entry["id"]);
    ASSERT_TRUE(alone.ok()) << alone.status();
    EXPECT_EQ(Printed(*alone), entry);
  }
  const auto reader = JournalReader::Open(temp_.path());
  EXPECT_TRUE(absl::IsNotFound(TrialDocument(*reader, 1000).status()));
  EXPECT_TRUE(reader->FindModel(trials["models"][0]["id"]).ok());
  EXPECT_TRUE(absl::IsNotFound(reader->FindModel(1000).status()));
}

TEST_P(TablesTest, AttemptsAreThoseOfTrials) {
  RandomJournal journal(temp_.path(), GetParam());
  journal.Grow(40);
  const ExperimentTable table = Read();
  const Json attempts = Printed(AttemptsDocument(table));
  EXPECT_EQ(attempts["number"], table.number());
  const Json trials = Trials();
  size_t i = 0;
  for (const Json& model : trials["models"]) {
    for (const Json& attempt : model["attempts"]) {
      ASSERT_LT(i, attempts["model"].size());
      EXPECT_EQ(attempts["model"][i], model["id"]);
      EXPECT_EQ(attempts["attempt"][i], attempt["attempt"]);
      EXPECT_EQ(attempts["trial"][i], attempt["trial"]);
      EXPECT_EQ(attempts["outcome"][i], attempt["outcome"]);
      for (const char* const time : {"start", "end"}) {
        EXPECT_EQ(attempts[time][i].is_null() ? Json() : Json(TimeText(attempts[time][i])), attempt[time]);
      }
      const Json device = attempts["device"][i];
      EXPECT_EQ(device.is_null() ? Json() : attempts["devices"][device.get<size_t>()],
                attempt["device"].is_null() ? Json() : Json("here/" + attempt["device"].get<std::string>()));
      ++i;
    }
  }
  EXPECT_EQ(i, attempts["model"].size());
}

TEST_P(TablesTest, ATableThatGrewIsTheOneThatIsReadAnew) {
  RandomJournal journal(temp_.path(), GetParam());
  ExperimentTable grown;
  for (const int models : {0, 1, 30, 0, 30}) {
    journal.Grow(models);
    ASSERT_TRUE(grown.Update(*JournalReader::Open(temp_.path())).ok());
    const ExperimentTable anew = Read();
    Json expected = ColumnsDocument(anew);
    Json columns = ColumnsDocument(grown);
    // Candidates that the space does not list are numbered in the order in which they come.
    EXPECT_EQ(JsonLine(columns), JsonLine(expected));
    for (const char* const metric : {"default", "params", "loss"}) {
      EXPECT_EQ(EncodeCurves(grown, metric, false), EncodeCurves(anew, metric, false));
    }
  }
  journal.End();
  ASSERT_TRUE(grown.Update(*JournalReader::Open(temp_.path())).ok());
  EXPECT_EQ(ColumnsDocument(grown)["status"], "DONE");
}

INSTANTIATE_TEST_SUITE_P(Seeds, TablesTest, ::testing::Range(1, 6));

TEST(ColumnsTest, AnExperimentWithoutModelsHasEmptyColumns) {
  TempFolder temp;
  CreateJournal(temp.path(), "empty-1");
  ExperimentTable table;
  ASSERT_TRUE(table.Update(*JournalReader::Open(temp.path())).ok());
  const Json columns = ColumnsDocument(table);
  EXPECT_EQ(columns["model"], Json::array());
  EXPECT_EQ(columns["metrics"], Json::object());
  EXPECT_EQ(columns["choices"], Json::array());
  EXPECT_TRUE(columns["started"].is_null());
  EXPECT_EQ(columns["number"], 1);
}

TEST(ColumnsTest, NumbersThatJsonDoesNotKnowAreTexts) {
  TempFolder temp;
  v1::ExperimentCreated created;
  created.set_experiment("nan-1");
  const auto writer = JournalWriter::Create(temp.path(), created).value();
  ASSERT_TRUE(writer
                  ->Write(Batch("records { model { model: 1 } } records { outcome { model: 1 outcome: SUCCEEDED "
                                "metrics { values { key: 'default' value: nan } } } }"))
                  .ok());
  ExperimentTable table;
  ASSERT_TRUE(table.Update(*JournalReader::Open(temp.path())).ok());
  EXPECT_EQ(ColumnsDocument(table)["metrics"]["default"], "NaN");
}

TEST(CurvesTest, WhatAFloatCannotHoldIsKept) {
  TempFolder temp;
  v1::ExperimentCreated created;
  created.set_experiment("wide-1");
  const auto writer = JournalWriter::Create(temp.path(), created).value();
  std::string records =
      "records { model { model: 1 } } records { trial { trial: 1 members { model: 1 attempt: 1 } } } records { event { "
      "model: 1 attempt: 1 sequence: 1 started {} } }";
  const std::vector<const char*> values = {"0.5", "1e308", "-1e308", "inf", "1e-60", "0"};
  for (size_t i = 0; i < values.size(); ++i) {
    absl::StrAppend(&records, "records { event { model: 1 attempt: 1 sequence: ", i + 2, " intermediate { step: ", i,
                    " metrics { values { key: 'loss' value: ", values[i], " } } } } }");
  }
  const auto written = writer->Write(Batch(records));
  ASSERT_TRUE(written.ok()) << written.status();
  ExperimentTable table;
  ASSERT_TRUE(table.Update(*JournalReader::Open(temp.path())).ok());
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(Curve(EncodeCurves(table, "loss", false), 1).values_,
            (std::vector<double>{0.5, 1e308, -1e308, infinity, 1e-60, 0}));
  EXPECT_EQ(ColumnsDocument(table)["reported"], Json::parse(R"(["loss"])")) << "it has no final value";
}

TEST(ColumnsTest, WhatAllModelsHaveInCommonIsSaidOnce) {
  TempFolder temp;
  v1::ExperimentCreated created;
  created.set_experiment("short-1");
  const auto writer = JournalWriter::Create(temp.path(), created).value();
  const auto write = [&writer](const std::string& records) {
    const auto written = writer->Write(Batch(records));
    ASSERT_TRUE(written.ok()) << written.status();
  };
  write("records { time { seconds: 1000 } state { state: RUNNING } }");
  for (const int model : {1, 2}) {
    const auto about = [model](int sequence, const std::string& rest) {
      return absl::StrCat("event { model: ", model, " attempt: 1 sequence: ", sequence, " ", rest, " } }");
    };
    write(absl::StrCat("records { model { model: ", model, " sample { decisions { label: 'one' value { i: 8 } } ",
                       "decisions { label: 'two' value { i: 1 } value { i: 2 } } } } } records { trial { trial: ",
                       model, " members { model: ", model, " attempt: 1 } } } records { time { seconds: ", 1000 + model,
                       " } ", about(1, "started {}"), " records { time { seconds: 1005 } ",
                       about(2, "intermediate { metrics { values { key: 'default' value: 0.5 } } }"),
                       " records { time { seconds: ", 1010 + model, " } ", about(3, "ended { outcome: SUCCEEDED }"),
                       " records { outcome { model: ", model, " attempt: 1 outcome: SUCCEEDED metrics { values { key: ",
                       "'default' value: ", model, " } values { key: 'lr' value: 0.1 } } } }"));
  }
  ExperimentTable table;
  ASSERT_TRUE(table.Update(*JournalReader::Open(temp.path())).ok());
  const Json columns = ColumnsDocument(table);
  EXPECT_EQ(columns["started"], 1000000);
  EXPECT_EQ(columns["model"], Json::array({1, 2})) << "always a list: it says how many models there are";
  EXPECT_EQ(columns["start"], Json::array({1000, 2000}));
  EXPECT_EQ(columns["end"], 10000) << "since the model's own start";
  EXPECT_EQ(columns["begun"], 0);
  EXPECT_EQ(columns["attempts"], 1);
  EXPECT_EQ(columns["steps"], 1);
  EXPECT_EQ(columns["status_of"], 0);
  EXPECT_TRUE(columns["stopped_step"].is_null());
  EXPECT_EQ(columns["metrics"]["default"], Json::array({1, 2}));
  EXPECT_EQ(columns["metrics"]["lr"], 0.1);
  EXPECT_EQ(columns["choices"][0]["chosen"], 0);
  EXPECT_EQ(columns["choices"][1]["chosen"], Json::parse("[[0, 1], [0, 1]]")) << "an entry that is a list stays in one";
}

// The share of the best among the models with each candidate, averaged: the variance of that, as its definition says.
std::optional<double> VarianceByDefinition(const ChosenCandidates& chosen, const std::vector<bool>& best) {
  std::set<int32_t> candidates;
  double active = 0, best_of_active = 0;
  for (size_t i = 0; i < chosen.size(); ++i) {
    if (chosen[i] < 0) continue;
    candidates.insert(chosen[i]);
    active += 1;
    best_of_active += best[i];
  }
  if (candidates.size() < 2) return std::nullopt;
  double variance = 0;
  for (size_t i = 0; i < chosen.size(); ++i) {
    if (chosen[i] < 0) continue;
    double same = 0, best_of_same = 0;
    for (size_t k = 0; k < chosen.size(); ++k) {
      if (chosen[k] != chosen[i]) continue;
      same += 1;
      best_of_same += best[k];
    }
    const double difference = best_of_same / same - best_of_active / active;
    variance += difference * difference / active;
  }
  return variance * active / static_cast<double>(chosen.size());
}

TEST(ImportanceTest, IsTheVarianceOfTheChanceToBeOneOfTheBest) {
  std::mt19937 random(3);
  for (int round = 0; round < 20; ++round) {
    std::vector<ChosenCandidates> choices(4, ChosenCandidates(80));
    std::vector<bool> best(80);
    for (size_t i = 0; i < best.size(); ++i) {
      for (ChosenCandidates& choice : choices) choice[i] = static_cast<int32_t>(random() % 5) - 1;
      choices[3][i] = 7;
      best[i] = choices[0][i] == 2 || random() % 10 == 0;
    }
    std::vector<std::optional<double>> expected;
    double sum = 0;
    for (const ChosenCandidates& choice : choices) {
      expected.push_back(VarianceByDefinition(choice, best));
      sum += expected.back().value_or(0);
    }
    const std::vector<std::optional<double>> importance = ChoiceImportance(choices, best);
    for (size_t i = 0; i < choices.size(); ++i) {
      ASSERT_EQ(importance[i].has_value(), expected[i].has_value());
      if (expected[i].has_value()) {
        EXPECT_NEAR(*importance[i], *expected[i] / sum, 1e-12);
      }
    }
    EXPECT_FALSE(importance[3].has_value()) << "one candidate";
    EXPECT_GT(*importance[0], *importance[1]);
    EXPECT_GT(*importance[0], *importance[2]);
  }
}

TEST(ImportanceTest, WhereNothingMattersAllAreZero) {
  const std::vector<std::optional<double>> importance =
      ChoiceImportance({{0, 1, 0, 1}, {-1, -1, -1, -1}}, {true, true, true, true});
  EXPECT_EQ(importance[0], 0.0);
  EXPECT_FALSE(importance[1].has_value());
  EXPECT_TRUE(ChoiceImportance({}, {}).empty());
}

// A journal of models with the choice `a` and the metric `default`.
void WriteValues(const std::string& folder, const std::string& config, const std::vector<std::pair<int, double>>& all) {
  v1::ExperimentCreated created;
  created.set_experiment("values-1");
  *created.mutable_config() = Parse<v1::ExperimentConfig>(config);
  const auto writer = JournalWriter::Create(folder, created).value();
  int model = 0;
  for (const auto& [chosen, value] : all) {
    ++model;
    ASSERT_TRUE(writer
                    ->Write(Batch(absl::StrCat(
                        "records { model { model: ", model, " sample { decisions { label: 'a' value { i: ", chosen,
                        " } } } } } records { outcome { model: ", model,
                        " outcome: SUCCEEDED metrics { values { key: 'default' value: ", value, " } } } }")))
                    .ok());
  }
}

TEST(ImportanceTest, TheBestAreThoseOfTheObjectiveAndAllThatAreEqual) {
  TempFolder temp;
  // Small values are good: those with a = 1.
  WriteValues(temp.path(), "objective: MINIMIZE", {{1, 0.1}, {1, 0.2}, {1, 0.2}, {2, 0.3}, {2, 0.4}, {2, 0.5}});
  ExperimentTable table;
  ASSERT_TRUE(table.Update(*JournalReader::Open(temp.path())).ok());
  const Json third = ImportanceDocument(table, "default", 0.33);
  EXPECT_EQ(third["models"], 6);
  EXPECT_EQ(third["too_few"], true);
  // Two of six, and the third one, which is equal: all models with a = 1, and none other.
  EXPECT_EQ(third["choices"], Json::parse(R"([{"label": "a", "importance": 1.0}])"));
  EXPECT_EQ(third["goal"], "MINIMIZE");
  EXPECT_EQ(ImportanceDocument(table, "default", 1)["choices"][0]["importance"], 0.0);
  // The reader's goal counts: the largest two are among those with a = 2, which are three.
  const Json largest = ImportanceDocument(table, "default", 0.33, v1::ObjectiveConfig::MAXIMIZE);
  EXPECT_EQ(largest["goal"], "MAXIMIZE");
  EXPECT_EQ(largest["choices"][0]["importance"], 1.0);
  EXPECT_EQ(ImportanceDocument(table, "other", 0.33)["goal"], "MAXIMIZE") << "it is no objective";
  const Json unknown = ImportanceDocument(table, "nothing", 0.1);
  EXPECT_EQ(unknown["models"], 0);
  EXPECT_TRUE(unknown["choices"][0]["importance"].is_null());
}

class TableCacheTest : public ServiceTest {
 protected:
  static TableCache::Options AtOnce() {
    TableCache::Options options;
    options.refresh_interval = std::chrono::milliseconds(0);
    return options;
  }
  ExperimentPlace Place(const std::string& id) const { return experiments_.Locate(id).value(); }
};

TEST_F(TableCacheTest, WhatHasEndedIsMadeOnceAndWhatRunsFollows) {
  TableCache cache(&experiments_, AtOnce());
  Create("a-1");
  Write("a-1", "records { state { state: RUNNING } }");
  const auto first = cache.Columns(Place("a-1"));
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_THAT(**first, HasSubstr("\"number\":2"));
  WriteModel("a-1", 1);
  const auto second = cache.Columns(Place("a-1"));
  EXPECT_THAT(**second, HasSubstr("\"number\":7"));
  EXPECT_THAT(**second, HasSubstr("\"model\":[1]"));
  EXPECT_THAT(**cache.Show(Place("a-1")), HasSubstr("\"status\":\"RUNNING\""));
  EXPECT_THAT(**cache.Show(Place("a-1")), HasSubstr("\"waiting_for\":\"a device for a-1\"")) << "as `show` of a head";
  Write("a-1", "records { state { state: DONE } }");
  Release("a-1");
  const auto ended = cache.Show(Place("a-1"));
  EXPECT_THAT(**ended, HasSubstr("\"status\":\"DONE\""));
  EXPECT_EQ(*ended, *cache.Show(Place("a-1"))) << "the same text, not only an equal one";
  const auto columns = cache.Columns(Place("a-1"));
  EXPECT_EQ(*columns, *cache.Columns(Place("a-1")));
}

TEST_F(TableCacheTest, TheListIsTheOneOfListWhateverHappens) {
  TableCache cache(&experiments_, AtOnce());
  const auto expect_same = [&] {
    const auto list = cache.List(state_dir_);
    ASSERT_TRUE(list.ok()) << list.status();
    Json listed = Json::parse(**list), expected = Printed(*ListDocument(state_dir_));
    // Those of experiments that run grow.
    for (Json* const document : {&listed, &expected}) {
      for (Json& entry : (*document)["experiments"]) {
        if (entry["status"] == "RUNNING") entry["seconds"] = 0;
      }
    }
    // Of those that run here it is known what they wait for.
    for (Json& entry : expected["experiments"]) {
      if (entry["status"] == "RUNNING") entry["waiting_for"] = "a device for " + entry["id"].get<std::string>();
    }
    EXPECT_EQ(listed, expected);
  };
  expect_same();
  for (const char* const id : {"a-1", "b-1"}) {
    Create(id);
    Write(id, "records { state { state: RUNNING } }");
    WriteModel(id, 1);
    expect_same();
  }
  WriteModel("a-1", 2);
  Write("a-1", "records { state { state: DONE } }");
  expect_same();
  Release("a-1");
  expect_same();
  // Its process is gone.
  Release("b-1");
  expect_same();
  ASSERT_TRUE(RemoveExperiment(state_dir_, "a-1").ok());
  expect_same();
}

TEST_F(TableCacheTest, NobodyWaitsLongForAnExperimentThatIsBeingRead) {
  TableCache::Options options = AtOnce();
  options.patience = std::chrono::milliseconds(0);
  TableCache cache(&experiments_, options);
  for (const char* const id : {"a-1", "b-1"}) Create(id);
  const auto nothing = [](const ExperimentTable&) {};
  absl::Status same, other, show;
  const absl::Status first = cache.WithTable(Place("a-1"), 0, [&](const ExperimentTable&) {
    // Another thread: one does not wait for itself.
    std::thread([&] {
      same = cache.WithTable(Place("a-1"), 0, nothing);
      show = cache.Show(Place("a-1")).status();
      other = cache.WithTable(Place("b-1"), 0, nothing);
    }).join();
  });
  EXPECT_TRUE(first.ok()) << first;
  EXPECT_TRUE(absl::IsUnavailable(same)) << same;
  EXPECT_TRUE(show.ok()) << show;
  EXPECT_TRUE(other.ok()) << other;
  EXPECT_TRUE(cache.WithTable(Place("a-1"), 0, nothing).ok());
}

TEST_F(TableCacheTest, WhoWaitsGetsItsTurn) {
  TableCache::Options options = AtOnce();
  options.patience = std::chrono::hours(1);
  TableCache cache(&experiments_, options);
  Create("a-1");
  std::atomic<int> turns{0};
  std::vector<std::thread> waiting;
  const absl::Status first = cache.WithTable(Place("a-1"), 0, [&](const ExperimentTable&) {
    for (int i = 0; i < 3; ++i) {
      waiting.emplace_back([&] {
        const absl::Status status = cache.WithTable(Place("a-1"), 0, [&](const ExperimentTable&) { ++turns; });
        EXPECT_TRUE(status.ok()) << status;
      });
    }
    EXPECT_EQ(turns, 0);
  });
  EXPECT_TRUE(first.ok()) << first;
  for (std::thread& thread : waiting) thread.join();
  EXPECT_EQ(turns, 3);
}

TEST_F(TableCacheTest, WhoKnowsOfAFactDoesNotGetWhatWasBefore) {
  TableCache::Options options;
  options.refresh_interval = std::chrono::hours(1);
  TableCache cache(&experiments_, options);
  Create("a-1");
  Write("a-1", "records { state { state: RUNNING } }");
  const auto number = [&](int64_t at_least) {
    int64_t last = -1;
    const absl::Status status =
        cache.WithTable(Place("a-1"), at_least, [&](const ExperimentTable& table) { last = table.number(); });
    EXPECT_TRUE(status.ok()) << status;
    return last;
  };
  EXPECT_EQ(number(0), 2);
  WriteModel("a-1", 1);
  EXPECT_EQ(number(0), 2) << "fresh enough";
  EXPECT_EQ(number(3), 7);
  EXPECT_EQ(number(1000), 7) << "there is no more";
}

TEST_F(TableCacheTest, AnExperimentWhoseProcessIsGoneIsSeenAsInterrupted) {
  TableCache cache(&experiments_, AtOnce());
  Create("a-1");
  Write("a-1", "records { state { state: RUNNING } }");
  EXPECT_THAT(**cache.Columns(Place("a-1")), HasSubstr("\"status\":\"RUNNING\""));
  Release("a-1");
  EXPECT_THAT(**cache.Columns(Place("a-1")), HasSubstr("\"status\":\"INTERRUPTED\""));
}

TEST_F(TableCacheTest, WithoutRoomTheOthersAreDroppedAndMadeAgain) {
  TableCache::Options options = AtOnce();
  options.max_bytes = 1;
  TableCache cache(&experiments_, options);
  for (const char* const id : {"a-1", "b-1"}) {
    Create(id);
    WriteModel(id, 1);
  }
  const auto first = cache.Columns(Place("a-1"));
  ASSERT_TRUE(cache.Columns(Place("b-1")).ok());
  const auto again = cache.Columns(Place("a-1"));
  EXPECT_EQ(**first, **again);
  EXPECT_NE(*first, *again) << "another text";
}

TEST_F(TableCacheTest, AnExperimentThatIsMadeAgainWithTheSameIdHasNothingOfTheDeletedOne) {
  TableCache cache(&experiments_, AtOnce());
  Create("a-1");
  WriteModel("a-1", 1);
  ASSERT_TRUE(cache.Columns(Place("a-1")).ok());
  Release("a-1");
  // As another process does.
  ASSERT_TRUE(RemoveExperiment(state_dir_, "a-1").ok());
  Create("a-1");
  for (const int model : {2, 3}) WriteModel("a-1", model);
  const auto columns = cache.Columns(Place("a-1"));
  ASSERT_TRUE(columns.ok()) << columns.status();
  EXPECT_THAT(**columns, HasSubstr("\"model\":[2,3]"));
}

TEST_F(TableCacheTest, ADeletedExperimentIsGone) {
  TableCache cache(&experiments_);
  Create("a-1");
  const ExperimentPlace place = Place("a-1");
  ASSERT_TRUE(cache.Columns(place).ok());
  Release("a-1");
  ASSERT_TRUE(RemoveExperiment(state_dir_, "a-1").ok());
  cache.Forget("a-1");
  EXPECT_TRUE(absl::IsNotFound(cache.Columns(place).status()));
  EXPECT_TRUE(absl::IsNotFound(cache.Show(place).status()));
}

}  // namespace
}  // namespace lanista

// JournalReader: models with their outcomes, and which of them are the best.
#include <algorithm>
#include <filesystem>
#include <limits>
#include <map>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "src/base/status.h"
#include "src/goals/goals.h"
#include "src/storage/journal.h"
#include "src/storage/journal_rows.h"
#include "src/storage/state_dir.h"

namespace lanista {
namespace {

// Collects what a query visits.
template <typename Query>
absl::StatusOr<std::vector<ModelRecord>> Collect(const Query& query) {
  std::vector<ModelRecord> models;
  LANISTA_RETURN_IF_ERROR(query([&models](ModelRecord model) {
    models.push_back(std::move(model));
    return absl::OkStatus();
  }));
  return models;
}

}  // namespace

absl::StatusOr<ModelCounts> JournalReader::CountModels() const {
  LANISTA_ASSIGN_OR_RETURN(SqliteStatement row, database_.Prepare(R"sql(
      SELECT count(*), total(outcome = 'SUCCEEDED'), total(outcome = 'FAILED'), total(outcome = 'STOPPED_EARLY'),
             total(outcome = 'CANCELED'), total(outcome = 'INFEASIBLE'), total(outcome IS NULL)
      FROM model LEFT JOIN outcome USING (model))sql"));
  LANISTA_RETURN_IF_ERROR(row.Next().status());
  return ModelCounts{row.Int(0), row.Int(1), row.Int(2), row.Int(3), row.Int(4), row.Int(5), row.Int(6)};
}

absl::StatusOr<std::vector<ModelRecord>> JournalReader::BestModels(int count) const {
  const Goals goals(experiment_.config());
  if (goals.only_default()) {
    const bool minimize = goals.objectives()[0].objective == v1::ObjectiveConfig::MINIMIZE;
    return Collect([&](const auto& visit) {
      // The rule of Goals::BestValues in SQL: NaN, which is NULL here, and infinities (9e999) do not count.
      return QueryModels(absl::StrCat("WHERE outcome = 'SUCCEEDED' AND abs(value) < 9e999 ORDER BY value ",
                                      minimize ? "ASC" : "DESC", ", model LIMIT ", count),
                         visit);
    });
  }
  LANISTA_ASSIGN_OR_RETURN(std::vector<RankedModel> ranked, RankedModels());
  if (ranked.size() > static_cast<size_t>(count)) ranked.resize(static_cast<size_t>(count));
  return ModelsOf(ranked);
}

absl::StatusOr<std::vector<ModelRecord>> JournalReader::ParetoFront() const {
  if (!Goals(experiment_.config()).has_several_objectives()) return BestModels(1);
  LANISTA_ASSIGN_OR_RETURN(std::vector<RankedModel> ranked, RankedModels());
  ranked.erase(std::find_if(ranked.begin(), ranked.end(), [](const RankedModel& model) { return model.front > 0; }),
               ranked.end());
  return ModelsOf(ranked);
}

absl::StatusOr<std::vector<RankedModel>> JournalReader::RankedModels() const {
  const Goals goals(experiment_.config());
  std::vector<RankedModel> ranked;
  LANISTA_RETURN_IF_ERROR(QueryModels("WHERE outcome = 'SUCCEEDED'", [&](const ModelRecord& model) {
    if (auto values = goals.BestValues(*model.outcome)) ranked.push_back({model.model, *std::move(values)});
    return absl::OkStatus();
  }));
  SortBestFirst(ranked);
  return ranked;
}

absl::StatusOr<std::vector<ModelRecord>> JournalReader::ModelsOf(const std::vector<RankedModel>& ranked) const {
  std::map<int, size_t> places;
  for (size_t i = 0; i < ranked.size(); ++i) places[ranked[i].model] = i;
  const auto number = [](std::string* text, const RankedModel& model) { absl::StrAppend(text, model.model); };
  std::vector<ModelRecord> models(ranked.size());
  LANISTA_RETURN_IF_ERROR(
      QueryModels(absl::StrCat("WHERE model IN (", absl::StrJoin(ranked, ",", number), ")"), [&](ModelRecord model) {
        ModelRecord& place = models[places.at(model.model)];
        place = std::move(model);
        return absl::OkStatus();
      }));
  return models;
}

absl::StatusOr<std::vector<ModelRecord>> JournalReader::Models() const {
  return Collect([&](const auto& visit) { return VisitModels(visit); });
}

absl::Status JournalReader::VisitModels(const std::function<absl::Status(ModelRecord)>& visit) const {
  return QueryModels("ORDER BY model", visit);
}

absl::Status JournalReader::VisitModelsOf(const OnlyModels& only,
                                          const std::function<absl::Status(ModelRecord)>& visit) const {
  return QueryModels(absl::StrCat(WhereModel(only), " ORDER BY model"), visit);
}

absl::Status JournalReader::VisitFailures(
    const std::function<void(int model, const v1::Failure& failure)>& visit) const {
  LANISTA_ASSIGN_OR_RETURN(SqliteStatement row, database_.Prepare(R"sql(
      SELECT model, reason, message, signal, exit_status FROM outcome WHERE reason IS NOT NULL ORDER BY model)sql"));
  while (true) {
    LANISTA_ASSIGN_OR_RETURN(const bool found, row.Next());
    if (!found) return absl::OkStatus();
    visit(row.Int(0), *FailureAt(row, 1));
  }
}

absl::StatusOr<ModelRecord> JournalReader::FindModel(int model) const {
  std::optional<ModelRecord> found;
  LANISTA_RETURN_IF_ERROR(VisitModelsOf(std::vector<int>{model}, [&found](ModelRecord record) {
    found = std::move(record);
    return absl::OkStatus();
  }));
  if (found.has_value()) return *std::move(found);
  return absl::NotFoundError(absl::StrCat(experiment_.experiment(), " has no model ", model));
}

absl::Status JournalReader::QueryModels(const std::string& clauses,
                                        const std::function<absl::Status(ModelRecord)>& visit) const {
  LANISTA_ASSIGN_OR_RETURN(
      SqliteStatement row,
      database_.Prepare(absl::StrCat(R"sql(
      SELECT model, model.time, sample, sample_proto, outcome, attempt, metrics, reason, message, signal, exit_status, )sql",
                                     version_ < kVersionWithStopping ? "0, ''" : "stopped_step, stopped_because",
                                     version_ < kVersionWithCosts ? ", NULL, NULL" : ", params, flops",
                                     " FROM model LEFT JOIN outcome USING (model) ", clauses)));
  while (true) {
    LANISTA_ASSIGN_OR_RETURN(const bool found, row.Next());
    if (!found) return absl::OkStatus();
    ModelRecord model;
    model.model = row.Int(0);
    model.created = TimeAt(row, 1);
    model.sample_json = TextAt(row, 2);
    LANISTA_RETURN_IF_ERROR(ParseAt(row, 3, &model.sample));
    model.params = OptionalInt64At(row, 13);
    model.flops = OptionalInt64At(row, 14);
    if (!row.IsNull(4)) {
      v1::ModelOutcome& outcome = model.outcome.emplace();
      outcome.set_outcome(OutcomeAt(row, 4));
      outcome.set_attempt(row.Int(5));
      LANISTA_RETURN_IF_ERROR(MetricsAt(row, 6, outcome.mutable_metrics()));
      if (auto failure = FailureAt(row, 7)) *outcome.mutable_failure() = *std::move(failure);
      outcome.set_stopped_step(row.Int(11));
      outcome.set_stopped_because(TextAt(row, 12));
    }
    LANISTA_RETURN_IF_ERROR(visit(std::move(model)));
  }
}

absl::StatusOr<std::map<int, std::string>> JournalReader::Weights() const {
  if (version_ < kVersionWithWeights) return FindWeights();
  LANISTA_ASSIGN_OR_RETURN(SqliteStatement row, database_.Prepare("SELECT model, folder FROM weights"));
  std::map<int, std::string> weights;
  while (true) {
    LANISTA_ASSIGN_OR_RETURN(const bool found, row.Next());
    if (!found) return weights;
    weights[row.Int(0)] = TextAt(row, 1);
  }
}

absl::StatusOr<std::map<int, std::string>> JournalReader::FindWeights() const {
  std::map<int, std::string> weights;
  const int best = experiment_.config().keep_weights().best();
  if (best == 0) return weights;
  // With several objectives, the models whose weights were kept depend on the order of outcomes; they need not be the
  // best models of the whole experiment.
  const bool several = Goals(experiment_.config()).has_several_objectives();
  LANISTA_ASSIGN_OR_RETURN(const std::vector<ModelRecord> models,
                           BestModels(several ? std::numeric_limits<int>::max() : best));
  std::vector<int> numbers;
  for (const ModelRecord& model : models) numbers.push_back(model.model);
  LANISTA_ASSIGN_OR_RETURN(const std::vector<AttemptRecord> attempts, AttemptsOf(numbers));
  for (const ModelRecord& model : models) {
    const auto deciding = std::find_if(attempts.begin(), attempts.end(), [&model](const AttemptRecord& attempt) {
      return attempt.model == model.model && attempt.attempt == model.outcome->attempt();
    });
    if (deciding == attempts.end()) continue;
    std::string folder = TrialOutputFolder(deciding->trial, model.model, deciding->members > 1);
    std::error_code ignored;
    if (several && !std::filesystem::exists(absl::StrCat(folder_, "/", folder, "/", kWeightsFile), ignored)) continue;
    weights[model.model] = std::move(folder);
    if (static_cast<int>(weights.size()) == best) break;
  }
  return weights;
}

absl::StatusOr<std::map<int, int64_t>> JournalReader::OutcomeNumbers(const std::vector<int>& models) const {
  LANISTA_ASSIGN_OR_RETURN(
      SqliteStatement row,
      database_.Prepare(absl::StrCat("SELECT id, max(number) FROM fact WHERE kind = 'outcome' AND id IN (",
                                     absl::StrJoin(models, ","), ") GROUP BY id")));
  std::map<int, int64_t> numbers;
  while (true) {
    LANISTA_ASSIGN_OR_RETURN(const bool found, row.Next());
    if (!found) return numbers;
    numbers[row.Int(0)] = row.Int64(1);
  }
}

}  // namespace lanista

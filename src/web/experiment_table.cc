#include "src/web/experiment_table.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/ascii.h"
#include "src/base/status.h"
#include "src/space/space.h"

namespace lanista {
namespace {

// Where more models than this part of all have changed, one pass over everything is quicker than looking them up.
constexpr size_t kMinReread = 500;
constexpr size_t kRereadPart = 4;

const AttemptRecord* FindAttempt(const std::vector<AttemptRecord>& attempts, int number) {
  const auto found = std::find_if(attempts.begin(), attempts.end(),
                                  [number](const AttemptRecord& attempt) { return attempt.attempt == number; });
  return found == attempts.end() ? nullptr : &*found;
}

}  // namespace

const AttemptRecord* TableModel::shown_attempt() const { return FindAttempt(attempts, shown.number()); }

std::optional<absl::Time> TableModel::begun() const {
  const AttemptRecord* const first = FindAttempt(attempts, first_reporter);
  return first == nullptr ? std::nullopt : first->started;
}

absl::Status ExperimentTable::Update(const JournalReader& reader) {
  LANISTA_ASSIGN_OR_RETURN(const std::optional<int64_t> number, reader.LastNumber());
  // One that was deleted and made again may have the same id.
  if (created_ != reader.created() || number.value_or(0) < number_) *this = ExperimentTable();
  LANISTA_RETURN_IF_ERROR(LoadExperiment(reader));
  JournalReader::OnlyModels only;
  if (number.has_value() && number_ > 0) {
    LANISTA_ASSIGN_OR_RETURN(JournalReader::NewFacts facts, reader.FactsAfter(number_));
    LANISTA_ASSIGN_OR_RETURN(only, reader.ChangedModels(std::move(facts)));
    if (only->size() > std::max(kMinReread, models_.size() / kRereadPart)) only.reset();
  }
  if (!only.has_value()) models_.clear();
  number_ = number.value_or(0);
  if (only.has_value() && only->empty()) return absl::OkStatus();
  return Load(reader, only);
}

absl::StatusOr<ExperimentTable> ExperimentTable::Of(const JournalReader& reader, const std::vector<int>& models) {
  ExperimentTable table;
  table.is_part_ = true;
  LANISTA_RETURN_IF_ERROR(table.LoadExperiment(reader));
  LANISTA_ASSIGN_OR_RETURN(const std::optional<int64_t> number, reader.LastNumber());
  table.number_ = number.value_or(0);
  LANISTA_RETURN_IF_ERROR(table.Load(reader, models));
  return table;
}

absl::Status ExperimentTable::LoadExperiment(const JournalReader& reader) {
  created_ = reader.created();
  id_ = reader.experiment().experiment();
  name_ = reader.name();
  goals_.emplace(reader.experiment().config());
  LANISTA_ASSIGN_OR_RETURN(standing_, StandingOf(reader, absl::InfiniteFuture()));
  LANISTA_ASSIGN_OR_RETURN(const std::vector<StateRecord> states, reader.States());
  started_.reset();
  for (const StateRecord& state : states) {
    if (state.change.state() == v1::ExperimentState::RUNNING && !started_.has_value()) started_ = state.time;
  }
  return has_space_ ? absl::OkStatus() : AddSpace(reader);
}

absl::Status ExperimentTable::AddSpace(const JournalReader& reader) {
  LANISTA_ASSIGN_OR_RETURN(const std::optional<v1::SpaceSpec> space, reader.Space());
  if (!space.has_value()) return absl::OkStatus();
  has_space_ = true;
  for (const v1::Choice& choice : space->choices()) {
    const size_t number = ChoiceNumber(choice.label(), absl::AsciiStrToLower(v1::Choice::Kind_Name(choice.kind())));
    for (const v1::Value& candidate : choice.candidates()) CandidateNumber(number, ValueToText(candidate));
  }
  return absl::OkStatus();
}

absl::Status ExperimentTable::Load(const JournalReader& reader, const JournalReader::OnlyModels& only) {
  LANISTA_RETURN_IF_ERROR(reader.VisitModelsOf(only, [this](ModelRecord record) {
    TableModel& model = Place(record.model);
    model = TableModel();
    model.model = record.model;
    SetChosen(record.sample, &model);
    model.params = record.params;
    model.flops = record.flops;
    model.outcome = std::move(record.outcome);
    return absl::OkStatus();
  }));
  LANISTA_RETURN_IF_ERROR(reader.VisitAttempts(only, [this](AttemptRecord attempt) {
    TableModel& model = Place(attempt.model);
    model.shown.See(attempt, model.outcome);
    model.attempts.push_back(std::move(attempt));
    return absl::OkStatus();
  }));
  return LoadReports(reader, only);
}

absl::Status ExperimentTable::LoadReports(const JournalReader& reader, const JournalReader::OnlyModels& only) {
  TableModel* model = nullptr;
  int attempt = 0, sequence = 0;
  bool shown = false;
  const size_t default_metric = MetricNumber("default");
  // Reports mostly name the same few metrics in turn.
  size_t metric = default_metric;
  const absl::Status status = reader.VisitReports(only, [&](const ReportedValue& report) {
    if (model == nullptr || model->model != report.model || attempt != report.attempt || sequence != report.sequence) {
      if (model == nullptr || model->model != report.model) model = &Place(report.model);
      attempt = report.attempt;
      sequence = report.sequence;
      shown = model->shown.Shows(attempt, report.step);
      if (shown) {
        if (model->steps.empty()) model->first_reporter = attempt;
        model->steps.push_back(report.step);
        model->times.push_back(absl::ToUnixMicros(report.time));
      }
    }
    if (!shown) return;
    if (metric_names_[metric] != report.name) metric = MetricNumber(report.name);
    if (model->curves.size() <= metric) model->curves.resize(metric + 1);
    TableCurve& curve = model->curves[metric];
    const size_t at = model->steps.size() - 1;
    // From the first report without this metric on, the places must be named.
    if (curve.at.empty() && at > curve.values.size()) {
      for (uint32_t i = 0; i < curve.values.size(); ++i) curve.at.push_back(i);
      curve.at.push_back(static_cast<uint32_t>(at));
    } else if (!curve.at.empty()) {
      curve.at.push_back(static_cast<uint32_t>(at));
    }
    const auto value = static_cast<float>(report.value);
    if (std::isfinite(report.value) && (std::isinf(value) || (value == 0 && report.value != 0))) {
      curve.beyond_float.emplace(static_cast<uint32_t>(curve.values.size()), report.value);
    }
    curve.values.push_back(value);
    if (metric == default_metric) model->latest = report.value;
  });
  return status;
}

TableModel& ExperimentTable::Place(int model) {
  // Nearly always the last one, or a new one behind it.
  if (models_.empty() || models_.back().model < model) models_.emplace_back().model = model;
  if (models_.back().model == model) return models_.back();
  const auto place = std::lower_bound(models_.begin(), models_.end(), model,
                                      [](const TableModel& entry, int number) { return entry.model < number; });
  if (place->model == model) return *place;
  const auto inserted = models_.insert(place, TableModel());
  inserted->model = model;
  return *inserted;
}

size_t ExperimentTable::ChoiceNumber(const std::string& label, const std::string& kind) {
  const auto [place, is_new] = choice_numbers_.emplace(label, choices_.size());
  if (is_new) {
    choices_.push_back({label, kind, {}});
    candidate_numbers_.emplace_back();
  }
  return place->second;
}

int32_t ExperimentTable::CandidateNumber(size_t choice, const std::string& json) {
  std::vector<std::string>& candidates = choices_[choice].candidates;
  const auto [place, is_new] = candidate_numbers_[choice].emplace(json, static_cast<int32_t>(candidates.size()));
  if (is_new) candidates.push_back(json);
  return place->second;
}

size_t ExperimentTable::MetricNumber(const std::string& name) {
  const auto [place, is_new] = metric_numbers_.emplace(name, metric_names_.size());
  if (is_new) metric_names_.push_back(name);
  return place->second;
}

void ExperimentTable::SetChosen(const v1::Sample& sample, TableModel* model) {
  model->chosen.resize(choices_.size());
  for (const v1::Decision& decision : sample.decisions()) {
    const size_t choice = ChoiceNumber(decision.label(), "unknown");
    if (model->chosen.size() <= choice) model->chosen.resize(choice + 1);
    std::vector<int32_t>& chosen = model->chosen[choice];
    // By the values: a label that the space does not list has no indices.
    for (const v1::Value& value : decision.value()) chosen.push_back(CandidateNumber(choice, ValueToText(value)));
    if (decision.value().empty()) chosen.assign(decision.index().begin(), decision.index().end());
  }
}

size_t ExperimentTable::bytes() const {
  size_t bytes = 0;
  for (const TableModel& model : models_) {
    bytes += sizeof(model) + model.attempts.size() * 2 * sizeof(AttemptRecord) + model.chosen.size() * 64 +
             model.steps.size() * (sizeof(int32_t) + sizeof(int64_t)) + 1024;
    for (const TableCurve& curve : model.curves) {
      bytes += sizeof(curve) + curve.values.size() * 4 + curve.at.size() * 4 + curve.beyond_float.size() * 64;
    }
  }
  return bytes;
}

}  // namespace lanista

// One experiment in memory, by column: what the page's tables and charts are made of.
#ifndef LANISTA_SRC_WEB_EXPERIMENT_TABLE_H_
#define LANISTA_SRC_WEB_EXPERIMENT_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "src/goals/goals.h"
#include "src/storage/journal.h"
#include "src/views/standing.h"

namespace lanista {

// A choice of the space, or one that a model made although its space does not list it.
struct TableChoice {
  std::string label;
  // "layer_choice", ...; "unknown" where the space does not list it.
  std::string kind;
  // As JSON.
  std::vector<std::string> candidates;
};

// What a model reported of one metric.
struct TableCurve {
  // Of which of the model's reports; empty: of all.
  std::vector<uint32_t> at;
  std::vector<float> values;
  // What `values` has as an infinity, or as 0, because a float cannot hold it, by its place there.
  std::map<uint32_t, double> beyond_float;
};

struct TableModel {
  int model = 0;
  // For each choice of the table the indices of what was chosen; empty, or none: the choice is not active.
  std::vector<std::vector<int32_t>> chosen;
  // As in ModelRecord.
  std::optional<int64_t> params;
  std::optional<int64_t> flops;
  // Without its sample.
  std::optional<v1::ModelOutcome> outcome;
  std::vector<AttemptRecord> attempts;
  ShownAttempt shown;
  // The reports that `trials` shows as `intermediate`, in their order; times are microseconds since 1970.
  std::vector<int32_t> steps;
  std::vector<int64_t> times;
  // The attempt that made the first of them; 0: there are none.
  int first_reporter = 0;
  // By the numbers of metric_names(); perhaps fewer.
  std::vector<TableCurve> curves;
  // The last reported `default`, unrounded.
  std::optional<double> latest;

  // The attempt that it is shown by; null: it has none.
  const AttemptRecord* shown_attempt() const;
  // When its reports begin: the start of the attempt that made the first of them. nullopt: there are none.
  std::optional<absl::Time> begun() const;
};

// Read from a journal in one pass over each of its tables, without a query a model; later, only the models of which
// something was recorded are read again. Used by one thread at a time.
class ExperimentTable {
 public:
  // Brings it to where the reader's journal is; makes it anew where that is another experiment's. After an error it is
  // to be made anew.
  absl::Status Update(const JournalReader& reader);
  // A part: one of these models alone.
  static absl::StatusOr<ExperimentTable> Of(const JournalReader& reader, const std::vector<int>& models);

  const std::string& id() const { return id_; }
  const std::string& name() const { return name_; }
  const Standing& standing() const { return standing_; }
  // When the experiment began to run.
  const std::optional<absl::Time>& started() const { return started_; }
  const Goals& goals() const { return *goals_; }
  // Of the last fact that is in it; 0: a journal of version 2.
  int64_t number() const { return number_; }

  const std::vector<TableChoice>& choices() const { return choices_; }
  // In the order in which they came.
  const std::vector<std::string>& metric_names() const { return metric_names_; }
  // Sorted by their numbers.
  const std::vector<TableModel>& models() const { return models_; }

  // Whether it has only some of the models.
  bool is_part() const { return is_part_; }

  // About how much memory it takes.
  size_t bytes() const;

 private:
  // All but the models and the number.
  absl::Status LoadExperiment(const JournalReader& reader);
  absl::Status Load(const JournalReader& reader, const JournalReader::OnlyModels& only);
  absl::Status LoadReports(const JournalReader& reader, const JournalReader::OnlyModels& only);
  absl::Status AddSpace(const JournalReader& reader);
  // The place of a model; there is one for it from then on.
  TableModel& Place(int model);
  size_t ChoiceNumber(const std::string& label, const std::string& kind);
  int32_t CandidateNumber(size_t choice, const std::string& json);
  size_t MetricNumber(const std::string& name);
  void SetChosen(const v1::Sample& sample, TableModel* model);

  bool is_part_ = false;
  absl::Time created_;
  std::string id_;
  std::string name_;
  Standing standing_;
  std::optional<absl::Time> started_;
  std::optional<Goals> goals_;
  int64_t number_ = 0;
  bool has_space_ = false;
  std::vector<TableChoice> choices_;
  std::map<std::string, size_t> choice_numbers_;
  std::vector<std::map<std::string, int32_t>> candidate_numbers_;
  std::vector<std::string> metric_names_;
  std::map<std::string, size_t> metric_numbers_;
  std::vector<TableModel> models_;
};

}  // namespace lanista

#endif  // LANISTA_SRC_WEB_EXPERIMENT_TABLE_H_

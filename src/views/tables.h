// What people see of experiments: the documents of documents.h as plain text with aligned columns, for terminals. Lines
// are at most `width` cells long where that is possible. Models are shown with a column for each choice in which they
// differ; the choices that they share are one line above.
#ifndef LANISTA_SRC_VIEWS_TABLES_H_
#define LANISTA_SRC_VIEWS_TABLES_H_

#include <string>

#include "absl/strings/string_view.h"
#include "nlohmann/json_fwd.hpp"
#include "src/views/text_table.h"

namespace lanista {

// From ShowDocument: status, models by outcome, the top models (or the Pareto front, or which model is nearest to the
// limits), and what failed and why: a line for each kind of failure.
std::string ShowText(const nlohmann::ordered_json& document, int width = kAnyWidth);

// From ShowDocument: the table of the top models alone, with a column for the metric of each objective.
std::string BestText(const nlohmann::ordered_json& document, int width = kAnyWidth);

// From TrialsDocument: one line a model.
std::string TrialsText(const nlohmann::ordered_json& document, int width = kAnyWidth);

// From ListDocument: one line an experiment.
std::string ListText(const nlohmann::ordered_json& document, int width = kAnyWidth);

// `text` with one # for each number in it: equal for failures that differ in their numbers alone.
std::string WithoutNumbers(absl::string_view text);

// The size of a space, in decimal digits: "18 models"; empty: it is not known.
std::string SpaceSizeText(const std::string& size);

// Seconds for people: "4.2s", "3m 07s", "2h 05m".
std::string DurationText(double seconds);

}  // namespace lanista

#endif  // LANISTA_SRC_VIEWS_TABLES_H_

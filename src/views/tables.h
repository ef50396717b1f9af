// What people see of experiments: the documents of documents.h as plain text with aligned columns, for terminals.
#ifndef LANISTA_SRC_VIEWS_TABLES_H_
#define LANISTA_SRC_VIEWS_TABLES_H_

#include <string>
#include <vector>

#include "nlohmann/json.hpp"

namespace lanista {

// Columns as wide as their widest cell, two spaces between them; the header is not counted as a row.
class TextTable {
 public:
  enum class Align { kLeft, kRight };

  explicit TextTable(std::vector<std::pair<std::string, Align>> columns) : columns_(std::move(columns)) {}

  // REQUIRES: one cell for each column. Line breaks and other control characters become spaces.
  void AddRow(std::vector<std::string> cells);

  bool empty() const { return rows_.empty(); }

  // The header and the rows, each line with `indent` spaces before it; none has spaces at its end.
  std::string ToText(int indent = 0) const;

 private:
  std::vector<std::pair<std::string, Align>> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// From ShowDocument: status, models by outcome, the top models, what failed and why.
std::string ShowText(const nlohmann::ordered_json& document);

// From ShowDocument: the table of the top models alone.
std::string BestText(const nlohmann::ordered_json& document);

// From TrialsDocument: one line a model.
std::string TrialsText(const nlohmann::ordered_json& document);

// From ListDocument: one line an experiment.
std::string ListText(const nlohmann::ordered_json& document);

// Seconds for people: "4.2s", "3m 07s", "2h 05m".
std::string DurationText(double seconds);

}  // namespace lanista

#endif  // LANISTA_SRC_VIEWS_TABLES_H_

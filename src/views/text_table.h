// Tables for terminals: plain text with aligned columns.
#ifndef LANISTA_SRC_VIEWS_TEXT_TABLE_H_
#define LANISTA_SRC_VIEWS_TEXT_TABLE_H_

#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace lanista {

// The width that means no limit, because stdout is no terminal.
inline constexpr int kAnyWidth = std::numeric_limits<int>::max();

// Columns as wide as their widest cell, two spaces between them; the header is not counted as a row.
class TextTable {
 public:
  enum class Align { kLeft, kRight };

  struct Column {
    std::string name;
    Align align = Align::kLeft;
    // May be left out if the table is too wide.
    bool optional = false;
  };

  explicit TextTable(std::vector<Column> columns);

  // REQUIRES: one cell for each column. Cells may be any text: Printable is applied.
  void AddRow(std::vector<std::string> cells);

  bool empty() const { return rows_.empty(); }

  // Makes the table at most `width` cells wide, as far as that is possible: shortens the names of columns and the cells
  // of left-aligned ones, the widest first, and leaves out optional columns, the last first, where that is not enough.
  // Returns how many were left out.
  int Fit(int width);

  // The header and the rows, each line with `indent` spaces before it; none has spaces at its end.
  std::string ToText(int indent = 0) const;

 private:
  int TotalWidth(const std::vector<int>& widths) const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
  // The width of each column in cells; 0: the column is left out.
  std::vector<int> widths_;
};

}  // namespace lanista

#endif  // LANISTA_SRC_VIEWS_TEXT_TABLE_H_

#include "src/views/text_table.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "src/base/display_text.h"

namespace lanista {
namespace {

// Columns are not made narrower than this.
constexpr int kMinWidth = 8;
constexpr int kGap = 2;

// The end of a name says more than its beginning: "stage0/layer_1/width" as "…1/width".
std::string ShortenName(const std::string& name, int width) {
  if (DisplayWidth(name) <= width) return name;
  absl::string_view rest = name;
  while (!rest.empty() && DisplayWidth(rest) > width - 1) {
    do {
      rest.remove_prefix(1);
    } while (!rest.empty() && (rest.front() & 0xc0) == 0x80);  // The rest of a character.
  }
  return absl::StrCat("…", rest);
}

}  // namespace

TextTable::TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {
  for (Column& column : columns_) {
    column.name = OneLine(column.name);
    widths_.push_back(DisplayWidth(column.name));
  }
}

void TextTable::AddRow(std::vector<std::string> cells) {
  for (size_t i = 0; i < cells.size(); ++i) {
    cells[i] = Printable(cells[i]);
    widths_[i] = std::max(widths_[i], DisplayWidth(cells[i]));
  }
  rows_.push_back(std::move(cells));
}

int TextTable::TotalWidth(const std::vector<int>& widths) const {
  int total = -kGap;
  for (const int width : widths) total += width == 0 ? 0 : width + kGap;
  return total;
}

int TextTable::Fit(int width) {
  // Numbers are never cut.
  std::vector<int> least(columns_.size());
  for (size_t i = 0; i < columns_.size(); ++i) {
    int cells = 0;
    for (const auto& row : rows_) cells = std::max(cells, DisplayWidth(row[i]));
    least[i] = std::min(widths_[i], columns_[i].align == Align::kRight ? std::max(cells, kMinWidth) : kMinWidth);
  }
  int left_out = 0;
  for (size_t i = columns_.size(); i-- > 0 && TotalWidth(least) > width;) {
    if (!columns_[i].optional) continue;
    least[i] = widths_[i] = 0;
    ++left_out;
  }
  while (TotalWidth(widths_) > width) {
    // Shorten the widest column that may be shortened, but not below the second widest: then both are shortened.
    size_t widest = columns_.size();
    int second = 0;
    for (size_t i = 0; i < columns_.size(); ++i) {
      if (widths_[i] <= least[i]) continue;
      if (widest == columns_.size() || widths_[i] > widths_[widest]) {
        if (widest < columns_.size()) second = std::max(second, widths_[widest]);
        widest = i;
      } else {
        second = std::max(second, widths_[i]);
      }
    }
    if (widest == columns_.size()) break;
    const int enough = widths_[widest] - (TotalWidth(widths_) - width);
    widths_[widest] = std::max({least[widest], enough, std::min(second, widths_[widest] - 1)});
  }
  return left_out;
}

std::string TextTable::ToText(int indent) const {
  std::vector<std::string> header;
  for (size_t i = 0; i < columns_.size(); ++i) header.push_back(ShortenName(columns_[i].name, widths_[i]));
  std::string text;
  const auto append = [&](const std::vector<std::string>& cells) {
    std::string line(indent, ' ');
    bool first = true;
    for (size_t i = 0; i < cells.size(); ++i) {
      if (widths_[i] == 0) continue;
      const std::string cell = Ellipsize(cells[i], widths_[i]);
      const std::string padding(widths_[i] - DisplayWidth(cell), ' ');
      const bool right = columns_[i].align == Align::kRight;
      absl::StrAppend(&line, first ? "" : std::string(kGap, ' '), right ? padding : "", cell, right ? "" : padding);
      first = false;
    }
    absl::StrAppend(&text, absl::StripTrailingAsciiWhitespace(line), "\n");
  };
  append(header);
  for (const auto& row : rows_) append(row);
  return text;
}

}  // namespace lanista

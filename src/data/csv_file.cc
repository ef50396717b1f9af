#include "src/data/csv_file.h"

#include <cstddef>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "src/base/status.h"
#include "src/data/input_file.h"

namespace lanista::data {
namespace {

// Parses the text row by row.
class Parser {
 public:
  Parser(const std::string& path, const std::string& text, char delimiter)
      : path_(path), text_(text), delimiter_(delimiter) {
    if (absl::StartsWith(text_, "\xef\xbb\xbf")) position_ = 3;
  }

  absl::Status Parse(const CsvRowCallback& on_row) {
    while (position_ < text_.size()) {
      const int64_t line = line_;
      std::vector<std::string> fields;
      bool row_ends = false;
      while (!row_ends) {
        std::string field;
        if (position_ < text_.size() && text_[position_] == '"') {
          LANISTA_RETURN_IF_ERROR(Quoted(field));
        } else {
          Plain(field);
        }
        fields.push_back(std::move(field));
        row_ends = position_ >= text_.size() || text_[position_] != delimiter_;
        if (!row_ends) ++position_;
      }
      const bool empty = fields.size() == 1 && fields[0].empty();
      LANISTA_RETURN_IF_ERROR(EndOfLine());
      if (!empty) LANISTA_RETURN_IF_ERROR(on_row(line, fields));
    }
    return absl::OkStatus();
  }

 private:
  bool AtLineEnd() const {
    return position_ >= text_.size() || text_[position_] == '\n' ||
           (text_[position_] == '\r' && (position_ + 1 == text_.size() || text_[position_ + 1] == '\n'));
  }

  void Plain(std::string& field) {
    const size_t start = position_;
    while (!AtLineEnd() && text_[position_] != delimiter_) ++position_;
    field = text_.substr(start, position_ - start);
  }

  absl::Status Quoted(std::string& field) {
    const int64_t line = line_;
    for (++position_; position_ < text_.size(); ++position_) {
      if (text_[position_] == '"') {
        ++position_;
        if (position_ >= text_.size() || text_[position_] != '"') return absl::OkStatus();
      }
      if (text_[position_] == '\n') ++line_;
      field += text_[position_];
    }
    return absl::InvalidArgumentError(absl::StrCat(path_, ":", line, ": a quote opens and never closes"));
  }

  absl::Status EndOfLine() {
    if (!AtLineEnd()) {
      return absl::InvalidArgumentError(
          absl::StrCat(path_, ":", line_, ": text follows a closing quote; double a quote inside a quoted field"));
    }
    if (position_ < text_.size() && text_[position_] == '\r') ++position_;
    ++position_;
    ++line_;
    return absl::OkStatus();
  }

  const std::string& path_;
  const std::string& text_;
  const char delimiter_;
  size_t position_ = 0;
  int64_t line_ = 1;
};

}  // namespace

absl::Status ReadCsv(const std::string& path, char delimiter, const CsvRowCallback& on_row) {
  LANISTA_ASSIGN_OR_RETURN(InputFile file, InputFile::Open(path));
  LANISTA_ASSIGN_OR_RETURN(const std::string text, file.ReadAll());
  return ParseCsv(path, text, delimiter, on_row);
}

absl::Status ParseCsv(const std::string& path, const std::string& text, char delimiter, const CsvRowCallback& on_row) {
  return Parser(path, text, delimiter).Parse(on_row);
}

std::string ShortField(absl::string_view field) {
  constexpr size_t kLongest = 60;
  return field.size() <= kLongest ? std::string(field) : absl::StrCat(field.substr(0, kLongest), "...");
}

}  // namespace lanista::data

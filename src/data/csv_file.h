// Reads tables as text: fields, delimiters, lines, quotes (RFC 4180).
#ifndef LANISTA_SRC_DATA_CSV_FILE_H_
#define LANISTA_SRC_DATA_CSV_FILE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace lanista::data {

// Called for each row, with the line on which it begins (from 1). May move the fields out.
using CsvRowCallback = std::function<absl::Status(int64_t line, std::vector<std::string>& fields)>;

// Reads the file at `path` (plain or gzip) and calls `on_row` for its rows in order. Skips empty lines and a byte order
// mark. Lines end in LF or CRLF; a field in double quotes may contain delimiters, line breaks and doubled quotes. Stops
// at the callback's first error and returns it. INVALID_ARGUMENT names file and line of a quote that never closes, or
// of text after a closing quote.
absl::Status ReadCsv(const std::string& path, char delimiter, const CsvRowCallback& on_row);

// The same of a text that was read from `path`.
absl::Status ParseCsv(const std::string& path, const std::string& text, char delimiter, const CsvRowCallback& on_row);

// A field for a message, which need not hold a whole file: a long one is cut, and ends in "...".
std::string ShortField(absl::string_view field);

}  // namespace lanista::data

#endif  // LANISTA_SRC_DATA_CSV_FILE_H_

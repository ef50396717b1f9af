// The formats of exports (protos/export_formats.proto): what a model must have to be exported, the files that an export
// writes, and which files of an earlier one it may replace.
#ifndef LANISTA_SRC_EXPORTERS_COMMON_FORMATS_H_
#define LANISTA_SRC_EXPORTERS_COMMON_FORMATS_H_

#include <initializer_list>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "protos/export_formats.pb.h"

namespace lanista::exporters {

// An entry of the table in protos/export_formats.proto.
struct Format {
  // "python"
  std::string name;
  v1::ExportFormat rules;

  // Whether an export writes a file with this suffix.
  bool Writes(absl::string_view suffix) const;
};

// All of them. Any thread may call it.
const std::vector<Format>& Formats();

// nullptr: there is none of this name.
const Format* FindFormat(absl::string_view name);

// "sample", "trained_weights", "graph".
std::string NeedsName(v1::ExportFormat::Needs needs);

// "json, weights": the formats that need one of these.
std::string FormatNames(std::initializer_list<v1::ExportFormat::Needs> needs = {
                            v1::ExportFormat::SAMPLE, v1::ExportFormat::TRAINED_WEIGHTS, v1::ExportFormat::GRAPH});

// OK if the files that the format writes at `stem` do not exist, or are an earlier export of that format as far as
// their names and first bytes tell; also where there is no such format. FAILED_PRECONDITION names the file that is
// something else (STEM.py may be the one in which the user wrote the network). `cpp` and `weights` write the same
// STEM.weights.pt, and replace each other's.
absl::Status CheckReplaceable(absl::string_view format, const std::string& stem);

}  // namespace lanista::exporters

#endif  // LANISTA_SRC_EXPORTERS_COMMON_FORMATS_H_

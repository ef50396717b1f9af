// The formats of exports: what a model must have to be exported, the files that an export writes, and which files of an
// earlier one it may replace.
//
// A format is an entry of the list in formats.cc, and a writer: in src/exporters/graph_formats_torch.cc where it is
// made from a graph, in src/exporters/results/exporter.cc otherwise.
#ifndef LANISTA_SRC_EXPORTERS_COMMON_FORMATS_H_
#define LANISTA_SRC_EXPORTERS_COMMON_FORMATS_H_

#include <initializer_list>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace lanista::exporters {

// A file of an export: STEM and a suffix.
struct FormatFile {
  // ".weights.pt"
  std::string suffix;
  // What its first bytes contain, and no file that another program wrote.
  std::string mark;
  // Formats share names: STEM.pt is the weights of STEM.py (python), or a whole model (torchscript). Not empty: the
  // file belongs to the one with this suffix, and is none of an export where that one does not exist.
  std::string belongs_to = "";
  // Not empty: where a file with this suffix exists, the file belongs to that one, and is none of this format's.
  std::string not_beside = "";
};

struct Format {
  enum class Needs { kSample, kTrainedWeights, kGraph };

  // "python"
  std::string name;
  Needs needs;
  std::vector<FormatFile> files;

  // Whether an export writes a file with this suffix.
  bool Writes(absl::string_view suffix) const;
};

// All of them. Any thread may call it.
const std::vector<Format>& Formats();

// nullptr: there is none of this name.
const Format* FindFormat(absl::string_view name);

// "sample", "trained_weights" or "graph".
std::string NeedsName(Format::Needs needs);

// "json, weights": the formats that need one of these.
std::string FormatNames(std::initializer_list<Format::Needs> needs = {
                            Format::Needs::kSample, Format::Needs::kTrainedWeights, Format::Needs::kGraph});

// OK if the files that the format writes at `stem` do not exist, or are an earlier export of that format as far as
// their names and first bytes tell; also where there is no such format. FAILED_PRECONDITION names the file that is
// something else (STEM.py may be the one in which the user wrote the network). `cpp` and `weights` write the same
// STEM.weights.pt, and replace each other's.
absl::Status CheckReplaceable(absl::string_view format, const std::string& stem);

}  // namespace lanista::exporters

#endif  // LANISTA_SRC_EXPORTERS_COMMON_FORMATS_H_

// Which files an export may replace: those of an earlier export of the same format.
//
// Formats share file names: STEM.pt is the weights of STEM.py (python) or a whole model (torchscript). And STEM.py may
// be the file in which the user wrote the network.
#ifndef LANISTA_SRC_EXPORTERS_COMMON_REPLACEABLE_H_
#define LANISTA_SRC_EXPORTERS_COMMON_REPLACEABLE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace lanista::exporters {

// OK if the files that `format` (python, cpp, torchscript, onnx, weights, json) writes at `stem` do not exist, or are
// an earlier export of that format as far as their names and first bytes tell. FAILED_PRECONDITION names the file that
// is something else: `cpp` and `weights` write the same STEM.weights.pt, and replace each other's.
absl::Status CheckReplaceable(const std::string& format, const std::string& stem);

// Whether an export in the format writes STEM and this suffix (".weights.pt"): the files that CheckReplaceable looks
// at.
bool IsSuffixOf(const std::string& format, absl::string_view suffix);

}  // namespace lanista::exporters

#endif  // LANISTA_SRC_EXPORTERS_COMMON_REPLACEABLE_H_

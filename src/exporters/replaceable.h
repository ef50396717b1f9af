// Which files an export may replace: those of an earlier export of the same format.
//
// Formats share names: STEM.pt is the weights of STEM.py (python) or a whole model (torchscript). And a STEM.py may be
// what the user wrote the network in.
#ifndef LANISTA_SRC_EXPORTERS_REPLACEABLE_H_
#define LANISTA_SRC_EXPORTERS_REPLACEABLE_H_

#include <string>

#include "absl/status/status.h"

namespace lanista::exporters {

// OK if the files that `format` (python, cpp, torchscript, onnx) writes at `stem` are not there, or are an earlier
// export's of that format. FAILED_PRECONDITION names the file that is something else.
absl::Status CheckReplaceable(const std::string& format, const std::string& stem);

}  // namespace lanista::exporters

#endif  // LANISTA_SRC_EXPORTERS_REPLACEABLE_H_

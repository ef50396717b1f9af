// A model as a Python file that needs torch only.
#ifndef LANISTA_SRC_EXPORTERS_PYTHON_SOURCE_H_
#define LANISTA_SRC_EXPORTERS_PYTHON_SOURCE_H_

#include <string>

#include "absl/status/statusor.h"
#include "src/exporters/common/source_model.h"

namespace lanista::exporters {

// The source: a torch.nn class `Model` (constructor without arguments; the keys of its state_dict are the names of
// model.tensors) and one class for each cell graph. It contains opaque modules as text. UNIMPLEMENTED and
// INVALID_ARGUMENT name the node that Python cannot express.
absl::StatusOr<std::string> PythonSource(const SourceModel& model);

}  // namespace lanista::exporters

#endif  // LANISTA_SRC_EXPORTERS_PYTHON_SOURCE_H_

// A model as a C++ header that needs LibTorch only.
#ifndef LANISTA_SRC_EXPORTERS_CPP_SOURCE_H_
#define LANISTA_SRC_EXPORTERS_CPP_SOURCE_H_

#include <string>

#include "absl/status/statusor.h"
#include "src/exporters/common/source_model.h"

namespace lanista::exporters {

// The header: `class Model : public torch::nn::Module` (constructor without arguments, `forward`, `load_weights`; its
// parameters have the names of model.tensors), and one class for each cell graph. It contains opaque modules as bytes.
// UNIMPLEMENTED and INVALID_ARGUMENT name the node that C++ cannot express.
absl::StatusOr<std::string> CppSource(const SourceModel& model);

}  // namespace lanista::exporters

#endif  // LANISTA_SRC_EXPORTERS_CPP_SOURCE_H_

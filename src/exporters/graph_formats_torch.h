// Writes a model as source code, TorchScript or ONNX: files that need no Lanista.
#ifndef LANISTA_SRC_EXPORTERS_GRAPH_FORMATS_TORCH_H_
#define LANISTA_SRC_EXPORTERS_GRAPH_FORMATS_TORCH_H_

#include <ATen/core/Tensor.h>

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "protos/space.pb.h"

namespace lanista::runtime {
class GraphModule;
}  // namespace lanista::runtime

namespace lanista::exporters {

// Writes `module`, with its current weights, to `out_stem` + the suffixes of the format, and returns the files' paths,
// the file with the model first. Replaces only files that CheckReplaceable accepts, and neither `inputs` nor the
// archives of the module's graph:
//
//   python        STEM.py (class Model) and STEM.pt (a state_dict)
//   cpp           STEM.h (class Model) and STEM.weights.pt (a state_dict)
//   torchscript   STEM.pt
//   onnx          STEM.onnx, in evaluation mode
//
// `examples` are inputs as the model gets them, with any batch size: they give the types that the graph leaves open,
// which ONNX needs. `data` describes the training data, if it is known: then source code has a function `predict` for
// raw samples, and ONNX the metadata "lanista.data" (DataJson).
//
// The files appear when all of them are complete; after an error the earlier files are still there. UNIMPLEMENTED or
// INVALID_ARGUMENT names the node that the format cannot express; INVALID_ARGUMENT also for an unknown format. Other
// errors are those of OutputFiles.
absl::StatusOr<std::vector<std::string>> WriteModel(const runtime::GraphModule& module, const std::string& format,
                                                    const std::string& out_stem,
                                                    const std::vector<at::Tensor>& examples = {},
                                                    std::vector<std::string> inputs = {},
                                                    const std::optional<v1::DataSpec>& data = std::nullopt);

}  // namespace lanista::exporters

#endif  // LANISTA_SRC_EXPORTERS_GRAPH_FORMATS_TORCH_H_

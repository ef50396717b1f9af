// The contents of a GraphModule, for the writers: its tensors, its opaque modules, LibTorch's schemas.
#ifndef LANISTA_SRC_EXPORTERS_MODEL_FILES_TORCH_H_
#define LANISTA_SRC_EXPORTERS_MODEL_FILES_TORCH_H_

#include <ATen/core/Tensor.h>
#include <torch/csrc/jit/api/module.h>

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "src/exporters/common/source_model.h"
#include "src/runtime/graph_module_torch.h"

namespace lanista::exporters {

// Parameters and buffers by name, detached, on the CPU, each with a storage of exactly its size. They share memory with
// the module's tensors if possible.
std::map<std::string, at::Tensor> TensorsOf(const runtime::GraphModule& module);

// A copy of an opaque module with the model's weights: those of `tensors` below `path`.
absl::StatusOr<torch::jit::Module> OpaqueWithWeights(const v1::ModelGraph& graph, const v1::OpaqueModule& opaque,
                                                     const std::string& path,
                                                     const std::map<std::string, at::Tensor>& tensors);

// `examples`: inputs as the model gets them; they give the types that the graph leaves open, except for the batch size.
// `with_archives`: includes the bytes of opaque modules.
absl::StatusOr<SourceModel> ToSourceModel(const runtime::GraphModule& module,
                                          const std::map<std::string, at::Tensor>& tensors,
                                          const std::vector<at::Tensor>& examples, const std::string& name,
                                          bool with_archives);

}  // namespace lanista::exporters

#endif  // LANISTA_SRC_EXPORTERS_MODEL_FILES_TORCH_H_

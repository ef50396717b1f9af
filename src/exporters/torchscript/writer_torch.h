// A model as a TorchScript module.
#ifndef LANISTA_SRC_EXPORTERS_TORCHSCRIPT_WRITER_TORCH_H_
#define LANISTA_SRC_EXPORTERS_TORCHSCRIPT_WRITER_TORCH_H_

#include <ATen/core/Tensor.h>
#include <torch/csrc/jit/api/module.h>

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "src/exporters/common/source_model.h"
#include "src/exporters/torchscript/modules_torch.h"

namespace lanista::exporters {

// The module, with the model's module tree, its names and torch.nn's classes. It is in evaluation mode; train() and
// eval() switch it. It shares the memory of `tensors` (the state_dict). UNIMPLEMENTED and INVALID_ARGUMENT name the
// node that TorchScript cannot express. May throw c10::Error as LibTorch does.
absl::StatusOr<torch::jit::Module> ToTorchScript(const SourceModel& model,
                                                 const std::map<std::string, at::Tensor>& tensors,
                                                 OpaqueLoader load_opaque);

}  // namespace lanista::exporters

#endif  // LANISTA_SRC_EXPORTERS_TORCHSCRIPT_WRITER_TORCH_H_

// Weights in PyTorch's own file format.
#ifndef LANISTA_SRC_OPS_STATE_DICT_TORCH_H_
#define LANISTA_SRC_OPS_STATE_DICT_TORCH_H_

#include <torch/types.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "src/base/output_files.h"

namespace lanista::ops {

// Names and tensors, in the order of the file.
using StateDict = std::vector<std::pair<std::string, torch::Tensor>>;

// Writes a file as torch.save(state_dict) does: torch.load(path, weights_only=True) takes it, and so does
// torch::pickle_load. (torch::pickle_save tags its dictionaries in a way that weights_only refuses.) Tensors are
// written from the CPU. INVALID_ARGUMENT: a tensor's type cannot be written. Errors of writing: those of OutputFiles.
absl::Status WriteStateDict(const std::string& path, const StateDict& tensors);

// The same as one of several files; errors of writing come with OutputFiles::Commit.
absl::Status WriteStateDict(OutputFile* file, const StateDict& tensors);

// Reads such a file, or one of torch.save's. INVALID_ARGUMENT: it is something else.
absl::StatusOr<StateDict> ReadStateDict(const std::string& path);

}  // namespace lanista::ops

#endif  // LANISTA_SRC_OPS_STATE_DICT_TORCH_H_

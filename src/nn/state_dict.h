// Weights in PyTorch's own file format: what a trial keeps, and what `export --format weights` writes.
#ifndef LANISTA_SRC_NN_STATE_DICT_H_
#define LANISTA_SRC_NN_STATE_DICT_H_

#include <torch/nn/module.h>
#include <torch/types.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "src/base/output_files.h"

namespace lanista::nn {

// Names and tensors, in the order of the file.
using StateDict = std::vector<std::pair<std::string, torch::Tensor>>;

// Writes a file as torch.save(state_dict) does: torch.load(path, weights_only=True) takes it, and so does
// torch::pickle_load. (torch::pickle_save tags its dictionaries in a way that weights_only refuses.) Over what is
// there; tensors are written from the CPU. INVALID_ARGUMENT: a tensor's
// type cannot be written. Errors of writing: those of OutputFiles.
absl::Status WriteStateDict(const std::string& path, const StateDict& tensors);

// The same as one of several files; errors of writing come with OutputFiles::Commit.
absl::Status WriteStateDict(OutputFile* file, const StateDict& tensors);

// Reads such a file, or one of torch.save's. INVALID_ARGUMENT: it is something else.
absl::StatusOr<StateDict> ReadStateDict(const std::string& path);

// All parameters, then all buffers, of `module` and those below it.
StateDict StateDictOf(const torch::nn::Module& module);

// Reads such a file into `module`. INVALID_ARGUMENT names all entries that the file or the module lacks, or that have
// another shape; nothing is changed then.
absl::Status LoadStateDict(torch::nn::Module& module, const std::string& path);

// The same for users' own code: throws std::runtime_error.
//
//   auto net = nn::BuildFixed<Net>(json);
//   nn::LoadWeights(*net, "1-model-17.weights.pt");
//   net->eval();
void LoadWeights(torch::nn::Module& module, const std::string& path);

}  // namespace lanista::nn

#endif  // LANISTA_SRC_NN_STATE_DICT_H_

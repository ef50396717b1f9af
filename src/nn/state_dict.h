// Weights in PyTorch's own file format, which trials keep and `export --format weights` writes.
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

// Names and tensors in the order of the file.
using StateDict = std::vector<std::pair<std::string, torch::Tensor>>;

// Writes a file like torch.save(state_dict): torch.load(path, weights_only=True) and torch::pickle_load read it.
// (torch::pickle_save tags its dictionaries in a way that weights_only refuses.) Replaces an existing file. All tensors
// are saved as CPU tensors. INVALID_ARGUMENT: a tensor's dtype cannot be written. Errors of writing are those of
// OutputFiles.
absl::Status WriteStateDict(const std::string& path, const StateDict& tensors);

// The same as one of several files; OutputFiles::Commit returns the errors of writing.
absl::Status WriteStateDict(OutputFile* file, const StateDict& tensors);

// Reads such a file, or one that torch.save wrote. INVALID_ARGUMENT: the file is something else.
absl::StatusOr<StateDict> ReadStateDict(const std::string& path);

// All parameters, then all buffers, of `module` and its submodules. The tensors share memory with the module's.
StateDict StateDictOf(const torch::nn::Module& module);

// Copies the weights of such a file into `module`. INVALID_ARGUMENT names all entries that the file or the module
// lacks, or that differ in shape; then the module is not changed.
absl::Status LoadStateDict(torch::nn::Module& module, const std::string& path);

// The same for users' code: errors are thrown as std::runtime_error.
//
//   auto net = nn::BuildFixed<Net>(json);
//   nn::LoadWeights(*net, "1-model-17.weights.pt");
//   net->eval();
void LoadWeights(torch::nn::Module& module, const std::string& path);

}  // namespace lanista::nn

#endif  // LANISTA_SRC_NN_STATE_DICT_H_

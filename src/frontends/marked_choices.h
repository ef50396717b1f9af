// The choices that clients/python/lanista/nn.py marks in a file: the graph must have all of them.
#ifndef LANISTA_SRC_FRONTENDS_MARKED_CHOICES_H_
#define LANISTA_SRC_FRONTENDS_MARKED_CHOICES_H_

#include <torch/csrc/jit/api/module.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "nlohmann/json_fwd.hpp"
#include "protos/graph.pb.h"

namespace lanista::frontends {

// Thrown if a choice that is marked in the file cannot become a choice of the graph: the model must not be imported
// without it.
struct LostChoice : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// A choice with more than one option.
struct MarkedChoice {
  std::string label;
  // Path of the module that carries the mark.
  std::string path;
};

// Whether the module is a primitive of lanista.nn (LayerChoice, Repeat, ...).
bool IsPrimitive(const torch::jit::Module& module);

// Reads an attribute that the primitives always have. Throws LostChoice if it is missing or has another type.
std::string StringAttribute(const torch::jit::Module& module, const std::string& path, const std::string& name);
std::vector<std::string> StringsAttribute(const torch::jit::Module& module, const std::string& path,
                                          const std::string& name);

// The JSON that the Python module wrote into `lanista_choices`: an object with the list `value_choices`. Throws
// LostChoice.
nlohmann::json ChoicesOf(const torch::jit::Module& module, const std::string& path);

// All marked choices of the module, whose path is `path`, and of its submodules. Throws LostChoice if one cannot be
// read.
std::vector<MarkedChoice> FindMarkedChoices(const torch::jit::Module& module, const std::string& path);

// Throws LostChoice if a module that is kept whole for `reason` ("has a loop") contains choices.
void RequireNoChoices(const torch::jit::Module& module, const std::string& path, const std::string& reason);

// Throws LostChoice if `model`, which was read from `module`, lacks one of the module's choices.
void RequireAllChoices(const torch::jit::Module& module, const v1::ModelGraph& model);

// Renumbers automatic labels ("auto:value_17"), whose numbers count within a Python process: in the model they become
// "value_1", "value_2", ..., in the same order. Labels given by users do not change.
void NumberAutomaticLabels(v1::ModelGraph* model);

// "[1, 2]".
std::string DescribeCandidates(const v1::ValueChoice& choice);

}  // namespace lanista::frontends

#endif  // LANISTA_SRC_FRONTENDS_MARKED_CHOICES_H_

// The choices that clients/python/lanista/nn.py marks in a file: none of them may get lost on the way to a graph.
#ifndef LANISTA_SRC_FRONTENDS_MARKED_CHOICES_H_
#define LANISTA_SRC_FRONTENDS_MARKED_CHOICES_H_

#include <torch/script.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "nlohmann/json_fwd.hpp"
#include "protos/graph.pb.h"

namespace lanista::frontends {

// Thrown where a choice that is marked in the file cannot be a choice of the graph: the model must not be imported
// without it.
struct LostChoice : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// A choice with more than one option.
struct MarkedChoice {
  std::string label;
  // Of the module that carries it.
  std::string path;
};

// Whether the module is a primitive of lanista.nn (LayerChoice, Repeat, ...).
bool IsPrimitive(const torch::jit::Module& module);

// Attributes that the primitives always have. Throw LostChoice where they are missing or of another type.
std::string StringAttribute(const torch::jit::Module& module, const std::string& path, const std::string& name);
std::vector<std::string> StringsAttribute(const torch::jit::Module& module, const std::string& path,
                                          const std::string& name);

// What the Python module wrote into `lanista_choices`: an object that has the list `value_choices`. Throws LostChoice.
nlohmann::json ChoicesOf(const torch::jit::Module& module, const std::string& path);

// All marks in the module, whose path is `path`, and below. Throws LostChoice where one cannot be read.
std::vector<MarkedChoice> FindMarkedChoices(const torch::jit::Module& module, const std::string& path);

// Throws LostChoice where a module that is kept whole for `reason` ("has a loop") has choices.
void RequireNoChoices(const torch::jit::Module& module, const std::string& path, const std::string& reason);

// Throws LostChoice where `model`, which was read from `module`, lacks one of its choices.
void RequireAllChoices(const torch::jit::Module& module, const v1::ModelGraph& model);

// Gives automatic labels ("auto:value_17"), which count in a Python process, the numbers that they have in the model:
// "value_1", "value_2", ..., in the same order. Labels of the user's keep theirs.
void NumberAutomaticLabels(v1::ModelGraph* model);

// "[1, 2]".
std::string DescribeCandidates(const v1::ValueChoice& choice);

}  // namespace lanista::frontends

#endif  // LANISTA_SRC_FRONTENDS_MARKED_CHOICES_H_

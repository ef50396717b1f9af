// TorchScript files that make_models.py writes, and what becomes of them.
#ifndef LANISTA_TESTS_FRONTENDS_IMPORTED_MODEL_H_
#define LANISTA_TESTS_FRONTENDS_IMPORTED_MODEL_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "protos/graph.pb.h"

namespace lanista {

// Runs make_models.py, once a process and `what` ("" or "torchvision"). The folder with its files; empty if there is no
// Python with torch.
std::string ModelFolder(const std::string& what = "");

// Imports NAME.pt of the folder.
absl::StatusOr<v1::ModelGraph> Import(const std::string& name, const std::vector<std::vector<int64_t>>& shapes = {},
                                      const std::vector<std::string>& basic_units = {}, const std::string& what = "");

// A graph as text: "name = Type(input, input.1 as other) key=value", a line a node. `graph`: empty for the root.
std::string Print(const v1::ModelGraph& model, const std::string& graph = "");

// How often each operator runs, cells looked into: "Conv2d=2 Linear=2"; opaque modules as "opaque:Class".
std::string CountTypes(const v1::ModelGraph& model);

// Empty if the model, with its imported weights, gives just what the file gives, in evaluation and in training mode,
// and the same gradients of the parameters; else what differs. Weights stay as they are.
std::string CompareWithFile(const v1::ModelGraph& model, const std::vector<std::vector<int64_t>>& shapes);

// What the model says when it runs on inputs of these shapes; empty: nothing.
std::string RunError(const v1::ModelGraph& model, const std::vector<std::vector<int64_t>>& shapes);

}  // namespace lanista

#endif  // LANISTA_TESTS_FRONTENDS_IMPORTED_MODEL_H_

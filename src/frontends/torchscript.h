// Reads TorchScript files as graphs.
#ifndef LANISTA_SRC_FRONTENDS_TORCHSCRIPT_H_
#define LANISTA_SRC_FRONTENDS_TORCHSCRIPT_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "protos/experiment.pb.h"
#include "protos/graph.pb.h"

namespace lanista::runtime {
class Archive;
}

namespace lanista::frontends {

// Reads the module saved in `config.path` (torch.jit.script(net).save(path)) as a graph. torch.nn modules become
// operators with attributes, other modules cells, calls of functions and aten operators nodes, constants attributes.
// Branches that constants decide are resolved; a branch on `training` becomes a training switch; a branch that only
// raises becomes an assertion. A module with any other branch or a loop that data decides, or one named in
// `basic_unit`, becomes one opaque node, and a warning gives the reason. With `input_shape`, types are inferred.
// Weights stay in the file: nodes refer to them (WeightSource).
//
// INVALID_ARGUMENT: the file is truncated, hostile, no TorchScript, of a newer format, was traced or has no forward
// (the error says which, and what to do), or it uses a refused operator. NOT_FOUND: no such file. LibTorch's reader may
// crash on a hostile file: call this in a trial process only. `archive` receives the open file, for callers that go on
// using it.
absl::StatusOr<v1::ModelGraph> ImportTorchScript(const v1::TorchScriptConfig& config,
                                                 std::shared_ptr<const runtime::Archive>* archive = nullptr);

}  // namespace lanista::frontends

#endif  // LANISTA_SRC_FRONTENDS_TORCHSCRIPT_H_

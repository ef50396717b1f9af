// Searches through a whole module tree or a whole model.
#ifndef LANISTA_SRC_FRONTENDS_MODULE_SCAN_H_
#define LANISTA_SRC_FRONTENDS_MODULE_SCAN_H_

#include <torch/csrc/jit/api/module.h>

#include <map>
#include <set>
#include <string>

#include "protos/graph.pb.h"

namespace lanista::frontends {

// Paths of the modules that hold parameters or buffers which share memory with each other: separate nodes could not
// share it. The empty path stands for the whole model. The values are messages: "uses one parameter as 'a.weight' and
// 'b.weight'".
std::map<std::string, std::string> FindSharedMemory(const torch::jit::Module& module);

// Paths of the modules in which weights belong to two nodes (`linear`, and `linear.weight` by itself): two nodes cannot
// share them. `owners`: the path of a module or parameter -> the outermost module that has a node for it.
std::set<std::string> FindDoubleUse(const v1::ModelGraph& model, const std::map<std::string, std::string>& owners);

// Whether a method of the module or of its submodules may change a list, perhaps one of its arguments.
bool ChangesLists(const torch::jit::Module& module);

}  // namespace lanista::frontends

#endif  // LANISTA_SRC_FRONTENDS_MODULE_SCAN_H_

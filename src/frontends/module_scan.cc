#include "src/frontends/module_scan.h"

#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/ir/ir.h>

#include <algorithm>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace lanista::frontends {
namespace {

namespace jit = torch::jit;

std::string CommonModule(const std::string& a, const std::string& b) {
  size_t common = 0;
  for (size_t i = 0; i < std::min(a.size(), b.size()) && a[i] == b[i]; ++i) {
    if (a[i] == '.') common = i;
  }
  return a.substr(0, common);
}

bool ChangesLists(const jit::Block* block) {
  for (const jit::Node* const node : block->nodes()) {
    const c10::FunctionSchema* const schema = node->maybeSchema();
    for (size_t i = 0; schema != nullptr && i < schema->arguments().size() && i < node->inputs().size(); ++i) {
      const c10::TypeKind kind = node->input(i)->type()->kind();
      const auto* const alias = schema->arguments()[i].alias_info();
      if (alias != nullptr && alias->isWrite() &&
          (kind == c10::TypeKind::ListType || kind == c10::TypeKind::DictType)) {
        return true;
      }
    }
    if (node->kind() == c10::prim::CallFunction) {
      const auto type = node->input(0)->type()->cast<c10::FunctionType>();
      auto* const function = type == nullptr ? nullptr : jit::tryToGraphFunction(*type->function());
      if (function == nullptr || ChangesLists(function->graph()->block())) return true;
    }
    // Methods of modules are checked one by one; methods of other classes may change anything.
    if (node->kind() == c10::prim::CallMethod && !node->input(0)->type()->is_module()) return true;
    for (const jit::Block* const inner : node->blocks()) {
      if (ChangesLists(inner)) return true;
    }
  }
  return false;
}

// The paths of the weights of a node, and of its candidates.
void CollectHolders(const v1::Node& node, std::vector<std::string>* paths) {
  if (node.has_weights()) paths->push_back(node.weights().path());
  if (node.has_opaque()) paths->push_back(node.opaque().path());
  for (const v1::Node& candidate : node.layer_choice().candidates()) CollectHolders(candidate, paths);
  for (const v1::Node& block : node.repeat().blocks()) CollectHolders(block, paths);
}

std::string ParentOf(const std::string& path) {
  const size_t dot = path.rfind('.');
  return dot == std::string::npos ? "" : path.substr(0, dot);
}

bool HasForward(const jit::Module& root, const std::string& path) {
  for (const auto& entry : root.named_modules()) {
    if (entry.name == path) return entry.value.find_method("forward").has_value();
  }
  return false;
}

}  // namespace

std::map<std::string, std::string> FindSharedMemory(const jit::Module& module) {
  struct Range {
    uintptr_t begin, end;
    std::string path;
  };
  std::map<std::string, std::string> sharing;
  std::vector<Range> ranges;
  const auto add = [&](const std::string& path, const at::Tensor& tensor) {
    if (!tensor.defined() || tensor.layout() != at::kStrided || tensor.numel() == 0) return;
    const auto begin = reinterpret_cast<uintptr_t>(tensor.data_ptr());
    ranges.push_back({begin, begin + tensor.nbytes(), path});
  };
  for (const auto& parameter : module.named_parameters()) add(parameter.name, parameter.value);
  for (const auto& buffer : module.named_buffers()) add(buffer.name, buffer.value);
  std::sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) { return a.begin < b.begin; });
  for (size_t i = 1; i < ranges.size(); ++i) {
    // One range may overlap several later ones; it is enough to remember the one that ends last.
    if (ranges[i].begin < ranges[i - 1].end) {
      std::string path = CommonModule(ranges[i - 1].path, ranges[i].path);
      // A list of modules is never called itself.
      while (!path.empty() && !HasForward(module, path)) path = ParentOf(path);
      sharing.emplace(path,
                      absl::StrCat("uses one parameter as '", ranges[i - 1].path, "' and '", ranges[i].path, "'"));
    }
    if (ranges[i].end < ranges[i - 1].end) ranges[i] = {ranges[i].begin, ranges[i - 1].end, ranges[i - 1].path};
  }
  return sharing;
}

std::set<std::string> FindDoubleUse(const v1::ModelGraph& model, const std::map<std::string, std::string>& owners) {
  std::vector<std::string> paths;
  for (const v1::Graph& graph : model.graphs()) {
    for (const v1::Node& node : graph.nodes()) CollectHolders(node, &paths);
  }
  // With the dot at the end, sorting puts everything below a path directly after the path.
  for (std::string& path : paths) path += '.';
  std::sort(paths.begin(), paths.end());
  paths.erase(std::unique(paths.begin(), paths.end()), paths.end());
  std::set<std::string> result;
  for (size_t i = 1, above = 0; i < paths.size(); ++i) {
    if (paths[above] == "." || !absl::StartsWith(paths[i], paths[above])) {
      above = i;
      continue;
    }
    // Both owners are above the lower path, so the shorter one is the outer module.
    const std::string& a = owners.at(paths[above].substr(0, paths[above].size() - 1));
    const std::string& b = owners.at(paths[i].substr(0, paths[i].size() - 1));
    result.insert(a.size() < b.size() ? a : b);
  }
  return result;
}

bool ChangesLists(const jit::Module& module) {
  for (const jit::Module& one : module.modules()) {
    for (jit::Function* const method : one.type()->methods()) {
      auto* const function = jit::tryToGraphFunction(*method);
      if (function == nullptr || ChangesLists(function->graph()->block())) return true;
    }
  }
  return false;
}

}  // namespace lanista::frontends

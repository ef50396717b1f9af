#include "tests/frontends/imported_model.h"

#include <ATen/ATen.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/runtime/graph_executor.h>
#include <torch/csrc/jit/serialization/import.h>

#include <cstdlib>
#include <filesystem>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gtest/gtest.h"
#include "src/frontends/torchscript.h"
#include "src/graph/graph.h"
#include "src/runtime/graph_module_torch.h"

namespace lanista {
namespace {

using c10::IValue;

// Debian's Python: another one on the path may have no torch.
constexpr char kPython[] = "/usr/bin/python3";

std::string Print(const v1::Value& value) {
  switch (value.kind_case()) {
    case v1::Value::kI:
      return absl::StrCat(value.i());
    case v1::Value::kF:
      return absl::StrCat(value.f());
    case v1::Value::kB:
      return value.b() ? "true" : "false";
    case v1::Value::kS:
      return absl::StrCat("'", value.s(), "'");
    case v1::Value::kList:
      return absl::StrCat("[",
                          absl::StrJoin(value.list().values(), ", ",
                                        [](std::string* out, const v1::Value& v) { out->append(Print(v)); }),
                          "]");
    case v1::Value::kTensor:
      return "tensor";
    case v1::Value::kExpression:
      return absl::StrCat("choice(", value.expression().choice(), ")");
    default:
      return "none";
  }
}

std::string Print(const v1::Edge& edge) {
  return absl::StrCat(edge.node(), edge.slot() > 0 ? absl::StrCat(".", edge.slot()) : "",
                      edge.arg().empty() || edge.arg() == "self" ? "" : absl::StrCat(" as ", edge.arg()));
}

std::string KindOf(const v1::Node& node) {
  switch (node.kind_case()) {
    case v1::Node::kOp:
      return node.op().type();
    case v1::Node::kCell:
      return absl::StrCat("cell ", node.cell().graph());
    case v1::Node::kOpaque:
      return absl::StrCat("opaque:", node.opaque().type());
    case v1::Node::kTrainingSwitch:
      return absl::StrCat("switch ", node.training_switch().training(), "/", node.training_switch().evaluation());
    default:
      return "choice";
  }
}

// All tensors in a value.
void Flatten(const IValue& value, std::vector<at::Tensor>* tensors) {
  if (value.isTensor()) {
    tensors->push_back(value.toTensor());
  } else if (value.isTuple()) {
    for (const IValue& element : value.toTupleRef().elements()) Flatten(element, tensors);
  } else if (value.isList()) {
    for (const IValue& element : value.toListRef()) Flatten(element, tensors);
  } else if (value.isGenericDict()) {
    for (const auto& entry : value.toGenericDict()) Flatten(entry.value(), tensors);
  }
}

}  // namespace

std::string ModelFolder(const std::string& what) {
  static auto* const folders = new std::map<std::string, std::string>;
  const auto [entry, is_new] = folders->emplace(what, "");
  if (!is_new) return entry->second;
  if (std::system(absl::StrCat(kPython, " -c 'import torch' 2>/dev/null").c_str()) != 0) return "";
  const std::string folder = absl::StrCat(testing::TempDir(), "/models_", what);
  std::filesystem::create_directories(folder);
  const std::string argument = what.empty() ? std::filesystem::absolute("clients/python").string() : what;
  const std::string command = absl::StrCat(kPython, " tests/frontends/make_models.py ", folder, " ", argument);
  if (std::system(command.c_str()) != 0) std::abort();
  return entry->second = folder;
}

absl::StatusOr<v1::ModelGraph> Import(const std::string& name, const std::vector<std::vector<int64_t>>& shapes,
                                      const std::vector<std::string>& basic_units, const std::string& what) {
  v1::TorchScriptConfig config;
  config.set_path(absl::StrCat(ModelFolder(what), "/", name, ".pt"));
  for (const auto& shape : shapes) {
    v1::Shape* const added = config.add_input_shape();
    for (const int64_t dim : shape) added->add_dims(dim);
  }
  for (const std::string& unit : basic_units) config.add_basic_unit(unit);
  return frontends::ImportTorchScript(config);
}

std::string Print(const v1::ModelGraph& model, const std::string& name) {
  const v1::Graph* const graph = graph::FindGraph(model, name.empty() ? model.root() : name);
  if (graph == nullptr) return "no graph";
  std::string text;
  for (const v1::Node& node : graph->nodes()) {
    absl::StrAppend(
        &text, node.name(), node.module().empty() ? "" : absl::StrCat("[", node.module(), "]"), " = ", KindOf(node),
        "(",
        absl::StrJoin(node.inputs(), ", ", [](std::string* out, const v1::Edge& edge) { out->append(Print(edge)); }),
        ")", node.frozen() ? " frozen" : "");
    for (const v1::Attribute& attribute : node.op().attr()) {
      absl::StrAppend(&text, " ", attribute.key(), "=", Print(attribute.value()));
    }
    text += '\n';
  }
  absl::StrAppend(
      &text, "-> ",
      absl::StrJoin(graph->outputs(), ", ", [](std::string* out, const v1::Edge& edge) { out->append(Print(edge)); }),
      "\n");
  return text;
}

std::string CountTypes(const v1::ModelGraph& model) {
  std::map<std::string, int> counts;
  graph::VisitNodes(model, [&](const std::string&, const v1::Node& node) {
    if (node.has_op() || node.has_opaque()) ++counts[KindOf(node)];
  });
  return absl::StrJoin(counts, " ", absl::PairFormatter("="));
}

std::string CompareWithFile(const v1::ModelGraph& model, const std::vector<std::vector<int64_t>>& shapes) {
  runtime::GraphModule::Options options;
  options.weights = v1::SpaceConfig::KEEP;
  auto imported = runtime::GraphModule::Create(model, options);
  if (!imported.ok()) return imported.status().ToString();
  torch::jit::Module file = torch::jit::load(model.archives(0).path());
  // The profiling executor draws other random numbers.
  const torch::jit::GraphOptimizerEnabledGuard no_profiling(false);
  for (const bool training : {false, true}) {
    file.train(training);
    (*imported)->train(training);
    at::manual_seed(1);
    std::vector<IValue> inputs;
    for (const auto& shape : shapes) inputs.emplace_back(at::randn(shape));
    std::vector<at::Tensor> expected, actual;
    std::map<std::string, at::Tensor> gradients;
    std::string difference;
    try {
      at::manual_seed(2);
      Flatten(file.forward(inputs), &expected);
      at::manual_seed(2);
      for (const IValue& output : (*imported)->Run(inputs)) Flatten(output, &actual);
    } catch (const c10::Error& error) {
      return error.what_without_backtrace();
    }
    const std::string mode = training ? "training: " : "evaluation: ";
    if (expected.empty()) return absl::StrCat(mode, "the file gives no tensor");
    if (expected.size() != actual.size()) {
      return absl::StrCat(mode, actual.size(), " tensors instead of ", expected.size());
    }
    for (size_t i = 0; i < expected.size(); ++i) {
      if (!at::equal(expected[i], actual[i])) return absl::StrCat(mode, "output ", i, " differs");
    }
    if (!training || !expected[0].requires_grad()) continue;
    expected[0].sum().backward();
    actual[0].sum().backward();
    // A model that is one node has that node's name before those of its parameters.
    const v1::Graph& root = graph::RootGraph(model);
    const bool is_one =
        root.nodes_size() == 1 && (root.nodes(0).weights().path() + root.nodes(0).opaque().path()).empty();
    const std::string prefix = is_one ? root.nodes(0).name() + "." : "";
    for (const auto& parameter : file.named_parameters()) gradients[prefix + parameter.name] = parameter.value.grad();
    if (gradients.size() != (*imported)->named_parameters().size()) return "other parameters";
    for (const auto& parameter : (*imported)->named_parameters()) {
      const auto found = gradients.find(parameter.key());
      if (found == gradients.end()) return absl::StrCat("the file has no parameter ", parameter.key());
      const at::Tensor gradient = parameter.value().grad();
      if (gradient.defined() != found->second.defined() ||
          (gradient.defined() && !at::equal(gradient, found->second))) {
        return absl::StrCat("another gradient of ", parameter.key());
      }
    }
  }
  return "";
}

std::string RunError(const v1::ModelGraph& model, const std::vector<std::vector<int64_t>>& shapes) {
  auto imported = runtime::GraphModule::Create(model, {});
  if (!imported.ok()) return imported.status().ToString();
  std::vector<IValue> inputs;
  for (const auto& shape : shapes) inputs.emplace_back(at::randn(shape));
  try {
    (*imported)->Run(inputs);
  } catch (const c10::Error& error) {
    return error.what_without_backtrace();
  }
  return "";
}

}  // namespace lanista

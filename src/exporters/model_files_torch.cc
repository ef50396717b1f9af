#include "src/exporters/model_files_torch.h"

#include <ATen/ATen.h>

#include <memory>
#include <sstream>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/base/status.h"
#include "src/exporters/common/types_torch.h"
#include "src/graph/graph.h"
#include "src/ops/registry.h"
#include "src/runtime/archive_torch.h"
#include "src/runtime/aten_call_torch.h"

namespace lanista::exporters {
namespace {

at::Tensor Own(const at::Tensor& tensor) {
  at::Tensor own = tensor.detach().cpu().contiguous();
  // A file would contain the whole storage, so a view of a larger one (flat parameters) is copied.
  if (own.storage().nbytes() != own.nbytes()) own = own.clone();
  own.set_requires_grad(tensor.requires_grad());
  return own;
}

// A copy of the module as it is in its file.
absl::StatusOr<torch::jit::Module> CopyOpaque(const v1::ModelGraph& graph, const v1::OpaqueModule& opaque) {
  if (opaque.archive() < 0 || opaque.archive() >= graph.archives_size()) {
    return absl::InvalidArgumentError(absl::StrCat("there is no archive ", opaque.archive()));
  }
  LANISTA_ASSIGN_OR_RETURN(const std::shared_ptr<const runtime::Archive> archive,
                           runtime::Archive::Open(graph.archives(opaque.archive())));
  return archive->CopyModule(opaque.path());
}

absl::StatusOr<std::string> OpaqueBytes(const v1::ModelGraph& graph, const v1::OpaqueModule& opaque) {
  LANISTA_ASSIGN_OR_RETURN(const torch::jit::Module module, CopyOpaque(graph, opaque));
  std::ostringstream bytes;
  module.save(bytes);
  return bytes.str();
}

AtenSignature::Argument ToArgument(const c10::Argument& argument) {
  c10::TypePtr type = argument.type();
  const bool is_generic = type->hasFreeVariables();
  if (const auto optional = type->cast<c10::OptionalType>()) type = optional->getElementType();
  const bool is_list = type->kind() == c10::TypeKind::ListType;
  if (is_list) type = type->expectRef<c10::ListType>().getElementType();
  return {argument.name(), is_list, argument.kwarg_only(), type->str(), is_generic};
}

// Adds what LibTorch's schema tells: output kinds, argument names, the signature.
void Complete(v1::Node* node, std::map<std::string, AtenSignature>* signatures) {
  const std::string& type = node->op().type();
  const auto found = runtime::FindAtenOperator(type);
  if (found == nullptr) return;
  const c10::FunctionSchema& schema = found->schema();
  while (node->outputs_size() < static_cast<int>(schema.returns().size())) node->add_outputs();
  for (size_t i = 0; i < schema.returns().size(); ++i) {
    v1::ValueType* const output = node->mutable_outputs(static_cast<int>(i));
    if (output->kind() == v1::ValueType::KIND_UNSPECIFIED) *output = ToValueType(*schema.returns()[i].type());
  }
  // Edges without an argument name are counted in order.
  for (int i = 0; i < node->inputs_size() && i < static_cast<int>(schema.arguments().size()); ++i) {
    if (node->inputs(i).arg().empty())
      node->mutable_inputs(i)->set_arg(schema.arguments()[static_cast<size_t>(i)].name());
  }
  AtenSignature& signature = (*signatures)[type];
  if (!signature.arguments.empty()) return;
  for (const c10::Argument& argument : schema.arguments()) {
    signature.arguments.push_back(ToArgument(argument));
  }
}

// Gives each node as many outputs as others read of it.
void CountOutputs(v1::Graph* graph) {
  std::map<std::string, v1::Node*> nodes;
  for (v1::Node& node : *graph->mutable_nodes()) nodes[node.name()] = &node;
  const auto count = [&](const v1::Edge& edge) {
    const auto found = nodes.find(edge.node());
    while (found != nodes.end() && found->second->outputs_size() <= edge.slot()) found->second->add_outputs();
  };
  for (const v1::Node& node : graph->nodes()) {
    for (const v1::Edge& edge : node.inputs()) count(edge);
  }
  for (const v1::Edge& edge : graph->outputs()) count(edge);
}

void CompleteInputTypes(const std::vector<at::Tensor>& examples, v1::Graph* root) {
  for (int i = 0; i < root->inputs_size() && i < static_cast<int>(examples.size()); ++i) {
    v1::ValueType* const type = root->mutable_inputs(i)->mutable_type();
    if (type->has_shape()) continue;
    std::vector<int64_t> dims = examples[i].sizes().vec();
    if (!dims.empty()) dims[0] = -1;
    *type = graph::TensorType(ToDataType(examples[i].scalar_type()), dims);
  }
}

}  // namespace

std::map<std::string, at::Tensor> TensorsOf(const runtime::GraphModule& module) {
  std::map<std::string, at::Tensor> tensors;
  for (const auto& item : module.named_parameters()) tensors[item.key()] = Own(item.value());
  for (const auto& item : module.named_buffers()) tensors[item.key()] = Own(item.value());
  return tensors;
}

absl::StatusOr<torch::jit::Module> OpaqueWithWeights(const v1::ModelGraph& graph, const v1::OpaqueModule& opaque,
                                                     const std::string& path,
                                                     const std::map<std::string, at::Tensor>& tensors) {
  LANISTA_ASSIGN_OR_RETURN(torch::jit::Module module, CopyOpaque(graph, opaque));
  const at::NoGradGuard no_grad;
  const auto copy = [&](const std::string& name, at::Tensor to) {
    const auto from = tensors.find(graph::JoinPath(path, name));
    if (from != tensors.end()) to.copy_(from->second);
  };
  for (const auto& item : module.named_parameters()) {
    const auto from = tensors.find(graph::JoinPath(path, item.name));
    if (from != tensors.end()) item.value.set_requires_grad(from->second.requires_grad());
    copy(item.name, item.value.detach());
  }
  for (const auto& item : module.named_buffers()) copy(item.name, item.value);
  return module;
}

absl::StatusOr<SourceModel> ToSourceModel(const runtime::GraphModule& module,
                                          const std::map<std::string, at::Tensor>& tensors,
                                          const std::vector<at::Tensor>& examples, const std::string& name,
                                          bool with_archives) {
  SourceModel model;
  model.graph = module.graph();
  model.find_op = ops::FindOp;
  model.name = name;
  // If shapes are unknown, most types stay unknown too; then the kinds from LibTorch's schemas must do.
  v1::ModelGraph typed = model.graph;
  CompleteInputTypes(examples, graph::FindGraph(&typed, graph::RootGraph(typed).name()));
  if (graph::InferTypes(&typed, ops::FindOp).ok()) model.graph = std::move(typed);

  for (v1::Graph& graph : *model.graph.mutable_graphs()) {
    CountOutputs(&graph);
    for (v1::Node& node : *graph.mutable_nodes()) {
      if (node.has_op() && node.op().type().find("::") != std::string::npos) Complete(&node, &model.signatures);
      if (!node.has_opaque() || !with_archives) continue;
      const ArchivePlace place = PlaceOf(node.opaque());
      if (model.archives.count(place) > 0) continue;
      absl::StatusOr<std::string> bytes = OpaqueBytes(model.graph, node.opaque());
      if (!bytes.ok()) return Annotate(bytes.status(), absl::StrCat("node '", node.name(), "'"));
      model.archives[place] = *std::move(bytes);
    }
  }
  for (const auto& item : module.named_parameters()) {
    const at::Tensor& tensor = tensors.at(item.key());
    model.tensors[item.key()] = {ToDataType(tensor.scalar_type()), tensor.sizes().vec(), false, tensor.requires_grad()};
  }
  for (const auto& item : module.named_buffers()) {
    const at::Tensor& tensor = tensors.at(item.key());
    model.tensors[item.key()] = {ToDataType(tensor.scalar_type()), tensor.sizes().vec(), true, false};
  }
  return model;
}

}  // namespace lanista::exporters

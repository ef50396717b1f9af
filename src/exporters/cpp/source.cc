#include "src/exporters/cpp/source.h"

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "src/base/source_literals.h"
#include "src/base/status.h"
#include "src/exporters/common/data_source.h"
#include "src/exporters/common/module_tree.h"
#include "src/exporters/common/source_names.h"
#include "src/exporters/common/supplements.h"
#include "src/exporters/cpp/forward.h"
#include "src/exporters/cpp/operator_call.h"
#include "src/graph/built_in.h"
#include "src/graph/graph.h"

namespace lanista::exporters {
namespace {

// A module that was kept whole.
constexpr char kTorchScriptModule[] = R"(
// A TorchScript module that was kept whole; its parameters are this module's.
struct TorchScriptModule : torch::nn::Module {
  TorchScriptModule(const char* bytes, size_t size) {
    std::istringstream stream(std::string(bytes, size));
    script = torch::jit::load(stream, torch::kCPU);
    for (const auto& item : script.named_parameters()) {
      owner(item.name)->register_parameter(leaf(item.name), item.value, item.value.requires_grad());
    }
    for (const auto& item : script.named_buffers()) {
      owner(item.name)->register_buffer(leaf(item.name), item.value);
    }
  }

  torch::Tensor forward(torch::Tensor input) { return run({input}).toTensor(); }
  torch::jit::IValue run(std::vector<torch::jit::IValue> inputs) { return script.forward(std::move(inputs)); }

  void train(bool on = true) override {
    torch::nn::Module::train(on);
    script.train(on);
  }

  torch::jit::Module script;

 private:
  static std::string leaf(const std::string& name) { return name.substr(name.rfind('.') + 1); }

  // The module of ours for a parameter "cell.weight": made where it is missing.
  torch::nn::Module* owner(const std::string& name) {
    torch::nn::Module* at = this;
    size_t begin = 0;
    for (size_t dot; (dot = name.find('.', begin)) != std::string::npos; begin = dot + 1) {
      const std::string part = name.substr(begin, dot - begin);
      auto children = at->named_children();
      if (!children.contains(part)) at->register_module(part, std::make_shared<torch::nn::Module>(part));
      at = at->named_children()[part].get();
    }
    return at;
  }
};
)";

// The weights file, and the names of buffers that are not in it.
constexpr char kLoadWeights[] = R"(
  // Reads a state_dict: %s, or what Python's torch.save(dict(model.state_dict()), path) wrote.
  void load_weights(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    const std::vector<char> bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    if (bytes.empty()) throw std::runtime_error("cannot read " + path);
    const auto weights = torch::pickle_load(bytes).toGenericDict();
    const std::set<std::string> constants = {%s};
    const torch::NoGradGuard no_grad;
    const auto load = [&](const std::string& name, torch::Tensor to) {
      if (constants.count(name) > 0) return;
      if (!weights.contains(name)) throw std::runtime_error(path + " holds no '" + name + "'");
      to.copy_(weights.at(name).toTensor());
    };
    for (auto& item : named_parameters()) load(item.key(), item.value());
    for (auto& item : named_buffers()) load(item.key(), item.value());
  }
)";

// Writes the classes of a model; a class comes after the classes that it uses.
class ClassWriter {
 public:
  explicit ClassWriter(const SourceModel& model) : model_(model), class_names_(CppReserved()) {
    class_names_.Take("Model");
    class_names_.Take("Module");
    class_names_.Take("TorchScriptModule");
    for (const std::string& type : SupplementTypes()) class_names_.Take(type);
  }

  // Writes the classes of the cells, then Model.
  absl::Status Write() { return WriteClass(graph::RootGraph(model_.graph), "").status(); }

  const std::string& cells() const { return cells_; }
  const std::string& model() const { return root_; }
  // The archives that the classes use, with their names.
  const std::map<ArchivePlace, std::string>& archives() const { return archives_; }

 private:
  // A class that is being written.
  struct Class {
    // The path of its first instance.
    std::string prefix;
    NameScope names;
    // Path of a module -> name of its member.
    std::map<std::string, std::string> members;
    Lines declarations;
    // Expressions for the members and parameters that are frozen.
    std::vector<std::string> frozen;
  };

  // Returns the name of the class. Graphs with identical class bodies share one class.
  absl::StatusOr<std::string> WriteClass(const v1::Graph& graph, const std::string& prefix) {
    std::set<std::string> taken = CppReserved();
    taken.insert(CppModuleMembers().begin(), CppModuleMembers().end());
    Class current{prefix, NameScope(std::move(taken)), {}, {}, {}};
    const ModuleSlot root = ModulesOf(model_.graph, graph);
    LANISTA_RETURN_IF_ERROR(AddChildren(root, "", &current));

    CppForward forward(model_, current.members);
    std::vector<std::string> parameters;
    LANISTA_ASSIGN_OR_RETURN(const Lines body, forward.Write(graph, prefix, &parameters));
    for (int i = 0; i < graph.inputs_size(); ++i) {
      parameters[static_cast<size_t>(i)] =
          absl::StrCat(CppType(graph.inputs(i).type()), " ", parameters[static_cast<size_t>(i)]);
    }
    const bool is_root = prefix.empty();
    std::string text;
    absl::StrAppend(&text, "  ", forward.return_type(), " forward(", absl::StrJoin(parameters, ", "), ") {\n");
    for (const std::string& line : body) absl::StrAppend(&text, "    ", line, "\n");
    absl::StrAppend(&text, "  }\n");
    if (is_root) {
      absl::StrAppend(&text, absl::StrFormat(kLoadWeights, model_.name + ".weights.pt", Constants()));
    }
    if (!current.declarations.empty()) text += "\n";
    for (const std::string& line : current.declarations) {
      absl::StrAppend(&text, "  ", absl::StrReplaceAll(line, {{"\n", "\n  "}}), "\n");
    }
    absl::StrAppend(&text, "};\n");
    if (is_root) {
      root_ =
          absl::StrCat("\nclass Model : public torch::nn::Module {\n public:\n", Frozen("Model", current.frozen), text);
      return std::string("Model");
    }
    const auto [found, added] = class_of_text_.emplace(Frozen("", current.frozen) + text, "");
    if (!added) return found->second;
    found->second = class_names_.TakeClass(graph.name());
    absl::StrAppend(&cells_, "\nstruct ", found->second, " : torch::nn::Module {\n",
                    Frozen(found->second, current.frozen), text);
    return found->second;
  }

  // The constructor of class `name` that freezes these members, and the method that keeps them in evaluation mode.
  static std::string Frozen(const std::string& name, const std::vector<std::string>& frozen) {
    if (frozen.empty()) return "";
    std::string text =
        absl::StrCat("  // These parts are frozen: no gradient, and always in evaluation mode.\n  ", name, "() {\n");
    for (const std::string& member : frozen) {
      absl::StrAppend(&text, "    for (auto& parameter : ", member,
                      "->parameters()) parameter.set_requires_grad(false);\n");
    }
    absl::StrAppend(&text, "    train();\n  }\n\n  void train(bool on = true) override {\n",
                    "    torch::nn::Module::train(on);\n");
    for (const std::string& member : frozen) absl::StrAppend(&text, "    ", member, "->eval();\n");
    return text + "  }\n\n";
  }

  // The names of constant tensors: they are buffers of the class, but not in the weights file.
  std::string Constants() const {
    std::vector<std::string> names;
    graph::VisitNodes(model_.graph, [&](const std::string& path, const v1::Node& node) {
      if (graph::BuiltInOf(node) == graph::BuiltIn::kConstant && OwnsModule(node) && model_.tensors.count(path) == 0) {
        names.push_back(StringLiteral(path));
      }
    });
    return absl::StrJoin(names, ", ");
  }

  absl::Status AddChildren(const ModuleSlot& slot, const std::string& owner, Class* current) {
    for (const auto& child : slot.children) LANISTA_RETURN_IF_ERROR(AddSlot(*child, owner, current));
    return absl::OkStatus();
  }

  // `owner`: "layer1->", or empty.
  absl::Status AddSlot(const ModuleSlot& slot, const std::string& owner, Class* current) {
    const std::string member = current->names.Take(ToIdentifier(slot.path));
    const std::string path = graph::JoinPath(current->prefix, slot.path);
    if (slot.node != nullptr) current->members[slot.path] = member;
    const std::string quoted = StringLiteral(slot.name);
    if (slot.node != nullptr && IsBuiltIn(*slot.node)) {
      LANISTA_ASSIGN_OR_RETURN(const std::string value, RegisterTensor(*slot.node, path, quoted));
      current->declarations.push_back(absl::StrCat("torch::Tensor ", member, " = ", owner, value, ";"));
      return absl::OkStatus();
    }
    std::string constructor = absl::StrCat("std::make_shared<torch::nn::Module>(", quoted, ")");
    std::string type = "std::shared_ptr<torch::nn::Module>";
    if (slot.node != nullptr) {
      LANISTA_ASSIGN_OR_RETURN(constructor, Construct(*slot.node, path));
      type = TypeOf(constructor);
      if (slot.node->frozen()) current->frozen.push_back(member);
    }
    current->declarations.push_back(
        absl::StrCat(type, " ", member, " = ", owner, "register_module(", quoted, ", ", constructor, ");"));
    return AddChildren(slot, member + "->", current);
  }

  absl::StatusOr<std::string> RegisterTensor(const v1::Node& node, const std::string& path,
                                             const std::string& quoted) const {
    if (graph::BuiltInOf(node) == graph::BuiltIn::kConstant) {
      absl::StatusOr<std::string> value = CppLiteral("", node.op().attr(0).value());
      if (!value.ok()) return Annotate(value.status(), absl::StrCat("node '", path, "'"));
      return absl::StrCat("register_buffer(", quoted, ", ", *value, ")");
    }
    const auto found = model_.tensors.find(path);
    if (found == model_.tensors.end()) return absl::InternalError(absl::StrCat("parameter '", path, "' has no value"));
    const TensorInfo& info = found->second;
    const std::string value =
        absl::StrCat("torch::zeros({", absl::StrJoin(info.dims, ", "), "}, ", CppDataType(info.data_type), ")");
    if (info.buffer) return absl::StrCat("register_buffer(", quoted, ", ", value, ")");
    return absl::StrCat("register_parameter(", quoted, ", ", value, info.requires_grad ? ")" : ", false)");
  }

  // "std::make_shared<Block>()" -> "std::shared_ptr<Block>"; "torch::nn::Linear(...)" -> "torch::nn::Linear".
  static std::string TypeOf(const std::string& constructor) {
    const std::string type = constructor.substr(0, constructor.find('('));
    return absl::StrReplaceAll(type, {{"std::make_shared<", "std::shared_ptr<"}});
  }

  // `in_sequential`: the module goes into a torch::nn::Sequential, which cannot hold another Sequential.
  absl::StatusOr<std::string> Construct(const v1::Node& node, const std::string& path, bool in_sequential = false) {
    if (node.has_cell()) return ConstructCell(node.cell().graph(), path, in_sequential);
    if (node.has_opaque()) {
      const auto [found, added] = archives_.emplace(PlaceOf(node.opaque()), "");
      if (added) found->second = absl::StrCat("kArchive", archives_.size());
      return absl::StrCat("std::make_shared<model_parts::TorchScriptModule>(model_parts::", found->second,
                          ", sizeof(model_parts::", found->second, ") - 1)");
    }
    const graph::OpSchema* const schema = model_.find_op(node.op().type());
    if (const Supplement* const supplement = FindSupplement(node.op().type()); schema != nullptr && supplement) {
      if (supplements_.insert(schema->type()).second) cells_.insert(0, supplement->cpp);
      return absl::StrCat("std::make_shared<model_parts::", schema->type(), ">(",
                          supplement->arguments(graph::Attributes(*schema, node.op())), ")");
    }
    absl::StatusOr<std::string> constructor = schema == nullptr
                                                  ? absl::StatusOr<std::string>(absl::InvalidArgumentError(
                                                        absl::StrCat("operator '", node.op().type(), "' is unknown")))
                                                  : schema->CppModule(graph::Attributes(*schema, node.op()));
    if (!constructor.ok()) return Annotate(constructor.status(), absl::StrCat("node '", path, "'"));
    return constructor;
  }

  absl::StatusOr<std::string> ConstructCell(const std::string& name, const std::string& path, bool in_sequential) {
    const v1::Graph* const graph = graph::FindGraph(model_.graph, name);
    if (graph == nullptr) return absl::InvalidArgumentError(absl::StrCat("there is no graph '", name, "'"));
    if (!in_sequential && IsSequential(model_, *graph)) {
      std::vector<std::string> elements;
      const ModuleSlot modules = ModulesOf(model_.graph, *graph);
      for (const auto& child : modules.children) {
        LANISTA_ASSIGN_OR_RETURN(elements.emplace_back(), Construct(*child->node, graph::JoinPath(path, child->path),
                                                                    /*in_sequential=*/true));
      }
      return absl::StrCat("torch::nn::Sequential(\n    ",
                          absl::StrReplaceAll(absl::StrJoin(elements, ",\n"), {{"\n", "\n    "}}), ")");
    }
    auto found = class_of_.find(name);
    if (found == class_of_.end()) {
      LANISTA_ASSIGN_OR_RETURN(const std::string class_name, WriteClass(*graph, path));
      found = class_of_.emplace(name, class_name).first;
    }
    return absl::StrCat("std::make_shared<model_parts::", found->second, ">()");
  }

  const SourceModel& model_;
  NameScope class_names_;
  std::string cells_;
  std::string root_;
  // The names of classes, by graph and by class body.
  std::map<std::string, std::string> class_of_;
  std::map<std::string, std::string> class_of_text_;
  std::map<ArchivePlace, std::string> archives_;
  std::set<std::string> supplements_;
};

// The bytes as a string literal, on several lines.
std::string ArchiveText(const std::string& name, const std::string& bytes) {
  constexpr size_t kBytesPerLine = 32;
  std::string text = absl::StrCat("inline constexpr char ", name, "[] =");
  for (size_t at = 0; at < bytes.size(); at += kBytesPerLine) {
    absl::StrAppend(&text, "\n    ", StringLiteral(absl::string_view(bytes).substr(at, kBytesPerLine)));
  }
  return text + ";\n";
}

}  // namespace

absl::StatusOr<std::string> CppSource(const SourceModel& model) {
  ClassWriter writer(model);
  LANISTA_RETURN_IF_ERROR(writer.Write());
  const bool archives = !writer.archives().empty();
  const bool calls = absl::StrContains(writer.cells() + writer.model(), "model_parts::call_operator(");
  // Each header has a namespace of its own, so that headers of several models can be included together.
  const std::string scope = ToIdentifier(absl::StrCat("model_", model.name));
  std::string text = absl::StrCat(
      "// ", model.graph.name().empty() ? "A model" : ToIdentifier(model.graph.name()),
      ", written by Lanista. It needs LibTorch only:\n//\n//   Model model;\n//   model.load_weights(\"",
      absl::StrReplaceAll(model.name, {{"\n", " "}}), ".weights.pt\");\n//   model.eval();\n",
      "//   torch::Tensor output = model.forward(input);\n//\n// Where several of them are included, each is ",
      "NAMESPACE::Model, this one ", scope, "::Model.\n#pragma once\n\n", archives ? "#include <torch/script.h>\n" : "",
      calls ? "#include <torch/csrc/jit/runtime/operator.h>\n" : "",
      "#include <torch/torch.h>\n\n#include <cstdint>\n#include <fstream>\n#include <iterator>\n#include "
      "<limits>\n#include <map>\n",
      "#include <memory>\n#include <set>\n#include <sstream>\n#include <stdexcept>\n#include <string>\n#include "
      "<tuple>\n",
      "#include <utility>\n#include <vector>\n\nnamespace ", scope, " {\n");
  if (archives || calls || !writer.cells().empty()) {
    absl::StrAppend(&text, "\nnamespace model_parts {\n");
    for (const auto& [place, name] : writer.archives()) {
      const auto found = model.archives.find(place);
      if (found == model.archives.end()) {
        return absl::InternalError(
            absl::StrCat("archive ", place.first, ", module '", place.second, "', was not read"));
      }
      absl::StrAppend(&text, "\n", ArchiveText(name, found->second));
    }
    if (archives) text += kTorchScriptModule;
    if (calls) text += kCallOperator;
    absl::StrAppend(&text, writer.cells(), "\n}  // namespace model_parts\n");
  }
  return absl::StrCat(text, writer.model(), model.data.has_value() ? CppPredict(*model.data) : "", "\n}  // namespace ",
                      scope, "\n\n#ifndef LANISTA_MODEL\n#define LANISTA_MODEL\nusing ", scope, "::Model;\n#endif\n");
}

}  // namespace lanista::exporters

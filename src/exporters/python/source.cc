#include "src/exporters/python/source.h"

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "src/base/source_literals.h"
#include "src/base/status.h"
#include "src/exporters/common/data_source.h"
#include "src/exporters/common/module_tree.h"
#include "src/exporters/common/source_names.h"
#include "src/exporters/common/supplements.h"
#include "src/exporters/python/forward.h"
#include "src/graph/built_in.h"
#include "src/graph/graph.h"

namespace lanista::exporters {
namespace {

constexpr size_t kLineWidth = 100;

bool IsParameter(const ModuleSlot& slot) { return slot.node != nullptr && IsBuiltIn(*slot.node); }

// The expression for the attribute `name` of `owner`.
std::string Access(const std::string& owner, const std::string& name, bool parameter) {
  // torch.nn.Module finds its own members first, and within a class Python reads self.__fc as self._Model__fc:
  // attributes with such names are reached through the module's dictionaries.
  if (PythonModuleMembers().count(name) > 0 || absl::StartsWith(name, "__")) {
    return absl::StrCat(owner, parameter ? "._parameters[" : "._modules[", PythonStringLiteral(name), "]");
  }
  if (IsIdentifier(name) && PythonReserved().count(name) == 0) return absl::StrCat(owner, ".", name);
  return absl::StrCat("getattr(", owner, ", ", PythonStringLiteral(name), ")");
}

// "opening(", elements, ")": on one line if that is short.
std::string Sequence(const std::string& opening, const std::vector<std::string>& elements, const std::string& closing) {
  std::string line = absl::StrCat(opening, absl::StrJoin(elements, ", "), closing);
  if (line.size() <= kLineWidth - 20 && line.find('\n') == std::string::npos) return line;
  std::string block = opening + "\n";
  for (const std::string& element : elements) {
    absl::StrAppend(&block, "    ", absl::StrReplaceAll(element, {{"\n", "\n    "}}), ",\n");
  }
  return block + closing;
}

// Writes the classes of a model; a class comes after the classes that it uses.
class ClassWriter {
 public:
  explicit ClassWriter(const SourceModel& model) : model_(model), class_names_(PythonReserved()) {
    class_names_.Take("Model");
    class_names_.Take("load_archive");
    class_names_.Take("CLASS_NAMES");
    for (const std::string& type : SupplementTypes()) class_names_.Take(type);
  }

  absl::StatusOr<std::string> Write() {
    LANISTA_RETURN_IF_ERROR(WriteClass(graph::RootGraph(model_.graph), "").status());
    return classes_;
  }
  // The archives that the classes use, with their names.
  const std::map<ArchivePlace, std::string>& archives() const { return archives_; }

 private:
  // A class that is being written.
  struct Class {
    // The path of its first instance.
    std::string prefix;
    // Path of a module -> its expression in forward.
    std::map<std::string, std::string> attributes;
    Lines constructor;
    Lines frozen;
  };

  // Returns the name of the class. Graphs with identical class bodies share one class.
  absl::StatusOr<std::string> WriteClass(const v1::Graph& graph, const std::string& prefix) {
    Class current;
    current.prefix = prefix;
    const ModuleSlot root = ModulesOf(model_.graph, graph);
    LANISTA_RETURN_IF_ERROR(AddChildren(root, "self", &current));

    PythonForward forward(model_, current.attributes);
    std::vector<std::string> parameters;
    LANISTA_ASSIGN_OR_RETURN(const Lines body, forward.Write(graph, prefix, &parameters));
    parameters.insert(parameters.begin(), "self");

    std::string text = "(nn.Module):\n    def __init__(self):\n        super().__init__()\n";
    AppendLines(current.constructor, &text);
    if (!current.frozen.empty()) {
      absl::StrAppend(&text, "\n    def train(self, mode=True):\n        super().train(mode)\n",
                      "        # These parts are frozen: no gradient, and always in evaluation mode.\n");
      AppendLines(current.frozen, &text);
      absl::StrAppend(&text, "        return self\n");
    }
    absl::StrAppend(&text, "\n    def forward(", absl::StrJoin(parameters, ", "), "):\n");
    AppendLines(body, &text);
    const bool is_root = prefix.empty();
    const auto [found, added] = class_of_text_.emplace(text, "");
    if (!added && !is_root) return found->second;
    const std::string name = is_root ? "Model" : class_names_.TakeClass(graph.name());
    absl::StrAppend(&classes_, "\n\nclass ", name, text);
    return found->second = name;
  }

  static void AppendLines(const Lines& lines, std::string* text) {
    for (const std::string& line : lines) {
      absl::StrAppend(text, "        ", absl::StrReplaceAll(line, {{"\n", "\n        "}}), "\n");
    }
  }

  absl::Status AddChildren(const ModuleSlot& slot, const std::string& owner, Class* current) {
    for (const auto& child : slot.children) LANISTA_RETURN_IF_ERROR(AddSlot(*child, owner, current));
    return absl::OkStatus();
  }

  absl::Status AddSlot(const ModuleSlot& slot, const std::string& owner, Class* current) {
    if (IsParameter(slot)) return AddParameter(slot, owner, current);
    const std::string access = Access(owner, slot.name, false);
    LANISTA_ASSIGN_OR_RETURN(const std::string constructor, Construct(slot, *current));
    current->constructor.push_back(
        absl::StartsWith(access, "getattr(")
            ? absl::StrCat(owner, ".add_module(", PythonStringLiteral(slot.name), ", ", constructor, ")")
            : absl::StrCat(access, " = ", constructor));
    return AddBelow(slot, access, current);
  }

  // Adds the children that the constructor of `slot` does not make.
  absl::Status AddBelow(const ModuleSlot& slot, const std::string& access, Class* current) {
    if (slot.node != nullptr) {
      current->attributes[slot.path] = access;
      if (slot.node->frozen()) {
        current->constructor.push_back(access + ".requires_grad_(False)");
        current->frozen.push_back(access + ".eval()");
      }
    } else if (slot.IsList()) {
      for (const auto& child : slot.children) {
        LANISTA_RETURN_IF_ERROR(AddBelow(*child, absl::StrCat(access, "[", child->name, "]"), current));
      }
      return absl::OkStatus();
    }
    return AddChildren(slot, access, current);
  }

  absl::Status AddParameter(const ModuleSlot& slot, const std::string& owner, Class* current) {
    const std::string access = Access(owner, slot.name, true);
    current->attributes[slot.path] = access;
    const auto found = model_.tensors.find(graph::JoinPath(current->prefix, slot.path));
    const std::string quoted = PythonStringLiteral(slot.name);
    if (graph::BuiltInOf(*slot.node) == graph::BuiltIn::kConstant) {
      LANISTA_ASSIGN_OR_RETURN(const std::string value, PythonLiteral("", slot.node->op().attr(0).value()));
      const bool persistent = found != model_.tensors.end();
      current->constructor.push_back(
          absl::StrCat(owner, ".register_buffer(", quoted, ", ", value, persistent ? ")" : ", persistent=False)"));
      return absl::OkStatus();
    }
    if (found == model_.tensors.end()) {
      return absl::InternalError(absl::StrCat("parameter '", slot.path, "' has no value"));
    }
    const TensorInfo& info = found->second;
    std::string value = absl::StrCat("torch.zeros(", info.dims.empty() ? "()" : PythonTuple(info.dims));
    if (info.data_type != v1::Tensor::FLOAT32) absl::StrAppend(&value, ", dtype=", PythonDataType(info.data_type));
    value += ")";
    if (info.buffer) {
      current->constructor.push_back(absl::StrCat(owner, ".register_buffer(", quoted, ", ", value, ")"));
      return absl::OkStatus();
    }
    value = absl::StrCat("nn.Parameter(", value, info.requires_grad ? ")" : ", requires_grad=False)");
    current->constructor.push_back(absl::StartsWith(access, "getattr(")
                                       ? absl::StrCat(owner, ".register_parameter(", quoted, ", ", value, ")")
                                       : absl::StrCat(access, " = ", value));
    return absl::OkStatus();
  }

  // The expression that makes the module of `slot`; for a list, it includes the elements.
  absl::StatusOr<std::string> Construct(const ModuleSlot& slot, const Class& current) {
    if (slot.node == nullptr) {
      if (!slot.IsList()) return std::string("nn.Module()");
      std::vector<std::string> elements;
      for (const auto& child : slot.children) {
        LANISTA_ASSIGN_OR_RETURN(elements.emplace_back(), Construct(*child, current));
      }
      return Sequence("nn.ModuleList([", elements, "])");
    }
    const std::string path = graph::JoinPath(current.prefix, slot.path);
    absl::StatusOr<std::string> constructor = ConstructNode(*slot.node, path);
    if (!constructor.ok() && !absl::StartsWith(constructor.status().message(), "node '")) {
      return Annotate(constructor.status(), absl::StrCat("node '", path, "'"));
    }
    return constructor;
  }

  absl::StatusOr<std::string> ConstructNode(const v1::Node& node, const std::string& path) {
    if (node.has_cell()) return ConstructCell(node.cell().graph(), path);
    if (node.has_opaque()) {
      const ArchivePlace place = PlaceOf(node.opaque());
      const auto [found, added] = archives_.emplace(place, "");
      if (added) found->second = class_names_.Take(absl::StrCat("ARCHIVE_", archives_.size()));
      return absl::StrCat("load_archive(", found->second, ")");
    }
    const graph::OpSchema* const schema = model_.find_op(node.op().type());
    if (schema == nullptr) {
      return absl::InvalidArgumentError(absl::StrCat("operator '", node.op().type(), "' is unknown"));
    }
    const graph::Attributes attributes(*schema, node.op());
    const Supplement* const supplement = FindSupplement(schema->type());
    if (supplement == nullptr) return schema->PythonModule(attributes);
    if (supplements_.insert(schema->type()).second) classes_.insert(0, supplement->python);
    return absl::StrCat(schema->type(), "(", supplement->arguments(attributes), ")");
  }

  absl::StatusOr<std::string> ConstructCell(const std::string& name, const std::string& path) {
    const v1::Graph* const graph = graph::FindGraph(model_.graph, name);
    if (graph == nullptr) return absl::InvalidArgumentError(absl::StrCat("there is no graph '", name, "'"));
    if (IsSequential(model_, *graph)) {
      Class current;
      current.prefix = path;
      std::vector<std::string> elements;
      const ModuleSlot modules = ModulesOf(model_.graph, *graph);
      for (const auto& child : modules.children) {
        LANISTA_ASSIGN_OR_RETURN(elements.emplace_back(), Construct(*child, current));
      }
      return Sequence("nn.Sequential(", elements, ")");
    }
    auto found = class_of_.find(name);
    if (found == class_of_.end()) {
      LANISTA_ASSIGN_OR_RETURN(const std::string class_name, WriteClass(*graph, path));
      found = class_of_.emplace(name, class_name).first;
    }
    return found->second + "()";
  }

  const SourceModel& model_;
  NameScope class_names_;
  std::string classes_;
  // The names of classes, by graph and by class body.
  std::map<std::string, std::string> class_of_;
  std::map<std::string, std::string> class_of_text_;
  std::map<ArchivePlace, std::string> archives_;
  std::set<std::string> supplements_;
};

// ARCHIVE_1 = """\ ... base64, 76 letters per line ... """
std::string ArchiveText(const std::string& name, const std::string& bytes) {
  const std::string encoded = absl::Base64Escape(bytes);
  std::string text = absl::StrCat("\n", name, " = \"\"\"\n");
  for (size_t at = 0; at < encoded.size(); at += 76) absl::StrAppend(&text, encoded.substr(at, 76), "\n");
  return text + "\"\"\"\n";
}

}  // namespace

absl::StatusOr<std::string> PythonSource(const SourceModel& model) {
  ClassWriter writer(model);
  LANISTA_ASSIGN_OR_RETURN(std::string classes, writer.Write());
  if (model.data.has_value()) classes += PythonPredict(*model.data);
  // Files of `export` are named after ranks ("1-model-17.py"), which an import statement cannot name.
  const bool importable = IsIdentifier(model.name) && PythonReserved().count(model.name) == 0;
  const std::string file = absl::StrReplaceAll(model.name, {{"\\", "\\\\"}, {"\"", "\\\""}});
  const std::string import = importable ? absl::StrCat("from ", file, " import Model")
                                        : absl::StrCat("Model = importlib.import_module(\"", file, "\").Model");
  std::string text =
      absl::StrCat("\"\"\"", model.graph.name().empty() ? "A model" : ToIdentifier(model.graph.name()),
                   ", written by Lanista. It needs torch only:\n\n    ", import, "\n    model = Model()\n",
                   "    model.load_state_dict(torch.load(\"", file, ".pt\", weights_only=True))\n\"\"\"\n");
  if (!writer.archives().empty()) absl::StrAppend(&text, "import base64\nimport io\n");
  if (absl::StrContains(classes, "math.")) absl::StrAppend(&text, "import math\n");
  absl::StrAppend(&text, "\nimport torch\n");
  if (absl::StrContains(classes, "F.")) absl::StrAppend(&text, "import torch.nn.functional as F\n");
  absl::StrAppend(&text, "from torch import nn\n");
  if (!writer.archives().empty()) {
    absl::StrAppend(&text, "\n\ndef load_archive(text):\n    \"\"\"A module that was kept whole: TorchScript.\"\"\"\n",
                    "    return torch.jit.load(io.BytesIO(base64.b64decode(text)), map_location=\"cpu\")\n");
  }
  absl::StrAppend(&text, classes);
  if (!writer.archives().empty()) absl::StrAppend(&text, "\n");
  for (const auto& [place, name] : writer.archives()) {
    const auto found = model.archives.find(place);
    if (found == model.archives.end()) {
      return absl::InternalError(absl::StrCat("archive ", place.first, ", module '", place.second, "', was not read"));
    }
    absl::StrAppend(&text, ArchiveText(name, found->second));
  }
  return text;
}

}  // namespace lanista::exporters

#include "engines/graph/graph_space_torch.h"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "src/base/deterministic_bytes.h"
#include "src/base/status.h"
#include "src/frontends/torchscript.h"
#include "src/graph/built_in.h"
#include "src/graph/graph.h"
#include "src/graph/io.h"
#include "src/graph/registered_graphs.h"
#include "src/nn/construction.h"
#include "src/nn/decide.h"
#include "src/ops/registry.h"
#include "src/runtime/archive_torch.h"
#include "src/runtime/aten_call_torch.h"

namespace lanista {
namespace {

using Nodes = google::protobuf::RepeatedPtrField<v1::Node>;

// Calls `visit` for all nodes, and for the candidates and blocks inside them, until it returns an error.
template <typename Visit>
absl::Status ForEachNode(const Nodes& nodes, const Visit& visit) {
  for (const v1::Node& node : nodes) {
    LANISTA_RETURN_IF_ERROR(visit(node));
    for (const Nodes* const inner :
         {&node.layer_choice().candidates(), &node.repeat().blocks(), &node.nas_cell().op_candidates()}) {
      LANISTA_RETURN_IF_ERROR(ForEachNode(*inner, visit));
    }
  }
  return absl::OkStatus();
}

// The indices of the archives from which models take weights or code. Other archives may be missing.
std::set<int> UsedArchives(const v1::SpaceConfig& config, const v1::ModelGraph& model) {
  // Everything below a frozen cell is frozen too, so with frozen parts all weights count.
  bool keeps_weights = config.weights() == v1::SpaceConfig::KEEP || !config.frozen().empty();
  std::set<int> code, parameters, weights;
  for (const v1::Graph& graph : model.graphs()) {
    ForEachNode(graph.nodes(), [&](const v1::Node& node) {
      keeps_weights = keeps_weights || node.frozen();
      if (node.has_opaque()) code.insert(node.opaque().archive());
      if (node.has_weights()) weights.insert(node.weights().archive());
      // "Parameter" nodes always keep their imported values.
      if (node.has_weights() && graph::BuiltInOf(node) == graph::BuiltIn::kParameter) {
        parameters.insert(node.weights().archive());
      }
      return absl::OkStatus();
    }).IgnoreError();
  }
  code.insert(parameters.begin(), parameters.end());
  if (keeps_weights) code.insert(weights.begin(), weights.end());
  return code;
}

// A space, and the files that it was read from.
class OpenedSpace {
 public:
  static absl::StatusOr<std::shared_ptr<const OpenedSpace>> Create(const v1::SpaceConfig& config) {
    const std::shared_ptr<OpenedSpace> opened(new OpenedSpace);
    // Keeps imported files open until it is known which of them are needed later.
    Archives imported;
    LANISTA_ASSIGN_OR_RETURN(v1::ModelGraph base, opened->ReadBase(config, &imported));
    LANISTA_RETURN_IF_ERROR(graph::Validate(base, ops::FindOp));
    LANISTA_RETURN_IF_ERROR(opened->OpenArchives(config, &base));
    const graph::ModuleReader read_module = [&](const std::string& path) {
      v1::TorchScriptConfig module;
      module.set_path(path);
      *module.mutable_basic_unit() = config.torchscript().basic_unit();
      return opened->Import(module, &imported);
    };
    LANISTA_ASSIGN_OR_RETURN(opened->space_,
                             graph::GraphSpace::Create(std::move(base), config, ops::FindOp, read_module));
    v1::ModelGraph prepared = opened->space_->base();
    LANISTA_RETURN_IF_ERROR(CheckOperators(prepared));
    LANISTA_RETURN_IF_ERROR(opened->OpenArchives(config, &prepared));
    // Mutators that run later may insert any of the imported modules.
    if (opened->space_->Prepared().mutator_size() > 0) {
      opened->archives_.insert(opened->archives_.end(), imported.begin(), imported.end());
    }
    return opened;
  }

  const graph::GraphSpace& space() const { return *space_; }
  const std::vector<v1::FileDigest>& files() const { return files_; }

 private:
  using Archives = std::vector<std::shared_ptr<const runtime::Archive>>;

  OpenedSpace() = default;

  // Also checks the operators without a schema, which Validate does not know.
  static absl::Status CheckOperators(const v1::ModelGraph& model) {
    for (const v1::Graph& graph : model.graphs()) {
      LANISTA_RETURN_IF_ERROR(ForEachNode(graph.nodes(), [](const v1::Node& node) {
        if (node.op().type().find("::") == std::string::npos) return absl::OkStatus();
        return Annotate(runtime::CheckAtenOperator(node.op().type()), absl::StrCat("node '", node.name(), "'"));
      }));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<v1::ModelGraph> ReadBase(const v1::SpaceConfig& config, Archives* imported) {
    switch (config.kind_case()) {
      case v1::SpaceConfig::kTorchscript:
        return Import(config.torchscript(), imported);
      case v1::SpaceConfig::kGraph: {
        std::string sha256;
        LANISTA_ASSIGN_OR_RETURN(v1::ModelGraph base, graph::ReadFile(config.graph().path(), &sha256));
        AddFile(config.graph().path(), sha256);
        return base;
      }
      case v1::SpaceConfig::kRegistered: {
        auto base = graph::MakeRegisteredGraph(config.registered(), config.params());
        if (!absl::IsNotFound(base.status())) return base;
        return Annotate(base.status(),
                        "the graph engine takes a space of graphs: torchscript { path }, graph { path } or "
                        "the name of one (a C++ model space needs `engine { direct {} }`)");
      }
      default:
        return absl::InvalidArgumentError(
            "the graph engine takes a space { torchscript { path } }, { graph { path } } or { registered: NAME }");
    }
  }

  absl::StatusOr<v1::ModelGraph> Import(const v1::TorchScriptConfig& config, Archives* imported) {
    std::shared_ptr<const runtime::Archive> archive;
    LANISTA_ASSIGN_OR_RETURN(v1::ModelGraph model, frontends::ImportTorchScript(config, &archive));
    AddFile(model.archives(0).path(), archive->sha256());
    imported->push_back(std::move(archive));
    return model;
  }

  // Opens the archives that the models need, and adds their digests where the graph has none.
  absl::Status OpenArchives(const v1::SpaceConfig& config, v1::ModelGraph* model) {
    for (const int index : UsedArchives(config, *model)) {
      v1::Archive& file = *model->mutable_archives(index);
      LANISTA_ASSIGN_OR_RETURN(std::shared_ptr<const runtime::Archive> archive, runtime::Archive::Open(file));
      file.set_sha256(archive->sha256());
      AddFile(file.path(), archive->sha256());
      archives_.push_back(std::move(archive));
    }
    return absl::OkStatus();
  }

  void AddFile(const std::string& path, const std::string& sha256) {
    for (const v1::FileDigest& file : files_) {
      if (file.path() == path && file.sha256() == sha256) return;
    }
    v1::FileDigest& file = files_.emplace_back();
    file.set_path(path);
    file.set_sha256(sha256);
  }

  std::optional<graph::GraphSpace> space_;
  std::vector<v1::FileDigest> files_;
  // Kept open, because models are made from them.
  Archives archives_;
};

absl::StatusOr<std::shared_ptr<const OpenedSpace>> Open(const v1::SpaceConfig& config) {
  // The trials of one experiment follow each other, so keeping the last space is enough.
  static auto* const last = new std::pair<std::string, std::shared_ptr<const OpenedSpace>>;
  const std::string key = DeterministicBytes(config);
  if (last->second == nullptr || last->first != key) {
    last->second = nullptr;
    LANISTA_ASSIGN_OR_RETURN(last->second, OpenedSpace::Create(config));
    last->first = key;
  }
  return last->second;
}

}  // namespace

absl::StatusOr<std::shared_ptr<const graph::GraphSpace>> OpenGraphSpace(const v1::SpaceConfig& config) {
  LANISTA_ASSIGN_OR_RETURN(const std::shared_ptr<const OpenedSpace> opened, Open(config));
  return std::shared_ptr<const graph::GraphSpace>(opened, &opened->space());
}

absl::StatusOr<std::vector<v1::FileDigest>> GraphSpaceFiles(const v1::SpaceConfig& config) {
  LANISTA_ASSIGN_OR_RETURN(const std::shared_ptr<const OpenedSpace> opened, Open(config));
  return opened->files();
}

absl::StatusOr<v1::ModelGraph> MaterialiseSample(const graph::GraphSpace& space, const v1::Sample& sample,
                                                 uint64_t model_seed, v1::Sample* actual) {
  std::map<std::string, v1::Decision> decisions;
  for (const v1::Decision& decision : sample.decisions()) decisions[decision.label()] = decision;
  graph::Chooser chooser([&](const v1::Choice& choice) -> absl::StatusOr<v1::Decision> {
    const auto found = decisions.find(choice.label());
    try {
      return found == decisions.end() ? nn::DrawnDecision(choice, model_seed)
                                      : nn::CheckedDecision(choice, found->second);
    } catch (const nn::SpaceError& error) {
      return absl::InvalidArgumentError(error.what());
    }
  });
  absl::StatusOr<v1::ModelGraph> model = space.Materialise(chooser);
  if (model.ok()) *actual = chooser.sample();
  return model;
}

}  // namespace lanista

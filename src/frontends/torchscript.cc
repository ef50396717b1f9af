#include "src/frontends/torchscript.h"

#include <torch/csrc/jit/api/module.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "src/base/status.h"
#include "src/frontends/marked_choices.h"
#include "src/frontends/model_reader.h"
#include "src/frontends/module_reader.h"
#include "src/graph/graph.h"
#include "src/ops/registry.h"
#include "src/runtime/archive_torch.h"

namespace lanista::frontends {
namespace {

// Refuses traced modules, as far as they can be recognised, and modules that cannot be called.
absl::Status CheckModule(const std::string& path, const torch::jit::Module& module, int num_inputs) {
  const auto forward = module.find_method("forward");
  if (!forward.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": class ", ClassPath(module), " has no forward method: there is nothing to run"));
  }
  // A caller's code has those of its submodules; those of the root are called by whoever calls it.
  if (!module.type()->getForwardHooks().empty() || !module.type()->getForwardPreHooks().empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        path, ": class ", ClassPath(module),
        " has forward hooks of its own, which are not followed: call them in forward, or wrap the model in a module"));
  }
  const auto arguments = static_cast<int>(forward->function().getSchema().arguments().size()) - 1;
  if (num_inputs > arguments) {
    return absl::InvalidArgumentError(
        absl::StrCat("input_shape: there are ", num_inputs, " shapes, and forward takes ", arguments, " inputs"));
  }
  const ModuleCounts counts = CountModules(module);
  if (counts.traced > 0 && counts.scripted == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, " was written by torch.jit.trace, which drops what its modules are (", counts.traced_path,
                     ") and freezes training mode: write it with torch.jit.script(net).save(path)"));
  }
  return absl::OkStatus();
}

void SetInputTypes(const v1::TorchScriptConfig& config, v1::ModelGraph* model) {
  v1::Graph* const root = graph::FindGraph(model, model->root());
  for (int i = 0; i < std::min(config.input_shape_size(), root->inputs_size()); ++i) {
    v1::ValueType* const type = root->mutable_inputs(i)->mutable_type();
    type->set_kind(v1::ValueType::TENSOR);
    type->set_data_type(v1::Tensor::FLOAT32);
    *type->mutable_shape() = config.input_shape(i);
  }
}

}  // namespace

absl::StatusOr<v1::ModelGraph> ImportTorchScript(const v1::TorchScriptConfig& config,
                                                 std::shared_ptr<const runtime::Archive>* archive) {
  const std::string& path = config.path();
  v1::Archive file;
  file.set_path(std::filesystem::absolute(path).lexically_normal());
  LANISTA_ASSIGN_OR_RETURN(const std::shared_ptr<const runtime::Archive> opened, runtime::Archive::Open(file));
  if (archive != nullptr) *archive = opened;
  file.set_sha256(opened->sha256());
  const torch::jit::Module& module = opened->module();
  LANISTA_RETURN_IF_ERROR(CheckModule(path, module, config.input_shape_size()));

  v1::ModelGraph model;
  model.set_version(1);
  model.set_name(ClassName(module));
  *model.add_archives() = std::move(file);
  const ModuleCounts counts = CountModules(module);
  if (counts.traced > 0) {
    model.add_warnings(
        absl::StrCat("module '", counts.traced_path, "' was traced: its training mode and control flow are frozen"));
  }
  ModelReader reader(std::set<std::string>(config.basic_unit().begin(), config.basic_unit().end()), &model);
  try {
    reader.ReadRoot(module, config.input_shape_size());
  } catch (const LostChoice& error) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": ", error.what()));
  } catch (const Unsupported& error) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": the model ", error.what()));
  } catch (const c10::Error& error) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": ", error.what_without_backtrace()));
  } catch (const std::exception& error) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": the model cannot be followed: ", error.what()));
  }
  SetInputTypes(config, &model);
  LANISTA_RETURN_IF_ERROR(Annotate(graph::Validate(model, ops::FindOp), path));
  if (config.input_shape_size() > 0) {
    const absl::Status inferred = graph::InferTypes(&model, ops::FindOp);
    if (!inferred.ok()) model.add_warnings(absl::StrCat("types: ", inferred.message()));
  }
  return model;
}

}  // namespace lanista::frontends

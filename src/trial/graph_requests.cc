#include "src/trial/graph_requests.h"

#include <ATen/Context.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engines/graph/graph_space_torch.h"
#include "src/base/framing.h"
#include "src/base/status.h"
#include "src/exporters/graph_formats_torch.h"
#include "src/frontends/torchscript.h"
#include "src/graph/io.h"
#include "src/runtime/graph_module_torch.h"
#include "src/trial/space_files.h"
#include "src/trial/torch_guard.h"

namespace lanista {
namespace {

using ModuleOrStatus = absl::StatusOr<std::shared_ptr<runtime::GraphModule>>;

absl::StatusOr<v1::ModelGraph> MakeGraph(const v1::SpaceModel& source) {
  LANISTA_RETURN_IF_ERROR(CheckSpaceFiles(source.space(), source.engine(), source.space_files()));
  LANISTA_ASSIGN_OR_RETURN(const auto space, OpenGraphSpace(source.space()));
  v1::Sample actual;
  return MaterialiseSample(*space, source.sample(), source.model_seed(), &actual);
}

ModuleOrStatus BuildSpaceModel(const v1::SpaceModel& source) {
  LANISTA_ASSIGN_OR_RETURN(const v1::ModelGraph graph, MakeGraph(source));
  runtime::GraphModule::Options options;
  if (source.space().weights() != v1::SpaceConfig::WEIGHTS_UNSPECIFIED) options.weights = source.space().weights();
  // The weights at the end of the trial if they were kept, else those at its beginning.
  at::manual_seed(source.model_seed());
  LANISTA_ASSIGN_OR_RETURN(const auto module, runtime::GraphModule::Create(graph, options));
  if (!source.weights_file().empty()) LANISTA_RETURN_IF_ERROR(module->Load(source.weights_file()));
  return module;
}

ModuleOrStatus BuildModel(const v1::Convert& request) {
  if (request.has_model()) return BuildSpaceModel(request.model());
  runtime::GraphModule::Options options;
  options.weights =
      request.weights() == v1::SpaceConfig::WEIGHTS_UNSPECIFIED ? v1::SpaceConfig::KEEP : request.weights();
  return runtime::GraphModule::Create(request.graph(), options);
}

// The files that the answer must not overwrite.
std::vector<std::string> FilesRead(const v1::Convert& request) {
  std::vector<std::string> files(request.keep().begin(), request.keep().end());
  for (const v1::FileDigest& file : request.model().space_files()) files.push_back(file.path());
  if (!request.model().weights_file().empty()) files.push_back(request.model().weights_file());
  return files;
}

std::optional<v1::DataSpec> DataOf(const v1::Convert& request) {
  return request.model().has_data() ? std::make_optional(request.model().data()) : std::nullopt;
}

// The graph of a model of a space, in binary form.
absl::StatusOr<std::string> WriteGraph(const v1::Convert& request) {
  LANISTA_ASSIGN_OR_RETURN(v1::ModelGraph graph, MakeGraph(request.model()));
  const std::string path = request.out() + ".graph";
  LANISTA_RETURN_IF_ERROR(graph::WriteFile(path, std::move(graph), FilesRead(request)));
  return path;
}

}  // namespace

v1::Imported ImportGraph(const v1::Import& request) {
  v1::Imported imported;
  const absl::Status status = GuardStatus([&]() -> absl::Status {
    LANISTA_ASSIGN_OR_RETURN(*imported.mutable_graph(), frontends::ImportTorchScript(request.torchscript()));
    // Half of a frame, because the answer holds more than the graph.
    if (imported.ByteSizeLong() < kMaxFrameBytes / 2) return absl::OkStatus();
    return absl::ResourceExhaustedError(absl::StrCat(request.torchscript().path(),
                                                     ": its constants make the graph too large (",
                                                     imported.ByteSizeLong(), " bytes): register them as buffers"));
  });
  if (status.ok()) return imported;
  v1::Imported failed;
  *failed.mutable_error() = StatusToProto(status);
  return failed;
}

v1::Converted ConvertModel(const v1::Convert& request) {
  v1::Converted converted;
  const absl::Status status = GuardStatus([&]() -> absl::Status {
    if (request.has_model() && request.format() == "graph") {
      LANISTA_ASSIGN_OR_RETURN(*converted.add_files(), WriteGraph(request));
      return absl::OkStatus();
    }
    LANISTA_ASSIGN_OR_RETURN(const auto module, BuildModel(request));
    LANISTA_ASSIGN_OR_RETURN(
        const std::vector<std::string> files,
        exporters::WriteModel(*module, request.format(), request.out(), {}, FilesRead(request), DataOf(request)));
    for (const std::string& file : files) converted.add_files(file);
    for (const std::string& warning : module->warnings()) converted.add_warnings(warning);
    return absl::OkStatus();
  });
  if (!status.ok()) {
    converted.Clear();
    *converted.mutable_error() = StatusToProto(status);
  }
  return converted;
}

}  // namespace lanista

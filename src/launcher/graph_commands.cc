// import, convert, show-graph: graphs outside experiments.
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "nlohmann/json.hpp"
#include "src/base/output_files.h"
#include "src/base/read_file.h"
#include "src/base/status.h"
#include "src/base/unique_fd.h"
#include "src/config/paths.h"
#include "src/graph/graph.h"
#include "src/graph/io.h"
#include "src/launcher/commands.h"
#include "src/launcher/console.h"
#include "src/launcher/exit_codes.h"
#include "src/launcher/interrupt_note.h"
#include "src/launcher/trial_session.h"
#include "src/ops/registry.h"
#include "src/views/graph_view.h"

namespace lanista {
namespace {

using Json = nlohmann::ordered_json;

constexpr uint64_t kMaxSvgBytes = uint64_t{1} << 30;

absl::StatusOr<v1::Shape> ParseShape(const std::string& text) {
  v1::Shape shape;
  for (const absl::string_view part : absl::StrSplit(text, ',')) {
    int64_t dim = 0;
    if (!absl::SimpleAtoi(part, &dim) || (dim < 1 && dim != -1)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--input-shape ", text, ": write sizes with commas between them, as 1,3,224,224; -1 is any size"));
    }
    shape.add_dims(dim);
  }
  return shape;
}

absl::StatusOr<std::vector<v1::Shape>> InputShapes(const CommandLine& line) {
  std::vector<v1::Shape> shapes;
  for (const std::string& text : line.input_shapes) {
    LANISTA_ASSIGN_OR_RETURN(shapes.emplace_back(), ParseShape(text));
  }
  return shapes;
}

absl::StatusOr<v1::ModelGraph> ImportFile(const CommandContext& context, const std::string& path) {
  v1::TorchScriptConfig torchscript;
  torchscript.set_path(path);
  for (const std::string& unit : context.line.basic_units) torchscript.add_basic_unit(unit);
  LANISTA_ASSIGN_OR_RETURN(const std::vector<v1::Shape> shapes, InputShapes(context.line));
  for (const v1::Shape& shape : shapes) *torchscript.add_input_shape() = shape;
  LANISTA_ASSIGN_OR_RETURN(const auto session, TrialSession::Start(context.trial_program));
  return session->Import(torchscript);
}

// Shapes that the user gives for the inputs of a graph file.
absl::Status SetInputShapes(const std::vector<v1::Shape>& shapes, v1::ModelGraph* model) {
  v1::Graph& root = *graph::FindGraph(model, graph::RootGraph(*model).name());
  if (static_cast<int>(shapes.size()) > root.inputs_size()) {
    return absl::InvalidArgumentError(absl::StrCat("--input-shape is given ", shapes.size(), " times; the graph has ",
                                                   root.inputs_size(), " inputs"));
  }
  for (size_t i = 0; i < shapes.size(); ++i) {
    v1::ValueType& type = *root.mutable_inputs(static_cast<int>(i))->mutable_type();
    type.set_kind(v1::ValueType::TENSOR);
    if (type.data_type() == v1::Tensor::DATA_TYPE_UNSPECIFIED) type.set_data_type(v1::Tensor::FLOAT32);
    *type.mutable_shape() = shapes[i];
  }
  return absl::OkStatus();
}

// The graph of a graph file or of a TorchScript file, checked, with the types that can be known.
absl::StatusOr<v1::ModelGraph> LoadGraph(const CommandContext& context) {
  LANISTA_ASSIGN_OR_RETURN(const std::string path, ResolvePath(context.line.file, UserDirectory()));
  if (absl::EndsWith(path, ".pt") || absl::EndsWith(path, ".pth")) return ImportFile(context, path);
  LANISTA_ASSIGN_OR_RETURN(v1::ModelGraph model, graph::ReadFile(path));
  LANISTA_RETURN_IF_ERROR(graph::Validate(model, ops::FindOp));
  LANISTA_ASSIGN_OR_RETURN(const std::vector<v1::Shape> shapes, InputShapes(context.line));
  LANISTA_RETURN_IF_ERROR(SetInputShapes(shapes, &model));
  LANISTA_RETURN_IF_ERROR(graph::InferTypes(&model, ops::FindOp));
  return model;
}

int PrintFiles(const CommandContext& context, const std::vector<std::string>& files) {
  if (context.line.json) {
    PrintJson({{"files", files}});
  } else {
    for (const std::string& file : files) PrintLine(file);
  }
  return kExitDone;
}

void PrintWarnings(const v1::ModelGraph& model) {
  for (const std::string& warning : model.warnings()) PrintWarning(warning);
}

// A file in memory, for a child's standard input or output.
absl::StatusOr<UniqueFd> MemoryFile(absl::string_view content) {
  UniqueFd file(memfd_create("lanista-graph", MFD_CLOEXEC));
  if (file.get() < 0) return ErrnoToStatus(errno, "cannot make a temporary file");
  while (!content.empty()) {
    const ssize_t count = write(file.get(), content.data(), content.size());
    if (count < 0) return ErrnoToStatus(errno, "cannot write a temporary file");
    content.remove_prefix(static_cast<size_t>(count));
  }
  lseek(file.get(), 0, SEEK_SET);
  return file;
}

// Draws with Graphviz.
absl::StatusOr<std::string> Svg(const std::string& dot) {
  LANISTA_ASSIGN_OR_RETURN(const UniqueFd input, MemoryFile(dot));
  LANISTA_ASSIGN_OR_RETURN(const UniqueFd output, MemoryFile(""));
  const char* const arguments[] = {"dot", "-Tsvg", nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, input.get(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output.get(), STDOUT_FILENO);
  pid_t child = 0;
  const int error = posix_spawnp(&child, "dot", &actions, nullptr, const_cast<char* const*>(arguments), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    return absl::FailedPreconditionError(absl::StrCat("--svg needs Graphviz's `dot`, which cannot be started (",
                                                      std::strerror(error), "): install the package graphviz"));
  }
  int status = 0;
  if (waitpid(child, &status, 0) != child || status != 0) return absl::InternalError("`dot` could not draw the graph");
  return ReadWholeFile(absl::StrCat("/proc/self/fd/", output.get()), kMaxSvgBytes);
}

}  // namespace

absl::StatusOr<int> ImportGraph(const CommandContext& context) {
  const InterruptNote interrupted("interrupted: nothing was imported");
  LANISTA_ASSIGN_OR_RETURN(const std::string file, ResolvePath(context.line.file, UserDirectory()));
  LANISTA_ASSIGN_OR_RETURN(const v1::ModelGraph model, ImportFile(context, file));
  LANISTA_ASSIGN_OR_RETURN(const std::string out, ResolvePath(context.line.out, UserDirectory()));
  LANISTA_RETURN_IF_ERROR(MakeParentFolder(out));
  LANISTA_RETURN_IF_ERROR(graph::WriteFile(out, model, {file}));
  PrintWarnings(model);
  return PrintFiles(context, {out});
}

absl::StatusOr<int> ConvertGraph(const CommandContext& context) {
  const InterruptNote interrupted("interrupted: a file that was not finished was not written");
  LANISTA_ASSIGN_OR_RETURN(v1::ModelGraph model, LoadGraph(context));
  LANISTA_ASSIGN_OR_RETURN(const std::string file, ResolvePath(context.line.file, UserDirectory()));
  LANISTA_ASSIGN_OR_RETURN(const std::string out, ResolvePath(context.line.out, UserDirectory()));
  LANISTA_RETURN_IF_ERROR(MakeParentFolder(out));
  const std::string& format = context.line.format;
  const std::vector<std::pair<std::string, std::string>> own_forms = {
      {"text", ".textproto"}, {"json", ".json"}, {"binary", ".graph"}};
  for (const auto& [name, suffix] : own_forms) {
    if (format != name) continue;
    LANISTA_RETURN_IF_ERROR(graph::WriteFile(out + suffix, model, {file}));
    PrintWarnings(model);
    return PrintFiles(context, {out + suffix});
  }
  PrintWarnings(model);
  v1::Convert convert;
  *convert.mutable_graph() = std::move(model);
  convert.set_format(format);
  convert.set_out(out);
  convert.add_keep(file);
  convert.set_weights(context.line.weights == "init" ? v1::SpaceConfig::INIT : v1::SpaceConfig::KEEP);
  LANISTA_ASSIGN_OR_RETURN(const auto session, TrialSession::Start(context.trial_program));
  LANISTA_ASSIGN_OR_RETURN(const v1::Converted converted, session->Convert(convert));
  for (const std::string& warning : converted.warnings()) PrintWarning(warning);
  return PrintFiles(context, {converted.files().begin(), converted.files().end()});
}

absl::StatusOr<int> ShowGraph(const CommandContext& context) {
  const InterruptNote interrupted("interrupted: nothing was shown");
  LANISTA_ASSIGN_OR_RETURN(const v1::ModelGraph model, LoadGraph(context));
  LANISTA_ASSIGN_OR_RETURN(const Json document, GraphDocument(model, ops::FindOp));
  if (!context.line.svg.empty()) {
    LANISTA_ASSIGN_OR_RETURN(const std::string file, ResolvePath(context.line.file, UserDirectory()));
    LANISTA_ASSIGN_OR_RETURN(const std::string path, ResolvePath(context.line.svg, UserDirectory()));
    LANISTA_ASSIGN_OR_RETURN(const std::string svg, Svg(GraphDot(document)));
    LANISTA_RETURN_IF_ERROR(MakeParentFolder(path));
    LANISTA_RETURN_IF_ERROR(WriteFile(path, svg, {file}));
  }
  if (context.line.json) {
    PrintJson(document);
  } else {
    PrintText(GraphText(document, OutputWidth()));
  }
  return kExitDone;
}

}  // namespace lanista

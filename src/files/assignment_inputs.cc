#include "src/files/assignment_inputs.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "src/config/data_paths.h"
#include "src/config/paths.h"

namespace lanista {
namespace {

// All that a configuration names, each once.
std::vector<std::string> PathsOfAll(const std::vector<const google::protobuf::Message*>& parts) {
  std::vector<std::string> paths;
  for (const google::protobuf::Message* const part : parts) {
    for (std::string& path : PathsIn(*part)) {
      if (std::find(paths.begin(), paths.end(), path) == paths.end()) paths.push_back(std::move(path));
    }
  }
  return paths;
}

std::vector<std::string> PathsOf(const v1::TrialSpec& spec) {
  return PathsOfAll({&spec.space(), &spec.engine(), &spec.evaluator()});
}

std::vector<std::string> PathsOf(const v1::Discover& request) {
  const v1::SpaceModel& model = request.convert().model();
  if (request.has_convert()) return PathsOfAll({&model.space(), &model.engine()});
  return PathsOfAll({&request.space(), &request.engine(), &request.evaluator()});
}

v1::AssignmentInputs FilesOf(const std::string& experiment, const v1::SpaceConfig& space,
                             std::vector<std::string> paths) {
  v1::AssignmentInputs inputs;
  inputs.set_experiment(experiment);
  // Data is where the node has it.
  for (std::string& path : paths) {
    if (!IsDataPath(path)) inputs.add_paths(std::move(path));
  }
  const std::string& graph = space.graph().path();
  if (!graph.empty() && !IsDataPath(graph)) inputs.add_graph_files(graph);
  return inputs;
}

}  // namespace

v1::AssignmentInputs InputsOf(const v1::TrialSpec& spec) {
  return FilesOf(spec.experiment(), spec.space(), PathsOf(spec));
}

v1::AssignmentInputs InputsOf(const v1::Discover& request) {
  if (!request.has_convert()) return FilesOf(request.experiment(), request.space(), PathsOf(request));
  const v1::SpaceModel& model = request.convert().model();
  std::vector<std::string> paths = PathsOf(request);
  if (!model.weights_file().empty()) paths.push_back(model.weights_file());
  // Of no experiment: another conversion reads other weights, so nobody keeps what this one reads.
  return FilesOf("", model.space(), std::move(paths));
}

std::set<std::string> DataOf(const v1::TrialSpec& spec) { return DataNamesOf(PathsOf(spec)); }
std::set<std::string> DataOf(const v1::Discover& request) { return DataNamesOf(PathsOf(request)); }

}  // namespace lanista

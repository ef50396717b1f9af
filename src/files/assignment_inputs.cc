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
template <typename Work>
std::vector<std::string> PathsOf(const Work& work) {
  std::vector<std::string> paths;
  for (const google::protobuf::Message* part : {static_cast<const google::protobuf::Message*>(&work.space()),
                                                static_cast<const google::protobuf::Message*>(&work.engine()),
                                                static_cast<const google::protobuf::Message*>(&work.evaluator())}) {
    for (std::string& path : PathsIn(*part)) {
      if (std::find(paths.begin(), paths.end(), path) == paths.end()) paths.push_back(std::move(path));
    }
  }
  return paths;
}

template <typename Work>
v1::AssignmentInputs FilesOf(const Work& work) {
  v1::AssignmentInputs inputs;
  inputs.set_experiment(work.experiment());
  // Data is where the node has it.
  for (std::string& path : PathsOf(work)) {
    if (!IsDataPath(path)) inputs.add_paths(std::move(path));
  }
  const std::string& graph = work.space().graph().path();
  if (!graph.empty() && !IsDataPath(graph)) inputs.add_graph_files(graph);
  return inputs;
}

}  // namespace

v1::AssignmentInputs InputsOf(const v1::TrialSpec& spec) { return FilesOf(spec); }
v1::AssignmentInputs InputsOf(const v1::Discover& request) { return FilesOf(request); }

std::set<std::string> DataOf(const v1::TrialSpec& spec) { return DataNamesOf(PathsOf(spec)); }
std::set<std::string> DataOf(const v1::Discover& request) { return DataNamesOf(PathsOf(request)); }

}  // namespace lanista

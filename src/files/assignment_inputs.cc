#include "src/files/assignment_inputs.h"

#include <algorithm>
#include <string>
#include <utility>

#include "src/config/paths.h"

namespace lanista {
namespace {

template <typename Work>
v1::AssignmentInputs PathsOf(const Work& work) {
  v1::AssignmentInputs inputs;
  inputs.set_experiment(work.experiment());
  for (const google::protobuf::Message* part : {static_cast<const google::protobuf::Message*>(&work.space()),
                                                static_cast<const google::protobuf::Message*>(&work.engine()),
                                                static_cast<const google::protobuf::Message*>(&work.evaluator())}) {
    for (std::string& path : PathsIn(*part)) {
      const bool known = std::find(inputs.paths().begin(), inputs.paths().end(), path) != inputs.paths().end();
      if (!known) inputs.add_paths(std::move(path));
    }
  }
  const std::string& graph = work.space().graph().path();
  if (!graph.empty()) inputs.add_graph_files(graph);
  return inputs;
}

}  // namespace

v1::AssignmentInputs InputsOf(const v1::TrialSpec& spec) { return PathsOf(spec); }
v1::AssignmentInputs InputsOf(const v1::Discover& request) { return PathsOf(request); }

}  // namespace lanista

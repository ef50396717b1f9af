// Candidates of layer_choice and cell.
#ifndef LANISTA_SRC_GRAPH_MUTATORS_CANDIDATES_H_
#define LANISTA_SRC_GRAPH_MUTATORS_CANDIDATES_H_

#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "protos/experiment.pb.h"
#include "protos/graph.pb.h"
#include "src/graph/mutator.h"

namespace lanista::graph {

// The candidates that a configuration lists: the node as it is, operators, TorchScript files, other nodes.
class LayerCandidates {
 public:
  using Configs = google::protobuf::RepeatedPtrField<v1::LayerCandidateConfig>;
  using Nodes = google::protobuf::RepeatedPtrField<v1::Node>;

  // Reads each file once, not once a model. INVALID_ARGUMENT: there is no candidate, or an empty one.
  static absl::StatusOr<LayerCandidates> Create(const Configs& configs, const ModuleReader& read_module);

  // Appends the candidates that may replace `at`, with names and without inputs. Adds the graphs that they call to
  // `model`.
  absl::Status AddTo(const NodeHandle& at, MutableModel& model, Nodes* candidates) const;

 private:
  absl::StatusOr<v1::Node> MakeNode(const v1::LayerCandidateConfig& config, const NodeHandle& at,
                                    MutableModel& model) const;

  Configs configs_;
  std::map<std::string, v1::ModelGraph> modules_;
};

}  // namespace lanista::graph

#endif  // LANISTA_SRC_GRAPH_MUTATORS_CANDIDATES_H_

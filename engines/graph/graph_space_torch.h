// Opens the graph space of a configuration.
#ifndef LANISTA_ENGINES_GRAPH_GRAPH_SPACE_TORCH_H_
#define LANISTA_ENGINES_GRAPH_GRAPH_SPACE_TORCH_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "protos/experiment.pb.h"
#include "protos/space.pb.h"
#include "src/graph/mutator.h"

namespace lanista {

// The space of `config`: reads its base model and prepares its mutators. Kept for the next call with an equal
// configuration. INVALID_ARGUMENT: the configuration names no graph, some part of it is wrong, or a node of the base
// model has an operator that LibTorch lacks or that is refused. Used by one thread.
absl::StatusOr<std::shared_ptr<const graph::GraphSpace>> OpenGraphSpace(const v1::SpaceConfig& config);

// The files that OpenGraphSpace(config) has read: the base model, candidates' modules, and the archives with the
// weights and code of its models. Models are made from those bytes, even if the files change later.
absl::StatusOr<std::vector<v1::FileDigest>> GraphSpaceFiles(const v1::SpaceConfig& config);

// The model of `sample`: a graph without choices. Labels that `sample` lacks are drawn from `model_seed`. `actual`
// receives the decisions of the model.
absl::StatusOr<v1::ModelGraph> MaterialiseSample(const graph::GraphSpace& space, const v1::Sample& sample,
                                                 uint64_t model_seed, v1::Sample* actual);

}  // namespace lanista

#endif  // LANISTA_ENGINES_GRAPH_GRAPH_SPACE_TORCH_H_

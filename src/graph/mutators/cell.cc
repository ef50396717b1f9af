// cell: a node becomes a cell as in NAS papers.
#include <utility>

#include "absl/strings/str_cat.h"
#include "src/base/status.h"
#include "src/graph/mutator.h"
#include "src/graph/mutators/candidates.h"
#include "src/graph/mutators/targets.h"

namespace lanista::graph {
namespace {

// A larger number is a mistake.
constexpr int kMaxNodes = 1000;

class Cell final : public Mutator {
 public:
  Cell(v1::CellMutator config, LayerCandidates candidates)
      : config_(std::move(config)), candidates_(std::move(candidates)) {}

  absl::Status Mutate(MutableModel& model, Chooser&) const override {
    LANISTA_ASSIGN_OR_RETURN(const std::vector<NodeHandle> targets,
                             FindTargets(model, config_.target(), FilterOf(config_)));
    for (const NodeHandle& at : targets) {
      v1::Node node;
      v1::NasCellNode* const cell = node.mutable_nas_cell();
      cell->set_label(config_.has_label() ? config_.label() : at.path);
      cell->set_num_nodes(config_.num_nodes());
      cell->set_num_ops_per_node(config_.has_num_ops_per_node() ? config_.num_ops_per_node() : 1);
      cell->set_num_predecessors(at.node->inputs_size());
      cell->set_loose_end(config_.loose_end());
      if (config_.has_concat_dim()) cell->set_concat_dim(config_.concat_dim());
      LANISTA_RETURN_IF_ERROR(candidates_.AddTo(at, model, cell->mutable_op_candidates()));
      LANISTA_RETURN_IF_ERROR(model.Replace(at, node));
    }
    return absl::OkStatus();
  }

 private:
  const v1::CellMutator config_;
  const LayerCandidates candidates_;
};

MutatorRegistry::Result MakeCell(const v1::CellMutator& config, const v1::MutatorConfig& whole,
                                 const ModuleReader& read_module) {
  if (!whole.also().empty()) return absl::InvalidArgumentError("`also` belongs to a value_choice");
  if (config.num_nodes() < 1 || config.num_nodes() > kMaxNodes) {
    return absl::InvalidArgumentError(absl::StrCat("num_nodes must be from 1 to ", kMaxNodes));
  }
  if (config.has_num_ops_per_node() && (config.num_ops_per_node() < 1 || config.num_ops_per_node() > kMaxNodes)) {
    return absl::InvalidArgumentError(absl::StrCat("num_ops_per_node must be from 1 to ", kMaxNodes));
  }
  LANISTA_ASSIGN_OR_RETURN(LayerCandidates candidates, LayerCandidates::Create(config.candidate(), read_module));
  return std::make_unique<Cell>(config, std::move(candidates));
}

LANISTA_REGISTER_BUILT_IN(MutatorRegistry, cell, v1::CellMutator, MakeCell);

}  // namespace
}  // namespace lanista::graph

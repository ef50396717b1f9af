// layer_choice: a node becomes a choice between several candidates.
#include <utility>

#include "absl/strings/str_cat.h"
#include "src/base/status.h"
#include "src/graph/mutator.h"
#include "src/graph/mutators/candidates.h"
#include "src/graph/mutators/targets.h"

namespace lanista::graph {
namespace {

class LayerChoice final : public Mutator {
 public:
  LayerChoice(v1::LayerChoiceMutator config, LayerCandidates candidates)
      : config_(std::move(config)), candidates_(std::move(candidates)) {}

  absl::Status Mutate(MutableModel& model, Chooser&) const override {
    LANISTA_ASSIGN_OR_RETURN(const std::vector<NodeHandle> targets,
                             FindTargets(model, config_.target(), FilterOf(config_)));
    for (const NodeHandle& at : targets) {
      v1::Node choice;
      choice.mutable_layer_choice()->set_label(config_.has_label() ? config_.label() : at.path);
      LANISTA_RETURN_IF_ERROR(candidates_.AddTo(at, model, choice.mutable_layer_choice()->mutable_candidates()));
      LANISTA_RETURN_IF_ERROR(model.Replace(at, choice));
    }
    return absl::OkStatus();
  }

 private:
  const v1::LayerChoiceMutator config_;
  const LayerCandidates candidates_;
};

MutatorRegistry::Result MakeLayerChoice(const v1::LayerChoiceMutator& config, const v1::MutatorConfig& whole,
                                        const ModuleReader& read_module) {
  if (!whole.also().empty()) return absl::InvalidArgumentError("`also` belongs to a value_choice");
  LANISTA_ASSIGN_OR_RETURN(LayerCandidates candidates, LayerCandidates::Create(config.candidate(), read_module));
  return std::make_unique<LayerChoice>(config, std::move(candidates));
}

LANISTA_REGISTER_BUILT_IN(MutatorRegistry, layer_choice, v1::LayerChoiceMutator, MakeLayerChoice);

}  // namespace
}  // namespace lanista::graph

#include "engines/graph_maker.h"

#include <algorithm>
#include <string>

#include "src/base/logging.h"
#include "src/ops/registry.h"

namespace lanista {

std::optional<GraphMaker> GraphMaker::Create(const PlannerContext& context) {
  // The first mutator that is left is one of the user's.
  if (!context.graph_space.has_value() || !context.graph_space->mutator().empty()) return std::nullopt;
  v1::SpaceConfig config;
  *config.mutable_frozen() = context.space.frozen();
  auto space = graph::GraphSpace::Create(context.graph_space->base(), config, ops::FindOp, /*read_module=*/nullptr);
  if (!space.ok()) {
    LogInfo("the models' graphs are known to their trials only: {}", std::string(space.status().message()));
    return std::nullopt;
  }
  return GraphMaker(*std::move(space));
}

std::optional<v1::ModelGraph> GraphMaker::Make(const v1::Sample& sample) const {
  graph::Chooser chooser([&sample](const v1::Choice& choice) -> absl::StatusOr<v1::Decision> {
    const auto found =
        std::find_if(sample.decisions().begin(), sample.decisions().end(),
                     [&choice](const v1::Decision& decision) { return decision.label() == choice.label(); });
    if (found == sample.decisions().end()) return absl::NotFoundError(choice.label());
    return *found;
  });
  auto model = space_.Materialise(chooser);
  return model.ok() ? std::make_optional(*std::move(model)) : std::nullopt;
}

}  // namespace lanista

// input_choice: a node reads some of several values instead of its own input.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "src/base/status.h"
#include "src/graph/graph.h"
#include "src/graph/mutator.h"
#include "src/graph/mutators/targets.h"

namespace lanista::graph {
namespace {

class InputChoice final : public Mutator {
 public:
  explicit InputChoice(v1::InputChoiceMutator config) : config_(std::move(config)) {}

  absl::Status Mutate(MutableModel& model, Chooser&) const override {
    LANISTA_ASSIGN_OR_RETURN(const std::vector<NodeHandle> targets, FindTargets(model, config_.target(), nullptr));
    for (const NodeHandle& at : targets) LANISTA_RETURN_IF_ERROR(MutateOne(at, model));
    return absl::OkStatus();
  }

 private:
  absl::Status MutateOne(const NodeHandle& at, MutableModel& model) const {
    const int index = config_.input();
    if (index < 0 || index >= at.node->inputs_size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("node '", at.path, "' has ", at.node->inputs_size(), " inputs, and none of number ", index));
    }
    const auto& nodes = at.graph->nodes();
    if (std::none_of(nodes.begin(), nodes.end(), [&at](const v1::Node& node) { return &node == at.node; })) {
      return absl::InvalidArgumentError(
          absl::StrCat("node '", at.path, "' is a candidate: it has no input of its own"));
    }
    // The path of the graph, with a dot at the end.
    const std::string prefix = at.path.substr(0, at.path.size() - ModuleOf(*at.node).size());
    v1::Node choice;
    choice.set_name(model.FreeName(*at.graph, at.node->name() + ".input"));
    v1::InputChoiceNode& kind = *choice.mutable_input_choice();
    kind.set_label(config_.has_label() ? config_.label() : at.path + ".input");
    kind.set_n_chosen(config_.n_chosen());
    kind.set_reduction(config_.reduction());
    for (const std::string& candidate : config_.candidate()) {
      v1::Edge* const edge = choice.add_inputs();
      if (candidate == ".") {
        *edge = at.node->inputs(index);
        edge->clear_arg();
        continue;
      }
      const std::string name = candidate.compare(0, prefix.size(), prefix) == 0 ? candidate.substr(prefix.size()) : "";
      const bool is_node = std::any_of(nodes.begin(), nodes.end(), [&](const v1::Node& n) { return n.name() == name; });
      const auto& ports = at.graph->inputs();
      const bool is_port = std::any_of(ports.begin(), ports.end(), [&](const v1::Port& p) { return p.name() == name; });
      if (!is_node && !is_port) {
        return absl::NotFoundError(
            absl::StrCat("'", candidate, "' is no node beside '", at.path, "': an input choice stays within a module"));
      }
      edge->set_node(name);
    }
    const std::string name = choice.name();
    v1::Edge* const input = at.node->mutable_inputs(index);
    input->set_node(name);
    input->set_slot(0);
    model.AddBefore(at, std::move(choice));
    return absl::OkStatus();
  }

  const v1::InputChoiceMutator config_;
};

MutatorRegistry::Result MakeInputChoice(const v1::InputChoiceMutator& config, const v1::MutatorConfig& whole,
                                        const ModuleReader&) {
  if (!whole.also().empty()) return absl::InvalidArgumentError("`also` belongs to a value_choice");
  if (config.candidate().empty()) return absl::InvalidArgumentError("input_choice needs at least one candidate");
  return std::make_unique<InputChoice>(config);
}

LANISTA_REGISTER_BUILT_IN(MutatorRegistry, input_choice, v1::InputChoiceMutator, MakeInputChoice);

}  // namespace
}  // namespace lanista::graph

// value_choice: an attribute of a node is chosen, and other attributes follow it.
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "src/base/status.h"
#include "src/graph/expression.h"
#include "src/graph/mutator.h"
#include "src/graph/mutators/targets.h"

namespace lanista::graph {
namespace {

class ValueChoice final : public Mutator {
 public:
  explicit ValueChoice(const v1::MutatorConfig& config) : config_(config) {}

  absl::Status Mutate(MutableModel& model, Chooser&) const override {
    const v1::ValueChoiceMutator& config = config_.value_choice();
    LANISTA_ASSIGN_OR_RETURN(const std::vector<NodeHandle> targets,
                             FindTargets(model, config.target(), FilterOf(config)));
    std::set<std::string> paths;
    for (const NodeHandle& at : targets) paths.insert(at.path);
    if (!config.has_label() && paths.size() > 1 && !config_.also().empty()) {
      return absl::InvalidArgumentError(absl::StrCat("`also` follows one choice, and there are ", paths.size(),
                                                     " nodes with a choice of their own: give a label"));
    }
    for (const NodeHandle& at : targets) {
      const std::string label = LabelFor(at);
      LANISTA_RETURN_IF_ERROR(AddValueChoice(label, model));
      LANISTA_RETURN_IF_ERROR(SetExpression(at, config.attr(), ChoiceExpression(label), model));
    }
    const std::string label = LabelFor(targets.front());
    for (int i = 0; i < config_.also_size(); ++i) {
      LANISTA_RETURN_IF_ERROR(Annotate(Follow(config_.also(i), label, model), absl::StrCat("also[", i, "]")));
    }
    return absl::OkStatus();
  }

 private:
  std::string LabelFor(const NodeHandle& at) const {
    const v1::ValueChoiceMutator& config = config_.value_choice();
    return config.has_label() ? config.label() : absl::StrCat(at.path, ".", config.attr());
  }

  absl::Status AddValueChoice(const std::string& label, MutableModel& model) const {
    v1::ValueChoice choice;
    choice.set_label(label);
    *choice.mutable_candidates() = config_.value_choice().candidate();
    choice.set_propagate(config_.value_choice().propagate());
    for (const v1::ValueChoice& known : model.model().value_choices()) {
      if (known.label() != label) continue;
      if (known.SerializeAsString() == choice.SerializeAsString()) return absl::OkStatus();
      return absl::InvalidArgumentError(absl::StrCat("another value choice has the label '", label,
                                                     "' and other candidates, or another `propagate`"));
    }
    *model.mutable_model().add_value_choices() = std::move(choice);
    return absl::OkStatus();
  }

  static absl::Status SetExpression(const NodeHandle& at, const std::string& attr, v1::Expression expression,
                                    MutableModel& model) {
    v1::Value value;
    *value.mutable_expression() = std::move(expression);
    return model.SetAttribute(at, attr, std::move(value));
  }

  static absl::Status Follow(const v1::AlsoConfig& also, const std::string& label, MutableModel& model) {
    LANISTA_ASSIGN_OR_RETURN(const std::vector<NodeHandle> targets, FindTargets(model, also.target(), FilterOf(also)));
    for (const NodeHandle& at : targets) {
      LANISTA_RETURN_IF_ERROR(
          SetExpression(at, also.attr(), also.has_expression() ? also.expression() : ChoiceExpression(label), model));
    }
    return absl::OkStatus();
  }

  const v1::MutatorConfig config_;
};

MutatorRegistry::Result MakeValueChoice(const v1::ValueChoiceMutator& config, const v1::MutatorConfig& whole,
                                        const ModuleReader&) {
  if (config.attr().empty()) return absl::InvalidArgumentError("value_choice needs `attr`, the attribute's name");
  if (config.candidate().empty()) return absl::InvalidArgumentError("value_choice needs at least one candidate");
  return std::make_unique<ValueChoice>(whole);
}

LANISTA_REGISTER_BUILT_IN(MutatorRegistry, value_choice, v1::ValueChoiceMutator, MakeValueChoice);

}  // namespace
}  // namespace lanista::graph

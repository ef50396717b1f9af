// repeat: a node becomes a chain of copies of itself.
#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "src/base/status.h"
#include "src/graph/graph.h"
#include "src/graph/mutator.h"
#include "src/graph/mutators/targets.h"

namespace lanista::graph {
namespace {

// A larger number is a mistake.
constexpr int kMaxDepth = 10000;

class Repeat final : public Mutator {
 public:
  Repeat(v1::RepeatMutator config, std::set<int> depths) : config_(std::move(config)), depths_(std::move(depths)) {}

  absl::Status Mutate(MutableModel& model, Chooser&) const override {
    LANISTA_ASSIGN_OR_RETURN(const std::vector<NodeHandle> targets,
                             FindTargets(model, config_.target(), FilterOf(config_)));
    for (const NodeHandle& at : targets) {
      if (at.node->inputs_size() != 1) {
        return absl::InvalidArgumentError(absl::StrCat("node '", at.path, "' has ", at.node->inputs_size(),
                                                       " inputs: only a node with one is repeated"));
      }
      v1::Node repeat;
      repeat.mutable_repeat()->set_label(config_.has_label() ? config_.label() : at.path);
      for (const int depth : depths_) repeat.mutable_repeat()->add_depths(depth);
      for (int i = 0; i < *depths_.rbegin(); ++i) {
        v1::Node& block = *repeat.mutable_repeat()->add_blocks();
        block = *at.node;
        block.clear_inputs();
        block.clear_module();
        block.set_name(absl::StrCat(i));
      }
      LANISTA_RETURN_IF_ERROR(model.Replace(at, repeat));
    }
    return absl::OkStatus();
  }

 private:
  const v1::RepeatMutator config_;
  const std::set<int> depths_;
};

MutatorRegistry::Result MakeRepeat(const v1::RepeatMutator& config, const v1::MutatorConfig& whole,
                                   const ModuleReader&) {
  if (!whole.also().empty()) return absl::InvalidArgumentError("`also` belongs to a value_choice");
  const std::set<int> depths(config.depth().begin(), config.depth().end());
  if (depths.empty()) return absl::InvalidArgumentError("repeat needs `depth`, one or more to choose from");
  if (*depths.begin() < 0 || *depths.rbegin() > kMaxDepth) {
    return absl::InvalidArgumentError(absl::StrCat("a depth must be from 0 to ", kMaxDepth));
  }
  return std::make_unique<Repeat>(config, depths);
}

LANISTA_REGISTER_BUILT_IN(MutatorRegistry, repeat, v1::RepeatMutator, MakeRepeat);

}  // namespace
}  // namespace lanista::graph

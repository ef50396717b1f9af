// Runs what the logical plan of a merged trial merged: steps that its models compute alike are computed once.
#ifndef LANISTA_ENGINES_CGO_SHARED_PREFIX_TORCH_H_
#define LANISTA_ENGINES_CGO_SHARED_PREFIX_TORCH_H_

#include <ATen/core/ivalue.h>

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "src/graph/schedule.h"

namespace lanista {

namespace nn {
class Model;
}  // namespace nn
namespace runtime {
class GraphModule;
}  // namespace runtime

// Lets graph models share the steps that the passes merged (engines/cgo/sharing_passes.h). The model that comes to a
// batch first computes them; the others take its values, as long as they get the very same tensor as input, in the same
// mode, and nobody has changed a value in place. So every model computes, bit for bit, what it would alone. Used by the
// trial's thread.
class SharedPrefix : public std::enable_shared_from_this<SharedPrefix> {
 public:
  static std::shared_ptr<SharedPrefix> Create() { return std::shared_ptr<SharedPrefix>(new SharedPrefix); }

  // Lets `model` share from its next run on, for as long as it lives; a model that is no graph has nothing to share.
  // Frozen weights that are the same are in memory once from now on: a run after somebody has changed them throws.
  // REQUIRES: all members are on the same device.
  void Add(const std::shared_ptr<nn::Model>& model);

  // How many steps were taken over from another model, in all runs so far.
  int64_t steps_saved() const { return steps_saved_; }

 private:
  using Values = std::vector<c10::IValue>;

  // Between a step that is shared and one that is not, or by fewer.
  struct Cut {
    // Done so far.
    int steps = 0;
    // The last of them, in the plan.
    int work = 0;
    // What any of those that share it needs afterwards: up to the cut they number their slots alike.
    std::vector<graph::Slot> slots;
  };
  struct Member {
    std::weak_ptr<runtime::GraphModule> module;
    // After which steps it parts from other members, ascending.
    std::vector<Cut> cuts;
    // By number of steps, and in training or not: it changes what it shares then in place, or may do so.
    std::map<std::pair<int, bool>, bool> gets_copies;
  };

  // Tensors as they were when they were kept.
  struct Kept {
    Values values;
    std::vector<int64_t> versions;
  };
  // What a member has come to at a cut, for one batch.
  struct Entry {
    Kept inputs;
    bool training = false;
    Kept results;
  };

  SharedPrefix() = default;

  Values Run(runtime::GraphModule* module, Values inputs);
  Member* FindMember(const runtime::GraphModule* module);
  void RemoveExpired();
  // Plans anew: there is another member, or one is gone.
  void FindCuts();
  // The values at a cut, if they are there for these inputs.
  const Values* Find(const Cut& cut, const Values& inputs, bool training) const;

  static Kept Keep(const Values& values);
  static bool Unchanged(const Kept& kept);

  std::vector<Member> members_;
  // Weights of shared steps, of all members.
  Kept weights_;
  // By the last work before the cut.
  std::map<int, Entry> entries_;
  int64_t steps_saved_ = 0;
};

}  // namespace lanista

#endif  // LANISTA_ENGINES_CGO_SHARED_PREFIX_TORCH_H_

// DedupPrefix: what the models of a merged trial compute alike, from the batch on, is computed once.
#ifndef LANISTA_ENGINES_CGO_SHARED_PREFIX_TORCH_H_
#define LANISTA_ENGINES_CGO_SHARED_PREFIX_TORCH_H_

#include <ATen/core/ivalue.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/ops/graph_module_torch.h"

namespace lanista {

// Lets graph models share their first steps: frozen parts with equal weights, and operators without parameters, state
// or chance. The model that comes to a batch first computes them; the others take its values, as long as they get the
// very same tensor as input, in the same mode, and nobody has changed a value in place. So every model computes, bit
// for bit, what it would alone. Used by the trial's thread.
class SharedPrefix : public std::enable_shared_from_this<SharedPrefix> {
 public:
  static std::shared_ptr<SharedPrefix> Create() { return std::shared_ptr<SharedPrefix>(new SharedPrefix); }

  // Lets `module` share from its next run on, for as long as it lives.
  void Add(const std::shared_ptr<ops::GraphModule>& module);

  // How many steps were taken over from another model, in all runs so far.
  int64_t steps_saved() const { return steps_saved_; }

 private:
  using Values = std::vector<c10::IValue>;

  struct Member {
    std::weak_ptr<ops::GraphModule> module;
    // Of its shareable steps: equal numbers at the same step mean that all up to it are equal.
    std::vector<int> prefixes;
    // Numbers of steps after which another member goes on differently, ascending.
    std::vector<int> cuts;
    // By cut: it changes what it takes over in place, or may do so: it gets copies.
    std::map<int, bool> gets_copies;
  };

  // Tensors as they were when they were kept.
  struct Kept {
    Values values;
    std::vector<int64_t> versions;
  };
  // What a prefix has come to for one batch.
  struct Entry {
    Kept inputs;
    bool training = false;
    Kept alive;
  };

  SharedPrefix() = default;

  Values Run(ops::GraphModule* module, Values inputs);
  Member* FindMember(const ops::GraphModule* module);
  // Finds the cuts of all members anew once there is another one, or one is gone.
  void FindCuts();
  // The values of the prefix, if they are there for these inputs.
  const Values* Find(int prefix, const Values& inputs, bool training) const;

  static Kept Keep(const Values& values);
  static bool Unchanged(const Kept& kept);

  // Prefixes by the one before and the key of the step.
  std::map<std::pair<int, std::string>, int> prefixes_;
  std::vector<Member> members_;
  size_t members_with_cuts_ = 0;
  // By prefix.
  std::map<int, Entry> entries_;
  int64_t steps_saved_ = 0;
};

}  // namespace lanista

#endif  // LANISTA_ENGINES_CGO_SHARED_PREFIX_TORCH_H_

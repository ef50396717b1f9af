// Mutators change a graph, and ask for choices while they do: so they make a space of what they change (NNI: Mutator;
// docs/engines.md).
//
//   lanista::RegisterMutator("wider", [](lanista::graph::MutableModel& model, lanista::graph::Chooser& chooser) {
//     const auto width = chooser.ChooseValue("width", {lanista::graph::IntValue(64), lanista::graph::IntValue(128)});
//     if (!width.ok()) return width.status();
//     const auto found = model.Find("fc1");
//     if (!found.ok()) return found.status();
//     return model.SetAttribute(found->front(), "out_features", *width);
//   });                                                        // in main, before lanista::Init
//
// and in the configuration: space { torchscript { path: "net.pt" } mutator { custom { name: "wider" } } }. A class
// derives from lanista::graph::Mutator; parameters come as for all components (lanista/params.h). The same at namespace
// scope: LANISTA_REGISTER(mutator, "wider", MakeWider).
//
// A mutator is made once in each trial process, which owns it, and is called for many models, by one thread at a time:
// Mutate changes the model and nothing else, and does the same whenever it gets the same answers. The model and the
// chooser are the caller's, and are gone when Mutate returns. Labels are unique in a space, or their choices are equal.
// An error or an exception fails the model; while the space is learnt, it counts as a candidate that cannot be built.
// The model is checked after all mutators: what does not fit together is an error that names the node.
#ifndef LANISTA_INCLUDE_LANISTA_MUTATOR_H_
#define LANISTA_INCLUDE_LANISTA_MUTATOR_H_

#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/status/status.h"
#include "lanista/graph.h"
#include "src/api/register.h"
#include "src/base/custom.h"
#include "src/graph/mutator.h"

namespace lanista {

namespace internal {

// A function as a mutator.
template <typename Function>
class FunctionMutator final : public graph::Mutator {
 public:
  // `function` is an absl::Status(graph::MutableModel&, graph::Chooser&).
  explicit FunctionMutator(Function function) : function_(std::move(function)) {}

  // Calls the function.
  absl::Status Mutate(graph::MutableModel& model, graph::Chooser& chooser) const override {
    return function_(model, chooser);
  }

 private:
  const Function function_;
};

}  // namespace internal

// Registers what `mutator { custom { name: NAME } }` stands for: `make` is either an absl::Status(graph::MutableModel&,
// graph::Chooser&), called for each model, or an absl::StatusOr<std::unique_ptr<graph::Mutator>>(const Params&), which
// makes one; it may also take the const v1::MutatorConfig&, for its `also`, and a const graph::ModuleReader&, which
// reads TorchScript files. What it captures must be the same in each process of this program. REQUIRES: before
// lanista::Init.
template <typename Make>
void RegisterMutator(const std::string& name, Make make) {
  if constexpr (std::is_invocable_v<const Make&, graph::MutableModel&, graph::Chooser&>) {
    api::Register<graph::MutatorRegistry>("mutator", name, [make](const Params&) -> graph::MutatorRegistry::Result {
      return std::make_unique<internal::FunctionMutator<Make>>(make);
    });
  } else {
    api::Register<graph::MutatorRegistry>("mutator", name, std::move(make));
  }
}

// Registers a class of mutators, whose constructor takes nothing or `const Params&`.
template <typename MyMutator>
void RegisterMutator(const std::string& name) {
  static_assert(std::is_base_of_v<graph::Mutator, MyMutator>, "a mutator derives from lanista::graph::Mutator");
  RegisterMutator(
      name, [](const Params& params) -> graph::MutatorRegistry::Result { return api::Construct<MyMutator>(params); });
}

}  // namespace lanista

#endif  // LANISTA_INCLUDE_LANISTA_MUTATOR_H_

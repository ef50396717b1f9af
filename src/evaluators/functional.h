// For users: a function, or a class, of one's own as evaluator.
//
//   struct MyParams {
//     explicit MyParams(const lanista::Params& params) : epochs(params.Get<int64_t>("epochs", 5)) {}
//     int64_t epochs;
//   };
//   void TrainMyWay(lanista::TrialContext& context, const MyParams& params) {
//     auto model = context.model();
//     for (int64_t epoch = 0; epoch < params.epochs && !context.canceled(); ++epoch) {
//       ...
//       context.ReportIntermediate(accuracy);
//     }
//     context.ReportFinal({{"default", accuracy}, {"seconds", seconds}});
//   }
//   LANISTA_REGISTER_EVALUATOR_FUNCTION("my_way", TrainMyWay);
//
// and in the experiment:
//
//   evaluator { custom { name: "my_way" params { key: "epochs" value { i: 3 } } } }
#ifndef LANISTA_SRC_EVALUATORS_FUNCTIONAL_H_
#define LANISTA_SRC_EVALUATORS_FUNCTIONAL_H_

#include <functional>
#include <memory>
#include <type_traits>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "src/base/custom.h"
#include "src/evaluators/evaluator.h"

namespace lanista {

// Calls a user's function for each trial (NNI: FunctionalEvaluator). What the function throws fails the trial; if it
// returns because the trial was canceled, the trial is canceled.
class FunctionalEvaluator : public Evaluator {
 public:
  // The user's function, with its parameters bound.
  using Function = std::function<void(TrialContext& context)>;

  // Calls `function` for each trial.
  explicit FunctionalEvaluator(Function function);

  absl::Status Prepare(uint64_t order_seed) override;
  absl::Status Evaluate(TrialContext& context) override;

 private:
  const Function function_;
};

// For the macro below: an evaluator that calls `function`, with what its type MyParams makes of the configuration's
// parameters, or without any.
template <typename MyParams>
absl::StatusOr<std::unique_ptr<Evaluator>> MakeFunctionalEvaluator(void (*function)(TrialContext&, const MyParams&),
                                                                   const Params& params) {
  static_assert(!std::is_same_v<MyParams, Params> && std::is_constructible_v<MyParams, const Params&>,
                "an evaluator's function takes a type of your own that is constructed from `const lanista::Params&`: "
                "so the configuration is checked before the search begins");
  return std::make_unique<FunctionalEvaluator>(
      [function, mine = MyParams(params)](TrialContext& context) { function(context, mine); });
}
// The same for a function without parameters: any that the configuration has is an error.
absl::StatusOr<std::unique_ptr<Evaluator>> MakeFunctionalEvaluator(void (*function)(TrialContext&),
                                                                   const Params& params);

namespace kinds {
// For LANISTA_REGISTER(evaluator, "name", make).
struct evaluator {
  using Registry = EvaluatorRegistry;
};
}  // namespace kinds

}  // namespace lanista

// Registers `function`, a void(TrialContext&) or void(TrialContext&, const MyParams&), for
// `evaluator { custom { name: "NAME" } }`. MyParams is copied, and constructed from `const lanista::Params&` when the
// configuration is checked. At namespace scope.
#define LANISTA_REGISTER_EVALUATOR_FUNCTION(name, function) \
  LANISTA_REGISTER_EVALUATOR(                               \
      name, ([](const ::lanista::Params& params) { return ::lanista::MakeFunctionalEvaluator(function, params); }))

// Registers `factory`, an absl::StatusOr<std::unique_ptr<lanista::Evaluator>>(const lanista::Params&), for
// `evaluator { custom { name: "NAME" } }`. It reads all of its parameters at once. At namespace scope.
#define LANISTA_REGISTER_EVALUATOR(name, factory) \
  LANISTA_REGISTER_WITH_PARAMS(::lanista::EvaluatorRegistry, "evaluator", name, factory)

#endif  // LANISTA_SRC_EVALUATORS_FUNCTIONAL_H_

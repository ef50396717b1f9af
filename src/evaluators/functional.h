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
//   LANISTA_REGISTER(evaluator, "my_way", TrainMyWay);
//
// and in the experiment:
//
//   evaluator { custom { name: "my_way" params { key: "epochs" value { i: 3 } } } }
#ifndef LANISTA_SRC_EVALUATORS_FUNCTIONAL_H_
#define LANISTA_SRC_EVALUATORS_FUNCTIONAL_H_

#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

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

namespace internal {

// Whether `Make` is a function that is called for each trial, and no factory.
template <typename Make>
constexpr bool kTakesTrial = std::is_same_v<typename FirstParameter<Make>::Type, TrialContext>;

// A factory of evaluators that call `function`, a void(TrialContext&, const MyParams&).
template <typename MyParams, typename Function>
auto FactoryOf(Function function) {
  static_assert(!std::is_same_v<MyParams, Params> && std::is_constructible_v<MyParams, const Params&>,
                "an evaluator's function takes a type of your own that is constructed from `const lanista::Params&`: "
                "so the configuration is checked before the search begins");
  return [function](const Params& params) -> EvaluatorRegistry::Result {
    return std::make_unique<FunctionalEvaluator>(
        [function, mine = MyParams(params)](TrialContext& context) { function(context, mine); });
  };
}

}  // namespace internal

namespace kinds {
// For LANISTA_REGISTER(evaluator, "name", make), and `evaluator { custom { name: "name" params { ... } } }`.
struct evaluator {
  // `make` is a void(TrialContext&), called for each trial, or a factory, an
  // absl::StatusOr<std::unique_ptr<Evaluator>>(const Params&), which reads all of its parameters at once.
  template <typename Make>
  static bool Register(const std::string& kind, const std::string& name, Make make) {
    if constexpr (std::is_invocable_v<const Make&, TrialContext&>) {
      return RegisterComponent<EvaluatorRegistry>(kind, name, [make](const Params&) -> EvaluatorRegistry::Result {
        return std::make_unique<FunctionalEvaluator>(make);
      });
    } else {
      static_assert(!internal::kTakesTrial<Make>,
                    "an evaluator with parameters is a function, `void TrainMyWay(lanista::TrialContext& context, "
                    "const MyParams& params)`, and no lambda, which lanista::RegisterEvaluator<MyParams> takes");
      return RegisterComponent<EvaluatorRegistry>(kind, name, std::move(make));
    }
  }

  // A function with parameters: MyParams is constructed from `const Params&` when the configuration is checked, and
  // copied.
  template <typename MyParams>
  static bool Register(const std::string& kind, const std::string& name,
                       void (*function)(TrialContext&, const MyParams&)) {
    return RegisterComponent<EvaluatorRegistry>(kind, name, internal::FactoryOf<MyParams>(function));
  }
};
}  // namespace kinds

}  // namespace lanista

#endif  // LANISTA_SRC_EVALUATORS_FUNCTIONAL_H_

// Evaluators train and score models: a function, a lambda or a class of one's own (docs/spaces.md).
//
//   lanista::RegisterEvaluator("my_way", [](lanista::TrialContext& context) {      // in main, before lanista::Init
//     auto model = context.model();
//     for (int epoch = 0; epoch < 5 && !context.canceled(); ++epoch) {
//       ...
//       context.ReportIntermediate(accuracy);
//     }
//     context.ReportFinal(accuracy);
//   });
//
// and in the configuration: evaluator { custom { name: "my_way" } }. The same at namespace scope, for a function or a
// factory: LANISTA_REGISTER(evaluator, "my_way", TrainMyWay). They run in trial processes, on one thread. What
// they return as an error or throw fails the trial, with its text as the reason; what a factory does is told when the
// experiment starts.
#ifndef LANISTA_INCLUDE_LANISTA_EVALUATOR_H_
#define LANISTA_INCLUDE_LANISTA_EVALUATOR_H_

#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "src/api/register.h"
#include "src/evaluators/evaluator.h"
#include "src/evaluators/functional.h"
#include "src/evaluators/trains_model.h"
#include "src/nn/model.h"

namespace lanista {

// Registers what `evaluator { custom { name: NAME } }` stands for: `make` is either a void(TrialContext&), called for
// each trial, or an absl::StatusOr<std::unique_ptr<Evaluator>>(const Params&), which makes one. What it captures must
// be the same in each process of this program. REQUIRES: before lanista::Init.
template <typename Make>
void RegisterEvaluator(const std::string& name, Make make) {
  if constexpr (std::is_invocable_v<const Make&, TrialContext&>) {
    api::Register<EvaluatorRegistry>("evaluator", name, [make](const Params&) -> EvaluatorRegistry::Result {
      return std::make_unique<FunctionalEvaluator>(make);
    });
  } else {
    static_assert(!internal::kTakesTrial<Make>,
                  "an evaluator with parameters is registered with their type: "
                  "`lanista::RegisterEvaluator<MyParams>(name, function)`, where the function or lambda takes "
                  "`(lanista::TrialContext& context, const MyParams& params)`");
    api::Register<EvaluatorRegistry>("evaluator", name, std::move(make));
  }
}

// Registers `function`, a void(TrialContext&, const MyParams&). MyParams is constructed from `const Params&` when the
// configuration is checked, and copied.
template <typename MyParams, typename Function>
void RegisterEvaluator(const std::string& name, Function function) {
  api::Register<EvaluatorRegistry>("evaluator", name, internal::FactoryOf<MyParams>(std::move(function)));
}

// Registers a class of evaluators, whose constructor takes nothing or `const Params&`.
template <typename MyEvaluator>
void RegisterEvaluator(const std::string& name) {
  static_assert(std::is_base_of_v<Evaluator, MyEvaluator>, "an evaluator derives from lanista::Evaluator");
  api::Register<EvaluatorRegistry>("evaluator", name, [](const Params& params) -> EvaluatorRegistry::Result {
    return api::Construct<MyEvaluator>(params);
  });
}

}  // namespace lanista

#endif  // LANISTA_INCLUDE_LANISTA_EVALUATOR_H_

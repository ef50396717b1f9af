// For users: a function, or a class, of one's own as evaluator.
//
//   void TrainMyWay(lanista::TrialContext& context, const lanista::EvaluatorParams& params) {
//     auto model = context.model();
//     for (int epoch = 0; epoch < params.at("epochs").i() && !context.canceled(); ++epoch) {
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
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "google/protobuf/map.h"
#include "protos/experiment.pb.h"
#include "src/base/registry.h"
#include "src/evaluators/evaluator.h"

namespace lanista {

// What the configuration gives to a user's evaluator.
using EvaluatorParams = google::protobuf::Map<std::string, v1::Value>;

// Calls a user's function for each trial (NNI: FunctionalEvaluator). What the function throws fails the trial; if it
// returns because the trial was canceled, the trial is canceled.
class FunctionalEvaluator : public Evaluator {
 public:
  FunctionalEvaluator(EvaluatorFunction function, EvaluatorParams params);

  absl::Status Prepare(uint64_t order_seed) override;
  absl::Status Evaluate(TrialContext& context) override;

 private:
  const EvaluatorFunction function_;
  const EvaluatorParams params_;
};

// Makes FunctionalEvaluators of `function`; for the macro below.
std::function<absl::StatusOr<std::unique_ptr<Evaluator>>(const v1::Custom&)> FunctionalEvaluatorFactory(
    EvaluatorFunction function);

}  // namespace lanista

// Registers `function`, an EvaluatorFunction, for `evaluator { custom { name: "NAME" } }`. At namespace scope.
#define LANISTA_REGISTER_EVALUATOR_FUNCTION(name, function) \
  LANISTA_REGISTER_CUSTOM(::lanista::EvaluatorRegistry, name, ::lanista::FunctionalEvaluatorFactory(function))

// Registers `factory`, an absl::StatusOr<std::unique_ptr<lanista::Evaluator>>(const lanista::v1::Custom&), for
// `evaluator { custom { name: "NAME" } }`. At namespace scope.
#define LANISTA_REGISTER_EVALUATOR(name, factory) LANISTA_REGISTER_CUSTOM(::lanista::EvaluatorRegistry, name, factory)

#endif  // LANISTA_SRC_EVALUATORS_FUNCTIONAL_H_

// An evaluator of its own: any C++ function that trains a model and reports how good it is.
#include <torch/torch.h>

#include "src/evaluators/functional.h"

// What the configuration says: params { key: "epochs" value { i: 20 } }.
struct HalvesParams {
  explicit HalvesParams(const lanista::Params& params) : epochs(params.Get<int64_t>("epochs", 10)) {}
  int64_t epochs;
};

// Is the left half of an image of noise brighter than the right one?
void TellHalvesApart(lanista::TrialContext& context, const HalvesParams& params) {
  const auto model = context.model();
  torch::optim::Adam optimizer(model->parameters(), 0.001);
  const torch::Tensor images = torch::rand({512, 1, 28, 28}, context.device());
  const torch::Tensor answers =
      (images.slice(3, 0, 14).mean({1, 2, 3}) > images.slice(3, 14).mean({1, 2, 3})).to(torch::kLong);
  double accuracy = 0;
  for (int64_t epoch = 0; epoch < params.epochs && !context.canceled(); ++epoch) {
    const torch::Tensor scores = model->forward(images);
    accuracy = (scores.argmax(1) == answers).to(torch::kDouble).mean().item<double>();
    context.ReportIntermediate(accuracy);
    optimizer.zero_grad();
    torch::nn::functional::cross_entropy(scores, answers).backward();
    optimizer.step();
  }
  context.ReportFinal(accuracy);
}
LANISTA_REGISTER_EVALUATOR_FUNCTION("tell_halves_apart", TellHalvesApart);

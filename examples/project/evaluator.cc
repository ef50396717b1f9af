// An evaluator of its own: any function that trains a model and reports how good it is. The built-in evaluator
// `classification` (experiment.textproto) needs none of this.
#include "lanista/evaluator.h"

#include <torch/nn/functional/loss.h>
#include <torch/optim/adam.h>

#include <stdexcept>

#include "lanista/dataset.h"

namespace {

// What the configuration says: params { key: "steps" value { i: 100 } }.
struct TrainingParams {
  explicit TrainingParams(const lanista::Params& params) : steps(params.Get<int64_t>("steps", 50)) {}
  int64_t steps;
};

void TrainOnStripes(lanista::TrialContext& context, const TrainingParams& params) {
  lanista::v1::DatasetConfig config;
  config.mutable_custom()->set_name("stripes");
  const auto data = lanista::data::OpenDataset(config, context.order_seed());
  if (!data.ok()) throw std::runtime_error(data.status().ToString());
  const lanista::data::Example& train = *data->train->InMemory();
  const lanista::data::Example& validation = *data->validation->InMemory();

  const auto model = context.model();
  torch::optim::Adam optimizer(model->parameters(), 0.003);
  const auto accuracy = [&] {
    const torch::NoGradGuard no_grad;
    const torch::Tensor found = model->forward(validation.input.to(context.device())).argmax(1).cpu();
    return (found == validation.target).to(torch::kDouble).mean().item<double>();
  };
  for (int64_t step = 0; step < params.steps && !context.canceled(); ++step) {
    const torch::Tensor batch = torch::randint(train.input.size(0), {64}, torch::kLong);
    const torch::Tensor scores = model->forward(train.input.index_select(0, batch).to(context.device()));
    optimizer.zero_grad();
    torch::nn::functional::cross_entropy(scores, train.target.index_select(0, batch).to(context.device())).backward();
    optimizer.step();
    if (step % 25 == 24) context.ReportIntermediate(accuracy());
  }
  context.ReportFinal(accuracy());
}

}  // namespace

LANISTA_REGISTER(evaluator, "train_on_stripes", TrainOnStripes);

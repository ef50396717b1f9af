#include "src/trial/try_models.h"

#include <ATen/Context.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros.h>

#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/base/cuda_error.h"
#include "src/base/status.h"
#include "src/graph/graph.h"
#include "src/nn/construction.h"
#include "src/runtime/graph_module_torch.h"
#include "src/space/space.h"
#include "src/trial/torch_guard.h"

namespace lanista {
namespace {

// If so many models do not run, the search is not started.
constexpr size_t kMostTries = 8;
// A small space gives the same models again and again.
constexpr int kMostDraws = 64;

// The first model, then random ones, drawn with a fixed seed.
std::vector<v1::Sample> ModelsToTry(const Space& space) {
  std::vector<v1::Sample> samples{space.First()};
  std::set<std::string> keys{Space::Key(samples[0])};
  std::mt19937_64 random(1);
  for (int draw = 0; draw < kMostDraws && samples.size() < kMostTries; ++draw) {
    v1::Sample sample = space.Random(random);
    if (keys.insert(Space::Key(sample)).second) samples.push_back(std::move(sample));
  }
  return samples;
}

// The shape of the only input of a graph; nullopt where it is not known.
std::optional<std::vector<int64_t>> InputShape(const runtime::GraphModule& module) {
  const v1::Graph& graph = graph::RootGraph(module.graph());
  if (graph.inputs_size() != 1) return std::nullopt;
  const v1::ValueType& type = graph.inputs(0).type();
  if (type.kind() != v1::ValueType::TENSOR || !type.has_shape()) return std::nullopt;
  std::vector<int64_t> shape;
  for (const int64_t dim : type.shape().dims()) shape.push_back(dim < 0 ? 2 : dim);
  return shape;
}

// Runs a graph on zeros: as floating-point numbers or, if that fails, as integers, because it is not known which type
// the graph takes.
absl::Status RunOnZeros(nn::Model& model, c10::Device device) {
  auto* const graph = dynamic_cast<runtime::GraphModule*>(&model);
  const auto shape = graph == nullptr ? std::nullopt : InputShape(*graph);
  if (!shape.has_value()) return absl::OkStatus();
  const auto run = [&](c10::ScalarType type) {
    return GuardStatus([&] {
      const at::NoGradGuard no_grad;
      graph->Run({at::zeros(*shape, at::TensorOptions(type).device(device))});
      return absl::OkStatus();
    });
  };
  const absl::Status on_numbers = run(at::kFloat);
  return on_numbers.ok() || run(at::kLong).ok() ? absl::OkStatus() : on_numbers;
}

}  // namespace

absl::Status TryModels(ModelBuilder& builder, const v1::SpaceConfig& config, Evaluator& evaluator, c10::Device device,
                       const std::function<void(const v1::Sample& sample)>& before_try, v1::SpaceSpec* spec) {
  LANISTA_ASSIGN_OR_RETURN(const Space space, Space::FromProto(*spec));
  const std::vector<v1::Sample> samples = ModelsToTry(space);
  std::string first_failure;
  size_t failures = 0;
  // Whether the evaluator knows what the models will be given.
  bool has_samples = false;
  for (const v1::Sample& sample : samples) {
    before_try(sample);
    std::optional<std::string> wrong_space;
    const absl::Status status = GuardStatus([&]() -> absl::Status {
      try {
        constexpr uint64_t kSeed = 1;
        at::manual_seed(kSeed);
        LANISTA_ASSIGN_OR_RETURN(const BuiltModel built, builder.Build(config, sample, kSeed));
        built.model->to(device);
        const absl::Status tried = evaluator.Try(*built.model, device);
        has_samples = !absl::IsUnimplemented(tried);
        return has_samples ? tried : RunOnZeros(*built.model, device);
      } catch (const nn::SpaceError& error) {
        wrong_space = error.what();
        return absl::OkStatus();
      }
    });
    if (wrong_space.has_value()) return absl::InvalidArgumentError(*wrong_space);
    if (absl::IsFailedPrecondition(status)) return status;
    if (status.ok()) break;
    if (SaysCudaError(status.message())) {
      // After it every call of this process fails, whatever the next models are: nothing is known about them.
      spec->add_warnings(
          absl::StrCat("a model that was tried cannot run: ", Space::ToJson(sample), ": ", status.message()));
      return absl::OkStatus();
    }
    if (++failures == 1) first_failure = absl::StrCat(Space::ToJson(sample), ": ", status.message());
  }
  if (failures == 0) return absl::OkStatus();
  if (failures < samples.size() || !has_samples) {
    spec->add_warnings(absl::StrCat(failures, failures == 1 ? " model that was" : " models that were",
                                    " tried cannot run; the first, ", first_failure));
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(
      failures == 1
          ? absl::StrCat("the model cannot run: ", first_failure)
          : absl::StrCat("none of ", failures, " models that were tried can run; the first, ", first_failure));
}

}  // namespace lanista

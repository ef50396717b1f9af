// A space like those of MobileNetV2, V3 and MnasNet, as graphs: a mutator replaces each stage by a chain of inverted
// residuals and chooses depth, expansion, kernel size and squeeze-and-excitation. (3 x 2 x 2 x 2)^3 = 13,824 models.
//
// Sandler et al., "MobileNetV2: Inverted Residuals and Linear Bottlenecks", 2018; Tan et al., "MnasNet", 2019.
#include "lanista/main.h"

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "lanista/graph.h"
#include "lanista/mutator.h"

namespace graph = lanista::graph;
namespace v1 = lanista::v1;

using graph::Handle;
using graph::MakeOp;

namespace {

Handle AddConvBnReLU(graph::Builder& net, const std::string& name, Handle x, int64_t in, int64_t out, int64_t kernel,
                     int64_t stride, int64_t groups) {
  x = net.Add(name + ".0",
              MakeOp("Conv2d", {{"in_channels", in},
                                {"out_channels", out},
                                {"kernel_size", kernel},
                                {"stride", stride},
                                {"padding", kernel / 2},
                                {"groups", groups},
                                {"bias", false}}),
              {x});
  x = net.Add(name + ".1", MakeOp("BatchNorm2d", {{"num_features", out}}), {x});
  return net.Add(name + ".2", MakeOp("ReLU6", {{"inplace", true}}), {x});
}

// Scales each channel by a factor that is computed from the channels' averages (Hu et al., "Squeeze-and-Excitation",
// 2018).
Handle AddSqueezeExcitation(graph::Builder& net, const Handle& x, int64_t channels) {
  const int64_t squeezed = channels / 4;
  const auto conv1x1 = [](int64_t in, int64_t out) {
    return MakeOp("Conv2d", {{"in_channels", in}, {"out_channels", out}, {"kernel_size", 1}});
  };
  Handle scale = net.Add("se.avgpool", MakeOp("AdaptiveAvgPool2d", {{"output_size", {1, 1}}}), {x});
  scale = net.Add("se.fc1", conv1x1(channels, squeezed), {scale});
  scale = net.Add("se.relu", MakeOp("ReLU"), {scale});
  scale = net.Add("se.fc2", conv1x1(squeezed, channels), {scale});
  scale = net.Add("se.gate", MakeOp("Hardsigmoid"), {scale});
  return net.Add("se.scale", MakeOp("aten::mul.Tensor"), {{"self", x}, {"other", scale}});
}

struct BlockOptions {
  int64_t in, out, stride;
  int64_t expansion = 2, kernel = 3;
  bool squeeze_excitation = false;
};

absl::StatusOr<v1::ModelGraph> InvertedResidual(const BlockOptions& options) {
  graph::Builder block("InvertedResidual", graph::kOperators);
  const int64_t hidden = options.in * options.expansion;
  const Handle x = block.Input("x");
  Handle y = AddConvBnReLU(block, "expand", x, options.in, hidden, 1, 1, 1);
  y = AddConvBnReLU(block, "depthwise", y, hidden, hidden, options.kernel, options.stride, hidden);
  if (options.squeeze_excitation) y = AddSqueezeExcitation(block, y, hidden);
  y = block.Add(
      "project.0",
      MakeOp("Conv2d", {{"in_channels", hidden}, {"out_channels", options.out}, {"kernel_size", 1}, {"bias", false}}),
      {y});
  y = block.Add("project.1", MakeOp("BatchNorm2d", {{"num_features", options.out}}), {y});
  if (options.stride == 1 && options.in == options.out) {
    y = block.Add("sum", MakeOp("aten::add.Tensor"), {{"self", x}, {"other", y}});
  }
  block.Output(y);
  return std::move(block).Build();
}

// Input channels, output channels and stride of each stage; the mutator uses them too.
constexpr BlockOptions kStages[] = {{16, 16, 1}, {16, 32, 2}, {32, 48, 2}};

// The base model: one plain block per stage.
absl::StatusOr<v1::ModelGraph> MobileNet(const lanista::Params&) {
  graph::Builder net("MobileNet", graph::kOperators);
  Handle x = net.Input("x", graph::TensorType(v1::Tensor::FLOAT32, {-1, 1, 28, 28}));
  x = AddConvBnReLU(net, "stem", x, 1, 16, 3, 2, 1);
  for (size_t stage = 0; stage < std::size(kStages); ++stage) {
    const absl::StatusOr<v1::ModelGraph> block = InvertedResidual(kStages[stage]);
    if (!block.ok()) return block.status();
    x = net.Add(absl::StrCat("stage", stage), net.Cell(*block), {x});
  }
  x = net.Add("avgpool", MakeOp("AdaptiveAvgPool2d", {{"output_size", {1, 1}}}), {x});
  x = net.Add("flatten", MakeOp("Flatten"), {x});
  net.Output(net.Add("classifier", MakeOp("Linear", {{"in_features", 48}, {"out_features", 10}}), {x}));
  return std::move(net).Build();
}

LANISTA_REGISTER(graph_space, "mobilenet", MobileNet);

// Replaces the blocks stage0, stage1, ... by chains of blocks, as NNI's MnasNet example does. Parameter `depths`: the
// possible lengths of a chain.
class StageMutator final : public graph::Mutator {
 public:
  explicit StageMutator(std::vector<v1::Value> depths) : depths_(std::move(depths)) {}

  absl::Status Mutate(graph::MutableModel& model, graph::Chooser& chooser) const override {
    for (size_t stage = 0; stage < std::size(kStages); ++stage) {
      absl::Status status = MutateStage(absl::StrCat("stage", stage), kStages[stage], model, chooser);
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

 private:
  absl::Status MutateStage(const std::string& name, BlockOptions options, graph::MutableModel& model,
                           graph::Chooser& chooser) const {
    const auto choose = [&](const char* what, const std::vector<v1::Value>& candidates) {
      return chooser.ChooseValue(absl::StrCat(name, ".", what), candidates);
    };
    const auto depth = choose("depth", depths_);
    const auto expansion = choose("expansion", {graph::IntValue(2), graph::IntValue(4)});
    const auto kernel = choose("kernel", {graph::IntValue(3), graph::IntValue(5)});
    const auto squeeze = choose("se", {graph::BoolValue(false), graph::BoolValue(true)});
    for (const auto* const choice : {&depth, &expansion, &kernel, &squeeze}) {
      if (!choice->ok()) return choice->status();
    }
    options.expansion = expansion->i();
    options.kernel = kernel->i();
    options.squeeze_excitation = squeeze->b();
    // The first block changes width and resolution, the others keep them. A handle is valid until the next insertion.
    for (int64_t i = 0; i < depth->i(); ++i) {
      const absl::StatusOr<v1::ModelGraph> block = InvertedResidual(options);
      if (!block.ok()) return block.status();
      v1::Node cell = model.AddModel(*block);
      const std::string previous = i == 1 ? name : absl::StrCat(name, "_", i - 1);
      const auto found = model.Find(i == 0 ? name : previous);
      if (!found.ok()) return found.status();
      if (i > 0) cell.set_name(absl::StrCat(name, "_", i));
      absl::Status status =
          i == 0 ? model.Replace(found->front(), cell) : model.InsertAfter(found->front(), std::move(cell));
      if (!status.ok()) return status;
      options.in = options.out;
      options.stride = 1;
    }
    return absl::OkStatus();
  }

  const std::vector<v1::Value> depths_;
};

absl::StatusOr<std::unique_ptr<graph::Mutator>> MakeStageMutator(const lanista::Params& params) {
  std::vector<v1::Value> depths;
  for (const int64_t depth : params.Get<std::vector<int64_t>>("depths")) depths.push_back(graph::IntValue(depth));
  if (depths.empty())
    return absl::InvalidArgumentError("the mutator 'mobilenet_stages' needs at least one of `depths`");
  return std::make_unique<StageMutator>(std::move(depths));
}

LANISTA_REGISTER(mutator, "mobilenet_stages", MakeStageMutator);

}  // namespace

int main(int argc, char** argv) { return lanista::Main(argc, argv); }

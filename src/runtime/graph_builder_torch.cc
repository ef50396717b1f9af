#include "src/runtime/graph_builder_torch.h"

#include <ATen/core/grad_mode.h>
#include <torch/types.h>

#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "src/base/status.h"
#include "src/graph/built_in.h"
#include "src/graph/graph.h"
#include "src/ops/registry.h"
#include "src/runtime/aten_call_torch.h"

namespace lanista::runtime {
namespace {

class GraphBuilder {
 public:
  GraphBuilder(torch::nn::Module* owner, v1::SpaceConfig::Weights weights, BuiltGraph* built)
      : owner_(owner), weights_(weights), built_(built) {}

  absl::Status BuildProgram(const graph::Schedule& schedule, Program* program) {
    program->inputs = schedule.inputs;
    program->outputs = schedule.outputs;
    for (const graph::ScheduledStep& scheduled : schedule.steps) {
      Step step;
      step.path = scheduled.path;
      step.frozen = scheduled.frozen;
      for (const Slot slot : scheduled.reads) step.reads.push_back({slot});
      step.writes = scheduled.writes;
      LANISTA_RETURN_IF_ERROR(Annotate(BuildStep(scheduled, &step), absl::StrCat("node '", step.path, "'")));
      program->steps.push_back(std::move(step));
    }
    return absl::OkStatus();
  }

 private:
  absl::Status BuildStep(const graph::ScheduledStep& scheduled, Step* step) {
    const v1::Node& node = *scheduled.node;
    if (node.has_op()) {
      step->type = node.op().type();
      return BuildOperator(node, scheduled.module, scheduled.frozen, step);
    }
    if (node.has_opaque()) {
      step->type = node.opaque().type();
      return BuildOpaque(node, scheduled.module, scheduled.frozen, step);
    }
    step->kind = Step::Kind::kSwitch;
    step->training = std::make_unique<Program>();
    step->evaluation = std::make_unique<Program>();
    LANISTA_RETURN_IF_ERROR(BuildProgram(*scheduled.training, step->training.get()));
    return BuildProgram(*scheduled.evaluation, step->evaluation.get());
  }

  absl::Status BuildOperator(const v1::Node& node, const std::string& path, bool frozen, Step* step) {
    for (const v1::Attribute& attribute : node.op().attr()) {
      if (!attribute.value().has_expression()) continue;
      return absl::InvalidArgumentError(absl::StrCat("attribute '", attribute.key(), "' is a choice: decide it first"));
    }
    const std::string& type = node.op().type();
    if (type.find("::") != std::string::npos) {
      step->kind = Step::Kind::kAten;
      LANISTA_ASSIGN_OR_RETURN(step->aten, AtenCall::Create(node));
      return absl::OkStatus();
    }
    const graph::OpSchema* const schema = ops::FindOp(type);
    if (schema == nullptr) return absl::InvalidArgumentError(absl::StrCat("there is no operator '", type, "'"));
    LANISTA_RETURN_IF_ERROR(schema->CheckAttributes(node.op()));
    const graph::Attributes attributes(*schema, node.op());
    const graph::BuiltIn built_in = graph::BuiltInOf(type);
    if (built_in == graph::BuiltIn::kTraining) {
      step->kind = Step::Kind::kTraining;
      return absl::OkStatus();
    }
    if (built_in == graph::BuiltIn::kAssert) {
      step->kind = Step::Kind::kAssert;
      step->message = attributes.String("message");
      return absl::OkStatus();
    }
    if (built_in == graph::BuiltIn::kConstant || built_in == graph::BuiltIn::kParameter) {
      step->kind = Step::Kind::kTensor;
      if (built_in == graph::BuiltIn::kParameter) return BuildParameter(node, attributes, path, frozen, step);
      LANISTA_ASSIGN_OR_RETURN(step->tensor, ToTensor(attributes.Get("value").tensor()));
      step->constant = true;
      return absl::OkStatus();
    }
    BuiltGraph::Module& built = built_->modules[path];
    if (built.module == nullptr) {
      const ops::OpBuilder* const builder = ops::FindOpBuilder(type);
      if (builder == nullptr) return absl::InvalidArgumentError(absl::StrCat("operator '", type, "' cannot be built"));
      built.module = (*builder)(attributes);
      built.frozen = frozen;
      LANISTA_RETURN_IF_ERROR(Place(path, built.module->module()));
      LANISTA_RETURN_IF_ERROR(KeepWeights(node, path, *schema, attributes, frozen, &built));
    }
    step->module = built.module.get();
    step->kept = built.kept;
    return PlaceReads(node, step);
  }

  // Moves inputs whose edges name their arguments to the right positions.
  static absl::Status PlaceReads(const v1::Node& node, Step* step) {
    std::vector<Read> reads;
    for (int i = 0; i < node.inputs_size(); ++i) {
      const std::string& argument = node.inputs(i).arg();
      const int named = argument.empty() ? -1 : step->module->Position(argument);
      const auto at = static_cast<size_t>(named >= 0 ? named : i);
      if (reads.size() <= at) reads.resize(at + 1);
      if (reads[at].slot != kNoSlot) {
        return absl::InvalidArgumentError(absl::StrCat("input ", i, " comes in the place of another one"));
      }
      reads[at] = step->reads[i];
    }
    step->reads = std::move(reads);
    return absl::OkStatus();
  }

  absl::StatusOr<std::shared_ptr<const Archive>> OpenArchive(int index) {
    std::shared_ptr<const Archive>& archive = built_->archives[index];
    if (archive == nullptr) {
      LANISTA_ASSIGN_OR_RETURN(archive, Archive::Open(built_->graph.archives(index)));
      // If the graph gives no digest, this makes exports of the model use the same file content.
      built_->graph.mutable_archives(index)->set_sha256(archive->sha256());
    }
    return archive;
  }

  absl::Status BuildParameter(const v1::Node& node, const graph::Attributes& attributes, const std::string& path,
                              bool frozen, Step* step) {
    if (const auto known = tensors_.find(path); known != tensors_.end()) {
      step->tensor = known->second;
      return absl::OkStatus();
    }
    const std::vector<int64_t> shape = attributes.Ints("shape");
    at::Tensor tensor;
    if (node.has_weights()) {
      LANISTA_ASSIGN_OR_RETURN(const auto archive, OpenArchive(node.weights().archive()));
      const at::Tensor* const kept = archive->FindTensor(node.weights().path());
      if (kept == nullptr || kept->sizes() != at::IntArrayRef(shape)) {
        built_->warnings.push_back(absl::StrCat("'", path, "': the imported tensor has another shape: it starts anew"));
      } else {
        tensor = kept->detach().clone();
      }
    }
    if (!tensor.defined()) {
      const std::string init = attributes.String("init");
      tensor = init == "normal" ? torch::randn(shape) : init == "ones" ? torch::ones(shape) : torch::zeros(shape);
    }
    const size_t dot = path.rfind('.');
    const std::string name = dot == std::string::npos ? path : path.substr(dot + 1);
    LANISTA_ASSIGN_OR_RETURN(torch::nn::Module* const parent,
                             ContainerAt(dot == std::string::npos ? "" : path.substr(0, dot)));
    const bool trains = attributes.Bool("trainable") && !frozen;
    step->tensor = attributes.Bool("buffer") ? parent->register_buffer(name, tensor)
                                             : parent->register_parameter(name, tensor, trains);
    tensors_[path] = step->tensor;
    return absl::OkStatus();
  }

  absl::Status BuildOpaque(const v1::Node& node, const std::string& path, bool frozen, Step* step) {
    step->kind = Step::Kind::kOpaque;
    const auto known = built_->opaque.find(path);
    if (known != built_->opaque.end()) {
      step->opaque = &known->second.module;
      return absl::OkStatus();
    }
    LANISTA_ASSIGN_OR_RETURN(const auto archive, OpenArchive(node.opaque().archive()));
    LANISTA_ASSIGN_OR_RETURN(torch::jit::Module module, archive->CopyModule(node.opaque().path()));
    BuiltGraph::Opaque& built = built_->opaque.emplace(path, BuiltGraph::Opaque{module, frozen}).first->second;
    for (const auto& parameter : module.named_parameters()) {
      LANISTA_RETURN_IF_ERROR(PlaceTensor(graph::JoinPath(path, parameter.name), parameter.value, false,
                                          parameter.value.requires_grad() && !frozen));
    }
    for (const auto& buffer : module.named_buffers()) {
      LANISTA_RETURN_IF_ERROR(PlaceTensor(graph::JoinPath(path, buffer.name), buffer.value, true, false));
    }
    step->opaque = &built.module;
    return absl::OkStatus();
  }

  absl::Status PlaceTensor(const std::string& path, const at::Tensor& tensor, bool buffer, bool trains) {
    const size_t dot = path.rfind('.');
    LANISTA_ASSIGN_OR_RETURN(torch::nn::Module* const parent,
                             ContainerAt(dot == std::string::npos ? "" : path.substr(0, dot)));
    const std::string name = dot == std::string::npos ? path : path.substr(dot + 1);
    if (buffer) {
      parent->register_buffer(name, tensor);
    } else {
      parent->register_parameter(name, tensor, trains);
    }
    return absl::OkStatus();
  }

  // Registers a module under its path.
  absl::Status Place(const std::string& path, const std::shared_ptr<torch::nn::Module>& module) {
    const size_t dot = path.rfind('.');
    LANISTA_ASSIGN_OR_RETURN(torch::nn::Module* const parent,
                             ContainerAt(dot == std::string::npos ? "" : path.substr(0, dot)));
    parent->register_module(dot == std::string::npos ? path : path.substr(dot + 1), module);
    return absl::OkStatus();
  }

  // The module with the children and parameters whose names begin with `path` ("layer1.0"); made if needed.
  absl::StatusOr<torch::nn::Module*> ContainerAt(const std::string& path) {
    if (path.empty()) return owner_;
    if (const auto known = containers_.find(path); known != containers_.end()) return known->second;
    const auto container = std::make_shared<torch::nn::Module>();
    LANISTA_RETURN_IF_ERROR(Place(path, container));
    containers_[path] = container.get();
    return container.get();
  }

  // Copies the imported weights if they are to be kept.
  absl::Status KeepWeights(const v1::Node& node, const std::string& path, const graph::OpSchema& schema,
                           const graph::Attributes& attributes, bool frozen, BuiltGraph::Module* built) {
    const torch::NoGradGuard no_grad;
    const auto module = built->module->module();
    if ((weights_ == v1::SpaceConfig::KEEP || frozen) && node.has_weights()) {
      LANISTA_ASSIGN_OR_RETURN(const auto archive, OpenArchive(node.weights().archive()));
      auto parameters = module->named_parameters();
      auto buffers = module->named_buffers();
      built->kept = true;
      for (const graph::ParameterSpec& spec : schema.Parameters(attributes)) {
        at::Tensor* const own = spec.buffer ? buffers.find(spec.name) : parameters.find(spec.name);
        const at::Tensor* const kept = archive->FindTensor(graph::JoinPath(node.weights().path(), spec.name));
        if (own == nullptr) continue;
        if (kept == nullptr || kept->sizes() != own->sizes()) {
          built_->warnings.push_back(
              absl::StrCat("'", path, ".", spec.name, "': the imported tensor has another shape: it starts anew"));
          built->kept = false;
          continue;
        }
        own->copy_(*kept);
      }
    }
    if (frozen) {
      for (at::Tensor& parameter : module->parameters()) parameter.requires_grad_(false);
    }
    return absl::OkStatus();
  }

  torch::nn::Module* const owner_;
  const v1::SpaceConfig::Weights weights_;
  BuiltGraph* const built_;

  // Keyed by path.
  std::map<std::string, at::Tensor> tensors_;
  std::map<std::string, torch::nn::Module*> containers_;
};

}  // namespace

absl::Status BuildGraph(torch::nn::Module* owner, v1::SpaceConfig::Weights weights, BuiltGraph* built) {
  LANISTA_ASSIGN_OR_RETURN(built->schedule, graph::MakeSchedule(built->graph));
  LANISTA_RETURN_IF_ERROR(GraphBuilder(owner, weights, built).BuildProgram(built->schedule, &built->program));
  MarkLastReads(&built->program);
  return absl::OkStatus();
}

}  // namespace lanista::runtime

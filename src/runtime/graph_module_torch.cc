#include "src/runtime/graph_module_torch.h"

#include <ATen/core/grad_mode.h>
#include <c10/util/Exception.h>
#include <torch/csrc/jit/runtime/graph_executor.h>
#include <torch/types.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "src/base/status.h"
#include "src/graph/graph.h"
#include "src/graph/schedule.h"
#include "src/nn/state_dict.h"
#include "src/ops/registry.h"
#include "src/ops/registry_torch.h"
#include "src/runtime/archive_torch.h"
#include "src/runtime/aten_call_torch.h"

namespace lanista::ops {
namespace {

using c10::IValue;

using graph::Slot;

struct Step;

// A schedule that has been built: steps in order, with slots of their own.
struct Program {
  std::vector<Step> steps;
  std::vector<Slot> inputs;
  std::vector<Slot> outputs;
};

// An input of a step; kNoSlot: the input is none.
constexpr Slot kNoSlot = -1;
struct Read {
  Slot slot = kNoSlot;
  // No later step reads the value, so it is moved out of its slot.
  bool last = false;
};

// A step of the schedule that has been built.
struct Step {
  enum class Kind { kModule, kAten, kOpaque, kTensor, kTraining, kAssert, kSwitch };

  Kind kind = Kind::kModule;
  // For messages.
  std::string path;
  std::string type;
  std::vector<Read> reads;
  std::vector<Slot> writes;
  // Outputs that no step reads: freed at once.
  std::vector<Slot> unread;
  // Always runs as in evaluation mode.
  bool frozen = false;
  // All weights were taken from the archive.
  bool kept = false;

  OpModule* module = nullptr;
  std::optional<AtenCall> aten;
  torch::jit::Module* opaque = nullptr;
  // kTensor: a parameter, buffer or constant. Shares memory with the registered tensor.
  at::Tensor tensor;
  bool constant = false;
  // kAssert.
  std::string message;
  // kSwitch.
  std::unique_ptr<Program> training;
  std::unique_ptr<Program> evaluation;
};

}  // namespace

class GraphModule::Impl {
 public:
  Impl(GraphModule* owner, const v1::ModelGraph& graph, Options options)
      : owner_(owner), graph_(graph), options_(options) {}

  absl::Status Build() {
    LANISTA_ASSIGN_OR_RETURN(schedule_, graph::MakeSchedule(graph_));
    LANISTA_RETURN_IF_ERROR(BuildProgram(schedule_, &program_));
    MarkLastReads(&program_);
    values_.resize(static_cast<size_t>(schedule_.num_slots));
    return absl::OkStatus();
  }

  const graph::Schedule& schedule() const { return schedule_; }
  bool keeps_weights(int step) const { return program_.steps[static_cast<size_t>(step)].kept; }
  int num_steps() const { return static_cast<int>(program_.steps.size()); }

  std::vector<at::Tensor> weights(int step) const {
    const auto module = program_.steps[static_cast<size_t>(step)].module->module();
    std::vector<at::Tensor> weights = module->parameters();
    for (const at::Tensor& buffer : module->buffers()) weights.push_back(buffer);
    return weights;
  }

  std::vector<IValue> Run(std::vector<IValue> inputs) {
    return RunSteps(0, num_steps(), program_.inputs, std::move(inputs), program_.outputs);
  }

  std::vector<IValue> RunSteps(int from, int to, const std::vector<Slot>& given, std::vector<IValue> values,
                               const std::vector<Slot>& wanted) {
    TORCH_CHECK(values.size() == given.size(), "the model takes ", given.size(), " inputs, not ", values.size());
    // Drops values that an earlier run left when it threw.
    for (IValue& value : values_) value = IValue();
    wanted_.assign(values_.size(), false);
    for (const Slot slot : wanted) wanted_[slot] = true;
    for (size_t i = 0; i < given.size(); ++i) values_[given[i]] = std::move(values[i]);
    for (int i = from; i < to; ++i) RunNamedStep(program_.steps[static_cast<size_t>(i)]);
    values.clear();
    for (const Slot slot : wanted) values.push_back(values_[slot]);
    for (IValue& value : values_) value = IValue();
    return values;
  }

  std::vector<Slot> NeededFrom(int step) const {
    std::set<Slot> written(program_.inputs.begin(), program_.inputs.end());
    std::set<Slot> needed(program_.outputs.begin(), program_.outputs.end());
    for (int i = 0; i < num_steps(); ++i) {
      const Step& one = program_.steps[static_cast<size_t>(i)];
      if (i < step) {
        written.insert(one.writes.begin(), one.writes.end());
      } else {
        for (const Read& read : one.reads) needed.insert(read.slot);
      }
    }
    std::vector<Slot> slots;
    std::set_intersection(written.begin(), written.end(), needed.begin(), needed.end(), std::back_inserter(slots));
    return slots;
  }

  void Train(bool on) {
    for (auto& entry : modules_) {
      if (entry.second.module->module() != nullptr) entry.second.module->module()->train(on && !entry.second.frozen);
    }
    for (auto& entry : opaque_) entry.second.module.train(on && !entry.second.frozen);
  }

  void MoveConstants(c10::Device device) { MoveConstants(device, &program_); }

  const v1::ModelGraph& graph() const { return graph_; }
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  struct BuiltModule {
    std::unique_ptr<OpModule> module;
    bool frozen = false;
    // All weights were taken from the archive.
    bool kept = false;
  };
  struct BuiltOpaque {
    torch::jit::Module module;
    bool frozen = false;
  };

  // ---- Building ----

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
    const graph::OpSchema* const schema = FindOp(type);
    if (schema == nullptr) return absl::InvalidArgumentError(absl::StrCat("there is no operator '", type, "'"));
    LANISTA_RETURN_IF_ERROR(schema->CheckAttributes(node.op()));
    const graph::Attributes attributes(*schema, node.op());
    if (type == "Training") {
      step->kind = Step::Kind::kTraining;
      return absl::OkStatus();
    }
    if (type == "Assert") {
      step->kind = Step::Kind::kAssert;
      step->message = attributes.String("message");
      return absl::OkStatus();
    }
    if (type == "Constant" || type == "Parameter") {
      step->kind = Step::Kind::kTensor;
      if (type == "Parameter") return BuildParameter(node, attributes, path, frozen, step);
      LANISTA_ASSIGN_OR_RETURN(step->tensor, ToTensor(attributes.Get("value").tensor()));
      step->constant = true;
      return absl::OkStatus();
    }
    BuiltModule& built = modules_[path];
    if (built.module == nullptr) {
      const OpBuilder* const builder = FindOpBuilder(type);
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
    std::shared_ptr<const Archive>& archive = archives_[index];
    if (archive == nullptr) {
      LANISTA_ASSIGN_OR_RETURN(archive, Archive::Open(graph_.archives(index)));
      // If the graph gives no digest, this makes exports of the model use the same file content.
      graph_.mutable_archives(index)->set_sha256(archive->sha256());
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
        warnings_.push_back(absl::StrCat("'", path, "': the imported tensor has another shape: it starts anew"));
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
    const auto known = opaque_.find(path);
    if (known != opaque_.end()) {
      step->opaque = &known->second.module;
      return absl::OkStatus();
    }
    LANISTA_ASSIGN_OR_RETURN(const auto archive, OpenArchive(node.opaque().archive()));
    LANISTA_ASSIGN_OR_RETURN(torch::jit::Module module, archive->CopyModule(node.opaque().path()));
    BuiltOpaque& built = opaque_.emplace(path, BuiltOpaque{module, frozen}).first->second;
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
                           const graph::Attributes& attributes, bool frozen, BuiltModule* built) {
    const torch::NoGradGuard no_grad;
    const auto module = built->module->module();
    if ((options_.weights == v1::KEEP || frozen) && node.has_weights()) {
      LANISTA_ASSIGN_OR_RETURN(const auto archive, OpenArchive(node.weights().archive()));
      auto parameters = module->named_parameters();
      auto buffers = module->named_buffers();
      built->kept = true;
      for (const graph::ParameterSpec& spec : schema.Parameters(attributes)) {
        at::Tensor* const own = spec.buffer ? buffers.find(spec.name) : parameters.find(spec.name);
        const at::Tensor* const kept = archive->FindTensor(graph::JoinPath(node.weights().path(), spec.name));
        if (own == nullptr) continue;
        if (kept == nullptr || kept->sizes() != own->sizes()) {
          warnings_.push_back(
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

  // Constants are not part of the state_dict, so they do not move with their modules.
  static void MoveConstants(c10::Device device, Program* program) {
    for (Step& step : program->steps) {
      if (step.constant) step.tensor = step.tensor.to(device);
      for (Program* const arm : {step.training.get(), step.evaluation.get()}) {
        if (arm != nullptr) MoveConstants(device, arm);
      }
    }
  }

  // ---- Running ----

  static void MarkLastReads(Program* program) {
    std::unordered_map<Slot, bool> read_later;
    for (const Slot slot : program->outputs) read_later[slot] = true;
    for (size_t i = program->steps.size(); i-- > 0;) {
      Step& step = program->steps[i];
      for (const Slot slot : step.writes) {
        if (!read_later[slot]) step.unread.push_back(slot);
      }
      for (size_t j = step.reads.size(); j-- > 0;) {
        Read& read = step.reads[j];
        if (read.slot == kNoSlot) continue;
        read.last = !read_later[read.slot];
        read_later[read.slot] = true;
      }
      for (Program* const arm : {step.training.get(), step.evaluation.get()}) {
        if (arm != nullptr) MarkLastReads(arm);
      }
    }
  }

  // Runs one branch of a switch. `values` holds its inputs, and afterwards its outputs.
  void RunArm(const Program& arm, std::vector<IValue>* values) {
    for (size_t i = 0; i < arm.inputs.size(); ++i) values_[arm.inputs[i]] = std::move((*values)[i]);
    for (const Step& step : arm.steps) RunNamedStep(step);
    values->clear();
    for (const Slot slot : arm.outputs) values->push_back(values_[slot]);
    for (const Slot slot : arm.outputs) values_[slot] = IValue();
    for (const Slot slot : arm.inputs) values_[slot] = IValue();
  }

  // RunStep; its errors get the step's path.
  void RunNamedStep(const Step& step) {
    try {
      RunStep(step);
    } catch (const c10::Error& error) {
      const std::string what = error.what_without_backtrace();
      if (what.compare(0, 6, "node '") == 0) throw;  // From a branch of a switch: the path is there already.
      TORCH_CHECK(false, "node '", step.path, "' (", step.type, "): ", what);
    }
  }

  void RunStep(const Step& step) {
    arguments_.clear();
    for (const Read& read : step.reads) {
      if (read.slot == kNoSlot) {
        arguments_.emplace_back();
      } else if (read.last && !wanted_[read.slot]) {
        arguments_.push_back(std::move(values_[read.slot]));
        values_[read.slot] = IValue();
      } else {
        arguments_.push_back(values_[read.slot]);
      }
    }
    switch (step.kind) {
      case Step::Kind::kModule:
        results_.resize(std::max<size_t>(1, step.writes.size()));
        step.module->Run(arguments_, results_.data());
        break;
      case Step::Kind::kAten:
        step.aten->Run(arguments_, &results_);
        break;
      case Step::Kind::kOpaque: {
        // The profiling executor's first runs are slow, and most models run for a short time.
        const torch::jit::GraphOptimizerEnabledGuard no_profiling(false);
        results_.assign(1, step.opaque->forward(arguments_));
        break;
      }
      case Step::Kind::kTensor:
        results_.assign(1, step.tensor);
        break;
      case Step::Kind::kTraining:
        results_.assign(1, owner_->is_training() && !step.frozen);
        break;
      case Step::Kind::kAssert:
        TORCH_CHECK(arguments_[0].isTensor() ? arguments_[0].toTensor().item<bool>() : arguments_[0].toBool(),
                    step.message);
        results_.clear();
        break;
      case Step::Kind::kSwitch: {
        std::vector<IValue> values = std::move(arguments_);
        RunArm(owner_->is_training() && !step.frozen ? *step.training : *step.evaluation, &values);
        results_ = std::move(values);
        break;
      }
    }
    arguments_.clear();
    TORCH_CHECK(results_.size() >= step.writes.size(), "it gives ", results_.size(), " values, and ",
                step.writes.size(), " are read");
    for (size_t i = 0; i < step.writes.size(); ++i) values_[step.writes[i]] = std::move(results_[i]);
    for (const Slot slot : step.unread) {
      if (!wanted_[slot]) values_[slot] = IValue();
    }
    results_.clear();
  }

  GraphModule* const owner_;
  v1::ModelGraph graph_;
  // The archives of graph_ that are in use, by index. Holding them ensures that the model uses one reading of each
  // file.
  std::map<int, std::shared_ptr<const Archive>> archives_;
  const Options options_;
  std::vector<std::string> warnings_;

  // Keyed by path.
  std::map<std::string, BuiltModule> modules_;
  std::map<std::string, BuiltOpaque> opaque_;
  std::map<std::string, at::Tensor> tensors_;
  std::map<std::string, torch::nn::Module*> containers_;

  graph::Schedule schedule_;
  Program program_;
  // Indexed by slot: the values, and whether they are needed beyond their last reader.
  std::vector<IValue> values_;
  std::vector<bool> wanted_;
  // Of the step that is running.
  std::vector<IValue> arguments_;
  std::vector<IValue> results_;
};

GraphModule::GraphModule() = default;
GraphModule::~GraphModule() = default;

absl::StatusOr<std::shared_ptr<GraphModule>> GraphModule::Create(const v1::ModelGraph& model, const Options& options) {
  std::shared_ptr<GraphModule> module(new GraphModule);
  module->impl_ = std::make_unique<Impl>(module.get(), model, options);
  try {
    LANISTA_RETURN_IF_ERROR(module->impl_->Build());
  } catch (const c10::Error& error) {
    return absl::InvalidArgumentError(error.what_without_backtrace());
  }
  module->train();
  return module;
}

torch::Tensor GraphModule::forward(torch::Tensor input) {
  const std::vector<IValue> outputs = runner_ ? runner_({std::move(input)}) : Run({std::move(input)});
  TORCH_CHECK(outputs.size() == 1 && outputs[0].isTensor(), "the model returns ", outputs.size(),
              " values, and one tensor is needed");
  return outputs[0].toTensor();
}

std::vector<IValue> GraphModule::Run(std::vector<IValue> inputs) { return impl_->Run(std::move(inputs)); }

const graph::Schedule& GraphModule::schedule() const { return impl_->schedule(); }

bool GraphModule::keeps_weights(int step) const { return impl_->keeps_weights(step); }

std::vector<torch::Tensor> GraphModule::weights(int step) const { return impl_->weights(step); }

std::vector<Slot> GraphModule::NeededFrom(int step) const { return impl_->NeededFrom(step); }

std::vector<IValue> GraphModule::RunSteps(int from, int to, const std::vector<Slot>& given, std::vector<IValue> values,
                                          const std::vector<Slot>& wanted) {
  return impl_->RunSteps(from, to, given, std::move(values), wanted);
}

void GraphModule::train(bool on) {
  nn::Model::train(on);
  impl_->Train(on);
}

void GraphModule::to(torch::Device device, torch::Dtype dtype, bool non_blocking) {
  nn::Model::to(device, dtype, non_blocking);
  impl_->MoveConstants(device);
}

void GraphModule::to(torch::Device device, bool non_blocking) {
  nn::Model::to(device, non_blocking);
  impl_->MoveConstants(device);
}

const v1::ModelGraph& GraphModule::graph() const { return impl_->graph(); }

const std::vector<std::string>& GraphModule::warnings() const { return impl_->warnings(); }

absl::Status GraphModule::Save(const std::string& path) const {
  return nn::WriteStateDict(path, nn::StateDictOf(*this));
}

absl::Status GraphModule::Save(OutputFile* file) const { return nn::WriteStateDict(file, nn::StateDictOf(*this)); }

absl::Status GraphModule::Load(const std::string& path) { return nn::LoadStateDict(*this, path); }

}  // namespace lanista::ops

#include "src/ops/graph_module_torch.h"

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
#include "src/ops/archive_torch.h"
#include "src/ops/aten_call_torch.h"
#include "src/ops/registry.h"
#include "src/ops/registry_torch.h"
#include "src/ops/state_dict_torch.h"

namespace lanista::ops {
namespace {

using c10::IValue;

// Where a value lies while a graph runs.
using Slot = int;

struct Step;

// What runs, in order, on slots of its own.
struct Schedule {
  std::vector<Step> steps;
  std::vector<Slot> inputs;
  std::vector<Slot> outputs;
};

// An input of a step; kNoSlot: none.
constexpr Slot kNoSlot = -1;
struct Read {
  Slot slot = kNoSlot;
  // Nobody reads it afterwards: the value is moved out.
  bool last = false;
};

// One node, cells dissolved.
struct Step {
  enum class Kind { kModule, kAten, kOpaque, kTensor, kTraining, kAssert, kSwitch };

  Kind kind = Kind::kModule;
  // For messages.
  std::string path;
  std::string type;
  std::vector<Read> reads;
  std::vector<Slot> writes;
  // Values that nobody reads: freed at once.
  std::vector<Slot> unread;
  // Runs as in evaluation.
  bool frozen = false;
  // What it computes, where that follows from what it reads and the mode alone; else empty.
  std::string key;

  OpModule* module = nullptr;
  std::optional<AtenCall> aten;
  torch::jit::Module* opaque = nullptr;
  // kTensor: a parameter, buffer or constant. Shares its memory with what is registered.
  at::Tensor tensor;
  bool constant = false;
  // kAssert.
  std::string message;
  // kSwitch.
  std::unique_ptr<Schedule> training;
  std::unique_ptr<Schedule> evaluation;
};

}  // namespace

class GraphModule::Impl {
 public:
  Impl(GraphModule* owner, const v1::ModelGraph& graph, Options options)
      : owner_(owner), graph_(graph), options_(options) {}

  absl::Status Build() {
    for (const v1::Graph& graph : graph_.graphs()) graphs_[graph.name()] = &graph;
    LANISTA_RETURN_IF_ERROR(BuildGraph(graph::RootGraph(graph_), "", {}, /*frozen=*/false, &schedule_, nullptr));
    MarkLastReads(&schedule_);
    values_.resize(slots_);
    for (const Step& step : schedule_.steps) {
      if (step.key.empty()) break;
      shareable_steps_.push_back(step.key);
    }
    return absl::OkStatus();
  }

  std::vector<IValue> Run(std::vector<IValue> inputs) { return RunSteps(0, num_steps(), std::move(inputs)); }

  const std::vector<std::string>& shareable_steps() const { return shareable_steps_; }
  int num_steps() const { return static_cast<int>(schedule_.steps.size()); }

  std::vector<IValue> RunSteps(int from, int to, std::vector<IValue> values) {
    const std::vector<Slot>& before = from == 0 ? schedule_.inputs : AliveAt(from);
    const std::vector<Slot>& after = to == num_steps() ? schedule_.outputs : AliveAt(to);
    TORCH_CHECK(values.size() == before.size(), "the model takes ", before.size(), " inputs, not ", values.size());
    // Of an earlier run that threw.
    for (IValue& value : values_) value = IValue();
    for (size_t i = 0; i < before.size(); ++i) values_[before[i]] = std::move(values[i]);
    for (int i = from; i < to; ++i) RunNamedStep(schedule_.steps[static_cast<size_t>(i)]);
    values.clear();
    for (const Slot slot : after) values.push_back(values_[slot]);
    for (IValue& value : values_) value = IValue();
    return values;
  }

  void Train(bool on) {
    for (auto& entry : modules_) {
      if (entry.second.module->module() != nullptr) entry.second.module->module()->train(on && !entry.second.frozen);
    }
    for (auto& entry : opaque_) entry.second.module.train(on && !entry.second.frozen);
  }

  void MoveConstants(c10::Device device) { MoveConstants(device, &schedule_); }

  const v1::ModelGraph& graph() const { return graph_; }
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  struct BuiltModule {
    std::unique_ptr<OpModule> module;
    bool frozen = false;
    // All weights are the archive's.
    bool kept = false;
  };
  struct BuiltOpaque {
    torch::jit::Module module;
    bool frozen = false;
  };

  // ---- Building ----

  Slot NewSlot() { return slots_++; }

  // Adds the graph's steps to `schedule`. `inputs` are slots of its values; nullptr `outputs`: it is a schedule's own
  // graph, whose inputs get slots.
  absl::Status BuildGraph(const v1::Graph& graph, const std::string& prefix, std::vector<Slot> inputs, bool frozen,
                          Schedule* schedule, std::vector<Slot>* outputs) {
    std::unordered_map<std::string, std::vector<Slot>> values;
    for (int i = 0; i < graph.inputs_size(); ++i) {
      if (outputs == nullptr) {
        inputs.push_back(NewSlot());
        schedule->inputs.push_back(inputs.back());
      }
      values[graph.inputs(i).name()] = {inputs[i]};
    }
    LANISTA_ASSIGN_OR_RETURN(const std::vector<int> order, graph::ExecutionOrder(graph));
    // How many slots each node gives, as far as readers show.
    std::unordered_map<std::string, int> read_slots;
    const auto note = [&](const v1::Edge& edge) {
      read_slots[edge.node()] = std::max(read_slots[edge.node()], edge.slot() + 1);
    };
    for (const v1::Node& node : graph.nodes()) {
      for (const v1::Edge& edge : node.inputs()) note(edge);
    }
    for (const v1::Edge& edge : graph.outputs()) note(edge);

    for (const int index : order) {
      const v1::Node& node = graph.nodes(index);
      std::vector<Slot> reads;
      for (const v1::Edge& edge : node.inputs()) reads.push_back(values.at(edge.node()).at(edge.slot()));
      std::vector<Slot>& writes = values[node.name()];
      const int count = std::max({1, node.outputs_size(), read_slots[node.name()]});
      LANISTA_RETURN_IF_ERROR(BuildNode(node, prefix, reads, count, frozen || node.frozen(), schedule, &writes));
    }
    std::vector<Slot>& results = outputs == nullptr ? schedule->outputs : *outputs;
    for (const v1::Edge& edge : graph.outputs()) results.push_back(values.at(edge.node()).at(edge.slot()));
    return absl::OkStatus();
  }

  absl::Status BuildNode(const v1::Node& node, const std::string& prefix, const std::vector<Slot>& reads, int count,
                         bool frozen, Schedule* schedule, std::vector<Slot>* writes) {
    const std::string path = graph::JoinPath(prefix, graph::ModuleOf(node));
    if (node.has_cell()) {
      return BuildGraph(*graphs_.at(node.cell().graph()), path, reads, frozen, schedule, writes);
    }
    Step step;
    step.path = graph::JoinPath(prefix, node.name());
    step.frozen = frozen;
    shareable_ = false;
    for (const Slot slot : reads) step.reads.push_back({slot});
    absl::Status status;
    switch (node.kind_case()) {
      case v1::Node::kOp:
        step.type = node.op().type();
        status = BuildOperator(node, path, frozen, &step);
        break;
      case v1::Node::kOpaque:
        step.type = node.opaque().type();
        status = BuildOpaque(node, path, frozen, &step);
        break;
      case v1::Node::kTrainingSwitch: {
        step.kind = Step::Kind::kSwitch;
        step.training = std::make_unique<Schedule>();
        step.evaluation = std::make_unique<Schedule>();
        LANISTA_RETURN_IF_ERROR(BuildGraph(*graphs_.at(node.training_switch().training()), prefix, {}, frozen,
                                           step.training.get(), nullptr));
        LANISTA_RETURN_IF_ERROR(BuildGraph(*graphs_.at(node.training_switch().evaluation()), prefix, {}, frozen,
                                           step.evaluation.get(), nullptr));
        count = static_cast<int>(step.training->outputs.size());
        shareable_ = false;  // of what its arms do
        break;
      }
      default:
        status = absl::InvalidArgumentError("it is a choice: decide it first");
    }
    if (!status.ok()) return Annotate(status, absl::StrCat("node '", step.path, "'"));
    if (step.kind == Step::Kind::kAssert) count = 0;
    for (int i = 0; i < count; ++i) {
      writes->push_back(NewSlot());
      step.writes.push_back(writes->back());
    }
    if (shareable_) step.key = KeyOf(node, reads, step);
    schedule->steps.push_back(std::move(step));
    return absl::OkStatus();
  }

  // Slots are numbered in the order of the steps: equal keys from the first step on mean equal values.
  std::string KeyOf(const v1::Node& node, const std::vector<Slot>& reads, const Step& step) const {
    v1::Node content;
    *content.mutable_op() = node.op();
    std::string key = absl::StrCat(content.SerializeAsString(), "\n", step.frozen);
    for (int i = 0; i < node.inputs_size(); ++i) absl::StrAppend(&key, " ", node.inputs(i).arg(), "=", reads[i]);
    absl::StrAppend(&key, " ->");
    for (const Slot slot : step.writes) absl::StrAppend(&key, " ", slot);
    if (node.has_weights()) {
      const v1::Archive& archive = graph_.archives(node.weights().archive());
      absl::StrAppend(&key, " ", archive.path(), " ", archive.sha256(), " ", node.weights().path());
    }
    return key;
  }

  absl::Status BuildOperator(const v1::Node& node, const std::string& path, bool frozen, Step* step) {
    for (const v1::Attribute& attribute : node.op().attr()) {
      if (!attribute.value().has_expression()) continue;
      return absl::InvalidArgumentError(absl::StrCat("attribute '", attribute.key(), "' is a choice: decide it first"));
    }
    const std::string& type = node.op().type();
    if (type.find("::") != std::string::npos) {
      step->kind = Step::Kind::kAten;
      // Of operators that have no schema here nobody knows whether they draw random numbers.
      shareable_ = FindOp(type) != nullptr && !FindOp(type)->IsStateful();
      LANISTA_ASSIGN_OR_RETURN(step->aten, AtenCall::Create(node));
      return absl::OkStatus();
    }
    const graph::OpSchema* const schema = FindOp(type);
    if (schema == nullptr) return absl::InvalidArgumentError(absl::StrCat("there is no operator '", type, "'"));
    LANISTA_RETURN_IF_ERROR(schema->CheckAttributes(node.op()));
    const graph::Attributes attributes(*schema, node.op());
    if (type == "Training") {
      step->kind = Step::Kind::kTraining;
      shareable_ = true;
      return absl::OkStatus();
    }
    if (type == "Assert") {
      step->kind = Step::Kind::kAssert;
      step->message = attributes.String("message");
      shareable_ = true;
      return absl::OkStatus();
    }
    if (type == "Constant" || type == "Parameter") {
      step->kind = Step::Kind::kTensor;
      if (type == "Parameter") return BuildParameter(node, attributes, path, frozen, step);
      LANISTA_ASSIGN_OR_RETURN(step->tensor, ToTensor(attributes.Get("value").tensor()));
      step->constant = true;
      shareable_ = true;
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
    // A dropout that is frozen does nothing; but there are operators that draw random numbers in evaluation, too.
    shareable_ = schema->Parameters(attributes).empty() ? !schema->IsStateful() : frozen && built.kept;
    return PlaceReads(node, step);
  }

  // Brings inputs that name their arguments to their places.
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

  absl::Status BuildParameter(const v1::Node& node, const graph::Attributes& attributes, const std::string& path,
                              bool frozen, Step* step) {
    if (const auto known = tensors_.find(path); known != tensors_.end()) {
      step->tensor = known->second;
      return absl::OkStatus();
    }
    const std::vector<int64_t> shape = attributes.Ints("shape");
    at::Tensor tensor;
    if (node.has_weights()) {
      LANISTA_ASSIGN_OR_RETURN(const auto archive, Archive::Open(graph_.archives(node.weights().archive())));
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
    LANISTA_ASSIGN_OR_RETURN(const auto archive, Archive::Open(graph_.archives(node.opaque().archive())));
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

  // The module whose children and parameters have names below `path` ("layer1.0"): made if needed.
  absl::StatusOr<torch::nn::Module*> ContainerAt(const std::string& path) {
    if (path.empty()) return owner_;
    if (const auto known = containers_.find(path); known != containers_.end()) return known->second;
    const auto container = std::make_shared<torch::nn::Module>();
    LANISTA_RETURN_IF_ERROR(Place(path, container));
    containers_[path] = container.get();
    return container.get();
  }

  // Takes over imported weights, where they are to be kept.
  absl::Status KeepWeights(const v1::Node& node, const std::string& path, const graph::OpSchema& schema,
                           const graph::Attributes& attributes, bool frozen, BuiltModule* built) {
    const torch::NoGradGuard no_grad;
    const auto module = built->module->module();
    if ((options_.weights == v1::KEEP || frozen) && node.has_weights()) {
      LANISTA_ASSIGN_OR_RETURN(const auto archive, Archive::Open(graph_.archives(node.weights().archive())));
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

  // Parameters and buffers move with their modules; constants are no part of the state_dict.
  static void MoveConstants(c10::Device device, Schedule* schedule) {
    for (Step& step : schedule->steps) {
      if (step.constant) step.tensor = step.tensor.to(device);
      for (Schedule* const arm : {step.training.get(), step.evaluation.get()}) {
        if (arm != nullptr) MoveConstants(device, arm);
      }
    }
  }

  // ---- Running ----

  static void MarkLastReads(Schedule* schedule) {
    std::unordered_map<Slot, bool> read_later;
    for (const Slot slot : schedule->outputs) read_later[slot] = true;
    for (size_t i = schedule->steps.size(); i-- > 0;) {
      Step& step = schedule->steps[i];
      for (const Slot slot : step.writes) {
        if (!read_later[slot]) step.unread.push_back(slot);
      }
      for (size_t j = step.reads.size(); j-- > 0;) {
        Read& read = step.reads[j];
        if (read.slot == kNoSlot) continue;
        read.last = !read_later[read.slot];
        read_later[read.slot] = true;
      }
      for (Schedule* const arm : {step.training.get(), step.evaluation.get()}) {
        if (arm != nullptr) MarkLastReads(arm);
      }
    }
  }

  // The slots that hold values, written before step `step`, which it or a later one reads.
  const std::vector<Slot>& AliveAt(int step) {
    const auto [entry, is_new] = alive_.try_emplace(step);
    if (!is_new) return entry->second;
    std::set<Slot> written(schedule_.inputs.begin(), schedule_.inputs.end());
    std::set<Slot> needed(schedule_.outputs.begin(), schedule_.outputs.end());
    for (int i = 0; i < num_steps(); ++i) {
      const Step& one = schedule_.steps[static_cast<size_t>(i)];
      if (i < step) {
        written.insert(one.writes.begin(), one.writes.end());
      } else {
        for (const Read& read : one.reads) needed.insert(read.slot);
      }
    }
    std::set_intersection(written.begin(), written.end(), needed.begin(), needed.end(),
                          std::back_inserter(entry->second));
    return entry->second;
  }

  // The arm of a switch. `values`: its inputs, and afterwards its outputs.
  void RunArm(const Schedule& schedule, std::vector<IValue>* values) {
    for (size_t i = 0; i < schedule.inputs.size(); ++i) values_[schedule.inputs[i]] = std::move((*values)[i]);
    for (const Step& step : schedule.steps) RunNamedStep(step);
    values->clear();
    for (const Slot slot : schedule.outputs) values->push_back(values_[slot]);
    for (const Slot slot : schedule.outputs) values_[slot] = IValue();
    for (const Slot slot : schedule.inputs) values_[slot] = IValue();
  }

  // RunStep, with errors that name the step.
  void RunNamedStep(const Step& step) {
    try {
      RunStep(step);
    } catch (const c10::Error& error) {
      const std::string what = error.what_without_backtrace();
      if (what.compare(0, 6, "node '") == 0) throw;  // From an arm of a switch: it has its place.
      TORCH_CHECK(false, "node '", step.path, "' (", step.type, "): ", what);
    }
  }

  void RunStep(const Step& step) {
    arguments_.clear();
    for (const Read& read : step.reads) {
      if (read.slot == kNoSlot) {
        arguments_.emplace_back();
      } else if (read.last) {
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
    for (const Slot slot : step.unread) values_[slot] = IValue();
    results_.clear();
  }

  GraphModule* const owner_;
  const v1::ModelGraph graph_;
  const Options options_;
  std::vector<std::string> warnings_;

  std::unordered_map<std::string, const v1::Graph*> graphs_;
  // By path.
  std::map<std::string, BuiltModule> modules_;
  std::map<std::string, BuiltOpaque> opaque_;
  std::map<std::string, at::Tensor> tensors_;
  std::map<std::string, torch::nn::Module*> containers_;

  int slots_ = 0;
  Schedule schedule_;
  std::vector<std::string> shareable_steps_;
  // Of the step that is being built: its value follows from what it reads and the mode alone.
  bool shareable_ = false;
  // By step.
  std::map<int, std::vector<Slot>> alive_;
  std::vector<IValue> values_;
  // Of the step that runs.
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

const std::vector<std::string>& GraphModule::shareable_steps() const { return impl_->shareable_steps(); }

int GraphModule::num_steps() const { return impl_->num_steps(); }

std::vector<IValue> GraphModule::RunSteps(int from, int to, std::vector<IValue> values) {
  return impl_->RunSteps(from, to, std::move(values));
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
  StateDict tensors;
  for (const auto& parameter : named_parameters()) tensors.emplace_back(parameter.key(), parameter.value());
  for (const auto& buffer : named_buffers()) tensors.emplace_back(buffer.key(), buffer.value());
  return WriteStateDict(path, tensors);
}

absl::Status GraphModule::Load(const std::string& path) {
  LANISTA_ASSIGN_OR_RETURN(const StateDict tensors, ReadStateDict(path));
  std::map<std::string, at::Tensor> own;
  for (const auto& parameter : named_parameters()) own[parameter.key()] = parameter.value();
  for (const auto& buffer : named_buffers()) own[buffer.key()] = buffer.value();
  const torch::NoGradGuard no_grad;
  for (const auto& [name, tensor] : tensors) {
    const auto found = own.find(name);
    if (found == own.end()) return absl::InvalidArgumentError(absl::StrCat(path, ": the model has no '", name, "'"));
    if (found->second.sizes() != tensor.sizes()) {
      return absl::InvalidArgumentError(absl::StrCat(path, ": '", name, "' has another shape than the model's"));
    }
    found->second.copy_(tensor);
    own.erase(found);
  }
  if (own.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(path, ": there is no '", own.begin()->first, "'"));
}

}  // namespace lanista::ops

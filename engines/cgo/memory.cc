#include "engines/cgo/memory.h"

#include <algorithm>
#include <memory>
#include <set>
#include <vector>

#include "engines/device_memory.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "src/base/component.h"
#include "src/base/field_rules.h"
#include "src/ops/registry.h"

namespace lanista {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using graph::ScheduledStep;

// Memory that every trial takes: workspaces, memory that the allocator keeps.
constexpr int64_t kTrialBytes = 64LL << 20;

// Numbers that the optimizer keeps for each trained weight.
int OptimizerState(const v1::OptimizerConfig& optimizer) {
  const std::shared_ptr<const Message> chosen = MessageOf(optimizer);
  // Without a choice it is Adam.
  const Message& config = chosen == nullptr ? v1::AdamConfig::default_instance() : *chosen;
  int kept = RulesOf(*config.GetDescriptor()).kept_per_weight();
  std::vector<const FieldDescriptor*> fields;
  config.GetReflection()->ListFields(config, &fields);
  for (const FieldDescriptor* const field : fields) {
    const int more = RulesOf(*field).kept_per_weight();
    // A momentum of 0 keeps nothing, and neither does `amsgrad: false`.
    if (more != 0 && NumberIn(config, *field) != 0.0) kept += more;
  }
  return kept;
}

int64_t ElementBytes(v1::Tensor::DataType type) {
  switch (type) {
    case v1::Tensor::FLOAT64:
    case v1::Tensor::INT64:
      return 8;
    case v1::Tensor::FLOAT16:
    case v1::Tensor::BFLOAT16:
    case v1::Tensor::INT16:
      return 2;
    case v1::Tensor::BOOL:
    case v1::Tensor::INT8:
    case v1::Tensor::UINT8:
      return 1;
    default:
      return 4;
  }
}

// No device has room for a value of this size, and a graph may have a million such values before their sum overflows.
constexpr int64_t kMostBytes = int64_t{1} << 40;

// a * b, at most kMostBytes.
int64_t Multiply(int64_t a, int64_t b) {
  int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? kMostBytes : std::min(product, kMostBytes);
}

int64_t ValueBytes(const v1::ValueType& type, int64_t batch_size) {
  if (!type.has_shape()) return 0;
  const auto& dims = type.shape().dims();
  // The others may overflow before.
  if (std::count(dims.begin(), dims.end(), 0) > 0) return 0;
  int64_t bytes = ElementBytes(type.data_type());
  for (int i = 0; i < dims.size(); ++i) bytes = Multiply(bytes, dims[i] > 0 ? dims[i] : i == 0 ? batch_size : 1);
  return bytes;
}

// Bytes of one step.
struct StepBytes {
  int64_t weights = 0;
  // The part of the weights that is trained.
  int64_t trained = 0;
  int64_t values = 0;
};

StepBytes BytesOf(const ScheduledStep& step, int64_t batch_size) {
  StepBytes bytes;
  if (step.training != nullptr) {
    for (const ScheduledStep& one : step.training->steps) {
      const StepBytes inner = BytesOf(one, batch_size);
      bytes.weights += inner.weights;
      bytes.trained += inner.trained;
      bytes.values += inner.values;
    }
    return bytes;
  }
  for (const v1::ValueType& type : step.node->outputs()) bytes.values += ValueBytes(type, batch_size);
  const graph::OpSchema* const schema = step.node->has_op() ? ops::FindOp(step.node->op().type()) : nullptr;
  if (schema == nullptr) return bytes;
  for (const graph::ParameterSpec& parameter : schema->Parameters(graph::Attributes(*schema, step.node->op()))) {
    const int64_t size = Multiply(parameter.NumElements(), ElementBytes(parameter.data_type));
    bytes.weights += size;
    if (!parameter.buffer && !step.frozen) bytes.trained += size;
  }
  return bytes;
}

}  // namespace

TrainingMemory TrainingMemoryOf(const v1::EvaluatorConfig& evaluator) {
  TrainingMemory training;
  const std::shared_ptr<const Message> config = MessageOf(evaluator);
  if (config == nullptr) return training;
  if (const auto batch = NumberWithMeaning(*config, v1::FieldRules::BATCH_SIZE)) training.batch_size = *batch;
  const google::protobuf::Descriptor& descriptor = *config->GetDescriptor();
  for (int i = 0; i < descriptor.field_count(); ++i) {
    const FieldDescriptor& field = *descriptor.field(i);
    if (field.message_type() != v1::OptimizerConfig::descriptor() || field.is_repeated()) continue;
    const Message& optimizer = config->GetReflection()->GetMessage(*config, &field);
    training.optimizer_state = OptimizerState(static_cast<const v1::OptimizerConfig&>(optimizer));
  }
  return training;
}

int64_t EstimateMemory(const LogicalPlan& plan, const std::vector<int>& models, const TrainingMemory& training) {
  int64_t stays = 0;
  // Values before the first trained step are freed once they are read; two of them exist at a time.
  int64_t passes_by = 0;
  std::set<int> counted;
  for (const int model : models) {
    bool keeps_values = false;
    int64_t last_values = 0;
    for (const int number : plan.chain(model)) {
      const LogicalPlan::Work& work = plan.works()[static_cast<size_t>(number)];
      if (work.step == nullptr) continue;
      const StepBytes bytes = BytesOf(*work.step, training.batch_size);
      keeps_values |= bytes.trained > 0;
      if (!keeps_values) passes_by = std::max(passes_by, last_values + bytes.values);
      last_values = bytes.values;
      if (!counted.insert(number).second) continue;
      // Each trained weight has a gradient.
      stays += bytes.weights + bytes.trained * (1 + training.optimizer_state) + (keeps_values ? bytes.values : 0);
    }
  }
  return stays + passes_by;
}

int64_t MemoryBudget::Corrected(int64_t estimate, int models) const {
  const double by_estimate = static_cast<double>(estimate) * factor_;
  return kTrialBytes + std::max(static_cast<int64_t>(by_estimate), models * model_bytes_);
}

bool MemoryBudget::Fits(int64_t estimate, int models) const {
  return HasRoomFor(Corrected(estimate, models), device_memory_);
}

void MemoryBudget::Observe(int64_t estimate, int models, int64_t measured) {
  const int64_t of_models = std::max<int64_t>(0, measured - kTrialBytes);
  if (estimate < kTrialBytes) {
    model_bytes_ = std::max(model_bytes_, of_models / models);
  } else {
    factor_ = std::max(factor_, static_cast<double>(of_models) / static_cast<double>(estimate));
  }
}

}  // namespace lanista

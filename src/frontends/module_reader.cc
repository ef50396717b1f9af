#include "src/frontends/module_reader.h"

#include <algorithm>
#include <map>
#include <regex>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "src/frontends/abstract_value.h"
#include "src/graph/op_schema.h"
#include "src/ops/registry.h"

namespace lanista::frontends {
namespace {

namespace jit = torch::jit;

bool IsTorchModule(const std::string& class_path) {
  return absl::StartsWith(class_path, "torch.nn.modules.") ||
         class_path == "torchvision.ops.stochastic_depth.StochasticDepth";
}

// A hyper-parameter: TorchScript keeps it as a constant of the class or as an attribute of the module.
std::optional<c10::IValue> FindHyperParameter(const jit::Module& module, const std::string& name) {
  if (const auto slot = module.type()->findConstantSlot(name)) return module.type()->getConstant(*slot);
  if (module.hasattr(name)) return module.attr(name);
  return std::nullopt;
}

bool HasTensor(const jit::Module& module, const std::string& name) {
  return module.hasattr(name) && module.attr(name).isTensor();
}

// An attribute that the module does not keep under the constructor's name; nullopt: no special case.
std::optional<v1::Value> ReadSpecialAttribute(const jit::Module& module, const std::string& name) {
  const std::string type = ClassName(module);
  if (type == "MultiheadAttention") {
    if (name == "bias") return graph::BoolValue(HasTensor(module, "in_proj_bias"));
    if (name == "add_bias_kv") return graph::BoolValue(HasTensor(module, "bias_k"));
    // forward takes these as arguments.
    const bool is_told = name == "need_weights" || name == "average_attn_weights";
    if (is_told && !FindHyperParameter(module, name).has_value()) return graph::BoolValue(true);
    if ((name == "kdim" || name == "vdim") && module.hasattr("embed_dim") && module.hasattr(name)) {
      // None stands for embed_dim.
      if (module.attr(name).toInt() == module.attr("embed_dim").toInt()) return v1::Value();
    }
  }
  if (type == "PairwiseDistance" && name == "p") {
    if (const auto norm = FindHyperParameter(module, "norm")) return ToValue(*norm);
  }
  // The file does not keep it. It affects only the initial weights, so the default is safe.
  if (type == "PReLU" && name == "init") return graph::FloatValue(0.25);
  if (name == "bias") {
    const auto constant = FindHyperParameter(module, name);
    if (!constant.has_value() || !constant->isBool()) return graph::BoolValue(HasTensor(module, name));
  }
  return std::nullopt;
}

// Many attributes are lists of equal numbers: one number stands for such a list.
void Simplify(const graph::AttributeSpec& spec, v1::Value* value) {
  if (spec.length == 0 || !value->has_list() || value->list().values_size() != spec.length) return;
  const v1::Value first = value->list().values(0);
  const bool equal = std::all_of(value->list().values().begin(), value->list().values().end(),
                                 [&](const v1::Value& v) { return v.has_i() && first.has_i() && v.i() == first.i(); });
  if (equal) *value = first;
}

// nullopt: the module does not give it.
std::optional<v1::Value> ReadAttribute(const jit::Module& module, const graph::AttributeSpec& spec) {
  std::optional<v1::Value> value = ReadSpecialAttribute(module, spec.name);
  if (!value.has_value()) {
    const auto found = FindHyperParameter(module, spec.name);
    if (found.has_value()) value = ToValue(*found);
  }
  if (!value.has_value()) return std::nullopt;
  Simplify(spec, &*value);
  if (spec.kind == graph::AttributeKind::kFloat && value->has_i()) value->set_f(static_cast<double>(value->i()));
  return value;
}

// Whether `value` means the same as the default: 2 and [2, 2] do.
bool IsDefault(const graph::AttributeSpec& spec, const v1::Value& value) {
  if (!spec.default_value.has_value()) return false;
  v1::Value usual = *spec.default_value;
  Simplify(spec, &usual);
  return value.SerializeAsString() == usual.SerializeAsString();
}

bool IsDataType(const at::Tensor& tensor, v1::Tensor::DataType type) {
  return type == v1::Tensor::FLOAT32 ? tensor.scalar_type() == at::kFloat
         : type == v1::Tensor::INT64 ? tensor.scalar_type() == at::kLong
                                     : false;
}

// Whether the module has exactly the parameters and buffers that the operator has. Sets `frozen`: true if no parameter
// gets a gradient. Returns false if only some parameters get one.
bool HasParametersOf(const jit::Module& module, const graph::OpSchema& schema, const v1::Operator& op, bool* frozen) {
  std::map<std::string, at::Tensor> tensors;
  size_t parameters = 0, trained = 0;
  for (const auto& parameter : module.named_parameters()) {
    tensors[parameter.name] = parameter.value;
    ++parameters;
    trained += parameter.value.requires_grad() ? 1 : 0;
  }
  for (const auto& buffer : module.named_buffers()) tensors[buffer.name] = buffer.value;
  const auto specs = schema.Parameters(graph::Attributes(schema, op));
  if (specs.size() != tensors.size()) return false;
  for (const graph::ParameterSpec& spec : specs) {
    const auto found = tensors.find(spec.name);
    if (found == tensors.end() || found->second.sizes() != at::IntArrayRef(spec.shape)) return false;
    if (!IsDataType(found->second, spec.data_type)) return false;
  }
  *frozen = parameters > 0 && trained == 0;
  return trained == 0 || trained == parameters;
}

}  // namespace

std::string ClassPath(const jit::Module& module) {
  static const std::regex mangling("___torch_mangle_[0-9]+\\.");
  const std::string name = std::regex_replace(module.type()->name()->qualifiedName(), mangling, "");
  return absl::StartsWith(name, "__torch__.") ? name.substr(10) : name;
}

std::string ClassName(const jit::Module& module) {
  const std::string path = ClassPath(module);
  return path.substr(path.rfind('.') + 1);
}

std::optional<ModuleOperator> ReadOperator(const jit::Module& module) {
  if (!IsTorchModule(ClassPath(module))) return std::nullopt;
  const graph::OpSchema* const schema = ops::FindOp(ClassName(module));
  if (schema == nullptr) return std::nullopt;
  ModuleOperator result;
  result.op.set_type(schema->type());
  for (const graph::AttributeSpec& spec : schema->attributes()) {
    const std::optional<v1::Value> value = ReadAttribute(module, spec);
    if (!value.has_value()) return std::nullopt;
    // Attributes with default values are left out.
    if (IsDefault(spec, *value)) continue;
    v1::Attribute* const attribute = result.op.add_attr();
    attribute->set_key(spec.name);
    *attribute->mutable_value() = *value;
  }
  std::sort(result.op.mutable_attr()->begin(), result.op.mutable_attr()->end(),
            [](const v1::Attribute& a, const v1::Attribute& b) { return a.key() < b.key(); });
  if (!schema->CheckAttributes(result.op).ok()) return std::nullopt;
  if (!HasParametersOf(module, *schema, result.op, &result.frozen)) return std::nullopt;
  result.has_weights = !schema->Parameters(graph::Attributes(*schema, result.op)).empty();
  // A frozen node always runs in evaluation mode; a batch norm without gradients may not.
  if (result.frozen && schema->IsStateful()) return std::nullopt;
  return result;
}

ModuleCounts CountModules(const jit::Module& module) {
  ModuleCounts counts;
  for (const auto& entry : module.named_modules()) {
    if (!absl::StartsWith(ClassPath(entry.value), "torch.nn.modules.")) continue;
    const graph::OpSchema* const schema = ops::FindOp(ClassName(entry.value));
    if (schema == nullptr) continue;
    // Only required attributes are certain to be in a scripted module.
    std::vector<std::string> required;
    for (const graph::AttributeSpec& spec : schema->attributes()) {
      if (!spec.default_value.has_value()) required.push_back(spec.name);
    }
    if (required.empty()) continue;
    const bool traced = std::none_of(required.begin(), required.end(), [&](const std::string& name) {
      return FindHyperParameter(entry.value, name).has_value() || ReadSpecialAttribute(entry.value, name).has_value();
    });
    if (traced && counts.traced++ == 0) counts.traced_path = entry.name;
    if (!traced) ++counts.scripted;
  }
  return counts;
}

}  // namespace lanista::frontends

#include "src/graph/op_schema.h"

#include <algorithm>
#include <cctype>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "src/base/source_literals.h"

namespace lanista::graph {
namespace {

const v1::Value& NoneValue() {
  static const auto* const none = new v1::Value;
  return *none;
}

bool IsNumber(const v1::Value& value) { return value.has_i() || value.has_f(); }

double AsDouble(const v1::Value& value) { return value.has_i() ? static_cast<double>(value.i()) : value.f(); }

// Whether `value` contains an expression: only a sample decides it.
bool IsOpen(const v1::Value& value) {
  if (value.has_expression()) return true;
  if (!value.has_list()) return false;
  for (const v1::Value& element : value.list().values()) {
    if (IsOpen(element)) return true;
  }
  return false;
}

std::string KindText(const AttributeSpec& spec) {
  const std::string count = spec.length > 0 ? absl::StrCat(spec.length, " ") : "";
  switch (spec.kind) {
    case AttributeKind::kInt:
      return "an integer";
    case AttributeKind::kFloat:
      return "a number";
    case AttributeKind::kBool:
      return "a truth value";
    case AttributeKind::kString:
      return "a string";
    case AttributeKind::kInts:
      return absl::StrCat("an integer or a list of ", count, "integers");
    case AttributeKind::kFloats:
      return absl::StrCat("a list of ", count, "numbers");
    case AttributeKind::kTensor:
      return "a tensor";
    case AttributeKind::kAny:
      return "a value";
  }
  return "a value";
}

bool IsListOf(const v1::Value& value, const AttributeSpec& spec, bool (*fits)(const v1::Value&)) {
  if (!value.has_list()) return false;
  if (spec.length > 0 && value.list().values_size() != spec.length) return false;
  for (const v1::Value& element : value.list().values()) {
    if (!fits(element)) return false;
  }
  return true;
}

bool Fits(const v1::Value& value, const AttributeSpec& spec) {
  if (value.kind_case() == v1::Value::KIND_NOT_SET) {
    return spec.nullable || spec.kind == AttributeKind::kAny ||
           (spec.default_value.has_value() && spec.default_value->kind_case() == v1::Value::KIND_NOT_SET);
  }
  switch (spec.kind) {
    case AttributeKind::kInt:
      return value.has_i();
    case AttributeKind::kFloat:
      return IsNumber(value);
    case AttributeKind::kBool:
      return value.has_b();
    case AttributeKind::kString:
      return value.has_s();
    case AttributeKind::kInts:
      return value.has_i() || IsListOf(value, spec, [](const v1::Value& element) { return element.has_i(); });
    case AttributeKind::kFloats:
      return IsListOf(value, spec, IsNumber);
    case AttributeKind::kTensor:
      return value.has_tensor();
    case AttributeKind::kAny:
      return true;
  }
  return false;
}

// As torch.nn's constructors take it: lists become tuples.
std::string PythonValue(const v1::Value& value) {
  switch (value.kind_case()) {
    case v1::Value::kI:
      return absl::StrCat(value.i());
    case v1::Value::kF:
      return PythonFloatLiteral(value.f());
    case v1::Value::kB:
      return value.b() ? "True" : "False";
    case v1::Value::kS:
      return PythonStringLiteral(value.s());
    case v1::Value::kList: {
      std::vector<std::string> elements;
      for (const v1::Value& element : value.list().values()) elements.push_back(PythonValue(element));
      return absl::StrCat("(", absl::StrJoin(elements, ", "), elements.size() == 1 ? ",)" : ")");
    }
    default:
      return "None";
  }
}

}  // namespace

// ---- Attributes ----

const v1::Value& Attributes::Get(absl::string_view name) const {
  for (const v1::Attribute& attribute : op_.attr()) {
    if (attribute.key() == name) return attribute.value();
  }
  const AttributeSpec* const spec = schema_.FindAttribute(name);
  return spec != nullptr && spec->default_value.has_value() ? *spec->default_value : NoneValue();
}

bool Attributes::IsSet(absl::string_view name) const {
  const AttributeSpec* const spec = schema_.FindAttribute(name);
  for (const v1::Attribute& attribute : op_.attr()) {
    if (attribute.key() != name) continue;
    return spec == nullptr || !spec->default_value.has_value() ||
           attribute.value().SerializeAsString() != spec->default_value->SerializeAsString();
  }
  return false;
}

bool Attributes::Has(absl::string_view name) const { return Get(name).kind_case() != v1::Value::KIND_NOT_SET; }
int64_t Attributes::Int(absl::string_view name) const { return Get(name).i(); }
double Attributes::Float(absl::string_view name) const { return AsDouble(Get(name)); }
bool Attributes::Bool(absl::string_view name) const { return Get(name).b(); }
std::string Attributes::String(absl::string_view name) const { return Get(name).s(); }

std::vector<int64_t> Attributes::Ints(absl::string_view name) const {
  const v1::Value& value = Get(name);
  if (value.has_i()) {
    const AttributeSpec* const spec = schema_.FindAttribute(name);
    return std::vector<int64_t>(spec != nullptr && spec->length > 0 ? spec->length : 1, value.i());
  }
  std::vector<int64_t> ints;
  for (const v1::Value& element : value.list().values()) ints.push_back(element.i());
  return ints;
}

// ---- OpSchema ----

int64_t ParameterSpec::NumElements() const {
  int64_t count = 1;
  for (const int64_t dim : shape) {
    if (__builtin_mul_overflow(count, dim, &count)) return std::numeric_limits<int64_t>::max();
  }
  return count;
}

const v1::ValueType* OpCall::Input(absl::string_view arg) const {
  for (int i = 0; i < node.inputs_size(); ++i) {
    if (node.inputs(i).arg() == arg && i < static_cast<int>(inputs.size())) return &inputs[i];
  }
  return nullptr;
}

const AttributeSpec* OpSchema::FindAttribute(absl::string_view name) const {
  for (const AttributeSpec& spec : attributes_) {
    if (spec.name == name) return &spec;
  }
  return nullptr;
}

absl::Status OpSchema::CheckAttributes(const v1::Operator& op) const {
  bool open = false;
  for (const v1::Attribute& attribute : op.attr()) {
    const AttributeSpec* const spec = FindAttribute(attribute.key());
    if (spec == nullptr) {
      const std::string known =
          absl::StrJoin(attributes_, ", ", [](std::string* out, const AttributeSpec& s) { *out += s.name; });
      return absl::InvalidArgumentError(
          absl::StrCat(type_, " has no attribute '", attribute.key(), "'; it has ", known.empty() ? "none" : known));
    }
    if (IsOpen(attribute.value())) {
      open = true;
    } else if (!Fits(attribute.value(), *spec)) {
      return absl::InvalidArgumentError(absl::StrCat("attribute '", spec->name, "' of ", type_, " must be ",
                                                     KindText(*spec), spec->nullable ? ", or none" : ""));
    }
  }
  const Attributes attributes(*this, op);
  for (const AttributeSpec& spec : attributes_) {
    bool given = spec.default_value.has_value();
    for (const v1::Attribute& attribute : op.attr()) given = given || attribute.key() == spec.name;
    if (!given) {
      return absl::InvalidArgumentError(
          absl::StrCat(type_, " needs the attribute '", spec.name, "', ", KindText(spec)));
    }
  }
  // An operator with expressions is checked again when a sample has decided them.
  return open ? absl::OkStatus() : Check(attributes);
}

std::optional<double> OpSchema::Flops(const OpCall&, const std::vector<v1::ValueType>&) const { return std::nullopt; }

absl::StatusOr<std::string> OpSchema::PythonModule(const Attributes& attributes) const {
  std::vector<std::string> arguments;
  for (const bool required : {true, false}) {
    for (const AttributeSpec& spec : attributes_) {
      if (spec.default_value.has_value() == required) continue;
      if (required || attributes.IsSet(spec.name)) {
        arguments.push_back(absl::StrCat(spec.name, "=", PythonValue(attributes.Get(spec.name))));
      }
    }
  }
  return absl::StrCat("nn.", type_, "(", absl::StrJoin(arguments, ", "), ")");
}

absl::StatusOr<std::string> OpSchema::CppModule(const Attributes&) const {
  return absl::UnimplementedError(absl::StrCat("operator ", type_, " has no counterpart in LibTorch's C++ front end"));
}

std::vector<SourceExpression> OpSchema::PythonArguments(const Attributes&, const v1::Node&,
                                                        std::vector<SourceExpression> inputs) const {
  return inputs;
}

std::string OpSchema::PythonTargets(const std::vector<std::string>& variables) const {
  return absl::StrJoin(variables, ", ");
}

absl::StatusOr<SourceExpression> OpSchema::CppForward(const Attributes&, const v1::Node&, const std::string& module,
                                                      std::vector<SourceExpression> inputs) const {
  return absl::StrCat(module, "->forward(", absl::StrJoin(inputs, ", "), ")");
}

SourceExpression OpSchema::CppResult(const Attributes&, const std::string& result, size_t slot) const {
  return absl::StrCat("std::get<", slot, ">(", result, ")");
}

absl::StatusOr<std::string> OpSchema::TorchScriptBody(const Attributes&, const v1::Node&, bool /*frozen*/) const {
  return absl::UnimplementedError(absl::StrCat("operator ", type_, " has no TorchScript form"));
}

absl::StatusOr<SourceExpression> OpSchema::PythonCall(const std::map<std::string, SourceExpression>& arguments) const {
  // "aten::add.Tensor" -> torch.ops.aten.add.Tensor
  const size_t colons = type_.find("::");
  if (colons == std::string::npos) return absl::UnimplementedError(absl::StrCat("operator ", type_, " is no function"));
  std::string name = type_.substr(colons + 2);
  if (name.find('.') == std::string::npos) name += ".default";
  std::vector<std::string> parts;
  if (const auto self = arguments.find("self"); self != arguments.end()) parts.push_back(self->second);
  for (const auto& [argument, expression] : arguments) {
    if (argument != "self") parts.push_back(absl::StrCat(argument, "=", expression));
  }
  return absl::StrCat("torch.ops.", type_.substr(0, colons), ".", name, "(", absl::StrJoin(parts, ", "), ")");
}

absl::StatusOr<SourceExpression> OpSchema::CppCall(const std::map<std::string, SourceExpression>&) const {
  return absl::UnimplementedError(absl::StrCat("operator ", type_, " cannot be written in C++"));
}

absl::StatusOr<std::vector<std::string>> OpSchema::ToOnnx(const OpCall&, OnnxWriter&) const {
  return absl::UnimplementedError(absl::StrCat("operator ", type_, " has no counterpart in ONNX"));
}

// ---- Values and types ----

v1::Value IntValue(int64_t value) {
  v1::Value result;
  result.set_i(value);
  return result;
}

v1::Value FloatValue(double value) {
  v1::Value result;
  result.set_f(value);
  return result;
}

v1::Value BoolValue(bool value) {
  v1::Value result;
  result.set_b(value);
  return result;
}

v1::Value StringValue(std::string value) {
  v1::Value result;
  result.set_s(std::move(value));
  return result;
}

v1::Value IntsValue(const std::vector<int64_t>& values) {
  v1::Value result;
  result.mutable_list();
  for (const int64_t value : values) result.mutable_list()->add_values()->set_i(value);
  return result;
}

v1::ValueType TensorType(v1::Tensor::DataType data_type, const std::vector<int64_t>& dims) {
  v1::ValueType type = TensorType(data_type);
  type.mutable_shape();
  for (const int64_t dim : dims) type.mutable_shape()->add_dims(dim);
  return type;
}

v1::ValueType TensorType(v1::Tensor::DataType data_type) {
  v1::ValueType type;
  type.set_kind(v1::ValueType::TENSOR);
  type.set_data_type(data_type);
  return type;
}

std::optional<std::vector<int64_t>> DimsOf(const v1::ValueType& type) {
  if (type.kind() != v1::ValueType::TENSOR || !type.has_shape()) return std::nullopt;
  return std::vector<int64_t>(type.shape().dims().begin(), type.shape().dims().end());
}

std::string TypeToText(const v1::ValueType& type) {
  const auto elements = [&type] {
    std::vector<std::string> texts;
    for (const v1::ValueType& element : type.elements()) texts.push_back(TypeToText(element));
    return texts;
  };
  switch (type.kind()) {
    case v1::ValueType::TENSOR: {
      std::string name = type.data_type() == v1::Tensor::DATA_TYPE_UNSPECIFIED
                             ? "tensor"
                             : v1::Tensor::DataType_Name(type.data_type());
      for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      const auto append = [](std::string* out, int64_t dim) { absl::StrAppend(out, std::max<int64_t>(dim, -1)); };
      return absl::StrCat(name, "[", type.has_shape() ? absl::StrJoin(type.shape().dims(), ", ", append) : "?", "]");
    }
    case v1::ValueType::INT:
      return "int";
    case v1::ValueType::FLOAT:
      return "float";
    case v1::ValueType::BOOLEAN:
      return "bool";
    case v1::ValueType::STRING:
      return "string";
    case v1::ValueType::LIST:
      return absl::StrCat("list of ", type.elements().empty() ? "?" : elements().front());
    case v1::ValueType::TUPLE:
      return absl::StrCat("(", absl::StrJoin(elements(), ", "), ")");
    case v1::ValueType::NONE:
      return "none";
    default:
      return "?";
  }
}

}  // namespace lanista::graph

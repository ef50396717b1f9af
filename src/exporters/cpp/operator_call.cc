#include "src/exporters/cpp/operator_call.h"

#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "src/base/source_literals.h"
#include "src/base/status.h"
#include "src/exporters/cpp/forward.h"

namespace lanista::exporters {
namespace {

// The C++ type of an element in a list with this element type.
std::string ElementType(const std::string& element) {
  if (element == "int") return "int64_t";
  if (element == "float") return "double";
  if (element == "bool") return "bool";
  if (element == "str") return "std::string";
  return "torch::Tensor";
}

absl::StatusOr<std::string> Constant(const AtenSignature::Argument& argument, const v1::Value& value) {
  if (value.kind_case() == v1::Value::KIND_NOT_SET) return std::string("torch::jit::IValue()");
  if (value.kind_case() == v1::Value::kI && argument.element == "float") {
    return CppFloatLiteral(static_cast<double>(value.i()));
  }
  LANISTA_ASSIGN_OR_RETURN(const std::string literal, CppLiteral("", value));
  if (value.kind_case() == v1::Value::kS && argument.element == "Device") {
    return absl::StrCat("torch::Device(", literal, ")");
  }
  if (value.kind_case() == v1::Value::kI) return absl::StrCat("int64_t{", literal, "}");
  if (value.kind_case() != v1::Value::kList) return literal;
  return absl::StrCat("std::vector<", ElementType(argument.element), ">", literal);
}

}  // namespace

const char kCallOperator[] = R"(
// Calls an operator by the name of its schema; arguments that are not given have the schema's defaults.
inline std::vector<torch::jit::IValue> call_operator(const char* name, const char* overload,
                                                     std::map<size_t, torch::jit::IValue> given) {
  const auto found = torch::jit::findOperatorFor(c10::OperatorName(name, overload));
  if (found == nullptr) throw std::runtime_error(std::string("this LibTorch has no operator ") + name);
  const auto& arguments = found->schema().arguments();
  std::vector<torch::jit::IValue> stack;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const auto value = given.find(i);
    stack.push_back(value != given.end() ? value->second : arguments[i].default_value().value());
  }
  found->getOperation()(stack);
  return stack;
}
)";

absl::StatusOr<std::string> CppOperatorCall(const SourceModel& model, const v1::Node& node,
                                            const std::vector<ForwardWriter::Input>& inputs) {
  const std::string& type = node.op().type();
  const auto signature = model.signatures.find(type);
  if (signature == model.signatures.end()) {
    return absl::UnimplementedError(absl::StrCat("operator ", type, " is not known to LibTorch"));
  }
  std::map<std::string, std::vector<ForwardWriter::Input>> values;
  for (size_t i = 0; i < inputs.size(); ++i) values[node.inputs(static_cast<int>(i)).arg()].push_back(inputs[i]);
  std::map<std::string, const v1::Value*> constants;
  for (const v1::Attribute& attribute : node.op().attr()) constants[attribute.key()] = &attribute.value();

  std::vector<std::string> given;
  const std::vector<AtenSignature::Argument>& arguments = signature->second.arguments;
  for (size_t i = 0; i < arguments.size(); ++i) {
    std::string expression;
    if (const auto found = values.find(arguments[i].name); found != values.end()) {
      expression = found->second[0].expression;
      if (arguments[i].is_list && (found->second.size() > 1 || found->second[0].kind != v1::ValueType::LIST)) {
        expression = absl::StrCat(
            "std::vector<", ElementType(arguments[i].element), ">{",
            absl::StrJoin(found->second, ", ",
                          [](std::string* out, const ForwardWriter::Input& input) { out->append(input.expression); }),
            "}");
      }
    } else if (const auto constant = constants.find(arguments[i].name); constant != constants.end()) {
      LANISTA_ASSIGN_OR_RETURN(expression, Constant(arguments[i], *constant->second));
    } else {
      continue;
    }
    given.push_back(absl::StrCat("{", i, ", ", expression, "}"));
  }
  const size_t dot = type.find('.');
  const std::string overload = dot == std::string::npos ? "" : type.substr(dot + 1);
  return absl::StrCat("model_parts::call_operator(", StringLiteral(type.substr(0, dot)), ", ", StringLiteral(overload),
                      ", {", absl::StrJoin(given, ", "), "})");
}

std::string FromIValue(const std::string& value, const v1::ValueType& type) {
  switch (type.kind()) {
    case v1::ValueType::TENSOR:
      return value + ".toTensor()";
    case v1::ValueType::INT:
      return value + ".toInt()";
    case v1::ValueType::FLOAT:
      return value + ".toDouble()";
    case v1::ValueType::BOOLEAN:
      return value + ".toBool()";
    case v1::ValueType::LIST: {
      const v1::ValueType::Kind element = type.elements_size() > 0 ? type.elements(0).kind() : v1::ValueType::TENSOR;
      if (element == v1::ValueType::TENSOR) return value + ".toTensorVector()";
      if (element == v1::ValueType::INT) return value + ".toIntVector()";
      if (element == v1::ValueType::FLOAT) return value + ".toDoubleVector()";
      return value;
    }
    default:
      return value;
  }
}

}  // namespace lanista::exporters

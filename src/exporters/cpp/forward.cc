#include "src/exporters/cpp/forward.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "src/base/source_literals.h"
#include "src/base/status.h"
#include "src/exporters/common/module_tree.h"
#include "src/exporters/cpp/operator_call.h"
#include "src/graph/built_in.h"
#include "src/graph/graph.h"

namespace lanista::exporters {
namespace {

// How src/ops/aten/size.cc writes all sizes of a tensor.
constexpr absl::string_view kSizes = ".sizes().vec()";

// TorchScript's numbers for data types and memory formats (c10/core/ScalarType.h and its neighbours).
absl::StatusOr<std::string> Enumerator(const std::string& argument, int64_t number) {
  static const auto* const names = new std::map<std::string, std::vector<std::string>>{
      {"dtype",
       {"kUInt8", "kInt8", "kInt16", "kInt32", "kInt64", "kFloat16", "kFloat32", "kFloat64", "kComplexHalf",
        "kComplexFloat", "kComplexDouble", "kBool", "kQInt8", "kQUInt8", "kQInt32", "kBFloat16"}},
      {"layout", {"kStrided", "kSparse"}},
      {"memory_format",
       {"MemoryFormat::Contiguous", "MemoryFormat::Preserve", "MemoryFormat::ChannelsLast",
        "MemoryFormat::ChannelsLast3d"}},
  };
  const std::vector<std::string>& known = names->at(argument);
  if (number < 0 || static_cast<size_t>(number) >= known.size()) {
    return absl::UnimplementedError(absl::StrCat(argument, " ", number, " has no name in C++"));
  }
  return absl::StrCat("torch::", known[static_cast<size_t>(number)]);
}

std::string CppInt(int64_t value) {
  if (value == INT64_MAX) return "std::numeric_limits<int64_t>::max()";
  if (value == INT64_MIN) return "std::numeric_limits<int64_t>::min()";
  return absl::StrCat(value);
}

absl::StatusOr<std::string> TensorLiteral(const v1::Tensor& tensor) {
  LANISTA_ASSIGN_OR_RETURN(const TensorElements elements, UnpackTensor(tensor));
  std::string numbers;
  if (elements.is_float) {
    numbers =
        absl::StrJoin(elements.floats, ", ", [](std::string* out, double value) { *out += CppFloatLiteral(value); });
  } else {
    numbers = absl::StrJoin(elements.ints, ", ", [](std::string* out, int64_t value) { *out += CppInt(value); });
  }
  const std::string type = CppDataType(tensor.data_type());
  if (tensor.dims_size() == 0) return absl::StrCat("torch::tensor(", numbers, ", ", type, ")");
  if (numbers.empty()) return absl::StrCat("torch::empty({", absl::StrJoin(tensor.dims(), ", "), "}, ", type, ")");
  const std::string element = elements.is_float ? "double" : "int64_t";
  std::string literal = absl::StrCat("torch::tensor(std::vector<", element, ">{", numbers, "}, ", type, ")");
  if (tensor.dims_size() > 1) absl::StrAppend(&literal, ".reshape({", absl::StrJoin(tensor.dims(), ", "), "})");
  return literal;
}

const v1::Value* FindAttribute(const v1::Node& node, const std::string& key) {
  for (const v1::Attribute& attribute : node.op().attr()) {
    if (attribute.key() == key) return &attribute.value();
  }
  return nullptr;
}

void Indent(const Lines& from, Lines* to) {
  for (const std::string& line : from) to->push_back("  " + line);
}

// Names that the function must not use for its variables.
std::set<std::string> Taken(const std::map<std::string, std::string>& members) {
  std::set<std::string> taken = CppReserved();
  taken.insert(CppModuleMembers().begin(), CppModuleMembers().end());
  // A variable must not hide a member of the class.
  for (const auto& [path, member] : members) taken.insert(member);
  return taken;
}

}  // namespace

absl::StatusOr<std::string> CppLiteral(const std::string& argument, const v1::Value& value) {
  switch (value.kind_case()) {
    case v1::Value::kI:
      if (argument == "dtype" || argument == "layout" || argument == "memory_format") {
        return Enumerator(argument, value.i());
      }
      return CppInt(value.i());
    case v1::Value::kF:
      return CppFloatLiteral(value.f());
    case v1::Value::kB:
      return std::string(value.b() ? "true" : "false");
    case v1::Value::kS:
      return StringLiteral(value.s());
    case v1::Value::kList: {
      std::vector<std::string> elements;
      for (const v1::Value& element : value.list().values()) {
        LANISTA_ASSIGN_OR_RETURN(elements.emplace_back(), CppLiteral("", element));
      }
      return absl::StrCat("{", absl::StrJoin(elements, ", "), "}");
    }
    case v1::Value::kTensor:
      return TensorLiteral(value.tensor());
    case v1::Value::kExpression:
      return absl::InvalidArgumentError(absl::StrCat("attribute ", argument, " is still a choice"));
    case v1::Value::KIND_NOT_SET:
      // In LibTorch 1.13 this is c10's type, later the standard library's; this name fits both.
      return std::string("torch::nullopt");
  }
  return absl::InternalError("unknown kind of value");
}

std::string CppDataType(v1::Tensor::DataType type) {
  static const auto* const names =
      new std::map<v1::Tensor::DataType, std::string>{{v1::Tensor::FLOAT32, "kFloat32"},
                                                      {v1::Tensor::FLOAT64, "kFloat64"},
                                                      {v1::Tensor::FLOAT16, "kFloat16"},
                                                      {v1::Tensor::BFLOAT16, "kBFloat16"},
                                                      {v1::Tensor::INT8, "kInt8"},
                                                      {v1::Tensor::UINT8, "kUInt8"},
                                                      {v1::Tensor::INT16, "kInt16"},
                                                      {v1::Tensor::INT32, "kInt32"},
                                                      {v1::Tensor::INT64, "kInt64"},
                                                      {v1::Tensor::BOOL, "kBool"},
                                                      {v1::Tensor::COMPLEX64, "kComplexFloat"},
                                                      {v1::Tensor::COMPLEX128, "kComplexDouble"}};
  const auto found = names->find(type);
  return absl::StrCat("torch::", found == names->end() ? "kFloat32" : found->second);
}

std::string CppType(const v1::ValueType& type) {
  switch (type.kind()) {
    case v1::ValueType::INT:
      return "int64_t";
    case v1::ValueType::FLOAT:
      return "double";
    case v1::ValueType::BOOLEAN:
      return "bool";
    case v1::ValueType::STRING:
      return "std::string";
    case v1::ValueType::LIST:
      return absl::StrCat("std::vector<", type.elements_size() > 0 ? CppType(type.elements(0)) : "torch::Tensor", ">");
    case v1::ValueType::TUPLE:
      return absl::StrCat(
          "std::tuple<",
          absl::StrJoin(type.elements(), ", ",
                        [](std::string* out, const v1::ValueType& element) { *out += CppType(element); }),
          ">");
    default:
      return "torch::Tensor";
  }
}

CppForward::CppForward(const SourceModel& model, const std::map<std::string, std::string>& members)
    : ForwardWriter(model, NameScope(Taken(members))), members_(members) {}

absl::StatusOr<std::string> CppForward::Expression(const v1::Node& node, const std::vector<Input>& inputs) {
  by_name_ = false;
  if (OwnsModule(node)) return CallModule(node, inputs);
  if (!node.has_op()) return absl::InvalidArgumentError("it is still a choice");
  const std::string& type = node.op().type();
  const graph::BuiltIn built_in = graph::BuiltInOf(type);
  if (built_in == graph::BuiltIn::kTraining) return std::string(node.frozen() ? "false" : "is_training()");
  if (IsConstant(node)) {
    // A literal "none" is most often an absent tensor.
    const bool none = ConstantOf(node).kind_case() == v1::Value::KIND_NOT_SET;
    return none ? std::string("torch::Tensor()") : CppLiteral("", ConstantOf(node));
  }
  if (built_in == graph::BuiltIn::kAssert) {
    std::string condition = inputs.empty() ? "false" : inputs[0].expression;
    if (!inputs.empty() && inputs[0].kind == v1::ValueType::TENSOR) condition += ".item<bool>()";
    const std::string text = MessageOf(node);
    return absl::StrCat("TORCH_CHECK(", condition, text.empty() ? "" : ", ", text.empty() ? "" : StringLiteral(text),
                        ")");
  }
  if (IsPrimitive(type)) return Primitive(node, inputs);
  return CallOperator(node, inputs);
}

absl::StatusOr<std::string> CppForward::CallOperator(const v1::Node& node, const std::vector<Input>& inputs) {
  // Written as x.size(0).
  const v1::Value* const index = FindAttribute(node, "idx");
  if (node.op().type() == "aten::__getitem__.t" && index != nullptr && !inputs.empty() &&
      absl::EndsWith(inputs[0].expression, kSizes)) {
    return absl::StrCat(absl::StripSuffix(inputs[0].expression, kSizes), ".size(", index->i(), ")");
  }
  if (const graph::OpSchema* const schema = SchemaOf(node)) {
    using Arguments = std::map<std::string, std::string>;
    LANISTA_ASSIGN_OR_RETURN(const Arguments arguments, ForwardWriter::Arguments(node, inputs));
    absl::StatusOr<std::string> call = schema->CppCall(arguments);
    if (call.ok() || !absl::IsUnimplemented(call.status())) return call;
  }
  LANISTA_ASSIGN_OR_RETURN(const std::string call, CppOperatorCall(model_, node, inputs));
  by_name_ = true;
  if (NumOutputs(model_, node) != 1) return call;
  return FromIValue(call + ".at(0)", node.outputs_size() > 0 ? node.outputs(0) : v1::ValueType());
}

std::string CppForward::Slot(const v1::Node& node, const std::string& result, size_t slot) const {
  if (by_name_) {
    const bool known = slot < static_cast<size_t>(node.outputs_size());
    return FromIValue(absl::StrCat(result, ".at(", slot, ")"),
                      known ? node.outputs(static_cast<int>(slot)) : v1::ValueType());
  }
  if (node.has_opaque()) return absl::StrCat(result, ".toTupleRef().elements().at(", slot, ").toTensor()");
  if (node.has_op() && node.op().type() == "prim::ListUnpack") return absl::StrCat(result, ".at(", slot, ")");
  const graph::OpSchema* const schema = SchemaOf(node);
  return schema == nullptr ? absl::StrCat("std::get<", slot, ">(", result, ")")
                           : schema->CppResult(graph::Attributes(*schema, node.op()), result, slot);
}

absl::StatusOr<std::string> CppForward::Primitive(const v1::Node& node, const std::vector<Input>& inputs) const {
  LANISTA_ASSIGN_OR_RETURN(const std::vector<Input> elements, Elements(node, inputs));
  const std::string joined =
      absl::StrJoin(elements, ", ", [](std::string* out, const Input& element) { out->append(element.expression); });
  if (node.op().type() == "prim::TupleConstruct") return absl::StrCat("std::make_tuple(", joined, ")");
  if (node.op().type() != "prim::ListConstruct") return joined;
  v1::ValueType type;
  type.set_kind(elements.empty() ? v1::ValueType::INT : elements[0].kind);
  return absl::StrCat("std::vector<", CppType(type), ">{", joined, "}");
}

absl::StatusOr<std::string> CppForward::CallModule(const v1::Node& node, const std::vector<Input>& inputs) const {
  const std::string& member = members_.at(graph::ModuleOf(node));
  if (IsBuiltIn(node)) return member;
  std::vector<std::string> arguments;
  for (const Input& input : inputs) arguments.push_back(input.expression);
  if (node.has_op()) {
    const graph::OpSchema* const schema = SchemaOf(node);
    if (schema == nullptr) return absl::InternalError(absl::StrCat("there is no operator ", node.op().type()));
    return schema->CppForward(graph::Attributes(*schema, node.op()), node, member, std::move(arguments));
  }
  if (node.has_opaque() &&
      (inputs.size() != 1 || inputs[0].kind != v1::ValueType::TENSOR || NumOutputs(model_, node) > 1)) {
    return absl::StrCat(member, "->run({", absl::StrJoin(arguments, ", "), "})",
                        NumOutputs(model_, node) > 1 ? "" : ".toTensor()");
  }
  return absl::StrCat(member, "->forward(", absl::StrJoin(arguments, ", "), ")");
}

void CppForward::Assign(const v1::Node& node, const std::vector<Target>& targets, const std::string& expression,
                        Lines* lines) {
  const auto assign = [&](const Target& target, size_t slot, const std::string& value) {
    const int index = static_cast<int>(slot);
    const bool known = index < node.outputs_size() && node.outputs(index).kind() != v1::ValueType::KIND_UNSPECIFIED;
    std::string type;
    // LibTorch returns lists and numbers in types of its own.
    if (target.fresh) {
      const bool tensor = known ? node.outputs(index).kind() == v1::ValueType::TENSOR : OwnsModule(node);
      type = tensor ? "torch::Tensor " : "auto ";
    }
    lines->push_back(absl::StrCat(type, target.name, " = ", value, ";"));
  };
  bool any = false;
  for (const Target& target : targets) any = any || !target.name.empty();
  if (!any) {
    lines->push_back(absl::StrCat(expression, ";"));
    return;
  }
  const bool unpacks =
      node.has_op() && (node.op().type() == "prim::ListUnpack" || node.op().type() == "prim::TupleUnpack");
  if (targets.size() == 1 && !unpacks) {
    assign(targets[0], 0, expression);
    return;
  }
  const std::string result = TakeName("results");
  lines->push_back(absl::StrCat("auto ", result, " = ", expression, ";"));
  for (size_t slot = 0; slot < targets.size(); ++slot) {
    if (!targets[slot].name.empty()) assign(targets[slot], slot, Slot(node, result, slot));
  }
}

void CppForward::Branch(const v1::Node& node, const std::vector<Target>& targets, const Lines& training,
                        const Lines& evaluation, Lines* lines) {
  for (size_t slot = 0; slot < targets.size(); ++slot) {
    if (targets[slot].name.empty()) continue;
    const int index = static_cast<int>(slot);
    const v1::ValueType type = index < node.outputs_size() ? node.outputs(index) : v1::ValueType();
    lines->push_back(absl::StrCat(CppType(type), " ", targets[slot].name, ";"));
  }
  lines->push_back(node.frozen() ? "{" : "if (is_training()) {");
  if (!node.frozen()) {
    Indent(training, lines);
    lines->push_back("} else {");
  }
  Indent(evaluation, lines);
  lines->push_back("}");
}

std::string CppForward::Copy(const std::string& name, const std::string& value) {
  return absl::StrCat(name, " = ", value, ";");
}

void CppForward::Return(const std::vector<Input>& values, Lines* lines) {
  bool tensors = true;
  std::vector<std::string> expressions;
  for (const Input& value : values) {
    tensors = tensors && value.kind == v1::ValueType::TENSOR;
    expressions.push_back(value.expression);
  }
  const std::string joined = absl::StrJoin(expressions, ", ");
  if (values.size() == 1) {
    return_type_ = tensors ? "torch::Tensor" : "auto";
    lines->push_back(absl::StrCat("return ", joined, ";"));
    return;
  }
  return_type_ = tensors
                     ? absl::StrCat("std::tuple<",
                                    absl::StrJoin(std::vector<std::string>(values.size(), "torch::Tensor"), ", "), ">")
                     : "auto";
  lines->push_back(absl::StrCat("return std::make_tuple(", joined, ");"));
}

std::string CppForward::List(const std::vector<std::string>& elements) const {
  return absl::StrCat("{", absl::StrJoin(elements, ", "), "}");
}

absl::StatusOr<std::string> CppForward::Literal(const std::string& argument, const v1::Value& value) const {
  return CppLiteral(argument, value);
}

}  // namespace lanista::exporters

#include "src/exporters/python/forward.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "src/base/source_literals.h"
#include "src/base/status.h"
#include "src/exporters/common/module_tree.h"
#include "src/exporters/common/source_names.h"
#include "src/graph/built_in.h"
#include "src/graph/graph.h"
#include "src/ops/source_template.h"

namespace lanista::exporters {
namespace {

// TorchScript's numbers for data types, layouts and memory formats (c10/core/ScalarType.h and its neighbours).
absl::StatusOr<std::string> Enumerator(const std::string& argument, int64_t number) {
  static const auto* const names = new std::map<std::string, std::vector<std::string>>{
      {"dtype",
       {"uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64", "complex32", "complex64",
        "complex128", "bool", "qint8", "quint8", "qint32", "bfloat16"}},
      {"layout", {"strided", "sparse_coo"}},
      {"memory_format", {"contiguous_format", "preserve_format", "channels_last", "channels_last_3d"}},
  };
  const std::vector<std::string>& known = names->at(argument);
  if (number < 0 || static_cast<size_t>(number) >= known.size()) {
    return absl::UnimplementedError(absl::StrCat(argument, " ", number, " has no name in Python"));
  }
  return absl::StrCat("torch.", known[static_cast<size_t>(number)]);
}

absl::StatusOr<std::string> TensorLiteral(const v1::Tensor& tensor) {
  LANISTA_ASSIGN_OR_RETURN(const TensorElements elements, UnpackTensor(tensor));
  std::string numbers;
  if (elements.is_float) {
    numbers = absl::StrJoin(elements.floats, ", ",
                            [](std::string* out, double value) { out->append(PythonFloatLiteral(value)); });
  } else {
    numbers = absl::StrJoin(elements.ints, ", ");
  }
  const std::string type = PythonDataType(tensor.data_type());
  if (tensor.dims_size() == 0) return absl::StrCat("torch.tensor(", numbers, ", dtype=", type, ")");
  std::string literal = absl::StrCat("torch.tensor([", numbers, "], dtype=", type, ")");
  if (tensor.dims_size() > 1) {
    absl::StrAppend(&literal, ".reshape(", absl::StrJoin(tensor.dims(), ", "), ")");
  }
  return literal;
}

// The torch.ops call of an operator without a schema here.
absl::StatusOr<std::string> DispatcherCall(const std::string& type, const std::map<std::string, std::string>& arguments,
                                           const std::map<std::string, AtenSignature>& signatures) {
  const auto signature = signatures.find(type);
  if (signature == signatures.end()) {
    return absl::UnimplementedError(absl::StrCat("operator ", type, " is not known to LibTorch"));
  }
  std::vector<std::string> written;
  bool by_name = false;
  for (const AtenSignature::Argument& argument : signature->second.arguments) {
    if (argument.is_generic) {
      return absl::UnimplementedError(absl::StrCat("operator ", type, " has no Python form: export as torchscript"));
    }
    const auto found = arguments.find(argument.name);
    if (found == arguments.end()) {
      by_name = true;
      continue;
    }
    by_name = by_name || argument.keyword_only;
    written.push_back(by_name ? absl::StrCat(argument.name, "=", found->second) : found->second);
  }
  const size_t colons = type.find("::");
  std::string name = type.substr(colons + 2);
  if (name.find('.') == std::string::npos) name += ".default";
  return absl::StrCat("torch.ops.", type.substr(0, colons), ".", name, "(", absl::StrJoin(written, ", "), ")");
}

constexpr char kAppend[] = ".append(";

bool IsAppend(const v1::Node& node) { return node.has_op() && node.op().type() == "aten::append.t"; }

// Appends to a list: a statement if the list has a name, because other code may read it.
std::string Append(const std::map<std::string, std::string>& arguments) {
  const std::string& list = arguments.at("self");
  return IsIdentifier(list) ? absl::StrCat(list, kAppend, arguments.at("el"), ")")
                            : absl::StrCat(list, " + [", arguments.at("el"), "]");
}

void Indent(const Lines& from, Lines* to) {
  for (const std::string& line : from) to->push_back("    " + line);
}

}  // namespace

absl::StatusOr<std::string> PythonLiteral(const std::string& argument, const v1::Value& value) {
  switch (value.kind_case()) {
    case v1::Value::kI:
      if (argument == "dtype" || argument == "layout" || argument == "memory_format") {
        return Enumerator(argument, value.i());
      }
      return absl::StrCat(value.i());
    case v1::Value::kF:
      return PythonFloatLiteral(value.f());
    case v1::Value::kB:
      return std::string(value.b() ? "True" : "False");
    case v1::Value::kS:
      return PythonStringLiteral(value.s());
    case v1::Value::kList: {
      std::vector<std::string> elements;
      for (const v1::Value& element : value.list().values()) {
        LANISTA_ASSIGN_OR_RETURN(elements.emplace_back(), PythonLiteral("", element));
      }
      return absl::StrCat("[", absl::StrJoin(elements, ", "), "]");
    }
    case v1::Value::kTensor:
      return TensorLiteral(value.tensor());
    case v1::Value::kExpression:
      return absl::InvalidArgumentError(absl::StrCat("attribute ", argument, " is still a choice"));
    case v1::Value::KIND_NOT_SET:
      return std::string("None");
  }
  return absl::InternalError("unknown kind of value");
}

std::string PythonDataType(v1::Tensor::DataType type) {
  static const auto* const names = new std::map<v1::Tensor::DataType, std::string>{
      {v1::Tensor::FLOAT32, "float32"},   {v1::Tensor::FLOAT64, "float64"},     {v1::Tensor::FLOAT16, "float16"},
      {v1::Tensor::BFLOAT16, "bfloat16"}, {v1::Tensor::INT8, "int8"},           {v1::Tensor::UINT8, "uint8"},
      {v1::Tensor::INT16, "int16"},       {v1::Tensor::INT32, "int32"},         {v1::Tensor::INT64, "int64"},
      {v1::Tensor::BOOL, "bool"},         {v1::Tensor::COMPLEX64, "complex64"}, {v1::Tensor::COMPLEX128, "complex128"}};
  const auto found = names->find(type);
  return absl::StrCat("torch.", found == names->end() ? "float32" : found->second);
}

std::string PythonTuple(const std::vector<int64_t>& dims) {
  return absl::StrCat("(", absl::StrJoin(dims, ", "), dims.size() == 1 ? ",)" : ")");
}

absl::StatusOr<std::string> PythonForward::Expression(const v1::Node& node, const std::vector<Input>& inputs) {
  if (OwnsModule(node)) {
    const std::string& attribute = attributes_.at(graph::ModuleOf(node));
    if (IsBuiltIn(node)) return attribute;
    std::vector<std::string> arguments;
    for (const Input& input : inputs) arguments.push_back(input.expression);
    if (const graph::OpSchema* const schema = SchemaOf(node)) {
      arguments = schema->PythonArguments(graph::Attributes(*schema, node.op()), node, std::move(arguments));
    }
    return absl::StrCat(attribute, "(", absl::StrJoin(arguments, ", "), ")");
  }
  if (!node.has_op()) return absl::InvalidArgumentError("it is still a choice");
  const std::string& type = node.op().type();
  const graph::BuiltIn built_in = graph::BuiltInOf(type);
  if (built_in == graph::BuiltIn::kTraining) return std::string(node.frozen() ? "False" : "self.training");
  if (IsConstant(node)) return PythonLiteral("", ConstantOf(node));
  if (built_in == graph::BuiltIn::kAssert) {
    const std::string condition = inputs.empty() ? "False" : inputs[0].expression;
    const std::string text = MessageOf(node);
    return text.empty() ? condition : absl::StrCat(condition, ", ", PythonStringLiteral(text));
  }
  if (IsPrimitive(type)) return Primitive(node, inputs);
  return AtenCall(node, inputs);
}

absl::StatusOr<std::string> PythonForward::Primitive(const v1::Node& node, const std::vector<Input>& inputs) const {
  LANISTA_ASSIGN_OR_RETURN(const std::vector<Input> elements, Elements(node, inputs));
  const std::string joined =
      absl::StrJoin(elements, ", ", [](std::string* out, const Input& element) { out->append(element.expression); });
  if (node.op().type() == "prim::ListConstruct") return absl::StrCat("[", joined, "]");
  if (node.op().type() == "prim::TupleConstruct") return absl::StrCat("(", joined, elements.size() == 1 ? ",)" : ")");
  // A shape can be unpacked without list().
  return ops::WithoutList(joined);
}

absl::StatusOr<std::string> PythonForward::AtenCall(const v1::Node& node, const std::vector<Input>& inputs) const {
  using Arguments = std::map<std::string, std::string>;
  LANISTA_ASSIGN_OR_RETURN(const Arguments arguments, ForwardWriter::Arguments(node, inputs));
  if (IsAppend(node)) return Append(arguments);
  if (const graph::OpSchema* const schema = SchemaOf(node)) return schema->PythonCall(arguments);
  return DispatcherCall(node.op().type(), arguments, model_.signatures);
}

void PythonForward::Assign(const v1::Node& node, const std::vector<Target>& targets, const std::string& expression,
                           Lines* lines) {
  if (const size_t call = expression.find(kAppend); IsAppend(node) && call != std::string::npos) {
    lines->push_back(expression);
    for (const Target& target : targets) {
      if (!target.name.empty()) lines->push_back(absl::StrCat(target.name, " = ", expression.substr(0, call)));
    }
    return;
  }
  if (graph::BuiltInOf(node) == graph::BuiltIn::kAssert) {
    lines->push_back(absl::StrCat("assert ", expression));
    return;
  }
  bool any = false;
  std::vector<std::string> names;
  for (const Target& target : targets) {
    any = any || !target.name.empty();
    names.push_back(target.name.empty() ? "_" : target.name);
  }
  const bool unpacks =
      node.has_op() && (node.op().type() == "prim::ListUnpack" || node.op().type() == "prim::TupleUnpack");
  const std::string comma = unpacks && names.size() == 1 ? "," : "";
  const graph::OpSchema* const schema = SchemaOf(node);
  const std::string left = schema == nullptr ? absl::StrJoin(names, ", ") : schema->PythonTargets(names);
  lines->push_back(any ? absl::StrCat(left, comma, " = ", expression) : expression);
}

void PythonForward::Branch(const v1::Node& node, const std::vector<Target>& targets, const Lines& training,
                           const Lines& evaluation, Lines* lines) {
  static_cast<void>(targets);
  if (node.frozen()) {
    lines->insert(lines->end(), evaluation.begin(), evaluation.end());
    return;
  }
  lines->push_back("if self.training:");
  Indent(training.empty() ? Lines{"pass"} : training, lines);
  if (evaluation.empty()) return;
  lines->push_back("else:");
  Indent(evaluation, lines);
}

std::string PythonForward::Copy(const std::string& name, const std::string& value) {
  return absl::StrCat(name, " = ", value);
}

void PythonForward::Return(const std::vector<Input>& values, Lines* lines) {
  const auto append = [](std::string* out, const Input& value) { out->append(value.expression); };
  lines->push_back(absl::StrCat("return ", absl::StrJoin(values, ", ", append)));
}

std::string PythonForward::List(const std::vector<std::string>& elements) const {
  return absl::StrCat("[", absl::StrJoin(elements, ", "), "]");
}

absl::StatusOr<std::string> PythonForward::Literal(const std::string& argument, const v1::Value& value) const {
  return PythonLiteral(argument, value);
}

}  // namespace lanista::exporters

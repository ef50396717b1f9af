#include "src/exporters/python/operators.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "src/ops/source_template.h"

namespace lanista::exporters {
namespace {

using Arguments = std::map<std::string, std::string>;

// Expressions by operator type; {name} stands for an argument.
std::multimap<std::string, std::string> Expressions() {
  std::multimap<std::string, std::string> expressions = {
      {"aten::size", "list({self}.shape)"},
      {"aten::size.int", "{self}.size({dim})"},
      {"aten::dim", "{self}.dim()"},
      {"aten::len.t", "len({a})"},
      {"aten::len.Tensor", "len({t})"},
      {"aten::__getitem__.t", "{list}[{idx}]"},
      {"aten::add.t", "{a} + {b}"},
      {"aten::mul.left_t", "{l} * {n}"},
      {"aten::mul.right_", "{n} * {l}"},
      {"aten::eq.int_list", "{a} == {b}"},
      {"aten::ne.int_list", "{a} != {b}"},
      {"aten::__not__", "not {self}"},
      {"aten::__and__.bool", "{a} and {b}"},
      {"aten::__or__.bool", "{a} or {b}"},
      {"aten::neg", "-{self}"},
      {"aten::matmul", "{self} @ {other}"},
      {"aten::pow.Tensor_Scalar", "{self} ** {exponent}"},
      {"aten::pow.Tensor_Tensor", "{self} ** {exponent}"},
      {"aten::pow.int", "float(pow({a}, {b}))"},
      {"aten::pow.float", "pow({a}, {b})"},
      {"aten::pow.int_float", "pow({a}, {b})"},
      {"aten::pow.float_int", "pow({a}, {b})"},
      {"aten::rsub.Scalar", "{other} - {self}"},
      {"aten::to.dtype", "{self}.to({dtype})"},
      {"aten::to.prim_dtype", "{self}.to({dtype})"},
      {"aten::to.prim_Device", "{self}.to({device})"},
      {"aten::triu", "torch.triu({self})"},
      {"aten::triu", "torch.triu({self}, {diagonal})"},
      {"aten::tril", "torch.tril({self})"},
      {"aten::tril", "torch.tril({self}, {diagonal})"},
      {"aten::bernoulli_.float", "{self}.bernoulli_({p})"},
      {"aten::normal_", "{self}.normal_()"},
      {"aten::normal_", "{self}.normal_({mean}, {std})"},
      {"aten::uniform_", "{self}.uniform_()"},
      {"aten::uniform_", "{self}.uniform_({from}, {to})"},
      {"prim::dtype", "{a}.dtype"},
      {"prim::device", "{a}.device"},
  };
  const std::map<std::string, std::string> binary = {{"add", "+"}, {"sub", "-"},       {"mul", "*"}, {"floordiv", "//"},
                                                     {"div", "/"}, {"remainder", "%"}, {"eq", "=="}, {"ne", "!="},
                                                     {"lt", "<"},  {"le", "<="},       {"gt", ">"},  {"ge", ">="}};
  for (const auto& [name, sign] : binary) {
    for (const char* const overload : {"", ".int", ".float", ".int_float", ".float_int"}) {
      expressions.emplace(absl::StrCat("aten::", name, overload), absl::StrCat("{a} ", sign, " {b}"));
    }
    if (sign == "//" || sign == "%") continue;
    for (const char* const overload : {".Tensor", ".Scalar"}) {
      expressions.emplace(absl::StrCat("aten::", name, overload), absl::StrCat("{self} ", sign, " {other}"));
    }
  }
  for (const char* const overload : {"int", "float", "Scalar"}) {
    expressions.emplace(absl::StrCat("aten::neg.", overload), "-{a}");
    expressions.emplace(absl::StrCat("aten::floor.", overload), "math.floor({a})");
    expressions.emplace(absl::StrCat("aten::ceil.", overload), "math.ceil({a})");
    expressions.emplace(absl::StrCat("aten::sqrt.", overload), "math.sqrt({a})");
  }
  for (const char* const overload : {"Tensor", "int", "float", "bool", "Scalar"}) {
    expressions.emplace(absl::StrCat("aten::Int.", overload), "int({a})");
    expressions.emplace(absl::StrCat("aten::Float.", overload), "float({a})");
    expressions.emplace(absl::StrCat("aten::Bool.", overload), "bool({a})");
  }
  return expressions;
}

// Whether the expression uses exactly these arguments.
bool Fits(const std::string& expression, const Arguments& arguments) {
  if (static_cast<size_t>(std::count(expression.begin(), expression.end(), '{')) != arguments.size()) return false;
  return std::all_of(arguments.begin(), arguments.end(), [&](const auto& argument) {
    return absl::StrContains(expression, absl::StrCat("{", argument.first, "}"));
  });
}

// A slice of a shape needs no list().
std::string ListSlice(Arguments arguments) {
  const std::string slice = absl::StrCat("{l}[{start}:{end}", arguments.count("step") > 0 ? ":{step}]" : "]");
  const std::string list = arguments["l"];
  const std::string shape = WithoutList(list);
  if (shape == list) return ops::FillTemplate(slice, arguments);
  arguments["l"] = shape;
  return absl::StrCat("list(", ops::FillTemplate(slice, arguments), ")");
}

// torch.tensor(data, dtype=...): in the schema, data is a list of any type, which torch.ops cannot take.
std::string NewTensor(const std::string& function, const Arguments& arguments) {
  std::string call;
  for (const auto& [name, value] : arguments) {
    if (name == "data" || name == "t") call = absl::StrCat(function, "(", value);
  }
  for (const auto& [name, value] : arguments) {
    if (name != "data" && name != "t" && value != "None") absl::StrAppend(&call, ", ", name, "=", value);
  }
  return call + ")";
}

}  // namespace

std::string WithoutList(const std::string& expression) {
  if (!absl::StartsWith(expression, "list(") || ops::IsCompound(expression)) return expression;
  // The bracket that closes the list must be the last one.
  int depth = 0;
  for (size_t i = 0; i + 1 < expression.size(); ++i) {
    depth += expression[i] == '(' ? 1 : expression[i] == ')' ? -1 : 0;
    if (i > 4 && depth == 0) return expression;
  }
  return expression.substr(5, expression.size() - 6);
}

std::optional<std::string> PythonExpression(const std::string& type, Arguments arguments) {
  static const auto* const expressions = new std::multimap<std::string, std::string>(Expressions());
  if (type == "aten::slice.t") return ListSlice(arguments);
  if (type == "aten::tensor" || absl::StartsWith(type, "aten::tensor.")) return NewTensor("torch.tensor", arguments);
  if (absl::StartsWith(type, "aten::as_tensor")) return NewTensor("torch.as_tensor", arguments);
  // Elements and length of a shape need no list().
  if (type == "aten::__getitem__.t") arguments["list"] = WithoutList(arguments["list"]);
  if (type == "aten::len.t") arguments["a"] = WithoutList(arguments["a"]);
  const auto [begin, end] = expressions->equal_range(type);
  for (auto found = begin; found != end; ++found) {
    if (Fits(found->second, arguments)) return ops::FillTemplate(found->second, arguments);
  }
  return std::nullopt;
}

}  // namespace lanista::exporters

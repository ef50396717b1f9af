#include "src/exporters/python_operators.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace lanista::exporters {
namespace {

// By type; {name} is an argument, or nothing where it is left out.
std::map<std::string, std::string> Expressions() {
  std::map<std::string, std::string> expressions = {
      {"aten::size", "list({self}.shape)"},
      {"aten::size.int", "{self}.size({dim})"},
      {"aten::dim", "{self}.dim()"},
      {"aten::len.t", "len({a})"},
      {"aten::len.Tensor", "len({t})"},
      {"aten::__getitem__.t", "{list}[{idx}]"},
      {"aten::slice.t", "{l}[{start}:{end}:{step}]"},
      {"aten::add.t", "{a} + {b}"},
      {"aten::mul.left_t", "{l} * {n}"},
      {"aten::mul.right_", "{n} * {l}"},
      {"aten::eq.int_list", "{a} == {b}"},
      {"aten::ne.int_list", "{a} != {b}"},
      {"aten::__not__", "not {self}"},
      {"aten::__and__.bool", "{a} and {b}"},
      {"aten::__or__.bool", "{a} or {b}"},
      {"prim::dtype", "{a}.dtype"},
      {"prim::device", "{a}.device"},
  };
  const std::map<std::string, std::string> binary = {{"add", "+"}, {"sub", "-"},       {"mul", "*"}, {"floordiv", "//"},
                                                     {"div", "/"}, {"remainder", "%"}, {"eq", "=="}, {"ne", "!="},
                                                     {"lt", "<"},  {"le", "<="},       {"gt", ">"},  {"ge", ">="}};
  for (const auto& [name, sign] : binary) {
    for (const char* const overload : {"", ".int", ".float", ".int_float", ".float_int"}) {
      expressions[absl::StrCat("aten::", name, overload)] = absl::StrCat("{a} ", sign, " {b}");
    }
  }
  for (const char* const overload : {"int", "float", "Scalar"}) {
    expressions[absl::StrCat("aten::neg.", overload)] = "-{a}";
    expressions[absl::StrCat("aten::floor.", overload)] = "math.floor({a})";
    expressions[absl::StrCat("aten::ceil.", overload)] = "math.ceil({a})";
    expressions[absl::StrCat("aten::sqrt.", overload)] = "math.sqrt({a})";
  }
  for (const char* const overload : {"Tensor", "int", "float", "bool", "Scalar"}) {
    expressions[absl::StrCat("aten::Int.", overload)] = "int({a})";
    expressions[absl::StrCat("aten::Float.", overload)] = "float({a})";
    expressions[absl::StrCat("aten::Bool.", overload)] = "bool({a})";
  }
  return expressions;
}

}  // namespace

std::optional<std::string> PythonExpression(const std::string& type,
                                            const std::map<std::string, std::string>& arguments) {
  static const auto* const expressions = new std::map<std::string, std::string>(Expressions());
  const auto found = expressions->find(type);
  if (found == expressions->end()) return std::nullopt;
  std::vector<std::pair<std::string, std::string>> values = {{"{start}", ""}, {"{end}", ""}, {":{step}", ""}};
  for (const auto& [name, value] : arguments) {
    values.insert(values.begin(), {absl::StrCat(name == "step" ? ":{" : "{", name, "}"),
                                   absl::StrCat(name == "step" ? ":" : "", value)});
  }
  std::string text = found->second;
  for (const auto& [name, value] : values) absl::StrReplaceAll({{name, value}}, &text);
  return text;
}

}  // namespace lanista::exporters

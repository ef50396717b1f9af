// Operators for which Python has an expression of its own: on numbers, lists and sizes, and arithmetic on tensors.
#ifndef LANISTA_SRC_EXPORTERS_PYTHON_OPERATORS_H_
#define LANISTA_SRC_EXPORTERS_PYTHON_OPERATORS_H_

#include <map>
#include <optional>
#include <string>

namespace lanista::exporters {

// "a + b" for "aten::add.int". `arguments`: source by name, defaults left out. nullopt: there is no such expression.
// (torch.ops cannot call most of these operators: they take generic lists, which only TorchScript has.)
std::optional<std::string> PythonExpression(const std::string& type, std::map<std::string, std::string> arguments);

// "x.shape" for "list(x.shape)", for places where any sequence is allowed.
std::string WithoutList(const std::string& expression);

}  // namespace lanista::exporters

#endif  // LANISTA_SRC_EXPORTERS_PYTHON_OPERATORS_H_

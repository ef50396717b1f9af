// Arithmetic on choices.
#ifndef LANISTA_SRC_GRAPH_EXPRESSION_H_
#define LANISTA_SRC_GRAPH_EXPRESSION_H_

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "protos/graph.pb.h"

namespace lanista::graph {

// Returns the chosen value of the value choice with this label.
using ChoiceValue = std::function<absl::StatusOr<v1::Value>(const std::string& label)>;

// The value of an expression. As in Python, integers stay integers except under DIVIDE. INVALID_ARGUMENT: an overflow,
// a division by zero, or an operand that is not a number.
absl::StatusOr<v1::Value> Evaluate(const v1::Expression& expression, const ChoiceValue& choice);

// Replaces the expressions in `value` by their values, elements of lists included.
absl::Status Resolve(v1::Value* value, const ChoiceValue& choice);

// For messages: "feature * 2", "max(a, b) // 2".
std::string ExpressionToText(const v1::Expression& expression);

// The expression for the chosen value itself.
v1::Expression ChoiceExpression(absl::string_view label);
v1::Expression LiteralExpression(int64_t value);
v1::Expression OperationExpression(v1::Operation::Kind kind, v1::Expression a, v1::Expression b);

}  // namespace lanista::graph

#endif  // LANISTA_SRC_GRAPH_EXPRESSION_H_

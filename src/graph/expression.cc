#include "src/graph/expression.h"

#include <cmath>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "src/base/status.h"

namespace lanista::graph {
namespace {

using Kind = v1::Operation::Kind;

v1::Value Number(int64_t value) {
  v1::Value result;
  result.set_i(value);
  return result;
}

v1::Value Number(double value) {
  v1::Value result;
  result.set_f(value);
  return result;
}

double AsDouble(const v1::Value& value) { return value.has_i() ? static_cast<double>(value.i()) : value.f(); }

absl::Status Overflow() { return absl::InvalidArgumentError("an integer is too large"); }

absl::StatusOr<v1::Value> IntegerOperation(Kind kind, int64_t a, int64_t b) {
  int64_t result = 0;
  switch (kind) {
    case v1::Operation::ADD:
      if (__builtin_add_overflow(a, b, &result)) return Overflow();
      return Number(result);
    case v1::Operation::SUBTRACT:
      if (__builtin_sub_overflow(a, b, &result)) return Overflow();
      return Number(result);
    case v1::Operation::MULTIPLY:
      if (__builtin_mul_overflow(a, b, &result)) return Overflow();
      return Number(result);
    case v1::Operation::MAXIMUM:
      return Number(std::max(a, b));
    case v1::Operation::MINIMUM:
      return Number(std::min(a, b));
    default:
      break;
  }
  // Division, rounded towards minus infinity.
  if (b == 0) return absl::InvalidArgumentError("division by zero");
  if (b == -1) {
    if (kind == v1::Operation::MODULO) return Number(int64_t{0});
    if (__builtin_sub_overflow(int64_t{0}, a, &result)) return Overflow();
    return Number(result);
  }
  const bool round_down = a % b != 0 && (a < 0) != (b < 0);
  return Number(kind == v1::Operation::MODULO ? a % b + (round_down ? b : 0) : a / b - (round_down ? 1 : 0));
}

absl::StatusOr<v1::Value> FloatOperation(Kind kind, double a, double b) {
  switch (kind) {
    case v1::Operation::ADD:
      return Number(a + b);
    case v1::Operation::SUBTRACT:
      return Number(a - b);
    case v1::Operation::MULTIPLY:
      return Number(a * b);
    case v1::Operation::MAXIMUM:
      return Number(std::max(a, b));
    case v1::Operation::MINIMUM:
      return Number(std::min(a, b));
    default:
      break;
  }
  if (b == 0) return absl::InvalidArgumentError("division by zero");
  if (kind == v1::Operation::DIVIDE) return Number(a / b);
  return Number(kind == v1::Operation::MODULO ? a - std::floor(a / b) * b : std::floor(a / b));
}

absl::StatusOr<v1::Value> Apply(Kind kind, const std::vector<v1::Value>& operands) {
  if (kind == v1::Operation::LIST) {
    v1::Value list;
    list.mutable_list();
    for (const v1::Value& operand : operands) *list.mutable_list()->add_values() = operand;
    return list;
  }
  for (const v1::Value& operand : operands) {
    if (!operand.has_i() && !operand.has_f()) return absl::InvalidArgumentError("arithmetic needs numbers");
  }
  const bool unary = kind == v1::Operation::NEGATE || kind == v1::Operation::ROUND;
  const bool any_number = kind == v1::Operation::MAXIMUM || kind == v1::Operation::MINIMUM;
  if (operands.empty() || (!any_number && operands.size() != (unary ? 1u : 2u))) {
    return absl::InvalidArgumentError(
        absl::StrCat(v1::Operation::Kind_Name(kind), " has ", operands.size(), " operands"));
  }
  if (kind == v1::Operation::NEGATE) {
    return operands[0].has_i() ? IntegerOperation(v1::Operation::SUBTRACT, 0, operands[0].i())
                               : absl::StatusOr<v1::Value>(Number(-operands[0].f()));
  }
  if (kind == v1::Operation::ROUND) {
    if (operands[0].has_i()) return operands[0];
    const double rounded = std::nearbyint(operands[0].f());
    if (!(std::abs(rounded) < 9e18)) return Overflow();
    return Number(static_cast<int64_t>(rounded));
  }
  v1::Value result = operands[0];
  for (size_t i = 1; i < operands.size(); ++i) {
    const v1::Value& operand = operands[i];
    const bool integers = result.has_i() && operand.has_i() && kind != v1::Operation::DIVIDE;
    LANISTA_ASSIGN_OR_RETURN(result, integers ? IntegerOperation(kind, result.i(), operand.i())
                                              : FloatOperation(kind, AsDouble(result), AsDouble(operand)));
  }
  return result;
}

std::string LiteralText(const v1::Value& value) {
  switch (value.kind_case()) {
    case v1::Value::kI:
      return absl::StrCat(value.i());
    case v1::Value::kF:
      return absl::StrFormat("%g", value.f());
    case v1::Value::kB:
      return value.b() ? "true" : "false";
    case v1::Value::kS:
      return absl::StrCat("\"", value.s(), "\"");
    default:
      return "...";
  }
}

// Parentheses around what is not a single word.
std::string OperandText(const v1::Expression& expression) {
  const std::string text = ExpressionToText(expression);
  const bool call = !expression.has_operation() || expression.operation().operands_size() != 2 ||
                    expression.operation().kind() == v1::Operation::MAXIMUM ||
                    expression.operation().kind() == v1::Operation::MINIMUM;
  return call ? text : absl::StrCat("(", text, ")");
}

}  // namespace

absl::StatusOr<v1::Value> Evaluate(const v1::Expression& expression, const ChoiceValue& choice) {
  switch (expression.kind_case()) {
    case v1::Expression::kChoice:
      return choice(expression.choice());
    case v1::Expression::kLiteral:
      return expression.literal();
    case v1::Expression::kOperation:
      break;
    default:
      return absl::InvalidArgumentError("an empty expression");
  }
  std::vector<v1::Value> operands;
  for (const v1::Expression& operand : expression.operation().operands()) {
    LANISTA_ASSIGN_OR_RETURN(operands.emplace_back(), Evaluate(operand, choice));
  }
  const absl::StatusOr<v1::Value> result = Apply(expression.operation().kind(), operands);
  return result.ok() ? result : Annotate(result.status(), ExpressionToText(expression));
}

absl::Status Resolve(v1::Value* value, const ChoiceValue& choice) {
  if (value->has_expression()) {
    LANISTA_ASSIGN_OR_RETURN(v1::Value resolved, Evaluate(value->expression(), choice));
    *value = std::move(resolved);
  }
  if (!value->has_list()) return absl::OkStatus();
  for (v1::Value& element : *value->mutable_list()->mutable_values()) {
    LANISTA_RETURN_IF_ERROR(Resolve(&element, choice));
  }
  return absl::OkStatus();
}

std::string ExpressionToText(const v1::Expression& expression) {
  if (expression.has_choice()) return expression.choice();
  if (!expression.has_operation()) return LiteralText(expression.literal());
  std::vector<std::string> operands;
  for (const v1::Expression& operand : expression.operation().operands()) operands.push_back(OperandText(operand));
  switch (expression.operation().kind()) {
    case v1::Operation::ADD:
      return absl::StrJoin(operands, " + ");
    case v1::Operation::SUBTRACT:
      return absl::StrJoin(operands, " - ");
    case v1::Operation::MULTIPLY:
      return absl::StrJoin(operands, " * ");
    case v1::Operation::DIVIDE:
      return absl::StrJoin(operands, " / ");
    case v1::Operation::FLOOR_DIVIDE:
      return absl::StrJoin(operands, " // ");
    case v1::Operation::MODULO:
      return absl::StrJoin(operands, " % ");
    case v1::Operation::MAXIMUM:
      return absl::StrCat("max(", absl::StrJoin(operands, ", "), ")");
    case v1::Operation::MINIMUM:
      return absl::StrCat("min(", absl::StrJoin(operands, ", "), ")");
    case v1::Operation::NEGATE:
      return absl::StrCat("-", absl::StrJoin(operands, ""));
    case v1::Operation::ROUND:
      return absl::StrCat("round(", absl::StrJoin(operands, ""), ")");
    default:
      return absl::StrCat("[", absl::StrJoin(operands, ", "), "]");
  }
}

v1::Expression ChoiceExpression(absl::string_view label) {
  v1::Expression expression;
  expression.set_choice(std::string(label));
  return expression;
}

v1::Expression LiteralExpression(int64_t value) {
  v1::Expression expression;
  expression.mutable_literal()->set_i(value);
  return expression;
}

v1::Expression OperationExpression(v1::Operation::Kind kind, v1::Expression a, v1::Expression b) {
  v1::Expression expression;
  expression.mutable_operation()->set_kind(kind);
  *expression.mutable_operation()->add_operands() = std::move(a);
  *expression.mutable_operation()->add_operands() = std::move(b);
  return expression;
}

}  // namespace lanista::graph

#include "src/graph/value_types.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "absl/strings/numbers.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "src/base/status.h"

namespace lanista::graph {
namespace {

using Types = std::vector<v1::ValueType>;

// A number with many divisors, so that most reshapes of a dimension of this size work.
constexpr int64_t kDivisible = 5040;

// The trial size of a numbered dimension in one round. The sizes are larger than any window, and no sum of them is one
// of them.
int64_t Trial(int64_t number, int round) {
  const int64_t i = -2 - number;
  return kDivisible * (round == 0 ? 11 + 7 * i * i : 13 + 5 * i * i * i);
}

// Replaces each numbered dimension by its size.
void Replace(const std::function<int64_t(int64_t)>& size_of, v1::ValueType* type) {
  for (int64_t& dim : *type->mutable_shape()->mutable_dims()) {
    if (dim < -1) dim = size_of(dim);
  }
}

v1::ValueType Replaced(const v1::ValueType& type, const std::function<int64_t(int64_t)>& size_of) {
  v1::ValueType result = type;
  if (result.has_shape()) Replace(size_of, &result);
  if (result.dimension() < -1) {
    const int64_t size = size_of(result.dimension());
    if (size >= 0) result.set_value(size);
    result.clear_dimension();
  }
  for (v1::ValueType& element : *result.mutable_elements()) element = Replaced(element, size_of);
  for (v1::ValueType& item : *result.mutable_items()) item = Replaced(item, size_of);
  return result;
}

// The number of the dimension that has these sizes in the two rounds; 0: none.
int64_t FindNumber(const std::vector<int64_t>& numbers, int64_t first, int64_t second) {
  for (const int64_t number : numbers) {
    if (first == Trial(number, 0) && second == Trial(number, 1)) return number;
  }
  return 0;
}

void CollectNumbers(const v1::ValueType& type, std::vector<int64_t>* numbers) {
  const auto add = [&](int64_t number) {
    if (number < -1 && std::find(numbers->begin(), numbers->end(), number) == numbers->end())
      numbers->push_back(number);
  };
  for (const int64_t dim : type.shape().dims()) add(dim);
  add(type.dimension());
  for (const v1::ValueType& element : type.elements()) CollectNumbers(element, numbers);
  for (const v1::ValueType& item : type.items()) CollectNumbers(item, numbers);
}

// Sets the unknown parts of `type` that both rounds agree on. `all`: also sizes that were the same in both rounds.
void Learn(const std::vector<int64_t>& numbers, const v1::ValueType& first, const v1::ValueType& second, bool all,
           v1::ValueType* type) {
  const auto ranks_agree = [&](const v1::ValueType& other) {
    return other.has_shape() && other.shape().dims_size() == type->shape().dims_size();
  };
  if (type->has_shape() && ranks_agree(first) && ranks_agree(second)) {
    for (int i = 0; i < type->shape().dims_size(); ++i) {
      if (type->shape().dims(i) >= 0) continue;
      const int64_t a = first.shape().dims(i), b = second.shape().dims(i);
      if (const int64_t number = FindNumber(numbers, a, b); number != 0) {
        type->mutable_shape()->set_dims(i, number);
      } else if (all && a == b && a >= 0) {
        type->mutable_shape()->set_dims(i, a);
      }
    }
  }
  if (type->kind() == v1::ValueType::INT && !type->has_value() && first.has_value() && second.has_value()) {
    type->set_dimension(FindNumber(numbers, first.value(), second.value()));
  }
  const auto learn_all = [&](auto* types, const auto& firsts, const auto& seconds) {
    if (firsts.size() != types->size() || seconds.size() != types->size()) return;
    for (int i = 0; i < types->size(); ++i) Learn(numbers, firsts[i], seconds[i], all, types->Mutable(i));
  };
  learn_all(type->mutable_elements(), first.elements(), second.elements());
  learn_all(type->mutable_items(), first.items(), second.items());
}

// Inputs and constants of a primitive, in the order of their numbers.
Types Elements(const v1::Node& node, const Types& inputs) {
  std::map<int, v1::ValueType> numbered;
  for (int i = 0; i < node.inputs_size() && i < static_cast<int>(inputs.size()); ++i) {
    int number = i;
    if (!absl::SimpleAtoi(node.inputs(i).arg(), &number)) number = i;
    numbered[number] = inputs[i];
  }
  for (const v1::Attribute& attribute : node.op().attr()) {
    int number = 0;
    if (absl::SimpleAtoi(attribute.key(), &number)) numbered[number] = TypeOfValue(attribute.value());
  }
  Types types;
  for (const auto& entry : numbered) types.push_back(entry.second);
  return types;
}

}  // namespace

void NumberDimensions(v1::ValueType* type, int64_t* last) {
  if (!type->has_shape()) return;
  for (int64_t& dim : *type->mutable_shape()->mutable_dims()) {
    if (dim < 0) dim = --*last;
  }
}

v1::ValueType ForgetNumbers(v1::ValueType type) {
  return Replaced(type, [](int64_t) { return -1; });
}

v1::ValueType KindOnly(const v1::ValueType& type) {
  v1::ValueType kind;
  kind.set_kind(type.kind());
  for (const v1::ValueType& element : type.elements()) *kind.add_elements() = KindOnly(element);
  return kind;
}

std::vector<v1::ValueType> KindsOf(const v1::Node& node) {
  std::vector<v1::ValueType> types;
  for (const v1::ValueType& type : node.outputs()) types.push_back(KindOnly(type));
  return types;
}

v1::ValueType CommonType(const v1::ValueType& a, const v1::ValueType& b) {
  v1::ValueType both;
  if (a.kind() != b.kind()) return both;
  both.set_kind(a.kind());
  if (a.data_type() == b.data_type()) both.set_data_type(a.data_type());
  if (a.has_shape() && b.has_shape() && a.shape().dims_size() == b.shape().dims_size()) {
    both.mutable_shape();
    for (int i = 0; i < a.shape().dims_size(); ++i) {
      both.mutable_shape()->add_dims(a.shape().dims(i) == b.shape().dims(i) ? a.shape().dims(i) : -1);
    }
  }
  if (a.elements_size() == b.elements_size()) {
    for (int i = 0; i < a.elements_size(); ++i) *both.add_elements() = CommonType(a.elements(i), b.elements(i));
  }
  if (a.has_value() && b.has_value() && a.value() == b.value()) both.set_value(a.value());
  if (a.dimension() == b.dimension()) both.set_dimension(a.dimension());
  if (a.items_size() == b.items_size()) {
    for (int i = 0; i < a.items_size(); ++i) *both.add_items() = CommonType(a.items(i), b.items(i));
  }
  return both;
}

v1::ValueType KnownInt(int64_t value) {
  v1::ValueType type;
  type.set_kind(v1::ValueType::INT);
  type.set_value(value);
  return type;
}

v1::ValueType ListOf(const Types& items) {
  v1::ValueType list;
  list.set_kind(v1::ValueType::LIST);
  if (items.empty()) return list;
  v1::ValueType element = items[0];
  for (const v1::ValueType& item : items) {
    element = CommonType(element, item);
    *list.add_items() = item;
  }
  *list.add_elements() = element;
  return list;
}

v1::ValueType TypeOfValue(const v1::Value& value) {
  v1::ValueType type;
  switch (value.kind_case()) {
    case v1::Value::kI:
      return KnownInt(value.i());
    case v1::Value::kF:
      type.set_kind(v1::ValueType::FLOAT);
      return type;
    case v1::Value::kB:
      type.set_kind(v1::ValueType::BOOLEAN);
      return type;
    case v1::Value::kS:
      type.set_kind(v1::ValueType::STRING);
      return type;
    case v1::Value::kTensor:
      return TensorType(value.tensor().data_type(), {value.tensor().dims().begin(), value.tensor().dims().end()});
    case v1::Value::kList: {
      Types items;
      for (const v1::Value& element : value.list().values()) items.push_back(TypeOfValue(element));
      return ListOf(items);
    }
    case v1::Value::KIND_NOT_SET:
      type.set_kind(v1::ValueType::NONE);
      return type;
    case v1::Value::kExpression:
      break;
  }
  return type;
}

std::optional<Types> PrimitiveTypes(const v1::Node& node, const Types& inputs) {
  const std::string& type = node.op().type();
  if (type != "prim::Constant" && type != "prim::ListConstruct" && type != "prim::TupleConstruct" &&
      type != "prim::ListUnpack" && type != "prim::TupleUnpack") {
    return std::nullopt;
  }
  const Types kinds = KindsOf(node);
  const Types elements = Elements(node, inputs);
  Types types;
  if (type == "prim::Constant") {
    types = elements;
  } else if (type == "prim::ListConstruct") {
    types = {ListOf(elements)};
  } else if (type == "prim::TupleConstruct") {
    v1::ValueType tuple;
    tuple.set_kind(v1::ValueType::TUPLE);
    for (const v1::ValueType& element : elements) *tuple.add_elements() = element;
    types = {tuple};
  } else if (inputs.size() == 1) {
    const auto& parts = type == "prim::ListUnpack" ? inputs[0].items() : inputs[0].elements();
    types.assign(parts.begin(), parts.end());
  }
  if (!kinds.empty() && types.size() != kinds.size()) return kinds;
  // The importer knows the kinds better: 2 may be a float, an empty list a list of tensors.
  for (size_t i = 0; i < kinds.size(); ++i) {
    const v1::ValueType::Kind kind = kinds[i].kind();
    const bool agree = kind == v1::ValueType::KIND_UNSPECIFIED ||
                       (kind == types[i].kind() && (kind != v1::ValueType::LIST || types[i].items_size() > 0));
    if (!agree) types[i] = kinds[i];
  }
  return types;
}

bool ChangesList(const v1::Node& node, const Types& inputs) {
  static const auto* const names = new std::set<absl::string_view>{
      "append", "extend", "insert", "pop", "reverse", "clear", "_set_item", "remove", "Delete", "sort", "add_", "mul_"};
  absl::string_view name = node.op().type();
  if (!absl::ConsumePrefix(&name, "aten::")) return false;
  return names->count(name.substr(0, name.find('.'))) > 0 && !inputs.empty() && inputs[0].kind() == v1::ValueType::LIST;
}

absl::StatusOr<Types> InferOutputs(const OpSchema& schema, const OpCall& call) {
  std::vector<int64_t> numbers;
  for (const v1::ValueType& input : call.inputs) CollectNumbers(input, &numbers);
  if (numbers.empty()) return schema.InferTypes(call);
  const auto infer = [&](const std::function<int64_t(int64_t)>& size_of) {
    OpCall tried{call.node, call.attributes, {}};
    for (const v1::ValueType& input : call.inputs) tried.inputs.push_back(Replaced(input, size_of));
    return schema.InferTypes(tried);
  };
  LANISTA_ASSIGN_OR_RETURN(Types types, infer([](int64_t) { return -1; }));
  const absl::StatusOr<Types> first = infer([](int64_t number) { return Trial(number, 0); });
  if (!first.ok() || first->size() != types.size()) return types;
  const absl::StatusOr<Types> second = infer([](int64_t number) { return Trial(number, 1); });
  if (!second.ok() || second->size() != types.size()) return types;
  for (size_t i = 0; i < types.size(); ++i) {
    Learn(numbers, (*first)[i], (*second)[i], schema.KeepsElements(), &types[i]);
  }
  return types;
}

}  // namespace lanista::graph

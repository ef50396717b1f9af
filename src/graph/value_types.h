// What is known of values beyond an operator's own word: constants, lists, and sizes that are equal though unknown.
//
// While types are inferred, the unknown dimensions of a model's inputs have numbers (v1::Shape). Operators never see
// one: InferOutputs asks them with the dimensions unknown, and then with two values for each, and what came out as such
// a value both times is that dimension again. So x.view(x.size(0), -1) keeps its batch and knows its features.
#ifndef LANISTA_SRC_GRAPH_VALUE_TYPES_H_
#define LANISTA_SRC_GRAPH_VALUE_TYPES_H_

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "protos/graph.pb.h"
#include "src/graph/op_schema.h"

namespace lanista::graph {

// Gives each unknown dimension of the tensor a number of its own, the next below `*last`, which begins with -1.
void NumberDimensions(v1::ValueType* type, int64_t* last);

// The same type with -1 for all that is unknown.
v1::ValueType ForgetNumbers(v1::ValueType type);

// What kind of value it is, and nothing else: an importer knows that where nobody knows the shape.
v1::ValueType KindOnly(const v1::ValueType& type);

// What two types have in common.
v1::ValueType CommonType(const v1::ValueType& a, const v1::ValueType& b);

// An integer of this value, a list of so many elements.
v1::ValueType KnownInt(int64_t value);
v1::ValueType ListOf(const std::vector<v1::ValueType>& items);

// The type of a constant.
v1::ValueType TypeOfValue(const v1::Value& value);

// The types that a node makes of its inputs if it is one of TorchScript's primitives (prim::ListConstruct); nullopt if
// it is none.
std::optional<std::vector<v1::ValueType>> PrimitiveTypes(const v1::Node& node,
                                                         const std::vector<v1::ValueType>& inputs);

// schema.InferTypes(call), where the inputs' dimensions may have numbers, and the outputs' have them, too.
absl::StatusOr<std::vector<v1::ValueType>> InferOutputs(const OpSchema& schema, const OpCall& call);

}  // namespace lanista::graph

#endif  // LANISTA_SRC_GRAPH_VALUE_TYPES_H_

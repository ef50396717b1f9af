// What is known about values beyond the operators' schemas: constants, lists, and sizes that are equal though unknown.
//
// While types are inferred, the unknown dimensions of a model's inputs are numbered (v1::Shape). Operators never see
// these numbers: InferOutputs calls them once with unknown dimensions and twice with trial sizes. An output size that
// equals the trial size of a dimension both times is that dimension. So x.view(x.size(0), -1) keeps its batch, and its
// features are known.
#ifndef LANISTA_SRC_GRAPH_VALUE_TYPES_H_
#define LANISTA_SRC_GRAPH_VALUE_TYPES_H_

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "protos/graph.pb.h"
#include "src/graph/op_schema.h"

namespace lanista::graph {

// Numbers each unknown dimension of the tensor: the next integer below `*last`, which starts at -1.
void NumberDimensions(v1::ValueType* type, int64_t* last);

// The same type with -1 for every numbered dimension.
v1::ValueType ForgetNumbers(v1::ValueType type);

// Only the kind of the value: importers know the kind even where the shape is unknown.
v1::ValueType KindOnly(const v1::ValueType& type);
// Of each output of the node.
std::vector<v1::ValueType> KindsOf(const v1::Node& node);

// The part of two types that is equal; the rest is unknown.
v1::ValueType CommonType(const v1::ValueType& a, const v1::ValueType& b);

// An integer with this value; a list with these elements.
v1::ValueType KnownInt(int64_t value);
v1::ValueType ListOf(const std::vector<v1::ValueType>& items);

// The type of a constant.
v1::ValueType TypeOfValue(const v1::Value& value);

// The output types of one of TorchScript's primitives (prim::ListConstruct) for these inputs; nullopt if the node is no
// primitive.
std::optional<std::vector<v1::ValueType>> PrimitiveTypes(const v1::Node& node,
                                                         const std::vector<v1::ValueType>& inputs);

// Whether the operator changes the list that is its first input (append, _set_item): what was known of the list's items
// does not hold for what runs after it.
bool ChangesList(const v1::Node& node, const std::vector<v1::ValueType>& inputs);

// schema.InferTypes(call) for inputs that may have numbered dimensions; the outputs have numbered dimensions too.
absl::StatusOr<std::vector<v1::ValueType>> InferOutputs(const OpSchema& schema, const OpCall& call);

}  // namespace lanista::graph

#endif  // LANISTA_SRC_GRAPH_VALUE_TYPES_H_

// Calls aten operators by name: those without a function in LibTorch's C++ interface, and those without a schema here.
#ifndef LANISTA_SRC_EXPORTERS_CPP_OPERATOR_CALL_H_
#define LANISTA_SRC_EXPORTERS_CPP_OPERATOR_CALL_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "protos/graph.pb.h"
#include "src/exporters/common/forward_writer.h"
#include "src/exporters/common/source_model.h"

namespace lanista::exporters {

// Source of the function that such calls use, for namespace model_parts. It returns the operator's results as a list of
// IValues.
extern const char kCallOperator[];

// "model_parts::call_operator("aten::logit", "", {{0, x}, {1, 0.1}})". UNIMPLEMENTED: LibTorch has no such operator.
absl::StatusOr<std::string> CppOperatorCall(const SourceModel& model, const v1::Node& node,
                                            const std::vector<ForwardWriter::Input>& inputs);

// The expression that unpacks `value`, an IValue, to a value of `type`: "VALUE.toTensor()".
std::string FromIValue(const std::string& value, const v1::ValueType& type);

}  // namespace lanista::exporters

#endif  // LANISTA_SRC_EXPORTERS_CPP_OPERATOR_CALL_H_

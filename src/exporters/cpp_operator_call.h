// Calls of aten operators that LibTorch's C++ interface has no function for, or that we know no schema of: by name.
#ifndef LANISTA_SRC_EXPORTERS_CPP_OPERATOR_CALL_H_
#define LANISTA_SRC_EXPORTERS_CPP_OPERATOR_CALL_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "protos/graph.pb.h"
#include "src/exporters/forward_writer.h"
#include "src/exporters/source_model.h"

namespace lanista::exporters {

// The function that such calls use, for namespace model_parts. It gives the operator's results as a list of IValues.
extern const char kCallOperator[];

// "model_parts::call_operator("aten::logit", "", {{0, x}, {1, 0.1}})". UNIMPLEMENTED: LibTorch has no such operator.
absl::StatusOr<std::string> CppOperatorCall(const SourceModel& model, const v1::Node& node,
                                            const std::vector<ForwardWriter::Input>& inputs);

// `value`, an IValue, as what it holds: "VALUE.toTensor()".
std::string FromIValue(const std::string& value, const v1::ValueType& type);

}  // namespace lanista::exporters

#endif  // LANISTA_SRC_EXPORTERS_CPP_OPERATOR_CALL_H_

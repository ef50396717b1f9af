// The ONNX graph while a model is written into it.
#ifndef LANISTA_SRC_EXPORTERS_ONNX_GRAPH_H_
#define LANISTA_SRC_EXPORTERS_ONNX_GRAPH_H_

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "protos/graph.pb.h"
#include "src/exporters/common/source_names.h"
#include "src/exporters/onnx/model.h"
#include "src/graph/onnx_writer.h"

namespace lanista::exporters {

// The ONNX number of a data type; 0 (UNDEFINED) if ONNX has none.
int OnnxDataType(v1::Tensor::DataType type);

// Sets name and type of `info`. An unknown (-1) first dimension is named "N", other unknown ones get names of their
// own.
void SetOnnxType(const std::string& name, const v1::ValueType& type, onnx::ValueInfoProto* info);

// Implements OnnxWriter for one operator after the other. Errors while an operator is written are kept in status().
class OnnxGraph : public graph::OnnxWriter {
 public:
  OnnxGraph(const SourceModel& model, const TensorReader& read_tensor, onnx::GraphProto* graph)
      : model_(model), read_tensor_(read_tensor), graph_(graph), names_({}) {}

  // A name for a value, near `wish`.
  std::string TakeName(const std::string& wish) { return names_.Take(wish); }

  // From now on, nodes are written for the operator at `path`. Its parameters are below `module`, and its input edges
  // give the values `inputs`.
  void Enter(const std::string& path, const std::string& module, std::vector<std::string> inputs);
  const absl::Status& status() const { return status_; }
  // The path of the operator's module.
  const std::string& module() const { return module_; }

  // The value of a tensor of the state_dict, by its full name; empty if there is none.
  std::string StateTensor(const std::string& name);
  // The value of a constant attribute.
  absl::StatusOr<std::string> ConstantValue(const v1::Value& value);

  std::string Input(int index) override;
  std::string Parameter(const std::string& name) override;
  std::string Constant(const std::vector<int64_t>& values, const std::vector<int64_t>& dims) override;
  std::string Constant(const std::vector<float>& values, const std::vector<int64_t>& dims) override;
  std::vector<std::string> Node(const std::string& op_type, const std::vector<std::string>& inputs,
                                const std::vector<graph::OnnxAttribute>& attributes, int num_outputs) override;

 private:
  std::string AddInitializer(const std::string& wish, int data_type, const std::vector<int64_t>& dims,
                             std::string bytes);

  const SourceModel& model_;
  const TensorReader& read_tensor_;
  onnx::GraphProto* const graph_;
  NameScope names_;
  absl::Status status_;
  std::string path_;
  std::string module_;
  std::vector<std::string> inputs_;
  // Names of initializers: by the tensor's name, and by a constant's type, dimensions and bytes.
  std::map<std::string, std::string> tensors_;
  std::map<std::string, std::string> constants_;
};

}  // namespace lanista::exporters

#endif  // LANISTA_SRC_EXPORTERS_ONNX_GRAPH_H_

// The interface through which operators write themselves as ONNX; it needs no ONNX header.
#ifndef LANISTA_SRC_GRAPH_ONNX_WRITER_H_
#define LANISTA_SRC_GRAPH_ONNX_WRITER_H_

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace lanista::graph {

// An attribute of an ONNX node.
struct OnnxAttribute {
  std::string name;
  std::variant<int64_t, float, std::string, std::vector<int64_t>, std::vector<float>, std::vector<std::string>> value;
};

// The ONNX graph that is being written, at the position of one operator. Strings that name values are names of ONNX
// values.
class OnnxWriter {
 public:
  virtual ~OnnxWriter() = default;

  // The value on the operator's input edge `index`.
  virtual std::string Input(int index) = 0;
  // A parameter or buffer of the operator ("weight"); empty (in ONNX: "not given") if it has none of this name.
  virtual std::string Parameter(const std::string& name) = 0;
  // Adds a constant. An empty `dims` makes a scalar.
  virtual std::string Constant(const std::vector<int64_t>& values, const std::vector<int64_t>& dims) = 0;
  virtual std::string Constant(const std::vector<float>& values, const std::vector<int64_t>& dims) = 0;
  // Adds a node of ONNX's own operator set and returns the names of its outputs.
  virtual std::vector<std::string> Node(const std::string& op_type, const std::vector<std::string>& inputs,
                                        const std::vector<OnnxAttribute>& attributes = {}, int num_outputs = 1) = 0;
};

}  // namespace lanista::graph

#endif  // LANISTA_SRC_GRAPH_ONNX_WRITER_H_

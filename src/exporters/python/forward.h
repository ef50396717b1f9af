// The statements of a forward method in Python.
#ifndef LANISTA_SRC_EXPORTERS_PYTHON_FORWARD_H_
#define LANISTA_SRC_EXPORTERS_PYTHON_FORWARD_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "protos/graph.pb.h"
#include "src/exporters/common/forward_writer.h"

namespace lanista::exporters {

// A value of a graph attribute as Python writes it. The argument's name ("dtype") tells which integers are torch data
// types.
absl::StatusOr<std::string> PythonLiteral(const std::string& argument, const v1::Value& value);

// "torch.float32".
std::string PythonDataType(v1::Tensor::DataType type);

// Shape as a tuple: "(3, 4)", "(3,)".
std::string PythonTuple(const std::vector<int64_t>& dims);

class PythonForward : public ForwardWriter {
 public:
  // `attributes`: for each module's path, the expression for it in the class ("self.layer1[0].conv1").
  PythonForward(const SourceModel& model, const std::map<std::string, std::string>& attributes)
      : ForwardWriter(model, NameScope(PythonReserved())), attributes_(attributes) {}

 protected:
  absl::StatusOr<std::string> Expression(const v1::Node& node, const std::vector<Input>& inputs) override;
  void Assign(const v1::Node& node, const std::vector<Target>& targets, const std::string& expression,
              Lines* lines) override;
  void Branch(const v1::Node& node, const std::vector<Target>& targets, const Lines& training, const Lines& evaluation,
              Lines* lines) override;
  std::string Copy(const std::string& name, const std::string& value) override;
  void Return(const std::vector<Input>& values, Lines* lines) override;
  std::string List(const std::vector<std::string>& elements) const override;
  absl::StatusOr<std::string> Literal(const std::string& argument, const v1::Value& value) const override;

 private:
  absl::StatusOr<std::string> Primitive(const v1::Node& node, const std::vector<Input>& inputs) const;
  absl::StatusOr<std::string> AtenCall(const v1::Node& node, const std::vector<Input>& inputs) const;

  const std::map<std::string, std::string>& attributes_;
};

}  // namespace lanista::exporters

#endif  // LANISTA_SRC_EXPORTERS_PYTHON_FORWARD_H_

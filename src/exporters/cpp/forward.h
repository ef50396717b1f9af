// The statements of a forward function in C++.
#ifndef LANISTA_SRC_EXPORTERS_CPP_FORWARD_H_
#define LANISTA_SRC_EXPORTERS_CPP_FORWARD_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "protos/graph.pb.h"
#include "src/exporters/common/forward_writer.h"

namespace lanista::exporters {

// A value of a graph attribute as C++ writes it. The argument's name ("dtype") tells which integers are torch data
// types.
absl::StatusOr<std::string> CppLiteral(const std::string& argument, const v1::Value& value);

// "torch::kFloat32".
std::string CppDataType(v1::Tensor::DataType type);

// The declared type of a variable with this type; torch::Tensor if the type is unknown.
std::string CppType(const v1::ValueType& type);

class CppForward : public ForwardWriter {
 public:
  // `members`: for each module's path, the name of the member that holds it ("layer1_0_conv1").
  CppForward(const SourceModel& model, const std::map<std::string, std::string>& members);

  // After Write: "torch::Tensor", "std::tuple<torch::Tensor, torch::Tensor>", or "auto" if it is unknown.
  const std::string& return_type() const { return return_type_; }

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
  absl::StatusOr<std::string> CallOperator(const v1::Node& node, const std::vector<Input>& inputs);
  // The expression for output `slot`, given `result`, the value of the node's expression.
  std::string Slot(const v1::Node& node, const std::string& result, size_t slot) const;
  absl::StatusOr<std::string> CallModule(const v1::Node& node, const std::vector<Input>& inputs) const;

  const std::map<std::string, std::string>& members_;
  std::string return_type_;
  // Whether the current node calls an operator by name, so that its results are IValues.
  bool by_name_ = false;
};

}  // namespace lanista::exporters

#endif  // LANISTA_SRC_EXPORTERS_CPP_FORWARD_H_

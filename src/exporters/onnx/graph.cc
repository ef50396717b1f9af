#include "src/exporters/onnx/graph.h"

#include <cstring>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "src/base/status.h"
#include "src/graph/graph.h"

namespace lanista::exporters {
namespace {

template <class Number>
std::string Bytes(const std::vector<Number>& values) {
  std::string bytes(values.size() * sizeof(Number), '\0');
  if (!values.empty()) std::memcpy(&bytes[0], values.data(), bytes.size());
  return bytes;
}

struct SetAttribute {
  onnx::AttributeProto* attribute;

  void operator()(int64_t value) const {
    attribute->set_type(onnx::AttributeProto::INT);
    attribute->set_i(value);
  }
  void operator()(float value) const {
    attribute->set_type(onnx::AttributeProto::FLOAT);
    attribute->set_f(value);
  }
  void operator()(const std::string& value) const {
    attribute->set_type(onnx::AttributeProto::STRING);
    attribute->set_s(value);
  }
  void operator()(const std::vector<int64_t>& values) const {
    attribute->set_type(onnx::AttributeProto::INTS);
    for (const int64_t value : values) attribute->add_ints(value);
  }
  void operator()(const std::vector<float>& values) const {
    attribute->set_type(onnx::AttributeProto::FLOATS);
    for (const float value : values) attribute->add_floats(value);
  }
  void operator()(const std::vector<std::string>& values) const {
    attribute->set_type(onnx::AttributeProto::STRINGS);
    for (const std::string& value : values) attribute->add_strings(value);
  }
};

}  // namespace

int OnnxDataType(v1::Tensor::DataType type) {
  static const auto* const types = new std::map<v1::Tensor::DataType, int>{
      {v1::Tensor::FLOAT32, onnx::TensorProto::FLOAT},       {v1::Tensor::FLOAT64, onnx::TensorProto::DOUBLE},
      {v1::Tensor::FLOAT16, onnx::TensorProto::FLOAT16},     {v1::Tensor::BFLOAT16, onnx::TensorProto::BFLOAT16},
      {v1::Tensor::INT8, onnx::TensorProto::INT8},           {v1::Tensor::UINT8, onnx::TensorProto::UINT8},
      {v1::Tensor::INT16, onnx::TensorProto::INT16},         {v1::Tensor::INT32, onnx::TensorProto::INT32},
      {v1::Tensor::INT64, onnx::TensorProto::INT64},         {v1::Tensor::BOOL, onnx::TensorProto::BOOL},
      {v1::Tensor::COMPLEX64, onnx::TensorProto::COMPLEX64}, {v1::Tensor::COMPLEX128, onnx::TensorProto::COMPLEX128}};
  const auto found = types->find(type);
  return found == types->end() ? static_cast<int>(onnx::TensorProto::UNDEFINED) : found->second;
}

void SetOnnxType(const std::string& name, const v1::ValueType& type, onnx::ValueInfoProto* info) {
  info->set_name(name);
  auto* const tensor = info->mutable_type()->mutable_tensor_type();
  const v1::Tensor::DataType data_type = type.kind() == v1::ValueType::INT ? v1::Tensor::INT64 : type.data_type();
  if (const int number = OnnxDataType(data_type); number != 0) tensor->set_elem_type(number);
  if (type.kind() == v1::ValueType::INT || type.kind() == v1::ValueType::FLOAT) tensor->mutable_shape();
  if (!type.has_shape()) return;
  auto* const shape = tensor->mutable_shape();
  for (int i = 0; i < type.shape().dims_size(); ++i) {
    auto* const dimension = shape->add_dim();
    if (type.shape().dims(i) >= 0) {
      dimension->set_dim_value(type.shape().dims(i));
    } else {
      dimension->set_dim_param(i == 0 ? std::string("N") : absl::StrCat(name, "_dim_", i));
    }
  }
}

void OnnxGraph::Enter(const std::string& path, const std::string& module, std::vector<std::string> inputs) {
  path_ = path;
  module_ = module;
  inputs_ = std::move(inputs);
}

std::string OnnxGraph::AddInitializer(const std::string& wish, int data_type, const std::vector<int64_t>& dims,
                                      std::string bytes) {
  const std::string name = names_.Take(wish);
  onnx::TensorProto* const tensor = graph_->add_initializer();
  tensor->set_name(name);
  tensor->set_data_type(data_type);
  for (const int64_t dim : dims) tensor->add_dims(dim);
  tensor->set_raw_data(std::move(bytes));
  return name;
}

std::string OnnxGraph::StateTensor(const std::string& name) {
  const auto known = tensors_.find(name);
  if (known != tensors_.end()) return known->second;
  const auto info = model_.tensors.find(name);
  if (info == model_.tensors.end()) return "";
  absl::StatusOr<std::string> bytes = read_tensor_(name);
  if (!bytes.ok()) {
    status_.Update(bytes.status());
    return "";
  }
  return tensors_[name] =
             AddInitializer(name, OnnxDataType(info->second.data_type), info->second.dims, *std::move(bytes));
}

absl::StatusOr<std::string> OnnxGraph::ConstantValue(const v1::Value& value) {
  switch (value.kind_case()) {
    case v1::Value::kI:
      return Constant(std::vector<int64_t>{value.i()}, {});
    case v1::Value::kF:
      return Constant(std::vector<float>{static_cast<float>(value.f())}, {});
    case v1::Value::kB:
      return AddInitializer(path_, onnx::TensorProto::BOOL, {}, std::string(1, value.b() ? '\1' : '\0'));
    case v1::Value::kTensor: {
      const std::vector<int64_t> dims(value.tensor().dims().begin(), value.tensor().dims().end());
      const int data_type = OnnxDataType(value.tensor().data_type());
      if (data_type == 0) return absl::UnimplementedError("a constant tensor of unknown type");
      return AddInitializer(path_, data_type, dims, value.tensor().data());
    }
    case v1::Value::kList: {
      std::vector<int64_t> ints;
      std::vector<float> floats;
      for (const v1::Value& element : value.list().values()) {
        if (element.kind_case() == v1::Value::kI) ints.push_back(element.i());
        floats.push_back(
            static_cast<float>(element.kind_case() == v1::Value::kI ? static_cast<double>(element.i()) : element.f()));
      }
      const std::vector<int64_t> dims = {static_cast<int64_t>(floats.size())};
      return ints.size() == floats.size() ? Constant(ints, dims) : Constant(floats, dims);
    }
    case v1::Value::KIND_NOT_SET:
      return std::string();
    default:
      return absl::UnimplementedError("a constant that ONNX has no type for");
  }
}

std::string OnnxGraph::Input(int index) {
  if (index >= 0 && static_cast<size_t>(index) < inputs_.size()) return inputs_[static_cast<size_t>(index)];
  status_.Update(absl::InternalError(absl::StrCat("operator asks for input ", index, " of ", inputs_.size())));
  return "";
}

std::string OnnxGraph::Parameter(const std::string& name) { return StateTensor(graph::JoinPath(module_, name)); }

std::string OnnxGraph::Constant(const std::vector<int64_t>& values, const std::vector<int64_t>& dims) {
  const std::string bytes = Bytes(values);
  std::string& name = constants_[absl::StrCat("i", absl::StrJoin(dims, ","), ":", bytes)];
  if (name.empty()) {
    name = AddInitializer(absl::StrCat(path_, "/constant"), onnx::TensorProto::INT64, dims, bytes);
  }
  return name;
}

std::string OnnxGraph::Constant(const std::vector<float>& values, const std::vector<int64_t>& dims) {
  const std::string bytes = Bytes(values);
  std::string& name = constants_[absl::StrCat("f", absl::StrJoin(dims, ","), ":", bytes)];
  if (name.empty()) {
    name = AddInitializer(absl::StrCat(path_, "/constant"), onnx::TensorProto::FLOAT, dims, bytes);
  }
  return name;
}

std::vector<std::string> OnnxGraph::Node(const std::string& op_type, const std::vector<std::string>& inputs,
                                         const std::vector<graph::OnnxAttribute>& attributes, int num_outputs) {
  onnx::NodeProto* const node = graph_->add_node();
  const std::string name = names_.Take(absl::StrCat(path_, "/", op_type));
  node->set_name(name);
  node->set_op_type(op_type);
  for (const std::string& input : inputs) node->add_input(input);
  // Removes optional inputs at the end that are not given.
  while (node->input_size() > 0 && node->input(node->input_size() - 1).empty()) node->mutable_input()->RemoveLast();
  for (const graph::OnnxAttribute& from : attributes) {
    onnx::AttributeProto* const attribute = node->add_attribute();
    attribute->set_name(from.name);
    std::visit(SetAttribute{attribute}, from.value);
  }
  std::vector<std::string> outputs;
  for (int i = 0; i < num_outputs; ++i) {
    outputs.push_back(i == 0 ? name : names_.Take(absl::StrCat(name, ":", i)));
    node->add_output(outputs.back());
  }
  return outputs;
}

}  // namespace lanista::exporters

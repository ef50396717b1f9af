// Calls of every aten operator that has a schema of ours.
#ifndef LANISTA_TESTS_OPS_ATEN_SAMPLES_H_
#define LANISTA_TESTS_OPS_ATEN_SAMPLES_H_

#include <ATen/core/ivalue.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "protos/graph.pb.h"

namespace lanista::ops {

// Sizes of a tensor.
using Shape = std::vector<int64_t>;

// A call. Arguments are separated by blanks: "self=@ dim=1": @ is an edge with a tensor of the next shape, @b and @i
// one of truth values or indices; numbers, True, None, 'text' and [lists] are constants. A shape's 2 in front is the
// batch.
struct Sample {
  // Without "aten::".
  std::string type;
  const char* arguments;
  std::vector<Shape> shapes = {};
  // Sizes of the output that are not known where the batch is not: all that are equal to the batch, by default.
  const char* open = nullptr;
  // Whether the result is a number that follows from values that inference does not follow.
  bool number_is_unknown = false;
};

// All operators, some of them several times.
const std::vector<Sample>& Samples();

// The operator: "aten::add.Tensor".
std::string TypeOf(const Sample& sample);

// A constant as samples write it.
v1::Value ValueOf(absl::string_view text);

// A sample as a node with values for its edges, which come from "x0", "x1" and so on.
struct Call {
  v1::Node node;
  std::vector<c10::IValue> inputs;
  std::vector<v1::ValueType> types;
};

Call CallOf(const Sample& sample);

}  // namespace lanista::ops

#endif  // LANISTA_TESTS_OPS_ATEN_SAMPLES_H_

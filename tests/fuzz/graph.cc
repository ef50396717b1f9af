// Graphs that clients send: read, checked, typed as the planner does it, and written again.
// Input: 't', 'j' or 'b' (text, JSON, binary), then the graph.
#include "src/graph/graph.h"

#include <string>

#include "src/graph/io.h"
#include "src/ops/registry.h"
#include "tests/fuzz/fuzz.h"

namespace lanista {

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Input input(data, size);
  const uint8_t kind = input.Byte();
  const graph::Format format = kind == 't'   ? graph::Format::kText
                               : kind == 'j' ? graph::Format::kJson
                                             : graph::Format::kBinary;
  absl::StatusOr<v1::ModelGraph> model = graph::Read(std::string(input.Rest()), format);
  if (!model.ok()) {
    fuzz::Require(!model.status().message().empty(), "an error says nothing");
    return 0;
  }
  for (const graph::Format other : {graph::Format::kText, graph::Format::kBinary}) {
    const std::string written = graph::Write(*model, other);
    const absl::StatusOr<v1::ModelGraph> again = graph::Read(written, other);
    fuzz::Require(again.ok(), "what was written cannot be read");
    fuzz::Require(graph::Write(*again, other) == written, "what was read is written as other bytes");
  }
  const absl::Status valid = graph::Validate(*model, ops::FindOp);
  if (!valid.ok()) return 0;
  // Types need not fit; what fits stays valid.
  if (graph::InferTypes(&*model, ops::FindOp).ok()) {
    fuzz::Require(graph::Validate(*model, ops::FindOp).ok(), "types make a valid graph invalid");
  }
  graph::ExecutionOrder(graph::RootGraph(*model)).IgnoreError();
  size_t nodes = 0;
  graph::VisitNodes(*model, [&nodes](const std::string&, const v1::Node&) { ++nodes; });
  return 0;
}

}  // namespace lanista

#include "src/graph/built_in.h"

namespace lanista::graph {

BuiltIn BuiltInOf(absl::string_view type) {
  for (const BuiltIn built_in : {BuiltIn::kParameter, BuiltIn::kConstant, BuiltIn::kTraining, BuiltIn::kAssert}) {
    if (type == TypeOf(built_in)) return built_in;
  }
  return BuiltIn::kNone;
}

BuiltIn BuiltInOf(const v1::Node& node) { return BuiltInOf(node.op().type()); }

const char* TypeOf(BuiltIn built_in) {
  switch (built_in) {
    case BuiltIn::kParameter:
      return "Parameter";
    case BuiltIn::kConstant:
      return "Constant";
    case BuiltIn::kTraining:
      return "Training";
    case BuiltIn::kAssert:
      return "Assert";
    case BuiltIn::kNone:
      break;
  }
  return "";
}

}  // namespace lanista::graph

#include "src/devices/node_source.h"

#include <algorithm>

#include "src/base/component.h"

namespace lanista {

bool BringsNodes(const v1::TrainingServiceConfig& block) {
  const google::protobuf::FieldDescriptor* const field = ChosenKind(block);
  if (field == nullptr) return false;
  const std::string name = block.has_custom() ? "custom:" + block.custom().name() : std::string(field->name());
  const std::vector<std::string> sources = NodeSourceRegistry::Get().Names();
  return std::find(sources.begin(), sources.end(), name) != sources.end();
}

bool WantsTunnels(const v1::TrainingServiceConfig& block) { return !block.remote().machine_list().empty(); }

}  // namespace lanista

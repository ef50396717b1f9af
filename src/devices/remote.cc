// `remote`: nodes that join by themselves.
#include <memory>

#include "src/devices/node_source.h"

namespace lanista {
namespace {

// Starts nothing, and counts on nothing.
class RemoteSource final : public NodeSource {
 public:
  Prospect Step(const Situation& situation) override {
    Prospect prospect;
    if (situation.nodes.empty()) prospect.because = "nodes join by `lanista node`, and none has";
    return prospect;
  }
  void End() override {}
};

absl::StatusOr<std::unique_ptr<NodeSource>> MakeRemote(const v1::RemoteConfig&, const NodeSourceContext&) {
  return std::make_unique<RemoteSource>();
}

LANISTA_REGISTER(NodeSourceRegistry, remote, v1::RemoteConfig, MakeRemote);

}  // namespace
}  // namespace lanista

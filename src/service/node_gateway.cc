#include "src/service/node_gateway.h"

#include <future>
#include <memory>
#include <utility>

namespace lanista {

absl::StatusOr<v1::NodeList> AwaitNodes(NodeGateway& nodes) {
  const auto listed = std::make_shared<std::promise<absl::StatusOr<v1::NodeList>>>();
  nodes.List([listed](absl::StatusOr<v1::NodeList> list) { listed->set_value(std::move(list)); });
  return listed->get_future().get();
}

}  // namespace lanista

#include "src/service/node_gateway.h"

#include <chrono>
#include <future>
#include <memory>
#include <utility>

namespace lanista {
namespace {

// A list is no work: who does not answer for so long hangs, and who asks must be able to end.
constexpr std::chrono::seconds kPatience(10);

}  // namespace

absl::StatusOr<v1::NodeList> AwaitNodes(NodeGateway& nodes) {
  const auto listed = std::make_shared<std::promise<absl::StatusOr<v1::NodeList>>>();
  nodes.List([listed](absl::StatusOr<v1::NodeList> list) { listed->set_value(std::move(list)); });
  std::future<absl::StatusOr<v1::NodeList>> list = listed->get_future();
  if (list.wait_for(kPatience) != std::future_status::ready) {
    return absl::UnavailableError("the head does not say which nodes it has; try again");
  }
  return list.get();
}

}  // namespace lanista

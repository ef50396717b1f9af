// What a head allows its nodes.
#ifndef LANISTA_SRC_RPC_NODE_LIMITS_H_
#define LANISTA_SRC_RPC_NODE_LIMITS_H_

#include <chrono>
#include <memory>

#include "src/files/disk_room.h"

namespace lanista {

struct NodeLimits {
  // A stream on which no node says hello for so long is ended.
  std::chrono::milliseconds hello = std::chrono::seconds(10);
  // A node that sends nothing of a delivery for so long is given up.
  std::chrono::milliseconds idle = std::chrono::minutes(1);
  // On the head's disk, for what nodes deliver: LocalHead's, so that it is seen what waits for it.
  DiskRoomPtr disk_room = std::make_shared<DiskRoom>();
};

}  // namespace lanista

#endif  // LANISTA_SRC_RPC_NODE_LIMITS_H_

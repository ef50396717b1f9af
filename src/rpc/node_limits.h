// What a head allows its nodes.
#ifndef LANISTA_SRC_RPC_NODE_LIMITS_H_
#define LANISTA_SRC_RPC_NODE_LIMITS_H_

#include <chrono>
#include <cstdint>

#include "src/files/disk_room.h"

namespace lanista {

struct NodeLimits {
  // A stream on which no node says hello for so long is ended.
  std::chrono::milliseconds hello = std::chrono::seconds(10);
  // Bytes of the head's disk that stay free of what nodes deliver: see DiskRoom.
  uint64_t keep_free = DiskRoom::kKeepFree;
};

}  // namespace lanista

#endif  // LANISTA_SRC_RPC_NODE_LIMITS_H_

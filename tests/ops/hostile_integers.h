// Operators as nobody writes them but who wants to break a head, which infers the types of models of strangers.
#ifndef LANISTA_TESTS_OPS_HOSTILE_INTEGERS_H_
#define LANISTA_TESTS_OPS_HOSTILE_INTEGERS_H_

#include <cstdint>
#include <functional>
#include <limits>

#include "protos/graph.pb.h"

namespace lanista::ops {

// Calls `try_one` with `node` after each change of one integer of its attributes to one at which products overflow, are
// 0, or have no negative counterpart; also of all integers of a list at once.
inline void ForEachHostileInteger(v1::Node node, const std::function<void(const v1::Node& hostile)>& try_one) {
  const v1::Node original = node;
  for (int at = 0; at < node.op().attr_size(); ++at) {
    v1::Value& value = *node.mutable_op()->mutable_attr(at)->mutable_value();
    for (const int64_t integer : {int64_t{0}, int64_t{-1}, (int64_t{1} << 31) - 1, int64_t{1} << 32,
                                  std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min()}) {
      if (value.has_i()) {
        value.set_i(integer);
        try_one(node);
      }
      for (v1::Value& element : *value.mutable_list()->mutable_values()) {
        if (!element.has_i()) continue;
        element.set_i(integer);
        try_one(node);
      }
    }
    node = original;
  }
}

}  // namespace lanista::ops

#endif  // LANISTA_TESTS_OPS_HOSTILE_INTEGERS_H_

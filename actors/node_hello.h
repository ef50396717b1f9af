// What a head believes of a node that introduces itself.
#ifndef LANISTA_ACTORS_NODE_HELLO_H_
#define LANISTA_ACTORS_NODE_HELLO_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "protos/node.pb.h"

namespace lanista {

// What is wrong with a hello, for people; OK: the node may join. FAILED_PRECONDITION: it speaks another version of the
// protocol.
absl::Status CheckHello(const v1::NodeHello& hello);

// A node says what cannot be: INVALID_ARGUMENT, with which its stream ends. `what`: "has no such device".
inline absl::Status Lie(const std::string& what) { return absl::InvalidArgumentError(absl::StrCat("the node ", what)); }

}  // namespace lanista

#endif  // LANISTA_ACTORS_NODE_HELLO_H_

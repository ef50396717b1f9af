// Who may call which method of a head.
#ifndef LANISTA_SRC_RPC_CALL_CHECK_H_
#define LANISTA_SRC_RPC_CALL_CHECK_H_

#include <memory>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "src/rpc/token_file.h"

namespace lanista {

enum class Caller { kAnybody, kClient, kNode };

// Who may call a method, as HTTP's path has it: "/lanista.v1.ExperimentService/Create". Of one that is not known,
// clients: a service that is added is closed until somebody opens it here.
Caller CallerOf(absl::string_view method);

// The one place in which calls of all services are let in. Thread-safe.
class CallCheck {
 public:
  // Null: there is no such file. Without any file everybody may call everything; with one for clients, nodes need
  // theirs. `nodes_only`: clients may call nothing.
  CallCheck(std::unique_ptr<TokenFile> client_tokens, std::unique_ptr<TokenFile> node_tokens, bool nodes_only = false);

  // `authorization`: the header of that name; empty: none was sent. UNAUTHENTICATED: no token, or a wrong one.
  // PERMISSION_DENIED: a token for something else.
  absl::Status Check(absl::string_view method, absl::string_view authorization);

 private:
  const std::unique_ptr<TokenFile> client_tokens_;
  const std::unique_ptr<TokenFile> node_tokens_;
  const bool nodes_only_;
};

}  // namespace lanista

#endif  // LANISTA_SRC_RPC_CALL_CHECK_H_

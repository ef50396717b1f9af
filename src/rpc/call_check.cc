#include "src/rpc/call_check.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace lanista {
namespace {

constexpr absl::string_view kScheme = "Bearer ";

}  // namespace

Caller CallerOf(absl::string_view method) {
  if (absl::StartsWith(method, "/grpc.health.v1.Health/")) return Caller::kAnybody;
  for (const char* of_nodes :
       {"Join", "Beat", "ListInputs", "FetchInput", "FetchCheckpoint", "DeliverOutput", "FindWeightsBar"}) {
    if (method == absl::StrCat("/lanista.v1.NodeService/", of_nodes)) return Caller::kNode;
  }
  return Caller::kClient;
}

CallCheck::CallCheck(std::unique_ptr<TokenFile> client_tokens, std::unique_ptr<TokenFile> node_tokens, bool nodes_only)
    : client_tokens_(std::move(client_tokens)), node_tokens_(std::move(node_tokens)), nodes_only_(nodes_only) {}

absl::Status CallCheck::Check(absl::string_view method, absl::string_view authorization) {
  const Caller caller = CallerOf(method);
  if (caller == Caller::kAnybody) return absl::OkStatus();
  const bool is_node = caller == Caller::kNode;
  if (nodes_only_ && !is_node) {
    return absl::PermissionDeniedError("only nodes that the head has started over ssh come in here");
  }
  TokenFile* const wanted = is_node ? node_tokens_.get() : client_tokens_.get();
  TokenFile* const other = is_node ? client_tokens_.get() : node_tokens_.get();
  if (wanted == nullptr) {
    if (!is_node || client_tokens_ == nullptr) return absl::OkStatus();
    return absl::PermissionDeniedError(
        "this head takes no nodes: `serve --node-token-file FILE` lets those in who have one "
        "of its tokens");
  }
  const char* const kind = is_node ? "node" : "client";
  const char* const option = is_node ? "--node-token-file" : "--token-file";
  const bool is_bearer = absl::StartsWithIgnoreCase(authorization, kScheme);
  if (!is_bearer) {
    return absl::UnauthenticatedError(absl::StrCat("this head wants a ", kind,
                                                   "'s token: name a file that begins with one by --token-file FILE, "
                                                   "or in LANISTA_TOKEN_FILE (the head's are in `serve ",
                                                   option, "`)"));
  }
  const absl::string_view token = authorization.substr(kScheme.size());
  if (wanted->Holds(token)) return absl::OkStatus();
  if (other != nullptr && other->Holds(token)) {
    return absl::PermissionDeniedError(absl::StrCat(method, " wants a ", kind, "'s token (of `serve ", option,
                                                    "`), and this is a ", is_node ? "client" : "node", "'s"));
  }
  return absl::UnauthenticatedError(
      absl::StrCat("the token is none of this head's for ", kind, "s (`serve ", option, "`): was it replaced?"));
}

}  // namespace lanista

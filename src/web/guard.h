// Who may ask what: checked before a request is looked at otherwise.
#ifndef LANISTA_SRC_WEB_GUARD_H_
#define LANISTA_SRC_WEB_GUARD_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "src/web/http.h"

namespace lanista {

struct GuardOptions {
  // What requests below api/, and for metrics, must show; empty: nothing.
  std::string token;
  // The names and addresses that the page is reached by, without ports, in lower case; IPv6 addresses in brackets.
  // "localhost", 127.x.x.x and [::1] always are.
  std::vector<std::string> hosts;
  // What requests for metrics may show instead; empty: nothing else.
  std::string metrics_token = {};
};

// The answer to a request that is refused; nullopt: it may pass.
//
// 400: no Host. 421: its Host is no name of ours, so that a foreign name that was made to lead here (DNS rebinding)
// gets nothing. 403: a browser sends it for another site's page. 401: below api/, or metrics, without the token. 415: a
// body that is no JSON, which is what a foreign form could send. There are no cookies and no CORS.
std::optional<HttpResponse> RefuseRequest(const HttpRequest& request, const GuardOptions& options);

// The headers of every answer: what the page may load, and that nobody may frame it or guess types.
const std::vector<std::pair<std::string, std::string>>& SafetyHeaders();

// Whether the path is that of the metrics.
bool IsMetrics(const HttpRequest& request);

// Whether both are the same, in a time that depends on their lengths only.
bool SameSecret(absl::string_view a, absl::string_view b);

}  // namespace lanista

#endif  // LANISTA_SRC_WEB_GUARD_H_

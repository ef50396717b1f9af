#include "src/web/guard.h"

#include <openssl/crypto.h>

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "src/base/loopback.h"

namespace lanista {
namespace {

// "Example.org:81" as "example.org"; what is behind the colon must be a port.
std::string HostName(absl::string_view host) {
  const size_t bracket = host.rfind(']');
  const size_t colon = host.rfind(':');
  const bool has_port = colon != absl::string_view::npos && (bracket == absl::string_view::npos || bracket < colon);
  if (!has_port) return absl::AsciiStrToLower(host);
  const absl::string_view port = host.substr(colon + 1);
  const bool digits = std::all_of(port.begin(), port.end(), absl::ascii_isdigit);
  return absl::AsciiStrToLower(digits ? host.substr(0, colon) : host);
}

bool IsOurs(const std::string& name, const GuardOptions& options) {
  return IsLoopbackHost(name) || std::find(options.hosts.begin(), options.hosts.end(), name) != options.hosts.end();
}

// Whether the page that a browser sends this for is ours. Programs send neither header.
bool IsOfOurPage(const HttpRequest& request, const GuardOptions& options, bool api) {
  const std::string site = request.Header("sec-fetch-site");
  // A link on another site may lead to the page; it cannot ask the API.
  if (api && !site.empty() && site != "same-origin" && site != "none") return false;
  const std::string origin = request.Header("origin");
  if (origin.empty()) return true;
  absl::string_view host = origin;
  if (!absl::ConsumePrefix(&host, "http://") && !absl::ConsumePrefix(&host, "https://")) return false;
  if (absl::EqualsIgnoreCase(host, request.Header("host"))) return true;
  // Behind a proxy, which asks by another name than the browser does.
  const std::string name = HostName(host);
  return !IsLoopbackHost(name) && IsOurs(name, options);
}

bool Writes(const std::string& method) { return method != "GET" && method != "HEAD" && method != "OPTIONS"; }

}  // namespace

std::optional<HttpResponse> RefuseRequest(const HttpRequest& request, const GuardOptions& options) {
  const std::string host = request.Header("host");
  if (host.empty()) return ErrorResponse(400, "the request has no header Host");
  const std::string name = HostName(host);
  if (!IsOurs(name, options)) {
    return ErrorResponse(421,
                         absl::StrCat("'", name, "' is no name of this page: start it with --web-host ", name,
                                      " if you reach it by this name, or open the link that it printed at its start"));
  }
  const bool metrics = IsMetrics(request);
  const bool api = metrics || (!request.path.empty() && request.path[0] == "api");
  if (!IsOfOurPage(request, options, api)) return ErrorResponse(403, "another site's page may not ask this");
  if (!api) return std::nullopt;
  if (!options.token.empty()) {
    const std::string authorization = request.Header("authorization");
    absl::string_view token = authorization;
    const bool bearer = absl::StartsWithIgnoreCase(token, "bearer ");
    if (bearer) token.remove_prefix(7);
    const bool reads_metrics = metrics && !options.metrics_token.empty() && SameSecret(token, options.metrics_token);
    if (!bearer || (!SameSecret(token, options.token) && !reads_metrics)) {
      HttpResponse refused = ErrorResponse(
          401, metrics
                   ? "this needs a token: send `Authorization: Bearer TOKEN` with what is in the state folder's file "
                     "metrics_token"
                   : "this needs the token: open the link that was printed at the start, with all that is behind its "
                     "'#'");
      refused.headers.emplace_back("WWW-Authenticate", "Bearer");
      return refused;
    }
  }
  if (!Writes(request.method)) return std::nullopt;
  const std::string type = request.Header("content-type");
  const std::vector<std::string> parts = absl::StrSplit(type, absl::MaxSplits(';', 1));
  if (!absl::EqualsIgnoreCase(absl::StripAsciiWhitespace(parts[0]), "application/json")) {
    return ErrorResponse(415, "the header Content-Type must be application/json");
  }
  return std::nullopt;
}

const std::vector<std::pair<std::string, std::string>>& SafetyHeaders() {
  static const auto* const kHeaders = new std::vector<std::pair<std::string, std::string>>{
      {"Content-Security-Policy",
       "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
       "worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
       "require-trusted-types-for 'script'; trusted-types lanista"},
      {"X-Content-Type-Options", "nosniff"},
      {"Referrer-Policy", "no-referrer"},
      {"Cross-Origin-Resource-Policy", "same-origin"},
  };
  return *kHeaders;
}

bool IsMetrics(const HttpRequest& request) { return request.path.size() == 1 && request.path[0] == "metrics"; }

bool SameSecret(absl::string_view a, absl::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace lanista

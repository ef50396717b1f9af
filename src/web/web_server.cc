#include "src/web/web_server.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>

#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "src/base/status.h"
#include "src/telemetry/exposition.h"
#include "src/web/assets.h"
#include "src/web/guard.h"
#include "src/web/http_server.h"
#include "src/web/router.h"

namespace lanista {
namespace {

bool IsWildcard(const std::string& host) { return host == "0.0.0.0" || host == "[::]"; }

// The addresses of this machine, as browsers write them.
std::vector<std::string> OwnAddresses() {
  std::vector<std::string> addresses;
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return addresses;
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr) continue;
    char text[INET6_ADDRSTRLEN] = "";
    if (entry->ifa_addr->sa_family == AF_INET) {
      inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(entry->ifa_addr)->sin_addr, text, sizeof(text));
      addresses.emplace_back(text);
    } else if (entry->ifa_addr->sa_family == AF_INET6) {
      inet_ntop(AF_INET6, &reinterpret_cast<const sockaddr_in6*>(entry->ifa_addr)->sin6_addr, text, sizeof(text));
      addresses.push_back(absl::StrCat("[", text, "]"));
    }
  }
  freeifaddrs(list);
  return addresses;
}

std::string LinkOf(const WebOptions& options, int port) {
  const bool tls = !options.tls_certificate_file.empty();
  std::string host = options.host;
  if (IsWildcard(host)) host = tls && !options.names.empty() ? options.names[0] : "127.0.0.1";
  return absl::StrCat(tls ? "https" : "http", "://", host, ":", port, "/",
                      options.token.empty() ? "" : absl::StrCat("#token=", options.token));
}

GuardOptions GuardOf(const WebOptions& options) {
  GuardOptions guard;
  guard.token = options.token;
  guard.metrics_token = options.metrics_token;
  if (IsWildcard(options.host)) guard.hosts = OwnAddresses();
  guard.hosts.push_back(absl::AsciiStrToLower(options.host));
  for (const std::string& name : options.names) guard.hosts.push_back(absl::AsciiStrToLower(name));
  return guard;
}

}  // namespace

class WebServer::Impl {
 public:
  Impl(const WebOptions& options, Experiments* experiments)
      : guard_(GuardOf(options)),
        tables_(experiments, options.tables),
        streams_(experiments, options.streams),
        api_(experiments, &tables_, &streams_, options.api) {
    api_.AddRoutes(&router_);
    if (options.telemetry == nullptr) return;
    router_.Add("GET", "metrics", [telemetry = options.telemetry](const HttpRequest&, const Router::Parameters&) {
      HttpResponse response;
      response.headers.emplace_back("Content-Type", kPrometheusContentType);
      response.body = std::make_shared<const std::string>(PrometheusText(*telemetry));
      return response;
    });
  }

  absl::Status Start(const WebOptions& options) {
    HttpServer::Options http;
    http.host = options.host;
    http.port = options.port;
    http.tls_certificate_file = options.tls_certificate_file;
    http.tls_key_file = options.tls_key_file;
    http.max_connections = options.max_connections;
    http.timeout_seconds = options.timeout_seconds;
    http.open = options.open;
    http.is_slow = [this](const HttpRequest& request) { return router_.IsSlow(request); };
    http.headers = SafetyHeaders();
    http.headers.emplace_back("Cache-Control", "no-store");
    LANISTA_ASSIGN_OR_RETURN(server_, HttpServer::Start(
                                          http, [this](const HttpRequest& request) { return AnswerAtOnce(request); },
                                          [this](const HttpRequest& request) { return router_.Route(request); }));
    link_ = LinkOf(options, server_->port());
    return absl::OkStatus();
  }

  void Open() { server_->Open(); }
  void Close() {
    server_->Close();
    streams_.Close();
  }

  const std::string& link() const { return link_; }
  int port() const { return server_->port(); }

 private:
  std::optional<HttpResponse> AnswerAtOnce(const HttpRequest& request) const {
    std::optional<HttpResponse> refused = RefuseRequest(request, guard_);
    if (refused.has_value()) return refused;
    if (!request.path.empty() && (request.path[0] == "api" || IsMetrics(request))) return std::nullopt;
    return ServeAsset(request);
  }

  const GuardOptions guard_;
  TableCache tables_;
  EventStreams streams_;
  Api api_;
  Router router_;
  std::string link_;
  // The last one here, so that it ends first: it uses all others.
  std::unique_ptr<HttpServer> server_;
};

WebServer::WebServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
WebServer::~WebServer() = default;

void WebServer::Open() { impl_->Open(); }
void WebServer::Close() { impl_->Close(); }
const std::string& WebServer::link() const { return impl_->link(); }
int WebServer::port() const { return impl_->port(); }

absl::StatusOr<std::unique_ptr<WebServer>> WebServer::Start(const WebOptions& options, Experiments* experiments) {
  auto impl = std::make_unique<Impl>(options, experiments);
  LANISTA_RETURN_IF_ERROR(impl->Start(options));
  return std::unique_ptr<WebServer>(new WebServer(std::move(impl)));
}

}  // namespace lanista

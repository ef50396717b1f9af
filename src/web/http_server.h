// An HTTP/1.1 server: GNU libmicrohttpd with one thread for all connections. What reads the disk runs on other threads,
// while its connection is suspended.
#ifndef LANISTA_SRC_WEB_HTTP_SERVER_H_
#define LANISTA_SRC_WEB_HTTP_SERVER_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "src/web/http.h"

namespace lanista {

class HttpServer {
 public:
  struct Options {
    // A name or an address, an IPv6 one in brackets; and a port, 0: any free one.
    std::string host = "127.0.0.1";
    int port = 0;
    // At most so many, and at most half of the files that the process may open: who runs trials needs the others.
    int max_connections = 1024;
    // A connection on which nothing moves for so long is closed; one that waits for a handler, or for news on a stream,
    // is not.
    int timeout_seconds = 30;
    // PEM. Both or none: HTTPS or HTTP. They are read again when they are replaced, for the next connection.
    std::string tls_certificate_file;
    std::string tls_key_file;
    // False: requests that Handle would answer get 503 until Open.
    bool open = true;
    // Of every answer that does not have the same header.
    std::vector<std::pair<std::string, std::string>> headers;
    // Requests whose handler may take minutes: they have threads of their own, and hold up no others. Called with whole
    // requests; null: there are none.
    std::function<bool(const HttpRequest&)> is_slow;
  };

  // Called on the connections' thread when the headers are there, and must not block: what can be answered at once is
  // (a file of the page, a refusal), nullopt: Handle is to answer, once it has the body.
  using Check = std::function<std::optional<HttpResponse>(const HttpRequest&)>;
  // Called on another thread, several at a time. GET and HEAD have threads of their own, so that an action that waits
  // for a device holds up no page.
  using Handle = std::function<HttpResponse(const HttpRequest&)>;

  // Bodies of requests may have so many bytes; 413 where they have more.
  static constexpr size_t kMaxBody = 64 << 10;

  // INVALID_ARGUMENT: there is no such host. UNAVAILABLE: it cannot listen there. Those of ReadTlsIdentity
  // (src/base/pem_files.h).
  static absl::StatusOr<std::unique_ptr<HttpServer>> Start(const Options& options, Check check, Handle handle);
  // Ends streams, lets handlers that have begun answer, and closes all connections.
  ~HttpServer();

  // Handles requests from now on; or answers them with 503.
  void Open();
  void Close();

  // The port that it has.
  int port() const;

 private:
  class Impl;
  explicit HttpServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace lanista

#endif  // LANISTA_SRC_WEB_HTTP_SERVER_H_

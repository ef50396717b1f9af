// The page of the experiments in a state folder, and the API that it asks.
#ifndef LANISTA_SRC_WEB_WEB_SERVER_H_
#define LANISTA_SRC_WEB_WEB_SERVER_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "src/service/experiments.h"
#include "src/telemetry/telemetry.h"
#include "src/web/api.h"

namespace lanista {

struct WebOptions {
  // A name or an address (an IPv6 one in brackets), and a port; 0: any free one.
  std::string host = "127.0.0.1";
  int port = 0;
  // Empty: whoever reaches the port may see, and do, everything.
  std::string token;
  // With it /metrics may be read, and nothing else; empty: there is none.
  std::string metrics_token;
  // What /metrics shows; null: there is no such address.
  std::shared_ptr<const Telemetry> telemetry;
  // See HttpServer::Options.
  std::string tls_certificate_file;
  std::string tls_key_file;
  // Other names that the page is reached by (`--web-host`).
  std::vector<std::string> names;
  ApiOptions api;
  // False: the API answers 503 until Open.
  bool open = true;
  // For tests.
  TableCache::Options tables;
  EventStreams::Options streams;
  int max_connections = 1024;
  int timeout_seconds = 30;
};

class WebServer {
 public:
  // Takes the port. Errors: those of HttpServer::Start. `experiments` must outlive it.
  static absl::StatusOr<std::unique_ptr<WebServer>> Start(const WebOptions& options, Experiments* experiments);
  // Waits for requests: what blocks in `experiments` must be about to return.
  ~WebServer();

  void Open();
  // Ends streams without a word, and answers 503 from now on, so that pages try again later.
  void Close();

  // Where it can be reached from this machine, with the port that it has: "http://127.0.0.1:8081/#token=..."; with TLS
  // and for all addresses by the first of the names, which the certificate has, perhaps.
  const std::string& link() const;
  int port() const;

 private:
  class Impl;
  explicit WebServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace lanista

#endif  // LANISTA_SRC_WEB_WEB_SERVER_H_

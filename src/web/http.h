// Requests and answers of HTTP, as the handlers of this room see them: no connection, no library.
#ifndef LANISTA_SRC_WEB_HTTP_H_
#define LANISTA_SRC_WEB_HTTP_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "nlohmann/json_fwd.hpp"
#include "src/base/unique_fd.h"

namespace lanista {

class HttpStream;

struct HttpRequest {
  // "GET", as sent.
  std::string method;
  // The parts of the path between its slashes, decoded; none: "/".
  std::vector<std::string> path;
  // Decoded; of a name that comes twice, the last one.
  std::map<std::string, std::string> query;
  // By their names in lower case; one that comes several times is joined with ", ".
  std::map<std::string, std::string> headers;
  std::string body;
  // True once nobody waits for the answer any more: the client has gone, or the server ends. For handlers that take
  // long. Does not block; may be called by one thread at a time until the answer is there. May be null.
  std::function<bool()> abandoned;

  // A header, or "".
  std::string Header(const std::string& name) const;
};

// Sets path and query from the target of a request line ("/a/b%20c?d=e"). INVALID_ARGUMENT: it is none. NOT_FOUND: no
// file and no route is ever called so ("..", an encoded slash, a NUL byte).
absl::Status ParseTarget(absl::string_view target, HttpRequest* request);

struct HttpResponse {
  int status = 200;
  std::vector<std::pair<std::string, std::string>> headers;
  // One of these; else the body is empty. A body may be shared with other answers.
  std::shared_ptr<const std::string> body;
  std::shared_ptr<HttpStream> stream;
  UniqueFd file;
  uint64_t file_size = 0;
};

// A document, compact.
HttpResponse JsonResponse(const nlohmann::ordered_json& document);
// One that is text already.
HttpResponse JsonResponse(std::shared_ptr<const std::string> text);
// {"error": message}; the message is for people, and may hold any bytes.
HttpResponse ErrorResponse(int status, absl::string_view message);
// With the HTTP status that stands for the code.
HttpResponse ErrorResponse(const absl::Status& status);

}  // namespace lanista

#endif  // LANISTA_SRC_WEB_HTTP_H_

// Which handler answers which request: a list of methods and paths. What is not on it is 404 or 405.
#ifndef LANISTA_SRC_WEB_ROUTER_H_
#define LANISTA_SRC_WEB_ROUTER_H_

#include <functional>
#include <string>
#include <vector>

#include "src/web/http.h"

namespace lanista {

class Router {
 public:
  // The parts of the path that stand where the pattern has "*", in their order.
  using Parameters = std::vector<std::string>;
  using Handler = std::function<HttpResponse(const HttpRequest&, const Parameters&)>;

  // `pattern`: "api/v1/experiments/*". A route of GET answers HEAD, too.
  void Add(const std::string& method, const std::string& pattern, Handler handler);

  // Thread-safe, once all routes are there.
  HttpResponse Route(const HttpRequest& request) const;

 private:
  struct Entry {
    std::string method;
    std::vector<std::string> pattern;
    Handler handler;
  };

  std::vector<Entry> entries_;
};

}  // namespace lanista

#endif  // LANISTA_SRC_WEB_ROUTER_H_

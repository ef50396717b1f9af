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

  // A slow handler may take minutes.
  enum class Pace { kQuick, kSlow };

  // `pattern`: "api/v1/experiments/*". A route of GET answers HEAD, too.
  void Add(const std::string& method, const std::string& pattern, Handler handler, Pace pace = Pace::kQuick);

  // Thread-safe, once all routes are there.
  HttpResponse Route(const HttpRequest& request) const;
  // Whether Route would call a slow handler.
  bool IsSlow(const HttpRequest& request) const;

 private:
  struct Entry {
    std::string method;
    std::vector<std::string> pattern;
    Handler handler;
    Pace pace;
  };

  // Null: no route has this method and path; `allowed`, where it is given, receives the methods that the path has.
  const Entry* Find(const HttpRequest& request, Parameters* parameters,
                    std::vector<std::string>* allowed = nullptr) const;

  std::vector<Entry> entries_;
};

}  // namespace lanista

#endif  // LANISTA_SRC_WEB_ROUTER_H_

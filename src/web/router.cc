#include "src/web/router.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace lanista {
namespace {

// What stands for the pattern's "*"; nullopt: the path is another one.
std::optional<Router::Parameters> Match(const std::vector<std::string>& pattern, const std::vector<std::string>& path) {
  if (pattern.size() != path.size()) return std::nullopt;
  Router::Parameters parameters;
  for (size_t i = 0; i < path.size(); ++i) {
    if (pattern[i] == "*" && !path[i].empty()) {
      parameters.push_back(path[i]);
    } else if (pattern[i] != path[i]) {
      return std::nullopt;
    }
  }
  return parameters;
}

}  // namespace

void Router::Add(const std::string& method, const std::string& pattern, Handler handler) {
  entries_.push_back({method, absl::StrSplit(pattern, '/'), std::move(handler)});
}

HttpResponse Router::Route(const HttpRequest& request) const {
  const std::string method = request.method == "HEAD" ? "GET" : request.method;
  std::vector<std::string> allowed;
  for (const Entry& entry : entries_) {
    const std::optional<Parameters> parameters = Match(entry.pattern, request.path);
    if (!parameters.has_value()) continue;
    if (entry.method == method) return entry.handler(request, *parameters);
    allowed.push_back(entry.method);
    if (entry.method == "GET") allowed.push_back("HEAD");
  }
  if (allowed.empty()) return ErrorResponse(404, "there is nothing at this address");
  HttpResponse response =
      ErrorResponse(405, absl::StrCat("this address takes ", absl::StrJoin(allowed, ", "), " only"));
  response.headers.emplace_back("Allow", absl::StrJoin(allowed, ", "));
  return response;
}

}  // namespace lanista

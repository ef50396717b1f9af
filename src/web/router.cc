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

void Router::Add(const std::string& method, const std::string& pattern, Handler handler, Pace pace) {
  entries_.push_back({method, absl::StrSplit(pattern, '/'), std::move(handler), pace});
}

const Router::Entry* Router::Find(const HttpRequest& request, Parameters* parameters,
                                  std::vector<std::string>* allowed) const {
  const std::string method = request.method == "HEAD" ? "GET" : request.method;
  for (const Entry& entry : entries_) {
    std::optional<Parameters> matched = Match(entry.pattern, request.path);
    if (!matched.has_value()) continue;
    if (entry.method == method) {
      *parameters = *std::move(matched);
      return &entry;
    }
    if (allowed == nullptr) continue;
    allowed->push_back(entry.method);
    if (entry.method == "GET") allowed->push_back("HEAD");
  }
  return nullptr;
}

bool Router::IsSlow(const HttpRequest& request) const {
  Parameters parameters;
  const Entry* const entry = Find(request, &parameters);
  return entry != nullptr && entry->pace == Pace::kSlow;
}

HttpResponse Router::Route(const HttpRequest& request) const {
  Parameters parameters;
  std::vector<std::string> allowed;
  const Entry* const entry = Find(request, &parameters, &allowed);
  if (entry != nullptr) return entry->handler(request, parameters);
  if (allowed.empty()) return ErrorResponse(404, "there is nothing at this address");
  HttpResponse response =
      ErrorResponse(405, absl::StrCat("this address takes ", absl::StrJoin(allowed, ", "), " only"));
  response.headers.emplace_back("Allow", absl::StrJoin(allowed, ", "));
  return response;
}

}  // namespace lanista

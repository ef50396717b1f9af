#include "src/web/http.h"

#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"
#include "nlohmann/json.hpp"
#include "src/base/json_line.h"

namespace lanista {
namespace {

// Decodes %XX; nullopt where they are malformed.
std::optional<std::string> Decode(absl::string_view text, bool plus_is_space) {
  const auto digit = [](char c) { return absl::ascii_isdigit(c) ? c - '0' : absl::ascii_tolower(c) - 'a' + 10; };
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+' && plus_is_space) {
      decoded.push_back(' ');
    } else if (text[i] != '%') {
      decoded.push_back(text[i]);
    } else {
      if (i + 2 >= text.size() || !absl::ascii_isxdigit(text[i + 1]) || !absl::ascii_isxdigit(text[i + 2])) {
        return std::nullopt;
      }
      decoded.push_back(static_cast<char>(digit(text[i + 1]) * 16 + digit(text[i + 2])));
      i += 2;
    }
  }
  return decoded;
}

int HttpStatus(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kOutOfRange:
      return 400;
    case absl::StatusCode::kUnauthenticated:
      return 401;
    case absl::StatusCode::kPermissionDenied:
      return 403;
    case absl::StatusCode::kNotFound:
      return 404;
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kAborted:
    case absl::StatusCode::kAlreadyExists:
      return 409;
    case absl::StatusCode::kUnimplemented:
      return 501;
    case absl::StatusCode::kCancelled:
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kResourceExhausted:
    case absl::StatusCode::kDeadlineExceeded:
      return 503;
    default:
      return 500;
  }
}

}  // namespace

std::string HttpRequest::Header(const std::string& name) const {
  const auto found = headers.find(name);
  return found == headers.end() ? "" : found->second;
}

absl::Status ParseTarget(absl::string_view target, HttpRequest* request) {
  if (target.empty() || target[0] != '/') return absl::InvalidArgumentError("the address has no path");
  const std::pair<absl::string_view, absl::string_view> parts = absl::StrSplit(target, absl::MaxSplits('?', 1));
  if (parts.first != "/") {
    for (const absl::string_view part : absl::StrSplit(parts.first.substr(1), '/')) {
      std::optional<std::string> decoded = Decode(part, /*plus_is_space=*/false);
      if (!decoded.has_value()) return absl::InvalidArgumentError("the address holds a '%' that stands for nothing");
      if (*decoded == "." || *decoded == ".." || decoded->find('/') != std::string::npos ||
          decoded->find('\0') != std::string::npos) {
        return absl::NotFoundError("there is nothing at this address");
      }
      request->path.push_back(*std::move(decoded));
    }
  }
  for (const absl::string_view pair : absl::StrSplit(parts.second, '&', absl::SkipEmpty())) {
    const std::pair<absl::string_view, absl::string_view> entry = absl::StrSplit(pair, absl::MaxSplits('=', 1));
    const std::optional<std::string> name = Decode(entry.first, /*plus_is_space=*/true);
    std::optional<std::string> value = Decode(entry.second, /*plus_is_space=*/true);
    if (!name.has_value() || !value.has_value()) {
      return absl::InvalidArgumentError("the address holds a '%' that stands for nothing");
    }
    request->query[*name] = *std::move(value);
  }
  return absl::OkStatus();
}

HttpResponse JsonResponse(const nlohmann::ordered_json& document) {
  return JsonResponse(std::make_shared<const std::string>(JsonLine(document)));
}

HttpResponse JsonResponse(std::shared_ptr<const std::string> text) {
  HttpResponse response;
  response.headers.emplace_back("Content-Type", "application/json");
  response.body = std::move(text);
  return response;
}

HttpResponse ErrorResponse(int status, absl::string_view message) {
  HttpResponse response = JsonResponse(nlohmann::ordered_json{{"error", std::string(message)}});
  response.status = status;
  return response;
}

HttpResponse ErrorResponse(const absl::Status& status) {
  return ErrorResponse(HttpStatus(status.code()), status.message());
}

}  // namespace lanista

#include "src/web/api_answers.h"

#include <sys/stat.h>

#include <cstdint>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace lanista {

HttpResponse Attachment(UniqueFd file, const std::string& name) {
  struct stat status = {};
  if (fstat(file.get(), &status) != 0) return ErrorResponse(500, "the file cannot be read");
  HttpResponse response;
  response.headers = {{"Content-Type", "application/octet-stream"},
                      {"Content-Disposition", absl::StrCat("attachment; filename*=UTF-8''", PercentEncoded(name))}};
  response.file = std::move(file);
  response.file_size = static_cast<uint64_t>(status.st_size);
  return response;
}

std::string PercentEncoded(const std::string& text) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  std::string encoded;
  for (const char c : text) {
    if (absl::ascii_isalnum(c) || c == '.' || c == '-' || c == '_') {
      encoded.push_back(c);
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    encoded.push_back('%');
    encoded.push_back(kDigits[byte >> 4]);
    encoded.push_back(kDigits[byte & 15]);
  }
  return encoded;
}

int ModelNumber(const std::string& text) {
  int model = 0;
  return absl::SimpleAtoi(text, &model) && model > 0 ? model : 0;
}

HttpResponse NoModel(const ExperimentPlace& place, const std::string& model) {
  return ErrorResponse(404, absl::StrCat(place.id, " has no model '", model, "'"));
}

}  // namespace lanista

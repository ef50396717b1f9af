#include "src/web/assets.h"

#include <zlib.h>

#include <algorithm>
#include <map>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "src/web/embedded_files.h"

namespace lanista {
namespace {

// A file, ready to be sent.
struct Asset {
  std::string type;
  std::string sha256;
  std::shared_ptr<const std::string> gzipped;
  std::shared_ptr<const std::string> full;
};

std::string TypeOf(const std::string& name) {
  static const auto* const kTypes = new std::map<std::string, std::string>{
      {".html", "text/html; charset=utf-8"},
      {".js", "text/javascript; charset=utf-8"},
      {".css", "text/css; charset=utf-8"},
      {".svg", "image/svg+xml"},
      {".png", "image/png"},
      {".json", "application/json"},
  };
  const auto found = kTypes->find(name.substr(std::min(name.rfind('.'), name.size())));
  return found == kTypes->end() ? "application/octet-stream" : found->second;
}

std::string Uncompressed(const EmbeddedFile& file) {
  constexpr int kGzipFormat = 15 + 16;
  std::string full(file.full_size, '\0');
  z_stream stream = {};
  stream.next_in = const_cast<Bytef*>(file.bytes);
  stream.avail_in = static_cast<uInt>(file.size);
  stream.next_out = reinterpret_cast<Bytef*>(full.data());
  stream.avail_out = static_cast<uInt>(full.size());
  // The bytes are our own.
  if (inflateInit2(&stream, kGzipFormat) == Z_OK) inflate(&stream, Z_FINISH);
  inflateEnd(&stream);
  return full;
}

const std::map<std::string, Asset>& Assets() {
  static const auto* const kAssets = [] {
    auto* const assets = new std::map<std::string, Asset>;
    for (size_t i = 0; i < kEmbeddedFileCount; ++i) {
      const EmbeddedFile& file = kEmbeddedFiles[i];
      Asset& asset = (*assets)[file.name];
      asset.type = TypeOf(file.name);
      asset.sha256 = file.sha256;
      asset.gzipped = std::make_shared<const std::string>(reinterpret_cast<const char*>(file.bytes), file.size);
      asset.full = std::make_shared<const std::string>(Uncompressed(file));
    }
    return assets;
  }();
  return *kAssets;
}

}  // namespace

HttpResponse ServeAsset(const HttpRequest& request) {
  const std::string name = request.path.empty() ? "index.html" : request.path[0];
  const auto found = Assets().find(name);
  if (request.path.size() > 1 || found == Assets().end()) {
    return ErrorResponse(404, "there is nothing at this address");
  }
  if (request.method != "GET" && request.method != "HEAD") {
    HttpResponse refused = ErrorResponse(405, "this address takes GET, HEAD only");
    refused.headers.emplace_back("Allow", "GET, HEAD");
    return refused;
  }
  const Asset& asset = found->second;
  const bool gzip = absl::StrContains(request.Header("accept-encoding"), "gzip");
  // The two forms of a file are two things to a cache.
  const std::string tag = absl::StrCat("\"", asset.sha256, gzip ? "-gzip" : "", "\"");
  HttpResponse response;
  response.headers = {{"Content-Type", asset.type},
                      {"ETag", tag},
                      // Asked for again each time, so that a new program shows its own page.
                      {"Cache-Control", "no-cache"},
                      {"Vary", "Accept-Encoding"}};
  if (absl::StrContains(request.Header("if-none-match"), tag)) {
    response.status = 304;
    return response;
  }
  if (gzip) response.headers.emplace_back("Content-Encoding", "gzip");
  response.body = gzip ? asset.gzipped : asset.full;
  return response;
}

}  // namespace lanista

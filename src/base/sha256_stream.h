// The SHA-256 of bytes that come in pieces, and of files.
#ifndef LANISTA_SRC_BASE_SHA256_STREAM_H_
#define LANISTA_SRC_BASE_SHA256_STREAM_H_

#include <openssl/evp.h>

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace lanista {

// Used by one thread.
class Sha256Stream {
 public:
  Sha256Stream();

  void Add(absl::string_view bytes);
  // The SHA-256 of all bytes that were added, 64 hex digits. Nothing may be added afterwards.
  std::string Finish();

 private:
  std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> context_;
};

// The SHA-256 of an open file's content, from its beginning. Errors name `path`. CANCELLED: `stop`, which is asked
// between pieces and may be empty, returned true.
absl::StatusOr<std::string> Sha256OfFile(int file, const std::string& path, const std::function<bool()>& stop = {});

// Whether the text has the form of these digests: 64 hex digits.
bool IsSha256(absl::string_view text);

}  // namespace lanista

#endif  // LANISTA_SRC_BASE_SHA256_STREAM_H_

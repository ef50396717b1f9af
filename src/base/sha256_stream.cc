#include "src/base/sha256_stream.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "src/base/status.h"

namespace lanista {
namespace {

constexpr size_t kPieceBytes = size_t{1} << 18;

}  // namespace

Sha256Stream::Sha256Stream() : context_(EVP_MD_CTX_new(), EVP_MD_CTX_free) {
  EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr);
}

void Sha256Stream::Add(absl::string_view bytes) { EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()); }

std::string Sha256Stream::Finish() {
  std::string digest(EVP_MAX_MD_SIZE, '\0');
  unsigned int size = 0;
  EVP_DigestFinal_ex(context_.get(), reinterpret_cast<unsigned char*>(&digest[0]), &size);
  digest.resize(size);
  return absl::BytesToHexString(digest);
}

absl::StatusOr<std::string> Sha256OfFile(int file, const std::string& path) {
  Sha256Stream digest;
  std::string piece(kPieceBytes, '\0');
  for (off_t offset = 0;;) {
    const ssize_t count = pread(file, &piece[0], piece.size(), offset);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return ErrnoToStatus(errno, absl::StrCat("cannot read ", path));
    if (count == 0) return digest.Finish();
    digest.Add(absl::string_view(piece.data(), static_cast<size_t>(count)));
    offset += count;
  }
}

bool IsSha256(absl::string_view text) {
  return text.size() == 64 && std::all_of(text.begin(), text.end(), [](unsigned char c) {
           return absl::ascii_isdigit(c) || (c >= 'a' && c <= 'f');
         });
}

}  // namespace lanista

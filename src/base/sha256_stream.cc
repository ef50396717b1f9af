#include "src/base/sha256_stream.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "src/base/read_file.h"
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

absl::StatusOr<std::string> Sha256OfFile(int file, const std::string& path, const std::function<bool()>& stop) {
  Sha256Stream digest;
  std::string piece;
  for (int64_t offset = 0;;) {
    if (stop && stop()) return absl::CancelledError(absl::StrCat("the reading of ", path, " was given up"));
    LANISTA_RETURN_IF_ERROR(ReadPiece(file, path, offset, kPieceBytes, &piece));
    if (piece.empty()) return digest.Finish();
    digest.Add(piece);
    offset += static_cast<int64_t>(piece.size());
  }
}

bool IsSha256(absl::string_view text) {
  return text.size() == 64 && std::all_of(text.begin(), text.end(), [](unsigned char c) {
           return absl::ascii_isdigit(c) || (c >= 'a' && c <= 'f');
         });
}

}  // namespace lanista

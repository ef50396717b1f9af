#include "src/base/sha256.h"

#include <openssl/evp.h>

#include <cerrno>
#include <fstream>
#include <memory>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "src/base/status.h"

namespace lanista {

absl::StatusOr<std::string> Sha256OfFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return ErrnoToStatus(errno, absl::StrCat("cannot read ", path));
  const std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  EVP_DigestInit_ex(context.get(), EVP_sha256(), nullptr);
  std::vector<char> buffer(1 << 20);
  while (file.read(buffer.data(), static_cast<std::streamsize>(buffer.size())) || file.gcount() > 0) {
    EVP_DigestUpdate(context.get(), buffer.data(), static_cast<size_t>(file.gcount()));
  }
  if (file.bad()) return ErrnoToStatus(errno, absl::StrCat("cannot read ", path));
  std::string digest(EVP_MAX_MD_SIZE, '\0');
  unsigned int size = 0;
  EVP_DigestFinal_ex(context.get(), reinterpret_cast<unsigned char*>(&digest[0]), &size);
  digest.resize(size);
  return absl::BytesToHexString(digest);
}

}  // namespace lanista

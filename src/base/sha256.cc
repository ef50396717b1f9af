#include "src/base/sha256.h"

#include <openssl/evp.h>

#include "absl/strings/escaping.h"

namespace lanista {

std::string Sha256(absl::string_view bytes) {
  std::string digest(EVP_MAX_MD_SIZE, '\0');
  unsigned int size = 0;
  EVP_Digest(bytes.data(), bytes.size(), reinterpret_cast<unsigned char*>(&digest[0]), &size, EVP_sha256(), nullptr);
  digest.resize(size);
  return absl::BytesToHexString(digest);
}

}  // namespace lanista

#include "src/base/sha256.h"

#include <openssl/evp.h>

#include <cstdint>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"

namespace lanista {

std::string Sha256(absl::string_view bytes) {
  std::string digest(EVP_MAX_MD_SIZE, '\0');
  unsigned int size = 0;
  EVP_Digest(bytes.data(), bytes.size(), reinterpret_cast<unsigned char*>(&digest[0]), &size, EVP_sha256(), nullptr);
  digest.resize(size);
  return absl::BytesToHexString(digest);
}

// Abseil's own function for it is another one in each of its releases.
std::string Sha256Bytes(absl::string_view hex) {
  std::string bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    uint32_t byte = 0;
    if (absl::SimpleHexAtoi(hex.substr(i, 2), &byte)) bytes += static_cast<char>(byte);
  }
  return bytes;
}

}  // namespace lanista

// A quick checksum that finds damage, for files for which a cryptographic digest would take too long.
#ifndef LANISTA_SRC_BASE_CHECKSUM_H_
#define LANISTA_SRC_BASE_CHECKSUM_H_

#include <array>
#include <cstddef>
#include <cstdint>

namespace lanista {

// XXH64 with seed 0 (Collet's xxHash), of bytes that come in pieces: several gigabytes a second. The result depends on
// the bytes alone, not on the pieces. It finds accidental damage only: other bytes with the same checksum are easy to
// make.
class Checksum {
 public:
  // Adds the bytes that follow.
  void Add(const void* bytes, size_t count);

  // The checksum of all bytes so far; more may follow.
  uint64_t Value() const;

 private:
  static constexpr size_t kStripe = 32;

  // Takes one stripe.
  void Consume(const unsigned char* stripe);

  std::array<uint64_t, 4> lanes_ = {0x60EA27EEADC0B5D6u, 0xC2B2AE3D27D4EB4Fu, 0, 0x61C8864E7A143579u};
  // The begin of a stripe, total_ % kStripe bytes.
  std::array<unsigned char, kStripe> rest_{};
  uint64_t total_ = 0;
};

// The checksum of one piece.
uint64_t ChecksumOf(const void* bytes, size_t count);

}  // namespace lanista

#endif  // LANISTA_SRC_BASE_CHECKSUM_H_

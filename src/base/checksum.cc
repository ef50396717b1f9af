#include "src/base/checksum.h"

#include <algorithm>
#include <cstring>

namespace lanista {
namespace {

// Names as in xxHash's specification.
constexpr uint64_t kPrime1 = 0x9E3779B185EBCA87u;
constexpr uint64_t kPrime2 = 0xC2B2AE3D27D4EB4Fu;
constexpr uint64_t kPrime3 = 0x165667B19E3779F9u;
constexpr uint64_t kPrime4 = 0x85EBCA77C2B2AE63u;
constexpr uint64_t kPrime5 = 0x27D4EB2F165667C5u;

uint64_t RotateLeft(uint64_t x, int bits) { return x << bits | x >> (64 - bits); }

// Of little-endian machines: no other runs LibTorch here.
template <typename T>
uint64_t Load(const unsigned char* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(value));
  return value;
}

uint64_t Round(uint64_t lane, uint64_t input) { return RotateLeft(lane + input * kPrime2, 31) * kPrime1; }

}  // namespace

void Checksum::Add(const void* bytes, size_t count) {
  const auto* next = static_cast<const unsigned char*>(bytes);
  const auto* const end = next + count;
  const size_t pending = total_ % kStripe;
  total_ += count;
  if (pending > 0) {
    const size_t taken = std::min(kStripe - pending, count);
    std::copy_n(next, taken, rest_.begin() + pending);
    next += taken;
    if (pending + taken < kStripe) return;
    Consume(rest_.data());
  }
  for (; end - next >= static_cast<std::ptrdiff_t>(kStripe); next += kStripe) Consume(next);
  std::copy(next, end, rest_.begin());
}

void Checksum::Consume(const unsigned char* stripe) {
  for (size_t i = 0; i < lanes_.size(); ++i) lanes_[i] = Round(lanes_[i], Load<uint64_t>(stripe + 8 * i));
}

uint64_t Checksum::Value() const {
  uint64_t hash = kPrime5;
  if (total_ >= kStripe) {
    hash = RotateLeft(lanes_[0], 1) + RotateLeft(lanes_[1], 7) + RotateLeft(lanes_[2], 12) + RotateLeft(lanes_[3], 18);
    for (const uint64_t lane : lanes_) hash = (hash ^ Round(0, lane)) * kPrime1 + kPrime4;
  }
  hash += total_;
  const unsigned char* next = rest_.data();
  const unsigned char* const end = next + total_ % kStripe;
  for (; end - next >= 8; next += 8) {
    hash = RotateLeft(hash ^ Round(0, Load<uint64_t>(next)), 27) * kPrime1 + kPrime4;
  }
  for (; end - next >= 4; next += 4) {
    hash = RotateLeft(hash ^ Load<uint32_t>(next) * kPrime1, 23) * kPrime2 + kPrime3;
  }
  for (; next != end; ++next) hash = RotateLeft(hash ^ *next * kPrime5, 11) * kPrime1;
  hash = (hash ^ hash >> 33) * kPrime2;
  hash = (hash ^ hash >> 29) * kPrime3;
  return hash ^ hash >> 32;
}

uint64_t ChecksumOf(const void* bytes, size_t count) {
  Checksum checksum;
  checksum.Add(bytes, count);
  return checksum.Value();
}

}  // namespace lanista

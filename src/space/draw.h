// Portable random draws. The standard library's distributions differ between implementations, but recorded samples must
// be reproducible.
#ifndef LANISTA_SRC_SPACE_DRAW_H_
#define LANISTA_SRC_SPACE_DRAW_H_

#include <cstdint>
#include <limits>
#include <random>

namespace lanista {

// Uniform in 0 .. bound-1. REQUIRES: bound >= 1.
inline uint64_t Uniform(std::mt19937_64& random, uint64_t bound) {
  // Rejects the incomplete last part of the generator's range, which would favour small numbers.
  const uint64_t refused = (std::numeric_limits<uint64_t>::max() % bound + 1) % bound;
  uint64_t drawn = random();
  while (drawn > std::numeric_limits<uint64_t>::max() - refused) drawn = random();
  return drawn % bound;
}

// Uniform in [0, 1), a multiple of 2^-53.
inline double UniformReal(std::mt19937_64& random) { return static_cast<double>(random() >> 11) * 0x1p-53; }

}  // namespace lanista

#endif  // LANISTA_SRC_SPACE_DRAW_H_

// Portable random draws: the standard's distributions differ from library to library, and samples are on record.
#ifndef LANISTA_SRC_SPACE_DRAW_H_
#define LANISTA_SRC_SPACE_DRAW_H_

#include <cstdint>
#include <limits>
#include <random>

namespace lanista {

// A number from 0 .. bound-1, each equally likely. REQUIRES: bound >= 1.
inline uint64_t Uniform(std::mt19937_64& random, uint64_t bound) {
  // Refuses the incomplete last stretch of the generator's range, which would favour small numbers.
  const uint64_t refused = (std::numeric_limits<uint64_t>::max() % bound + 1) % bound;
  uint64_t drawn = random();
  while (drawn > std::numeric_limits<uint64_t>::max() - refused) drawn = random();
  return drawn % bound;
}

// A number from [0, 1), in steps of 2^-53.
inline double UniformReal(std::mt19937_64& random) { return static_cast<double>(random() >> 11) * 0x1p-53; }

}  // namespace lanista

#endif  // LANISTA_SRC_SPACE_DRAW_H_

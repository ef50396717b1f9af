// Random numbers that are the same on every machine. (The standard library's distributions are not.)
#ifndef LANISTA_SRC_DATA_RANDOM_H_
#define LANISTA_SRC_DATA_RANDOM_H_

#include <cstdint>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

namespace lanista::data {

// Uniform in [0, 1), with 53 random bits.
inline double UniformReal(std::mt19937_64& random) { return static_cast<double>(random() >> 11) * 0x1p-53; }

// Uniform in [low, high).
inline double UniformReal(std::mt19937_64& random, double low, double high) {
  return low + (high - low) * UniformReal(random);
}

// Uniform in [0, count). REQUIRES: count > 0. The bias of the remainder, count / 2^64, is too small to measure.
inline int64_t UniformIndex(std::mt19937_64& random, int64_t count) {
  return static_cast<int64_t>(random() % static_cast<uint64_t>(count));
}

// 0, ..., count - 1 in random order (Fisher and Yates; Durstenfeld 1964).
inline std::vector<int64_t> RandomPermutation(int64_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<int64_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  for (int64_t i = count - 1; i > 0; --i) std::swap(order[i], order[UniformIndex(random, i + 1)]);
  return order;
}

}  // namespace lanista::data

#endif  // LANISTA_SRC_DATA_RANDOM_H_

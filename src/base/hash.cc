#include "src/base/hash.h"

namespace lanista {
namespace {

constexpr uint64_t kGolden = 0x9e3779b97f4a7c15;

uint64_t Mix(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

}  // namespace

uint64_t StableHash(absl::string_view bytes) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : bytes) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x100000001b3;
  }
  return Mix(hash);
}

uint64_t MixSeed(std::initializer_list<uint64_t> parts) {
  uint64_t state = 0;
  for (const uint64_t part : parts) state = Mix(state + kGolden + part);
  return state;
}

uint64_t OrderSeed(uint64_t experiment_seed) { return MixSeed({experiment_seed, StableHash("order")}); }

uint64_t StrategySeed(uint64_t experiment_seed) { return MixSeed({experiment_seed, StableHash("strategy")}); }

uint64_t ModelSeed(uint64_t experiment_seed, int model) {
  return MixSeed({experiment_seed, StableHash("model"), static_cast<uint64_t>(model)});
}

}  // namespace lanista

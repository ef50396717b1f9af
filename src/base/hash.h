// Hashes and seeds whose values are part of what is recorded: they never change and are the same on every machine.
#ifndef LANISTA_SRC_BASE_HASH_H_
#define LANISTA_SRC_BASE_HASH_H_

#include <cstdint>
#include <initializer_list>

#include "absl/strings/string_view.h"

namespace lanista {

// FNV-1a, 64 bits (Fowler, Noll, Vo), finished with SplitMix64's mixer.
uint64_t StableHash(absl::string_view bytes);

// A seed from several numbers: SplitMix64 (Steele, Lea, Flood 2014) over them in order.
uint64_t MixSeed(std::initializer_list<uint64_t> parts);

// H(experiment seed, "order"): the same for all models: split, shuffling, augmentation.
uint64_t OrderSeed(uint64_t experiment_seed);

// H(experiment seed, "strategy"): what the strategy draws from.
uint64_t StrategySeed(uint64_t experiment_seed);

// H(experiment seed, model ordinal): initial weights and the model's own random stream.
uint64_t ModelSeed(uint64_t experiment_seed, int model);

}  // namespace lanista

#endif  // LANISTA_SRC_BASE_HASH_H_

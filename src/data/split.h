// Divides one set of samples into training and validation.
#ifndef LANISTA_SRC_DATA_SPLIT_H_
#define LANISTA_SRC_DATA_SPLIT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "protos/experiment.pb.h"

namespace lanista::data {

// Indices of the samples of each part, ascending.
struct SplitIndices {
  std::vector<int64_t> train;
  std::vector<int64_t> validation;
};

// Divides `count` samples at random as `config` says; the seed is `order_seed` if it has none. INVALID_ARGUMENT, naming
// `source`, if a part would be empty.
absl::StatusOr<SplitIndices> Split(int64_t count, const v1::SplitConfig& config, uint64_t order_seed,
                                   const std::string& source);

}  // namespace lanista::data

#endif  // LANISTA_SRC_DATA_SPLIT_H_

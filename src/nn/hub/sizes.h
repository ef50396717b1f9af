// Sizes that the hub's spaces take from the experiment's data.
#ifndef LANISTA_SRC_NN_HUB_SIZES_H_
#define LANISTA_SRC_NN_HUB_SIZES_H_

#include <cstdint>
#include <string>

#include "src/nn/params.h"

namespace lanista::nn {

struct ImageSize {
  int64_t channels;
  int64_t height;
  int64_t width;
};

// The size of the images that models get; `fallback` if the evaluator names no data. Throws SpaceError, which names
// `space`, if the samples are not images.
ImageSize ImageOf(const Params& params, const std::string& space, const ImageSize& fallback);

// Number of classes or targets; `fallback` if the evaluator names no data.
int64_t OutputsOf(const Params& params, int64_t fallback);

}  // namespace lanista::nn

#endif  // LANISTA_SRC_NN_HUB_SIZES_H_

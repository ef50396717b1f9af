#include "src/nn/hub/sizes.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "src/nn/construction.h"

namespace lanista::nn {

ImageSize ImageOf(const Params& params, const std::string& space, const ImageSize& fallback) {
  if (params.data() == nullptr) return fallback;
  const auto& shape = params.data()->model_input_shape();
  if (shape.size() == 3) return {shape[0], shape[1], shape[2]};
  throw SpaceError(absl::StrCat(space,
                                " wants images, [channels, height, width]; the samples of the dataset have shape [",
                                absl::StrJoin(shape, ", "), "]", shape.size() == 1 ? ": use the space mlp" : ""));
}

int64_t OutputsOf(const Params& params, int64_t fallback) {
  return params.data() == nullptr ? fallback : params.data()->outputs();
}

}  // namespace lanista::nn

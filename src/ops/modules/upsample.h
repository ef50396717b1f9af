// How an upsampling module interpolates: shared by both files of the family.
#ifndef LANISTA_SRC_OPS_MODULES_UPSAMPLE_H_
#define LANISTA_SRC_OPS_MODULES_UPSAMPLE_H_

#include <string>

#include "src/graph/op_schema.h"

namespace lanista::ops {

struct UpsampleMode {
  // "nearest", "bilinear"...
  std::string name;
  bool align_corners = false;
};

// `type`: Upsample, or a class with a fixed mode.
inline UpsampleMode ModeOf(const std::string& type, const graph::Attributes& a) {
  if (type == "UpsamplingNearest2d") return {"nearest", false};
  if (type == "UpsamplingBilinear2d") return {"bilinear", true};
  return {a.String("mode"), a.Has("align_corners") && a.Bool("align_corners")};
}

}  // namespace lanista::ops

#endif  // LANISTA_SRC_OPS_MODULES_UPSAMPLE_H_

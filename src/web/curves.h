// All learning curves of one metric, as bytes: JSON would be many times as large.
#ifndef LANISTA_SRC_WEB_CURVES_H_
#define LANISTA_SRC_WEB_CURVES_H_

#include <string>

#include "absl/strings/string_view.h"
#include "src/web/experiment_table.h"

namespace lanista {

// Little endian: "LNC2"; uint32 models, points, flags; uint64 number (of the last fact that is in them); uint32
// model[models]; uint32 count[models] (the points of each); if flags & 1, uint32 step[points], else each model's steps
// are 0, 1, ...; float32 value[points], NaN and infinities kept; if flags & 2, what a float32 has as an infinity or as
// 0 although it is none: uint32 n; uint32 point[n]; float64 value[n]. Models without a point are left out; so a metric
// that nobody reported has no models.
//
// `times`: seconds since the start of the attempt that made the model's first report, in the place of the values.
std::string EncodeCurves(const ExperimentTable& table, absl::string_view metric, bool times);

}  // namespace lanista

#endif  // LANISTA_SRC_WEB_CURVES_H_

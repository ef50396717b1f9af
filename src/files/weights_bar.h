// Whether weights are worth their way to the head.
#ifndef LANISTA_SRC_FILES_WEIGHTS_BAR_H_
#define LANISTA_SRC_FILES_WEIGHTS_BAR_H_

#include "protos/trial.pb.h"

namespace lanista {

// Whether the head may keep the weights of a model with these final metrics. False only where it certainly does not:
// the metric is there and worse than the bar. A metric that equals the bar may be the earlier model's; what one that is
// missing, NaN or infinite means is the head's to say.
bool MayReach(const v1::Metrics& metrics, const v1::WeightsBar& bar);

}  // namespace lanista

#endif  // LANISTA_SRC_FILES_WEIGHTS_BAR_H_

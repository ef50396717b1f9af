// The parameters that a configuration passes to a space, under the namespace of the inline API.
#ifndef LANISTA_SRC_NN_PARAMS_H_
#define LANISTA_SRC_NN_PARAMS_H_

#include "src/base/params.h"

namespace lanista::nn {

using lanista::Params;

}  // namespace lanista::nn

#endif  // LANISTA_SRC_NN_PARAMS_H_

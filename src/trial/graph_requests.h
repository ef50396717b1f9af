// What a trial process does with graphs outside of trials.
#ifndef LANISTA_SRC_TRIAL_GRAPH_REQUESTS_H_
#define LANISTA_SRC_TRIAL_GRAPH_REQUESTS_H_

#include "protos/trial.pb.h"

namespace lanista {

// Reads a TorchScript file. Nothing escapes: errors are in the answer.
v1::Imported ImportGraph(const v1::Import& request);

// Writes a model in another form. Nothing escapes: errors are in the answer.
v1::Converted ConvertModel(const v1::Convert& request);

}  // namespace lanista

#endif  // LANISTA_SRC_TRIAL_GRAPH_REQUESTS_H_

// A trial that ran on a node when its head ended, and may still run there.
#ifndef LANISTA_SRC_EXPERIMENT_TRIAL_ON_NODE_H_
#define LANISTA_SRC_EXPERIMENT_TRIAL_ON_NODE_H_

#include <set>
#include <string>
#include <vector>

#include "protos/trial.pb.h"

namespace lanista {

struct TrialOnNode {
  int trial = 0;
  // Models that it had in the beginning.
  int num_models = 1;
  // v1::TrialQueued's.
  std::string alone_because;
  // With the node's name.
  v1::Device device;
  // Assignment.id; empty: an older Lanista did not record it.
  std::string assignment;
  // Those that have no end in the journal, and the last event of each that is there.
  std::vector<v1::TrialModel> models;
  std::vector<int> recorded;
  // Those of them that a verdict has stopped.
  std::set<int> stopped;
};

}  // namespace lanista

#endif  // LANISTA_SRC_EXPERIMENT_TRIAL_ON_NODE_H_

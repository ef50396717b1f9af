// What a trial writes on a node that does not see the head's files, as the node's actor knows it.
#ifndef LANISTA_SRC_FILES_TRIAL_OUTPUTS_H_
#define LANISTA_SRC_FILES_TRIAL_OUTPUTS_H_

#include <functional>

#include "absl/status/status.h"
#include "protos/trial.pb.h"

namespace lanista {

// What a conversion writes travels under this number: it is no model's output.
inline constexpr int kConvertedModel = 1;

// On its way to the head, as long as this lives: checkpoints when they have changed, the log now and then. The
// destructor gives up what has not arrived, and waits for nothing. Thread-safe; nothing blocks. `done` is called once,
// on any thread; with CANCELLED where this is gone before.
class TrialOutputs {
 public:
  using Done = std::function<void(const absl::Status&)>;

  virtual ~TrialOutputs() = default;

  struct ModelEnd {
    int model = 0;
    // It was to leave weights: they have to arrive, unless the head keeps those of better models only (metrics), and an
    // error says why they cannot. ABORTED: the head has canceled the assignment. NOT_FOUND: it does not know it.
    bool weights = false;
    // Of such a model: weights that the head does not keep with these need not arrive, and are removed here.
    v1::Metrics metrics = {};
    // It runs again, and goes on from its checkpoint.
    bool goes_on = false;
    // It is a conversion: all that is in the folder has to arrive, and an error says why it cannot, as above.
    bool all = false;
  };

  // The model has ended: what is in its output folder, and the log. While the head is away, or cannot write, it is
  // tried again. What is left behind is told in the logs of the trial and of the node.
  virtual void DeliverModel(const ModelEnd& end, Done done) = 0;

  // The trial is over, or was ended: the log, and the checkpoints of models that have not ended, from which they go on
  // elsewhere. OK, whatever came of it.
  virtual void DeliverRest(Done done) = 0;
};

}  // namespace lanista

#endif  // LANISTA_SRC_FILES_TRIAL_OUTPUTS_H_

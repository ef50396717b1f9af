// The files of a node that does not see the head's.
#ifndef LANISTA_SRC_FILES_NODE_FILES_H_
#define LANISTA_SRC_FILES_NODE_FILES_H_

#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "protos/node.pb.h"
#include "src/files/cancellation.h"
#include "src/files/local_work.h"
#include "src/files/trial_outputs.h"

namespace lanista {

// Thread-safe; nothing blocks.
class NodeFiles {
 public:
  using Done = std::function<void(absl::StatusOr<LocalWorkPtr>)>;

  virtual ~NodeFiles() = default;

  // Brings what the assignment reads to this machine, with the checkpoints of models that go on, and calls `done`,
  // once, on any thread. ABORTED: this machine has no room for it, and another one may. UNAVAILABLE: it can take
  // nothing now (its disk is full). CANCELLED: it was canceled. Else nobody can do the assignment: the error says why.
  // As long as the head cannot be reached it is tried again.
  virtual std::shared_ptr<Cancellation> Prepare(const v1::Assignment& assignment, Done done) = 0;

  // From now on what the trial writes goes to the head. `assignment`: as the head said it, with the work that was
  // prepared for it.
  virtual std::unique_ptr<TrialOutputs> Follow(const v1::Assignment& assignment, const LocalWorkPtr& work) = 0;
};

}  // namespace lanista

#endif  // LANISTA_SRC_FILES_NODE_FILES_H_

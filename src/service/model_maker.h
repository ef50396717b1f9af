// What a trial process makes of the models of an experiment, outside of trials: graphs, and files in other forms.
#ifndef LANISTA_SRC_SERVICE_MODEL_MAKER_H_
#define LANISTA_SRC_SERVICE_MODEL_MAKER_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace lanista {

// Thread-safe. A call may take minutes: it first waits for its turn.
//
// NOT_FOUND: there is no such model. FAILED_PRECONDITION: it cannot be made, and why (models of this experiment have no
// graphs, no trial program). RESOURCE_EXHAUSTED: too many calls wait already, or the files are too large. CANCELLED:
// nobody waits for the result. INTERNAL says how the trial process ended, where it did not answer.
class ModelMaker {
 public:
  // True once nobody waits for the result any more. Asked again and again while a call waits; must not block.
  using Abandoned = std::function<bool()>;

  // As `export` takes them.
  struct ExportRequest {
    int top = 1;
    std::string format = "json";
    bool untrained = false;
  };

  struct Exported {
    // Paths, best model first.
    std::vector<std::string> files;
    // What the user should know about them.
    std::vector<std::string> warnings;
  };

  virtual ~ModelMaker() = default;

  // The document of `show-graph --json` of a model, compact. `folder`: the experiment's.
  virtual absl::StatusOr<std::shared_ptr<const std::string>> Graph(const std::string& folder, int model,
                                                                   const Abandoned& abandoned) = 0;

  // Writes the best models into the folder `out`. INVALID_ARGUMENT: no such format, or `top` is below 1. UNIMPLEMENTED:
  // the format cannot express a model.
  virtual absl::StatusOr<Exported> Export(const std::string& folder, const ExportRequest& request,
                                          const std::string& out, const Abandoned& abandoned) = 0;
};

}  // namespace lanista

#endif  // LANISTA_SRC_SERVICE_MODEL_MAKER_H_

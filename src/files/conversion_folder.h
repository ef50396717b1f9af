// The head's folder for one model that a node writes in another form (v1::Convert): PARENT/ID/output. A node
// that sees the head's files writes there itself; what another node wrote is delivered there
// (NodeService.DeliverOutput). PARENT is that of what is on its way to an experiment, so what a head that was killed
// left goes when the experiment is resumed or deleted.
#ifndef LANISTA_SRC_FILES_CONVERSION_FOLDER_H_
#define LANISTA_SRC_FILES_CONVERSION_FOLDER_H_

#include <functional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "protos/node.pb.h"
#include "protos/trial.pb.h"
#include "src/base/unique_fd.h"

namespace lanista {

// The destructor removes the folder with its content. Until then the folder is held (HoldFolder), so that a resume of
// the experiment leaves it alone.
class ConversionFolder {
 public:
  // Makes the folder. Returns the system's error if that fails. `made`, for tests, is called with each folder that is
  // made, before it is held: a resume may remove it then, and another one is made.
  static absl::StatusOr<ConversionFolder> Make(const std::string& parent,
                                               const std::function<void(const std::string& folder)>& made = nullptr);
  ConversionFolder(ConversionFolder&& other) noexcept
      : path_(std::exchange(other.path_, "")), lock_(std::move(other.lock_)) {}
  ConversionFolder& operator=(ConversionFolder&&) = delete;
  ~ConversionFolder();

  // The request for a node: what was to be written as `request.out` is written in this folder, under the same name.
  v1::Convert ForNode(v1::Convert request) const;

  // Copies the files that the node says it wrote to their places, beside `out` (of the request before ForNode), and
  // returns the answer with these paths. INTERNAL: the node names a file that no conversion writes, or that is not
  // here.
  absl::StatusOr<v1::Converted> Take(const v1::Converted& converted, const std::string& out) const;

 private:
  explicit ConversionFolder(std::string path) : path_(std::move(path)) {}
  absl::Status MakeAndHold(const std::function<void(const std::string& folder)>& made);

  // Empty: moved from.
  std::string path_;
  UniqueFd lock_;
};

// Where a node delivers what it wrote for the request, which ForNode made.
v1::AssignmentOutputs OutputsOf(const v1::Convert& request);

}  // namespace lanista

#endif  // LANISTA_SRC_FILES_CONVERSION_FOLDER_H_

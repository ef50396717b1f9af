// `export --head`: what comes of an export at a head, as files of this machine.
#ifndef LANISTA_SRC_LAUNCHER_RECEIVED_EXPORT_H_
#define LANISTA_SRC_LAUNCHER_RECEIVED_EXPORT_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "protos/service.pb.h"
#include "src/base/output_files.h"
#include "src/base/sha256_stream.h"

namespace lanista {

// Writes the files below one folder, by the rules of an export on this machine: an earlier export of the format is
// replaced, and nothing else. The files of a model get to their places together, once their contents are those that
// were announced. Before the list is checked as a whole nothing is written. Used by one thread.
class ReceivedExport {
 public:
  // `folder` is made if it does not exist. `warn` is told what the files cannot express.
  ReceivedExport(std::string format, std::string folder, std::function<void(const std::string& warning)> warn)
      : format_(std::move(format)), folder_(std::move(folder)), warn_(std::move(warn)) {}

  // The head's next message. FAILED_PRECONDITION names a file that is not replaced. DATA_LOSS: the head sends what no
  // export of it can have, or other bytes than it has announced. Else the errors of OutputFiles.
  absl::Status Take(const v1::DownloadReply& reply);

  // No more comes. Returns the paths, best model first. DATA_LOSS: something is missing.
  absl::StatusOr<std::vector<std::string>> Finish();

 private:
  absl::Status Begin(const v1::DownloadList& list);
  absl::Status Write(absl::string_view bytes);
  // Begins the next file, and puts files at their places that are complete.
  absl::Status OpenNext();
  absl::Status EndFile();
  // Of the file with this position in the list.
  std::string PathOf(int file) const;

  const std::string format_;
  const std::string folder_;
  const std::function<void(const std::string& warning)> warn_;

  // Empty: it has not come.
  v1::DownloadList list_;
  std::vector<std::string> stems_;
  // The file that comes next, or is being written, and how much of it has come.
  int file_ = 0;
  int64_t written_ = 0;
  // Null: none is being written.
  OutputFile* output_ = nullptr;
  std::unique_ptr<Sha256Stream> sha256_;
  // Of one model: those that are complete, and `output_`.
  OutputFiles files_;
  std::vector<std::string> paths_;
};

}  // namespace lanista

#endif  // LANISTA_SRC_LAUNCHER_RECEIVED_EXPORT_H_

// An export as the messages of ExperimentService.Download.
#ifndef LANISTA_SRC_RPC_DOWNLOAD_MESSAGES_H_
#define LANISTA_SRC_RPC_DOWNLOAD_MESSAGES_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "protos/service.pb.h"
#include "src/files/file_set.h"
#include "src/service/experiments.h"

namespace lanista {

// Holds the exported files, which go with it. Reads the disk. Used by one thread at a time.
class DownloadMessages {
 public:
  // Reads the files once, for their digests. INTERNAL: one of them is not where it should be, or cannot be read.
  // CANCELLED: `abandoned`, which is asked meanwhile, returned true.
  static absl::StatusOr<std::unique_ptr<DownloadMessages>> Make(ExportedFiles exported,
                                                                const std::function<bool()>& abandoned);

  // The next message: at most some hundred KiB. False: there are no more.
  absl::StatusOr<bool> Next(v1::DownloadReply* reply);

 private:
  DownloadMessages(ExportedFiles exported, FileSetReader reader)
      : exported_(std::move(exported)), reader_(std::move(reader)) {}

  void WriteList(v1::DownloadList* list) const;

  const ExportedFiles exported_;
  FileSetReader reader_;
  size_t next_warning_ = 0;
  bool listed_ = false;
};

}  // namespace lanista

#endif  // LANISTA_SRC_RPC_DOWNLOAD_MESSAGES_H_

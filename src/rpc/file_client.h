// A node's way to the head's files: FileSource and FileSink over NodeService.
#ifndef LANISTA_SRC_RPC_FILE_CLIENT_H_
#define LANISTA_SRC_RPC_FILE_CLIENT_H_

#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "protos/node.grpc.pb.h"
#include "src/files/file_sink.h"
#include "src/files/file_source.h"
#include "src/rpc/address.h"
#include "src/rpc/head_access.h"

namespace lanista {

// Has a connection of its own, so that files hold up nothing that the node says. It is opened with the first call, and
// anew after a call that failed: each time the address is resolved, and the files of the access are read.
class FileClient : public FileSource, public FileSink {
 public:
  // `instance`: NodeHello's. `find_head`: where the head is now, instead of head.address; may be empty. It is called on
  // the threads of those who fetch.
  FileClient(HeadAccess head, std::function<absl::StatusOr<Address>()> find_head, std::string instance);

  absl::StatusOr<v1::InputList> List(const std::string& assignment, Cancellation* cancellation) override;
  absl::Status Fetch(const std::string& assignment, const std::string& sha256, Cancellation* cancellation,
                     const FileCache::Write& write) override;
  absl::Status FetchCheckpoint(const std::string& assignment, int model, Cancellation* cancellation,
                               const std::function<absl::Status(const v1::FileSet&)>& begin,
                               const FileCache::Write& write) override;
  absl::Status Deliver(const v1::OutputHeader& header, FileSetReader* files, Cancellation* cancellation) override;
  absl::StatusOr<v1::WeightsBar> FindWeightsBar(const std::string& assignment, Cancellation* cancellation) override;

 private:
  using StubPtr = std::shared_ptr<v1::NodeService::Stub>;

  absl::StatusOr<StubPtr> Connect();
  // How a call of `stub` ended.
  absl::Status Ended(const StubPtr& stub, const grpc::Status& status, const Cancellation& cancellation);

  const HeadAccess head_;
  const std::function<absl::StatusOr<Address>()> find_head_;
  const std::string instance_;

  std::mutex mutex_;
  // Protected by mutex_. Null: there is no connection.
  StubPtr stub_;
};

}  // namespace lanista

#endif  // LANISTA_SRC_RPC_FILE_CLIENT_H_

#include "src/rpc/file_client.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "grpcpp/grpcpp.h"
#include "src/base/status.h"
#include "src/files/input_set.h"
#include "src/rpc/channel.h"
#include "src/rpc/grpc_status.h"

namespace lanista {
namespace {

// These say nothing about files. A head that ends cancels calls, a token that is being replaced is refused, and a
// network has errors of its own: no model has failed by them.
bool IsOfTheConnection(const absl::Status& status) {
  return absl::IsCancelled(status) || absl::IsUnauthenticated(status) || absl::IsInternal(status) ||
         absl::IsUnknown(status);
}

}  // namespace

FileClient::FileClient(HeadAccess head, std::function<absl::StatusOr<Address>()> find_head, std::string instance)
    : head_(std::move(head)), find_head_(std::move(find_head)), instance_(std::move(instance)) {}

absl::StatusOr<FileClient::StubPtr> FileClient::Connect() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (stub_ == nullptr) {
    HeadAccess head = head_;
    if (find_head_) {
      absl::StatusOr<Address> found = find_head_();
      if (!found.ok()) return absl::UnavailableError(found.status().message());
      head.address = *std::move(found);
    }
    const absl::StatusOr<std::shared_ptr<grpc::Channel>> channel = MakeChannel(head);
    // They were right when the node began: whoever replaces a file may not be done with it.
    if (!channel.ok()) return absl::UnavailableError(channel.status().message());
    stub_ = v1::NodeService::NewStub(*channel);
  }
  return stub_;
}

absl::Status FileClient::Ended(const StubPtr& stub, const grpc::Status& status, const Cancellation& cancellation) {
  if (status.ok()) return absl::OkStatus();
  if (cancellation.canceled()) return absl::CancelledError("it is not needed any more");
  absl::Status ended = FromGrpcStatus(status);
  if (absl::IsUnimplemented(ended)) {
    ended = absl::FailedPreconditionError(
        "the head does not exchange files with nodes: it is older than this Lanista; install the same release on both "
        "machines");
  } else if (IsOfTheConnection(ended)) {
    ended = absl::UnavailableError(ended.message());
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  if (absl::IsUnavailable(ended) && stub_ == stub) stub_ = nullptr;
  return ended;
}

absl::StatusOr<v1::InputList> FileClient::List(const std::string& assignment, Cancellation* cancellation) {
  LANISTA_ASSIGN_OR_RETURN(const StubPtr stub, Connect());
  v1::ListInputsRequest request;
  request.set_instance(instance_);
  request.set_assignment(assignment);
  grpc::ClientContext context;
  const Cancellation::Guard guard(cancellation, [&context] { context.TryCancel(); });
  const auto reader = stub->ListInputs(&context, request);
  v1::InputList list;
  bool too_many = false;
  for (v1::InputList part; reader->Read(&part);) {
    list.MergeFrom(part);
    too_many = too_many || static_cast<size_t>(list.files_size()) > kMaxInputFiles ||
               static_cast<size_t>(list.folders_size()) > kMaxInputFiles;
    if (too_many) context.TryCancel();
  }
  const grpc::Status status = reader->Finish();
  if (too_many) return absl::InvalidArgumentError("the head names more files than it may");
  LANISTA_RETURN_IF_ERROR(Ended(stub, status, *cancellation));
  return list;
}

absl::Status FileClient::Fetch(const std::string& assignment, const std::string& sha256, Cancellation* cancellation,
                               const FileCache::Write& write) {
  LANISTA_ASSIGN_OR_RETURN(const StubPtr stub, Connect());
  v1::FetchInputRequest request;
  request.set_instance(instance_);
  request.set_assignment(assignment);
  request.set_sha256(sha256);
  grpc::ClientContext context;
  const Cancellation::Guard guard(cancellation, [&context] { context.TryCancel(); });
  const auto reader = stub->FetchInput(&context, request);
  absl::Status written;
  for (v1::FilePiece piece; written.ok() && reader->Read(&piece);) written = write(piece.bytes());
  if (!written.ok()) context.TryCancel();
  const grpc::Status status = reader->Finish();
  return written.ok() ? Ended(stub, status, *cancellation) : written;
}

absl::Status FileClient::FetchCheckpoint(const std::string& assignment, int model, Cancellation* cancellation,
                                         const std::function<absl::Status(const v1::FileSet&)>& begin,
                                         const FileCache::Write& write) {
  LANISTA_ASSIGN_OR_RETURN(const StubPtr stub, Connect());
  v1::FetchCheckpointRequest request;
  request.set_instance(instance_);
  request.set_assignment(assignment);
  request.set_model(model);
  grpc::ClientContext context;
  const Cancellation::Guard guard(cancellation, [&context] { context.TryCancel(); });
  const auto reader = stub->FetchCheckpoint(&context, request);
  absl::Status taken;
  bool begun = false;
  for (v1::CheckpointPart part; taken.ok() && reader->Read(&part);) {
    if (part.has_files() == begun) {
      taken = absl::DataLossError("the head sent a checkpoint out of order");
    } else {
      taken = part.has_files() ? begin(part.files()) : write(part.bytes());
    }
    begun = true;
  }
  if (!taken.ok()) context.TryCancel();
  const grpc::Status status = reader->Finish();
  return taken.ok() ? Ended(stub, status, *cancellation) : taken;
}

absl::Status FileClient::Deliver(const v1::OutputHeader& header, FileSetReader* files, Cancellation* cancellation) {
  LANISTA_ASSIGN_OR_RETURN(const StubPtr stub, Connect());
  grpc::ClientContext context;
  const Cancellation::Guard guard(cancellation, [&context] { context.TryCancel(); });
  v1::DeliverOutputReply reply;
  const auto writer = stub->DeliverOutput(&context, &reply);
  v1::OutputPart part;
  *part.mutable_header() = header;
  part.mutable_header()->set_instance(instance_);
  *part.mutable_header()->mutable_files() = files->files();
  absl::StatusOr<bool> more = true;
  // A stream that takes nothing more has ended: Finish says why.
  while (writer->Write(part)) {
    more = files->Next(part.mutable_bytes());
    if (more.ok() && *more) continue;
    if (more.ok()) writer->WritesDone();
    break;
  }
  // Half a set is none.
  if (!more.ok()) context.TryCancel();
  const grpc::Status status = writer->Finish();
  return more.ok() ? Ended(stub, status, *cancellation) : more.status();
}

absl::StatusOr<v1::WeightsBar> FileClient::FindWeightsBar(const std::string& assignment, Cancellation* cancellation) {
  LANISTA_ASSIGN_OR_RETURN(const StubPtr stub, Connect());
  v1::WeightsBarRequest request;
  request.set_instance(instance_);
  request.set_assignment(assignment);
  grpc::ClientContext context;
  const Cancellation::Guard guard(cancellation, [&context] { context.TryCancel(); });
  v1::WeightsBar bar;
  const grpc::Status status = stub->FindWeightsBar(&context, request, &bar);
  LANISTA_RETURN_IF_ERROR(Ended(stub, status, *cancellation));
  return bar;
}

}  // namespace lanista

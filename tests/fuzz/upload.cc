// What clients upload, behind ExperimentService.Upload: requests in any order.
// Input: a byte; requests, each a length of two bytes and an UploadRequest. Bit 1 of the byte: the listed digests are
// made right.
#include <algorithm>
#include <deque>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "spdlog/spdlog.h"
#include "src/base/sha256.h"
#include "src/base/temporary_folder.h"
#include "src/service/upload_session.h"
#include "src/service/uploads.h"
#include "src/storage/state_dir.h"
#include "tests/fuzz/fuzz.h"

namespace lanista {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostRequests = 64;
constexpr int64_t kMostBytes = 1 << 16;

std::string DigestOf(absl::string_view bytes) { return Sha256Bytes(Sha256(bytes)); }

std::string Content(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
}

// A state folder with room for uploads.
class Site {
 public:
  Site() {
    fs::remove_all(Root());
    Uploads::Options options;
    options.max_bytes = options.max_total_bytes = kMostBytes;
    state_dir_ = std::make_unique<StateDir>(StateDir::Open(Root() + "/state").value());
    uploads_ = Uploads::Open(*state_dir_, options).value();
  }

  Uploads& uploads() { return *uploads_; }

  // What is beside it, and what stays of uploads that have ended.
  void Check() const {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(Root())) names.insert(entry.path().filename().string());
    fuzz::Require(names == std::set<std::string>{"state"}, "an upload left the state folder");
    const fs::path uploads = Root() + "/state/uploads";
    for (const auto& entry : fs::directory_iterator(uploads)) names.insert(entry.path().filename().string());
    fuzz::Require(names == std::set<std::string>{"state", "files", "sets", "unfinished"},
                  "an upload made something beside the files and the sets");
    fuzz::Require(fs::is_empty(uploads / "unfinished"), "something of an upload that ended stays");
    int64_t bytes = 0;
    for (const auto& entry : fs::directory_iterator(uploads / "files")) {
      fuzz::Require(entry.path().filename() == Sha256(Content(entry)), "a file has another content than its name says");
      bytes += static_cast<int64_t>(entry.file_size());
    }
    fuzz::Require(bytes <= kMostBytes && uploads_->bytes() == bytes, "what is there is counted wrongly");
  }

 private:
  static const std::string& Root() {
    static const TemporaryFolder folder = TemporaryFolder::Make().value();
    static const std::string root = folder.path() + "/site";
    return root;
  }

  std::unique_ptr<StateDir> state_dir_;
  std::unique_ptr<Uploads> uploads_;
};

std::vector<v1::UploadRequest> ParseRequests(fuzz::Input* input) {
  std::vector<v1::UploadRequest> requests;
  while (!input->empty() && requests.size() < kMostRequests) {
    const absl::string_view bytes = input->Sized();
    // What gRPC cannot parse never comes here.
    v1::UploadRequest request;
    if (request.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) requests.push_back(std::move(request));
  }
  return requests;
}

// Lists what comes, as far as it comes.
void MakeDigestsRight(std::vector<v1::UploadRequest>* requests) {
  std::string content;
  for (const v1::UploadRequest& request : *requests) content += request.content();
  size_t begin = 0;
  for (v1::UploadRequest& request : *requests) {
    if (!request.has_list()) continue;
    for (v1::UploadFile& file : *request.mutable_list()->mutable_files()) {
      const auto size = static_cast<size_t>(std::clamp<int64_t>(file.size(), 0, static_cast<int64_t>(content.size())));
      file.set_sha256(DigestOf(absl::string_view(content).substr(std::min(begin, content.size()), size)));
      begin += size;
    }
  }
}

// The folder has what was listed.
void CheckFolder(const std::string& folder, const v1::UploadList& list) {
  for (const v1::UploadFile& file : list.files()) {
    const fs::path path = fs::path(folder) / file.path();
    fuzz::Require(fs::is_regular_file(fs::symlink_status(path)), "a file that was listed is not there");
    const std::string content = Content(path);
    fuzz::Require(DigestOf(content) == file.sha256(), "a file has another content than was listed");
    fuzz::Require(static_cast<int64_t>(content.size()) == file.size(), "a file has another size than was listed");
  }
  for (const std::string& path : list.folders()) {
    fuzz::Require(fs::is_directory(fs::symlink_status(fs::path(folder) / path)), "a listed folder is not there");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  spdlog::set_level(spdlog::level::off);
  fuzz::Input input(data, size);
  const uint8_t bits = input.Byte();
  std::vector<v1::UploadRequest> requests = ParseRequests(&input);
  if ((bits & 1) != 0) MakeDigestsRight(&requests);
  Site site;
  {
    UploadSession session([&site](v1::UploadList list) { return site.uploads().Begin(std::move(list)); });
    v1::UploadList list;
    std::string folder;
    for (const v1::UploadRequest& request : requests) {
      const absl::StatusOr<std::deque<v1::UploadReply>> replies = session.Handle(request);
      if (!replies.ok()) break;
      list.MergeFrom(request.list());
      for (const v1::UploadReply& reply : *replies) {
        for (const int file : reply.wanted().files()) {
          fuzz::Require(file >= 0 && file < list.files_size(), "a file is wanted that was not listed");
        }
        if (!reply.folder().empty()) folder = reply.folder();
      }
      fuzz::Require(session.done() == !folder.empty(), "an upload is complete without a folder, or not with one");
    }
    if (!folder.empty()) CheckFolder(folder, list);
  }
  site.Check();
  return 0;
}

}  // namespace lanista

#include "src/rpc/download_messages.h"

#include <sys/stat.h>

#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "src/base/sha256.h"
#include "src/base/status.h"
#include "src/base/utf8.h"

namespace lanista {
namespace {

// Whoever made them has seen to it that they are not too many.
constexpr FileSetLimits kNoLimits = {std::numeric_limits<size_t>::max(), std::numeric_limits<int64_t>::max()};
// Of a warning. Longer ones are no use to anybody.
constexpr size_t kMaxWarningBytes = 10000;

}  // namespace

absl::StatusOr<std::unique_ptr<DownloadMessages>> DownloadMessages::Make(ExportedFiles exported,
                                                                         const std::function<bool()>& abandoned) {
  const std::string& folder = exported.folder.path();
  std::vector<FoundFile> found;
  for (const std::string& path : exported.files) {
    absl::string_view name = path;
    struct stat info = {};
    if (!absl::ConsumePrefix(&name, folder + "/") || lstat(path.c_str(), &info) != 0) {
      return absl::InternalError(absl::StrCat("an export has not written ", path));
    }
    found.push_back({std::string(name), FileStamp::Of(info)});
  }
  absl::StatusOr<FileSetReader> reader = FileSetReader::Open(folder, found, kNoLimits, abandoned);
  if (absl::IsCancelled(reader.status())) return reader.status();
  if (!reader.ok()) return absl::InternalError(reader.status().message());
  return std::unique_ptr<DownloadMessages>(new DownloadMessages(std::move(exported), *std::move(reader)));
}

void DownloadMessages::WriteList(v1::DownloadList* list) const {
  for (const v1::SetFile& file : reader_.files().files()) {
    v1::DownloadFile& listed = *list->add_files();
    listed.set_name(file.path());
    listed.set_sha256(Sha256Bytes(file.sha256()));
    listed.set_size(file.size());
  }
}

absl::StatusOr<bool> DownloadMessages::Next(v1::DownloadReply* reply) {
  if (next_warning_ < exported_.warnings.size()) {
    reply->set_warning(ToUtf8(exported_.warnings[next_warning_++].substr(0, kMaxWarningBytes)));
    return true;
  }
  if (!std::exchange(listed_, true)) {
    WriteList(reply->mutable_list());
    return true;
  }
  return reader_.Next(reply->mutable_content());
}

}  // namespace lanista

#include "src/launcher/received_export.h"

#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "src/base/open_beneath.h"
#include "src/base/sha256.h"
#include "src/base/status.h"
#include "src/base/utf8.h"
#include "src/exporters/common/formats.h"
#include "src/exporters/results/exporter.h"

namespace lanista {
namespace {

constexpr size_t kMaxNameBytes = 255;
constexpr size_t kSha256Bytes = 32;

absl::Status Damaged(const std::string& what) {
  return absl::DataLossError(absl::StrCat(what, ": is the head another version?"));
}

// For people: it may be anything.
std::string Shown(const std::string& name) { return ToUtf8(name.substr(0, kMaxNameBytes)); }

}  // namespace

absl::Status ReceivedExport::Take(const v1::DownloadReply& reply) {
  if (reply.has_warning()) {
    warn_(reply.warning());
    return absl::OkStatus();
  }
  if (reply.has_list()) return Begin(reply.list());
  if (reply.has_content()) return Write(reply.content());
  return Damaged("the head says what an export does not say");
}

absl::Status ReceivedExport::Begin(const v1::DownloadList& list) {
  if (!stems_.empty()) return Damaged("the head lists the exported files twice");
  if (list.files().empty()) return Damaged("the head lists no exported files");
  const exporters::Format* const format = exporters::FindFormat(format_);
  std::set<std::string> names;
  std::vector<std::string> stems;
  for (const v1::DownloadFile& file : list.files()) {
    const std::optional<std::string> stem = ExportStemOf(file.name());
    if (!stem.has_value() || format == nullptr ||
        !format->Writes(absl::string_view(file.name()).substr(stem->size())) ||
        !IsPathBelow(file.name(), kMaxNameBytes)) {
      return Damaged(absl::StrCat("the head sends a file '", Shown(file.name()), "', which no export writes"));
    }
    if (file.sha256().size() != kSha256Bytes || file.size() < 0 || !names.insert(file.name()).second) {
      return Damaged(absl::StrCat("the head announces the file '", Shown(file.name()), "' in a wrong way"));
    }
    stems.push_back(*stem);
  }
  for (const std::string& stem : std::set<std::string>(stems.begin(), stems.end())) {
    LANISTA_RETURN_IF_ERROR(exporters::CheckReplaceable(format_, absl::StrCat(folder_, "/", stem)));
  }
  list_ = list;
  stems_ = std::move(stems);
  LANISTA_RETURN_IF_ERROR(MakeParentFolder(PathOf(0)));
  return OpenNext();
}

std::string ReceivedExport::PathOf(int file) const { return absl::StrCat(folder_, "/", list_.files(file).name()); }

absl::Status ReceivedExport::OpenNext() {
  while (file_ < list_.files_size()) {
    LANISTA_ASSIGN_OR_RETURN(output_, files_.Add(PathOf(file_)));
    sha256_ = std::make_unique<Sha256Stream>();
    written_ = 0;
    if (list_.files(file_).size() > 0) break;
    LANISTA_RETURN_IF_ERROR(EndFile());
  }
  return absl::OkStatus();
}

absl::Status ReceivedExport::EndFile() {
  const v1::DownloadFile& file = list_.files(file_);
  if (Sha256Bytes(sha256_->Finish()) != file.sha256()) {
    return absl::DataLossError(
        absl::StrCat("'", Shown(file.name()), "' came with another content than its SHA-256 says: export it again"));
  }
  output_ = nullptr;
  const size_t ended = static_cast<size_t>(file_++);
  const bool model_goes_on = ended + 1 < stems_.size() && stems_[ended + 1] == stems_[ended];
  if (model_goes_on) return absl::OkStatus();
  LANISTA_ASSIGN_OR_RETURN(const std::vector<std::string> paths, files_.Commit());
  paths_.insert(paths_.end(), paths.begin(), paths.end());
  return absl::OkStatus();
}

absl::Status ReceivedExport::Write(absl::string_view bytes) {
  while (!bytes.empty()) {
    if (output_ == nullptr) return Damaged("the head sends more than it has announced");
    const int64_t left = list_.files(file_).size() - written_;
    const absl::string_view now = bytes.substr(0, static_cast<size_t>(left));
    bytes.remove_prefix(now.size());
    output_->Write(now);
    LANISTA_RETURN_IF_ERROR(output_->status());
    sha256_->Add(now);
    written_ += static_cast<int64_t>(now.size());
    if (written_ < list_.files(file_).size()) continue;
    LANISTA_RETURN_IF_ERROR(EndFile());
    LANISTA_RETURN_IF_ERROR(OpenNext());
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> ReceivedExport::Finish() {
  if (!stems_.empty() && file_ == list_.files_size()) return paths_;
  return absl::DataLossError("the head has ended the export before all of it had come: export it again");
}

}  // namespace lanista

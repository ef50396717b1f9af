#include "src/files/outgoing_files.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "src/base/read_file.h"
#include "src/base/sha256.h"
#include "src/base/status.h"
#include "src/base/unique_fd.h"
#include "src/files/regular_file.h"
#include "src/graph/io.h"

namespace lanista {
namespace {

constexpr size_t kPieceBytes = size_t{256} << 10;

std::string NameOf(const std::string& path) { return std::filesystem::path(path).filename().string(); }

absl::StatusOr<InputSet> ReadSet(const std::string& path, FileDigests* digests) {
  v1::AssignmentInputs inputs;
  inputs.add_paths(path);
  return InputSet::Read(inputs, digests);
}

}  // namespace

absl::StatusOr<OutgoingFiles> OutgoingFiles::Make(const std::vector<std::string>& paths,
                                                  const std::vector<std::string>& graphs) {
  OutgoingFiles outgoing;
  FileDigests digests;
  for (const std::string& path : paths) {
    const auto number = static_cast<int>(outgoing.places_.size());
    const bool is_graph = std::find(graphs.begin(), graphs.end(), path) != graphs.end();
    LANISTA_RETURN_IF_ERROR(is_graph ? outgoing.AddGraph(number, path, &digests)
                                     : outgoing.AddPath(number, path, &digests));
    outgoing.places_[path] = absl::StrCat(number, "/", NameOf(NormalPath(path)));
  }
  if (outgoing.sources_.size() <= kMaxInputFiles) return outgoing;
  return absl::ResourceExhaustedError(
      absl::StrCat("the configuration names more than ", kMaxInputFiles,
                   " files: name them as data of the machines that have them, data://NAME/sub, with `--data NAME=DIR` "
                   "of `node` or `serve`"));
}

absl::Status OutgoingFiles::AddPath(int number, const std::string& path, FileDigests* digests) {
  const std::string root = NormalPath(path);
  LANISTA_ASSIGN_OR_RETURN(const InputSet set, ReadSet(root, digests));
  const size_t above = root.size() - NameOf(root).size();
  const auto place = [&](const std::string& below) { return absl::StrCat(number, "/", below.substr(above)); };
  for (const std::string& folder : set.folders()) list_.add_folders(place(folder));
  for (const v1::InputFile& file : set.files()) {
    Add(place(file.path()), file.sha256(), file.size(), {file.path(), ""});
  }
  return absl::OkStatus();
}

absl::Status OutgoingFiles::AddGraph(int number, const std::string& path, FileDigests* digests) {
  absl::StatusOr<v1::ModelGraph> graph = graph::ReadFile(NormalPath(path));
  // Whoever reads it says what is wrong with it; and without archives nothing changes.
  if (!graph.ok() || graph->archives().empty()) return AddPath(number, path, digests);
  for (int i = 0; i < graph->archives_size(); ++i) {
    v1::Archive& archive = *graph->mutable_archives(i);
    const std::string place = absl::StrCat("archives/", i, "/", NameOf(archive.path()));
    LANISTA_ASSIGN_OR_RETURN(const InputSet set, ReadSet(NormalPath(archive.path()), digests));
    if (set.files().size() != 1) {
      return absl::NotFoundError(absl::StrCat(path, " names the archive ", archive.path(), ", which is not there"));
    }
    const v1::InputFile& file = set.files().front();
    Add(absl::StrCat(number, "/", place), file.sha256(), file.size(), {file.path(), ""});
    archive.set_path(place);
  }
  std::string content = graph::Write(*std::move(graph), graph::FormatOf(path));
  const auto size = static_cast<int64_t>(content.size());
  const std::string digest = Sha256(content);
  Add(absl::StrCat(number, "/", NameOf(NormalPath(path))), digest, size, {path, std::move(content)});
  return absl::OkStatus();
}

void OutgoingFiles::Add(const std::string& place, const std::string& sha256, int64_t size, Source source) {
  v1::UploadFile& file = *list_.add_files();
  file.set_path(place);
  file.set_sha256(Sha256Bytes(sha256));
  file.set_size(size);
  sources_.push_back(std::move(source));
}

int64_t OutgoingFiles::bytes() const {
  int64_t bytes = 0;
  for (const v1::UploadFile& file : list_.files()) bytes += file.size();
  return bytes;
}

absl::Status OutgoingFiles::Read(int number, const std::function<bool(absl::string_view)>& take) const {
  const Source& source = sources_[static_cast<size_t>(number)];
  if (!source.content.empty()) {
    take(source.content);
    return absl::OkStatus();
  }
  LANISTA_ASSIGN_OR_RETURN(const UniqueFd file, OpenRegularFile(source.path, nullptr));
  // No more than was listed: what follows would be taken for the next file.
  const int64_t size = list_.files(number).size();
  std::string piece;
  for (int64_t offset = 0; offset < size; offset += static_cast<int64_t>(piece.size())) {
    const auto most = static_cast<size_t>(std::min<int64_t>(size - offset, kPieceBytes));
    LANISTA_RETURN_IF_ERROR(ReadPiece(file.get(), source.path, offset, most, &piece));
    if (piece.empty()) {
      return absl::FailedPreconditionError(absl::StrCat(source.path, " became shorter while it was sent"));
    }
    if (!take(piece)) return absl::OkStatus();
  }
  return absl::OkStatus();
}

}  // namespace lanista

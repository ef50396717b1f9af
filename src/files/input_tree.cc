#include "src/files/input_tree.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "src/base/display_text.h"
#include "src/base/output_files.h"
#include "src/base/read_file.h"
#include "src/base/sha256.h"
#include "src/base/sha256_stream.h"
#include "src/base/status.h"
#include "src/base/utf8.h"
#include "src/graph/io.h"

namespace lanista {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxPathBytes = 3000;
constexpr size_t kMaxNameBytes = 255;
constexpr uint64_t kMaxGraphBytes = (uint64_t{1} << 31) - 1;

// Whether `path`, put behind a folder's, leads to something in that folder.
absl::Status CheckPath(const std::string& path) {
  bool good = path.size() > 1 && path.size() <= kMaxPathBytes && path[0] == '/' && !absl::StrContains(path, '\0');
  if (good) {
    for (const absl::string_view name : absl::StrSplit(absl::string_view(path).substr(1), '/')) {
      good = good && !name.empty() && name != "." && name != ".." && name.size() <= kMaxNameBytes;
    }
  }
  if (good) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the head names a file '", OneLine(ToUtf8(path.substr(0, kMaxNameBytes))), "'"));
}

absl::Status CannotMake(const std::string& path, int error) {
  return absl::UnavailableError(ErrnoToStatus(error, absl::StrCat("cannot make ", path)).message());
}

// The graph in `content`, with its absolute archive paths below `root`; nullopt: it has none, or is no graph.
std::optional<std::string> WithArchivesBelow(const std::string& root, const std::string& content,
                                             graph::Format format) {
  absl::StatusOr<v1::ModelGraph> model = graph::Read(content, format);
  if (!model.ok()) return std::nullopt;
  bool any = false;
  for (v1::Archive& archive : *model->mutable_archives()) {
    const fs::path path(archive.path());
    if (!path.is_absolute()) continue;
    archive.set_path(absl::StrCat(root, path.lexically_normal().string()));
    any = true;
  }
  if (!any) return std::nullopt;
  return graph::Write(*std::move(model), format);
}

}  // namespace

absl::StatusOr<std::shared_ptr<const InputTree>> InputTree::Make(
    const v1::InputList& list, std::string root,
    const std::function<absl::StatusOr<FileCache::Pin>(const v1::InputFile&)>& get) {
  for (const std::string& folder : list.folders()) LANISTA_RETURN_IF_ERROR(CheckPath(folder));
  for (const v1::InputFile& file : list.files()) {
    LANISTA_RETURN_IF_ERROR(CheckPath(file.path()));
    if (!IsSha256(file.sha256()) || file.size() < 0) {
      return absl::InvalidArgumentError("the head names a file without its SHA-256 or its size");
    }
  }
  std::shared_ptr<InputTree> tree(new InputTree(std::move(root)));
  for (const std::string& folder : list.folders()) LANISTA_RETURN_IF_ERROR(tree->MakeFolder(folder));
  for (const v1::InputFile& file : list.files()) {
    LANISTA_ASSIGN_OR_RETURN(FileCache::Pin pin, get(file));
    LANISTA_RETURN_IF_ERROR(tree->Link(file, pin));
    tree->pins_.push_back(std::move(pin));
  }
  return tree;
}

InputTree::~InputTree() {
  std::error_code ignored;
  fs::remove_all(root_, ignored);
}

std::string InputTree::DigestHere(const std::string& path, const std::string& at_head) const {
  const auto found = digests_.find(path);
  return found == digests_.end() || found->second.first != at_head ? at_head : found->second.second;
}

std::string InputTree::DigestAtHead(const std::string& path, const std::string& here) const {
  const auto found = digests_.find(path);
  return found == digests_.end() || found->second.second != here ? here : found->second.first;
}

absl::Status InputTree::MakeFolder(const std::string& path) const {
  std::error_code error;
  fs::create_directories(root_ + path, error);
  // Links lead to files only: there is no way out of the tree.
  return error ? CannotMake(root_ + path, error.value()) : absl::OkStatus();
}

absl::Status InputTree::Link(const v1::InputFile& file, const FileCache::Pin& pin) {
  const std::string place = root_ + file.path();
  LANISTA_RETURN_IF_ERROR(MakeFolder(fs::path(file.path()).parent_path().string()));
  if (file.is_graph()) {
    const absl::StatusOr<std::string> content = ReadWholeFile(*pin, kMaxGraphBytes);
    // This machine's own trouble says nothing about the assignment.
    if (!content.ok()) return absl::UnavailableError(content.status().message());
    if (const auto written = WithArchivesBelow(root_, *content, graph::FormatOf(file.path()))) {
      const absl::Status status = WriteFile(place, *written);
      if (!status.ok()) return absl::UnavailableError(status.message());
      digests_[file.path()] = {file.sha256(), Sha256(*written)};
      return absl::OkStatus();
    }
  }
  return symlink(pin->c_str(), place.c_str()) == 0 ? absl::OkStatus() : CannotMake(place, errno);
}

}  // namespace lanista

#include "src/web/notes.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "src/base/json_line.h"
#include "src/base/open_beneath.h"
#include "src/base/output_files.h"
#include "src/base/status.h"
#include "src/base/unique_fd.h"
#include "src/web/http.h"

namespace lanista {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kFile[] = "notes.json";
constexpr char kLock[] = "notes.lock";
constexpr size_t kMaxNote = 10000;
constexpr off_t kMaxFile = 64 << 20;

// Waits until nobody else changes the notes, in this process or another one; who holds the result may. Ends with it.
absl::StatusOr<UniqueFd> LockNotes(const std::string& folder) {
  const std::string path = absl::StrCat(folder, "/", kLock);
  UniqueFd file(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644));
  struct flock request = {};
  request.l_type = F_WRLCK;
  request.l_whence = SEEK_SET;
  int locked = -1;
  // Of this descriptor: other threads that open the file wait, too.
  while (file.get() >= 0 && (locked = fcntl(file.get(), F_OFD_SETLKW, &request)) != 0 && errno == EINTR) continue;
  if (locked != 0) return lanista::ErrnoToStatus(errno, absl::StrCat("cannot lock ", path));
  return file;
}

}  // namespace

absl::StatusOr<Json> ReadNotes(const std::string& folder) {
  Json notes = Json{{"notes", Json::object()}};
  const absl::StatusOr<UniqueFd> file = OpenFileBeneath(folder, kFile);
  if (absl::IsNotFound(file.status())) return notes;
  if (!file.ok()) return file.status();
  struct stat status = {};
  if (fstat(file->get(), &status) != 0) return lanista::ErrnoToStatus(errno, kFile);
  const absl::Status damaged =
      absl::DataLossError(absl::StrCat(folder, "/", kFile, ": holds no notes; move it away, or repair it"));
  if (status.st_size > kMaxFile) return damaged;
  std::string text(static_cast<size_t>(status.st_size), '\0');
  if (pread(file->get(), &text[0], text.size(), 0) != status.st_size) return damaged;
  const Json read = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!read.is_object() || !read.contains("notes") || !read["notes"].is_object()) return damaged;
  for (const auto& [model, note] : read["notes"].items()) {
    if (!note.is_object()) return damaged;
    const auto star = note.find("star"), words = note.find("note");
    notes["notes"][model] = {{"star", star != note.end() && *star == true},
                             {"note", words != note.end() && words->is_string() ? *words : Json("")}};
  }
  return notes;
}

absl::Status WriteNote(const std::string& folder, int model, bool star, const std::string& text) {
  if (text.size() > kMaxNote) {
    return absl::InvalidArgumentError(absl::StrCat("note: has more than ", kMaxNote, " bytes"));
  }
  LANISTA_ASSIGN_OR_RETURN(const UniqueFd lock, LockNotes(folder));
  LANISTA_ASSIGN_OR_RETURN(Json notes, ReadNotes(folder));
  const std::string key = std::to_string(model);
  if (star || !text.empty()) {
    notes["notes"][key] = {{"star", star}, {"note", text}};
  } else {
    notes["notes"].erase(key);
  }
  const std::string path = absl::StrCat(folder, "/", kFile);
  // A link that somebody put there is replaced: WriteFile would follow it.
  std::error_code error;
  if (std::filesystem::is_symlink(path, error) && !std::filesystem::remove(path, error)) {
    return lanista::ErrnoToStatus(error.value(), absl::StrCat("cannot remove the link ", path));
  }
  return WriteFile(path, JsonLine(notes) + "\n");
}

}  // namespace lanista

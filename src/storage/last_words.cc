#include "src/storage/last_words.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "src/base/status.h"
#include "src/base/utf8.h"

namespace lanista {
namespace {

// One block of most file systems: room for a reason that fills a screen.
constexpr size_t kBytes = 4096;

std::string PathIn(const std::string& folder) { return folder + "/last_words"; }

// Overwrites the whole file: the text, then spaces, and a line break.
absl::Status WriteWhole(int file, absl::string_view text) {
  std::string block(text.substr(0, kBytes - 1));
  block.resize(kBytes - 1, ' ');
  block.push_back('\n');
  const ssize_t written = pwrite(file, block.data(), block.size(), 0);
  if (written == static_cast<ssize_t>(block.size())) return absl::OkStatus();
  return ErrnoToStatus(written < 0 ? errno : ENOSPC, "last_words");
}

}  // namespace

absl::StatusOr<LastWords> LastWords::Reserve(const std::string& folder) {
  const std::string path = PathIn(folder);
  UniqueFd file(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644));
  struct stat found;
  if (file.get() < 0 || fstat(file.get(), &found) != 0) return ErrnoToStatus(errno, path);
  if (found.st_size == 0) {
    LANISTA_RETURN_IF_ERROR(Annotate(WriteWhole(file.get(), ""), folder));
  }
  return LastWords(std::move(file));
}

absl::Status LastWords::Write(absl::Time time, absl::string_view reason) {
  std::string line = absl::StrCat(absl::FormatTime(absl::RFC3339_full, time, absl::UTCTimeZone()), " ", reason);
  std::replace_if(
      line.begin(), line.end(), [](unsigned char c) { return absl::ascii_iscntrl(c); }, ' ');
  LANISTA_RETURN_IF_ERROR(WriteWhole(file_.get(), line));
  return fdatasync(file_.get()) == 0 ? absl::OkStatus() : ErrnoToStatus(errno, "last_words");
}

std::optional<LastWords::Words> LastWords::Read(const std::string& folder) {
  std::ifstream file(PathIn(folder));
  std::string line(kBytes, '\0');
  file.read(line.data(), kBytes);
  line.resize(static_cast<size_t>(file.gcount()));
  // The line may have been cut within a character.
  line = ToUtf8(absl::StripAsciiWhitespace(line));
  const size_t space = line.find(' ');
  Words words;
  if (space == std::string::npos || !absl::ParseTime(absl::RFC3339_full, line.substr(0, space), &words.time, nullptr)) {
    return std::nullopt;
  }
  words.reason = line.substr(space + 1);
  return words;
}

}  // namespace lanista

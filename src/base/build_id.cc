#include "src/base/build_id.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "src/base/status.h"
#include "src/base/unique_fd.h"

namespace lanista {
namespace {

// Notes are small: what claims more is damaged.
constexpr uint64_t kMaxNoteBytes = 1 << 20;
constexpr int kMaxSegments = 1000;

// Fills `bytes` from `offset` on; false where the file ends before.
bool ReadAt(int file, uint64_t offset, size_t count, void* bytes) {
  size_t done = 0;
  while (done < count) {
    const ssize_t got = pread(file, static_cast<char*>(bytes) + done, count - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    done += static_cast<size_t>(got);
  }
  return true;
}

// The build ID among these notes; empty: it is not there.
std::string FindBuildId(absl::string_view notes) {
  const auto padded = [](uint64_t size) { return (size + 3) & ~uint64_t{3}; };
  while (notes.size() >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) note;
    std::memcpy(&note, notes.data(), sizeof(note));
    notes.remove_prefix(sizeof(note));
    const uint64_t name = padded(note.n_namesz), description = padded(note.n_descsz);
    if (name + description > notes.size()) return "";
    const absl::string_view id = notes.substr(name, note.n_descsz);
    if (note.n_type == NT_GNU_BUILD_ID && notes.substr(0, note.n_namesz) == absl::string_view("GNU\0", 4)) {
      return absl::BytesToHexString(id);
    }
    notes.remove_prefix(name + description);
  }
  return "";
}

}  // namespace

absl::StatusOr<std::string> ReadBuildId(const std::string& path) {
  const UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) return ErrnoToStatus(errno, absl::StrCat("cannot read ", path));
  ElfW(Ehdr) header;
  const bool is_program = ReadAt(file.get(), 0, sizeof(header), &header) &&
                          std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
                          header.e_ident[EI_CLASS] == (sizeof(void*) == 8 ? ELFCLASS64 : ELFCLASS32) &&
                          header.e_phentsize == sizeof(ElfW(Phdr)) && header.e_phnum <= kMaxSegments;
  if (!is_program) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, " is no program of this kind of machine: name the program itself, not a script"));
  }
  for (int i = 0; i < header.e_phnum; ++i) {
    ElfW(Phdr) segment;
    if (!ReadAt(file.get(), header.e_phoff + i * sizeof(segment), sizeof(segment), &segment)) break;
    if (segment.p_type != PT_NOTE || segment.p_filesz > kMaxNoteBytes) continue;
    std::string notes(segment.p_filesz, '\0');
    if (!ReadAt(file.get(), segment.p_offset, notes.size(), notes.data())) break;
    if (const std::string id = FindBuildId(notes); !id.empty()) return id;
  }
  return absl::FailedPreconditionError(absl::StrCat(
      path, " has no build ID, by which heads and nodes tell programs apart: link it with -Wl,--build-id"));
}

}  // namespace lanista

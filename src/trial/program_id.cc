#include "src/trial/program_id.h"

#include <elf.h>
#include <link.h>
#include <unistd.h>

#include <cstring>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace lanista {
namespace {

// Finds the note NT_GNU_BUILD_ID of the first object, the program itself. `out` is a std::string.
int ReadBuildId(dl_phdr_info* info, size_t, void* out) {
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_NOTE) continue;
    const char* at = reinterpret_cast<const char*>(info->dlpi_addr + segment.p_vaddr);
    const char* const end = at + segment.p_memsz;
    while (at + sizeof(ElfW(Nhdr)) <= end) {
      ElfW(Nhdr) note;
      std::memcpy(&note, at, sizeof(note));
      const char* name = at + sizeof(note);
      const char* description = name + ((note.n_namesz + 3) & ~3u);
      if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && std::memcmp(name, "GNU", 4) == 0) {
        *static_cast<std::string*>(out) = absl::BytesToHexString(absl::string_view(description, note.n_descsz));
        return 1;
      }
      at = description + ((note.n_descsz + 3) & ~3u);
    }
  }
  return 1;
}

std::string Compute() {
  std::string id;
  dl_iterate_phdr(ReadBuildId, &id);
  return id.empty() ? absl::StrCat("process-", getpid()) : id;
}

}  // namespace

const std::string& ProgramId() {
  static const std::string* const id = new std::string(Compute());
  return *id;
}

}  // namespace lanista

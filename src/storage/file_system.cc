#include "src/storage/file_system.h"

#include <sys/vfs.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "src/base/status.h"

namespace lanista {

const char* NetworkFileSystemName(uint64_t magic) {
  // From linux/magic.h, statfs(2) and the file systems' own sources. FUSE is not here: it is local as often.
  constexpr struct {
    uint32_t magic;
    const char* name;
  } kNetworkFileSystems[] = {
      {0x6969, "NFS"},        {0x517b, "SMB"},       {0xff534d42, "CIFS"}, {0xfe534d42, "SMB2"},
      {0x0bd00bd0, "Lustre"}, {0x47504653, "GPFS"},  {0x00c36400, "Ceph"}, {0x19830326, "BeeGFS"},
      {0x5346414f, "AFS"},    {0x6b414653, "AFS"},   {0x01021997, "9p"},   {0x73757245, "Coda"},
      {0x013111a8, "IBRIX"},  {0xaad7aaea, "PanFS"}, {0x01161970, "GFS2"}, {0x7461636f, "OCFS2"},
  };
  for (const auto& known : kNetworkFileSystems) {
    if (known.magic == static_cast<uint32_t>(magic)) return known.name;
  }
  return nullptr;
}

absl::Status CheckLocalFileSystem(const std::string& folder) {
  struct statfs found = {};
  if (statfs(folder.c_str(), &found) != 0) return ErrnoToStatus(errno, folder);
  const char* const name = NetworkFileSystemName(static_cast<uint64_t>(found.f_type));
  if (name == nullptr) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "the state folder ", folder, " lies on ", name,
      ", a network file system, where journals (SQLite, in WAL mode) would be damaged: choose a folder on a "
      "local disk with --state-dir"));
}

}  // namespace lanista

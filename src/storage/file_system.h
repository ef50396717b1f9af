// Finds out whether a folder lies on a network file system.
#ifndef LANISTA_SRC_STORAGE_FILE_SYSTEM_H_
#define LANISTA_SRC_STORAGE_FILE_SYSTEM_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"

namespace lanista {

// The name of the network file system whose superblock has this magic number (statfs(2)); nullptr: it is a local file
// system, or an unknown one.
const char* NetworkFileSystemName(uint64_t magic);

// FAILED_PRECONDITION if `folder` lies on a network file system: SQLite's log (WAL) is shared memory between the
// processes of one machine, and locks of network file systems are not reliable, so that journals there would be
// damaged. See "WAL does not work over a network filesystem" in SQLite's documentation, wal.html.
absl::Status CheckLocalFileSystem(const std::string& folder);

}  // namespace lanista

#endif  // LANISTA_SRC_STORAGE_FILE_SYSTEM_H_

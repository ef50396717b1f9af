// What builds before this one left in a node's --cache-dir.
#ifndef LANISTA_SRC_FILES_EARLIER_CACHES_H_
#define LANISTA_SRC_FILES_EARLIER_CACHES_H_

#include <string>
#include <vector>

namespace lanista {

// Whether locks of files in this folder keep out whoever else uses it: its file system is this machine's own. False
// where that is not known.
bool LocksReachAll(const std::string& folder);

// Nodes of earlier builds kept their copies in DIR/1, DIR/2 and so on, where nodes now have DIR/HOST-1: nobody would
// use these copies again, or count them. Removes each such folder that certainly is one, and that nobody uses: it has
// the layout of those builds, is this user's, and is not locked, which must mean something (LocksReachAll). Returns
// what was removed.
std::vector<std::string> RemoveEarlierCaches(const std::string& folder);

}  // namespace lanista

#endif  // LANISTA_SRC_FILES_EARLIER_CACHES_H_

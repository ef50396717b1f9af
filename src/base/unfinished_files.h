// What OutputFiles of a process that was killed leaves behind: files under other names, beside their places.
#ifndef LANISTA_SRC_BASE_UNFINISHED_FILES_H_
#define LANISTA_SRC_BASE_UNFINISHED_FILES_H_

#include <string>

namespace lanista {

// How the names of files begin that are still being written.
constexpr char kUnfinishedPrefix[] = ".lanista.";

// Removes such files from `folder`, if there is one, but not from folders in it. REQUIRES: nobody writes there now.
void RemoveUnfinishedFiles(const std::string& folder);

}  // namespace lanista

#endif  // LANISTA_SRC_BASE_UNFINISHED_FILES_H_

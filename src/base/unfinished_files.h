// Unfinished files, which OutputFiles leaves beside the files' places when its process is killed.
#ifndef LANISTA_SRC_BASE_UNFINISHED_FILES_H_
#define LANISTA_SRC_BASE_UNFINISHED_FILES_H_

#include <string>

namespace lanista {

// The beginning of the names of files that are still being written.
constexpr char kUnfinishedPrefix[] = ".lanista.";

// Removes such files from `folder`, if there is one, but not from folders in it. REQUIRES: nobody writes there now.
void RemoveUnfinishedFiles(const std::string& folder);

}  // namespace lanista

#endif  // LANISTA_SRC_BASE_UNFINISHED_FILES_H_

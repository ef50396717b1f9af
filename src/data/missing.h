// Finds a dataset's files, and reports missing ones.
#ifndef LANISTA_SRC_DATA_MISSING_H_
#define LANISTA_SRC_DATA_MISSING_H_

#include <string>
#include <vector>

#include "absl/status/status.h"

namespace lanista::data {

// The path of the first of `names` that exists in `folder`, or "".
std::string FindFile(const std::string& folder, const std::vector<std::string>& names);

// NOT_FOUND: says that `what` is missing, names the absolute folder that was searched, and says what to do without the
// data.
absl::Status MissingImages(const std::string& what, const std::string& sought);

}  // namespace lanista::data

#endif  // LANISTA_SRC_DATA_MISSING_H_

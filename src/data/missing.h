// What to say when a dataset is not there.
#ifndef LANISTA_SRC_DATA_MISSING_H_
#define LANISTA_SRC_DATA_MISSING_H_

#include <string>
#include <vector>

#include "absl/status/status.h"

namespace lanista::data {

// The first of `names` that is a file below `folder`, with its folder, or "".
std::string FindFile(const std::string& folder, const std::vector<std::string>& names);

// NOT_FOUND: names `what` is missing and the absolute folder in which it was sought, and what to do without the data.
absl::Status MissingImages(const std::string& what, const std::string& sought);

}  // namespace lanista::data

#endif  // LANISTA_SRC_DATA_MISSING_H_

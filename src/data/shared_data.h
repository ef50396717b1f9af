// Datasets in memory that the trial processes of one machine share, so that each further slot costs no further copy.
#ifndef LANISTA_SRC_DATA_SHARED_DATA_H_
#define LANISTA_SRC_DATA_SHARED_DATA_H_

#include <memory>
#include <string>

#include "src/data/dataset.h"

namespace lanista::data {

// From now on, loaders of this process share the data that they keep, by files in `folder` (src/base/shared_bytes.h).
// Empty, as at first: every process has its own data. REQUIRES: no other thread makes a loader now.
void ShareDataIn(std::string folder);

// The same samples with large tensors in shared memory, which nobody can write to. What cannot be shared (a dataset
// that is not in memory, a full disk) stays as it is; an error of the system is told on stderr.
std::shared_ptr<const Dataset> Shared(std::shared_ptr<const Dataset> dataset);

}  // namespace lanista::data

#endif  // LANISTA_SRC_DATA_SHARED_DATA_H_

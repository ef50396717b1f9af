// What evaluators left behind for a model: the files of its latest attempt.
#ifndef LANISTA_SRC_WEB_MODEL_FILES_H_
#define LANISTA_SRC_WEB_MODEL_FILES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "src/base/unique_fd.h"
#include "src/service/experiments.h"

namespace lanista {

struct ModelFile {
  std::string name;
  uint64_t bytes = 0;
};

// Regular files, sorted by name, at most 1,000; what lies in folders below is left out, and so are links to a journal.
// NOT_FOUND: no such model.
absl::StatusOr<std::vector<ModelFile>> ListModelFiles(const ExperimentPlace& place, int model);

// One of them, open. NOT_FOUND: there is no such file, it is reached by a link, or it is a journal's by another name.
absl::StatusOr<UniqueFd> OpenModelFile(const ExperimentPlace& place, int model, const std::string& name);

}  // namespace lanista

#endif  // LANISTA_SRC_WEB_MODEL_FILES_H_

// Where the output of a trial goes.
#ifndef LANISTA_SRC_TRIAL_ATTEMPT_LOG_H_
#define LANISTA_SRC_TRIAL_ATTEMPT_LOG_H_

#include <string>

#include "src/base/unique_fd.h"

namespace lanista {

// While it lives, stdout and stderr of the whole process go to `path`. Its end puts them back and removes the file if
// nothing was written. Where the file cannot be made they stay as they are: a missing log is no reason to lose a trial.
class AttemptLog {
 public:
  explicit AttemptLog(std::string path);
  ~AttemptLog();
  AttemptLog(const AttemptLog&) = delete;
  AttemptLog& operator=(const AttemptLog&) = delete;

 private:
  const std::string path_;
  UniqueFd stdout_;
  UniqueFd stderr_;
};

}  // namespace lanista

#endif  // LANISTA_SRC_TRIAL_ATTEMPT_LOG_H_

#include "src/trial/attempt_log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <iostream>
#include <utility>

namespace lanista {
namespace {

void FlushAll() {
  std::cout.flush();
  std::cerr.flush();
  std::fflush(nullptr);
}

UniqueFd Duplicate(int fd) { return UniqueFd(fcntl(fd, F_DUPFD_CLOEXEC, 0)); }

}  // namespace

AttemptLog::AttemptLog(std::string path) : path_(std::move(path)) {
  const UniqueFd file(open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  if (file.get() < 0) return;
  FlushAll();
  stdout_ = Duplicate(STDOUT_FILENO);
  stderr_ = Duplicate(STDERR_FILENO);
  dup2(file.get(), STDOUT_FILENO);
  dup2(file.get(), STDERR_FILENO);
}

AttemptLog::~AttemptLog() {
  if (stdout_.get() < 0) return;
  FlushAll();
  struct stat info {};
  if (fstat(STDOUT_FILENO, &info) == 0 && info.st_size == 0) unlink(path_.c_str());
  dup2(stdout_.get(), STDOUT_FILENO);
  dup2(stderr_.get(), STDERR_FILENO);
}

}  // namespace lanista

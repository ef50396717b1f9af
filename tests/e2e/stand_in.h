// Programs of the test's own in the place of others (Slurm's), and pipes to wait for them.
#ifndef LANISTA_TESTS_E2E_STAND_IN_H_
#define LANISTA_TESTS_E2E_STAND_IN_H_

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <optional>
#include <string>

namespace lanista {

// Makes a shell script `folder`/`name`, which runs in that folder.
inline void WriteStandIn(const std::string& folder, const std::string& name, const std::string& body) {
  const std::string path = folder + "/" + name;
  std::ofstream(path) << "#!/bin/sh\ncd " << folder << "\n" << body << "\n";
  chmod(path.c_str(), 0755);
}

// An environment variable is set as long as this object is there: for programs that are started meanwhile.
class ScopedVariable {
 public:
  ScopedVariable(const char* name, const std::string& value) : name_(name) {
    if (const char* const before = std::getenv(name)) before_ = before;
    setenv(name, value.c_str(), 1);
  }
  ~ScopedVariable() {
    if (before_.has_value()) {
      setenv(name_, before_->c_str(), 1);
    } else {
      unsetenv(name_);
    }
  }
  ScopedVariable(const ScopedVariable&) = delete;
  ScopedVariable& operator=(const ScopedVariable&) = delete;

 private:
  const char* const name_;
  std::optional<std::string> before_;
};

// Programs are looked for in this folder first.
class FirstOnPath : public ScopedVariable {
 public:
  explicit FirstOnPath(const std::string& folder) : ScopedVariable("PATH", folder + ":" + std::getenv("PATH")) {}
};

// A named pipe to or from a program of the test's.
class NamedPipe {
 public:
  explicit NamedPipe(const std::string& path) {
    mkfifo(path.c_str(), 0600);
    // With both ends in one hand nobody waits for the other side.
    fd_ = open(path.c_str(), O_RDWR | O_CLOEXEC);
  }
  ~NamedPipe() { close(fd_); }
  NamedPipe(const NamedPipe&) = delete;
  NamedPipe& operator=(const NamedPipe&) = delete;

  // Waits until something was written into it; false: nothing was within a minute.
  bool Wait() const {
    pollfd end = {fd_, POLLIN, 0};
    return poll(&end, 1, 60000) == 1;
  }
  void Write(const std::string& line) const {
    EXPECT_EQ(write(fd_, line.data(), line.size()), static_cast<ssize_t>(line.size()));
  }

 private:
  int fd_ = -1;
};

}  // namespace lanista

#endif  // LANISTA_TESTS_E2E_STAND_IN_H_

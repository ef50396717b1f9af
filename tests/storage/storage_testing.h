// What tests of journals share: folders that vanish, children that can be killed, small journals, records in one line.
#ifndef LANISTA_TESTS_STORAGE_STORAGE_TESTING_H_
#define LANISTA_TESTS_STORAGE_STORAGE_TESTING_H_

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "google/protobuf/text_format.h"
#include "protos/messages.pb.h"
#include "src/storage/journal.h"

namespace lanista {

// A new folder, removed with all that is in it.
class TempFolder {
 public:
  explicit TempFolder(const std::string& parent = ::testing::TempDir()) {
    std::string pattern = parent + "/lanista-XXXXXX";
    if (mkdtemp(pattern.data()) == nullptr) std::abort();
    path_ = std::filesystem::canonical(pattern).string();
  }
  ~TempFolder() { std::filesystem::remove_all(path_); }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// A forked child that runs `body` (whose argument is a pipe to this process) and then exits; killed at the end.
class ChildProcess {
 public:
  explicit ChildProcess(const std::function<void(int pipe)>& body) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) std::abort();
    pid_ = fork();
    if (pid_ == 0) {
      close(ends[0]);
      body(ends[1]);
      _exit(0);
    }
    close(ends[1]);
    pipe_ = ends[0];
  }
  ~ChildProcess() {
    Kill();
    close(pipe_);
  }
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  pid_t pid() const { return pid_; }
  int pipe() const { return pipe_; }

  // False if the child ended without writing one.
  bool WaitForByte() const {
    char byte;
    return read(pipe_, &byte, 1) == 1;
  }

  // kill -9; returns when it is gone.
  void Kill() const {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }

 private:
  mutable pid_t pid_ = 0;
  int pipe_ = -1;
};

template <typename Message>
Message Parse(const std::string& text) {
  Message message;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &message)) << text;
  return message;
}

inline v1::JournalBatch Batch(const std::string& text) { return Parse<v1::JournalBatch>(text); }

// An empty journal of experiment `id`, closed.
inline void CreateJournal(const std::string& folder, const std::string& id) {
  v1::ExperimentCreated created;
  created.set_experiment(id);
  const auto writer = JournalWriter::Create(folder, created);
  ASSERT_TRUE(writer.ok()) << writer.status();
}

}  // namespace lanista

#endif  // LANISTA_TESTS_STORAGE_STORAGE_TESTING_H_

#include "tests/e2e/command.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

extern char** environ;

namespace lanista {
namespace {

// Empty where a test does not need this program.
std::string Absolute(const char* variable) {
  const char* const path = std::getenv(variable);
  return path == nullptr ? "" : std::filesystem::absolute(path).string();
}

// Starts a program whose stdout goes to `out` and stderr to the file `err` (none: as the test's).
pid_t Spawn(const std::string& program, const std::vector<std::string>& arguments, int out, const std::string& err) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
  if (!err.empty()) {
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  }
  std::vector<std::string> words = {program};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_t pid = 0;
  EXPECT_EQ(posix_spawn(&pid, program.c_str(), &actions, nullptr, argv.data(), environ), 0) << program;
  posix_spawn_file_actions_destroy(&actions);
  return pid;
}

int ExitCode(pid_t pid) {
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
}

}  // namespace

const std::string kLanista = Absolute("LANISTA");
const std::string kLanistaTrial = Absolute("LANISTA_TRIAL");
const std::string kFaultyProgram = Absolute("FAULTY_PROGRAM");

nlohmann::json CommandResult::Json() const {
  nlohmann::json document = nlohmann::json::parse(out, nullptr, /*allow_exceptions=*/false);
  EXPECT_FALSE(document.is_discarded()) << "stdout: " << out << "\nstderr: " << err;
  return document;
}

CommandResult RunCommand(const std::string& program, const std::vector<std::string>& arguments) {
  const std::string folder = FreshFolder();
  const int out = open((folder + "/out").c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  const pid_t pid = Spawn(program, arguments, out, folder + "/err");
  close(out);
  CommandResult result;
  result.exit_code = ExitCode(pid);
  result.out = ReadFile(folder + "/out");
  result.err = ReadFile(folder + "/err");
  return result;
}

BackgroundCommand::BackgroundCommand(const std::string& program, const std::vector<std::string>& arguments) {
  int ends[2];
  EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
  stdout_ = ends[0];
  pid_ = Spawn(program, arguments, ends[1], "");
  close(ends[1]);
}

BackgroundCommand::~BackgroundCommand() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    Wait();
  }
  close(stdout_);
}

bool BackgroundCommand::WaitForLine(const std::string& text, int seconds) {
  while (true) {
    for (size_t end; (end = unread_.find('\n')) != std::string::npos;) {
      const std::string line = unread_.substr(0, end);
      unread_.erase(0, end + 1);
      if (line.find(text) == std::string::npos) continue;
      line_ = line;
      return true;
    }
    pollfd request = {stdout_, POLLIN, 0};
    if (poll(&request, 1, seconds * 1000) != 1) return false;
    char buffer[4096];
    const ssize_t got = read(stdout_, buffer, sizeof(buffer));
    if (got <= 0) return false;
    unread_.append(buffer, static_cast<size_t>(got));
  }
}

int BackgroundCommand::Wait() {
  const int code = ExitCode(pid_);
  pid_ = 0;
  return code;
}

std::vector<pid_t> BackgroundCommand::Children() const {
  std::vector<pid_t> children;
  for (const auto& task : std::filesystem::directory_iterator(absl::StrCat("/proc/", pid_, "/task"))) {
    std::ifstream list(task.path() / "children");
    for (pid_t child; list >> child;) children.push_back(child);
  }
  return children;
}

bool WaitUntilGone(pid_t pid) {
  const int fd = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  if (fd < 0) return errno == ESRCH;
  pollfd request = {fd, POLLIN, 0};
  const bool gone = poll(&request, 1, 10000) == 1;
  close(fd);
  return gone;
}

std::string WriteFile(const std::string& name, const std::string& content) {
  const std::string path = FreshFolder() + "/" + name;
  std::ofstream(path, std::ios::binary) << content;
  return path;
}

nlohmann::json OnlyExperiment(const std::string& state) {
  const nlohmann::json list = RunCommand(kLanista, {"list", "--json", "--state-dir", state}).Json();
  return list["experiments"].empty() ? nlohmann::json() : list["experiments"][0];
}

std::map<int, nlohmann::json> ModelsOf(const nlohmann::json& trials) {
  std::map<int, nlohmann::json> models;
  for (nlohmann::json model : trials["models"]) {
    for (nlohmann::json& report : model["metrics"]["intermediate"]) report.erase("time");
    const int id = model["id"];
    EXPECT_TRUE(models.emplace(id, std::move(model)).second) << id;
  }
  return models;
}

std::map<int, std::string> ResultsOf(const nlohmann::json& trials) {
  std::map<int, std::string> results;
  for (const nlohmann::json& model : trials["models"]) {
    EXPECT_TRUE(
        results
            .emplace(model["id"], absl::StrCat(model["status"].dump(), model["sample"].dump(), model["params"].dump(),
                                               model["flops"].dump(), model["metrics"]["final"].dump()))
            .second);
  }
  return results;
}

int NumberFromEnvironment(const char* variable, int otherwise) {
  const char* const text = std::getenv(variable);
  int number = otherwise;
  const bool valid = text == nullptr || absl::SimpleAtoi(text, &number);
  EXPECT_TRUE(valid) << variable << " is no number: " << text;
  return number;
}

std::string FreshFolder() {
  static int count = 0;
  const std::string folder = absl::StrCat(::testing::TempDir(), "e2e-", getpid(), "-", ++count);
  std::filesystem::create_directories(folder);
  return folder;
}

}  // namespace lanista

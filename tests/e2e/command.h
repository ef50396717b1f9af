// Drives the real programs as a user's shell does.
#ifndef LANISTA_TESTS_E2E_COMMAND_H_
#define LANISTA_TESTS_E2E_COMMAND_H_

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

#include "nlohmann/json.hpp"

namespace lanista {

// The programs under test.
extern const std::string kLanista;
extern const std::string kLanistaTrial;
extern const std::string kFaultyProgram;

struct CommandResult {
  int exit_code = -1;
  std::string out;
  std::string err;

  // The JSON document on stdout; an empty one (and a failed test) if it is none.
  nlohmann::json Json() const;
};

// Runs a program to its end.
CommandResult RunCommand(const std::string& program, const std::vector<std::string>& arguments);

// A program that runs beside the test; killed at the end if it still does.
class BackgroundCommand {
 public:
  BackgroundCommand(const std::string& program, const std::vector<std::string>& arguments);
  ~BackgroundCommand();

  pid_t pid() const { return pid_; }

  // Reads stdout until a line contains `text`; false at its end, or where nothing comes for `seconds`.
  bool WaitForLine(const std::string& text, int seconds = 60);
  // The line that the last WaitForLine found.
  const std::string& line() const { return line_; }

  // Its exit code, or minus the signal that ended it.
  int Wait();

  // The processes that it started, which run now.
  std::vector<pid_t> Children() const;

 private:
  pid_t pid_ = 0;
  int stdout_ = -1;
  std::string unread_;
  std::string line_;
};

// Waits until the process is gone (it need not be ours); false after ten seconds.
bool WaitUntilGone(pid_t pid);

// A file in the test's folder with this content; returns its path.
std::string WriteFile(const std::string& name, const std::string& content);

// The one experiment of a state folder, as `list --json` has it; null where there is none yet.
nlohmann::json OnlyExperiment(const std::string& state);

// What each model came to, by its id: status, sample and final metrics, as `trials --json` has them. A failed test
// where a model is listed twice.
std::map<int, std::string> ResultsOf(const nlohmann::json& trials);

// The models of the document of `trials --json`, by their ids, without the times of their reports. A failed test where
// a model is listed twice.
std::map<int, nlohmann::json> ModelsOf(const nlohmann::json& trials);

// The whole number in an environment variable, by which scripts/slow_test.sh makes a test larger; without it
// `otherwise`.
int NumberFromEnvironment(const char* variable, int otherwise);

// A folder that no other test has.
std::string FreshFolder();

}  // namespace lanista

#endif  // LANISTA_TESTS_E2E_COMMAND_H_

// What the user typed.
#ifndef LANISTA_SRC_LAUNCHER_COMMAND_LINE_H_
#define LANISTA_SRC_LAUNCHER_COMMAND_LINE_H_

#include <string>
#include <variant>
#include <vector>

namespace lanista {

// The command and its options. Only what belongs to `command` is set; paths are as typed.
struct CommandLine {
  // run, validate, devices, version, list, show, trials, export, delete, import, convert or show-graph.
  std::string command;

  // Global: before or after the command.
  std::string state_dir = "~/.local/share/lanista";
  // Empty: warn.
  std::string log_level;
  bool json = false;
  std::vector<std::string> overrides;
  // Empty: `lanista-trial` beside this program.
  std::string trial_program;

  std::string config;
  // validate.
  bool explain_cgo = false;
  int samples = 8;
  std::string experiment;
  int top = 1;
  std::string format = "json";
  std::string out = ".";

  // import, convert, show-graph.
  std::string file;
  std::vector<std::string> basic_units;
  // "1,3,224,224".
  std::vector<std::string> input_shapes;
  // "keep" or "init".
  std::string weights = "keep";
  std::string svg;
};

// The command line is done with: print and end.
struct CommandLineExit {
  int exit_code;
  // Help, on stdout where exit_code is 0; else what is wrong, for stderr.
  std::string text;
};

// Parses the command line. `--help` and mistakes (exit code 2) come as CommandLineExit.
std::variant<CommandLine, CommandLineExit> ParseCommandLine(int argc, const char* const* argv);

}  // namespace lanista

#endif  // LANISTA_SRC_LAUNCHER_COMMAND_LINE_H_

// The commands and their options: names, descriptions, what a value may be, and which field of a CommandLine it goes
// to. What becomes of a line that was typed, command_line.cc decides.
#ifndef LANISTA_SRC_LAUNCHER_COMMAND_OPTIONS_H_
#define LANISTA_SRC_LAUNCHER_COMMAND_OPTIONS_H_

#include "src/launcher/command_line.h"

namespace CLI {
class App;
}  // namespace CLI

namespace lanista {

// Adds a command that writes its name into `line` when it is parsed. Returns it; `app` owns it. `line`, and the text of
// `name`, must outlive `app`.
CLI::App* AddCommand(const char* name, const char* description, CLI::App* app, CommandLine* line);

// Adds the global options, and all commands that do something, in the order of the help. Parsing throws CLI11's errors;
// what is right goes into `line`, which must outlive `app`.
void AddCommands(CLI::App* app, CommandLine* line);

}  // namespace lanista

#endif  // LANISTA_SRC_LAUNCHER_COMMAND_OPTIONS_H_

// The commands and options of a program, for what is made of them: man pages and completions.
#ifndef LANISTA_SRC_LAUNCHER_COMMAND_TREE_H_
#define LANISTA_SRC_LAUNCHER_COMMAND_TREE_H_

#include <string>
#include <vector>

namespace lanista {

// An option, or an argument without one.
struct OptionDescription {
  // "--head"; of an argument: "CONFIG".
  std::vector<std::string> names;
  std::string description;
  // Which heading it stands under in the help; empty for most.
  std::string group;
  // What stands for the value: "FILE"; empty: it is a flag.
  std::string value;
  // Empty: none.
  std::string default_value;
  // The values that it takes; empty: any.
  std::vector<std::string> choices;
  bool required = false;
};

struct CommandDescription {
  std::string name;
  std::string description;
  std::vector<OptionDescription> arguments;
  std::vector<OptionDescription> options;
};

// A program. Commands are in the order of its help; hidden ones are not among them.
struct CommandTree {
  std::string program;
  std::string description;
  // Before or after the command.
  std::vector<OptionDescription> options;
  std::vector<CommandDescription> commands;
};

}  // namespace lanista

#endif  // LANISTA_SRC_LAUNCHER_COMMAND_TREE_H_

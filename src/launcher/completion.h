// Completion of a program's command line in shells.
#ifndef LANISTA_SRC_LAUNCHER_COMPLETION_H_
#define LANISTA_SRC_LAUNCHER_COMPLETION_H_

#include <string>

#include "src/launcher/command_tree.h"

namespace lanista {

// The shells that CompletionScript knows.
inline constexpr const char* kShells[] = {"bash", "zsh", "fish"};

// A script that makes `shell` complete commands, options, their values and file names. REQUIRES: `shell` is one of
// kShells.
std::string CompletionScript(const CommandTree& tree, const std::string& shell);

}  // namespace lanista

#endif  // LANISTA_SRC_LAUNCHER_COMPLETION_H_

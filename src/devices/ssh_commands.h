// What ssh is called with to have a node on another machine, what runs there, and what the answers mean. Tried with
// OpenSSH 9.2.
//
// Three calls: one looks at the machine, one copies a program that it lacks, and one starts the node and stays as long
// as it. The machine needs a shell, coreutils and findutils; nothing of Lanista. What is kept there is in
// ${XDG_CACHE_HOME:-~/.cache}/lanista: programs/SHA256/NAME, and nodes/KEY.COUNT with the token while a node runs.
#ifndef LANISTA_SRC_DEVICES_SSH_COMMANDS_H_
#define LANISTA_SRC_DEVICES_SSH_COMMANDS_H_

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "protos/experiment.pb.h"
#include "src/base/command.h"

namespace lanista {

// A program that nodes need.
struct NodeProgram {
  // At the head, absolute.
  std::string path;
  // What it is called there: letters and '-'.
  std::string name;
  // Of the file, 64 hex digits.
  std::string sha256;
};

// ssh with what goes before the command: batch mode, known hosts only, and no connection that is shared with others.
// With `tunnel_end`, "HOST:PORT" of this machine, a port there leads to it, which ssh names in a line of its errors.
std::vector<std::string> SshArguments(const v1::MachineConfig& machine, const std::string& tunnel_end = "");
// The port, if `line` is the one that names it.
std::optional<int> ParseAllocatedPort(absl::string_view line);

// A command for any login shell that runs `script`, which the command reads from its input first, in sh.
std::string RunScriptFromInput(absl::string_view script);

// Says what the machine is and has. The input after it is LookInput.
absl::string_view LookScript();
std::string LookInput(const std::vector<NodeProgram>& programs);
struct Looked {
  // As `uname -m` says it: "x86_64".
  std::string machine;
  // SHA-256 of programs that are there and whole.
  std::set<std::string> programs;
  // What these lack, once each: "libtorch.so.2.6", or a line of the loader with a version.
  std::vector<std::string> libraries;
  // The answer came to its end.
  bool complete = false;
};
// Takes a line of the answer; false: it is somebody else's.
bool ParseLookedLine(absl::string_view line, Looked* looked);

// A command for any login shell that puts its input at the program's place once all of it is there. `key`: no other
// writer's.
std::string CopyCommand(const NodeProgram& program, const std::string& key);

// Starts a node and ends it when its input ends. Nodes of earlier calls with the same `key` are ended before. The exit
// code is the node's.
absl::string_view StartScript();
struct NodeStart {
  // Names this head's node on this machine: letters, digits and '-'.
  std::string key;
  // Of the calls with this key.
  int count = 0;
  int port = 0;
  std::string token;
  NodeProgram program;
  NodeProgram trial_program;
  // Of `lanista node`: one line each.
  std::vector<std::string> options;
};
std::string StartInput(const NodeStart& start);

// What ssh, or the machine, said last, without what is only decoration.
std::string LastWords(const std::vector<std::string>& lines);

// "it lacks libx.so.1 (apt-get install libx1)": the packages by which this machine, where dpkg knows them, has the
// libraries.
std::string LibraryAdvice(const std::vector<std::string>& libraries, const CommandRunner& run_command);

}  // namespace lanista

#endif  // LANISTA_SRC_DEVICES_SSH_COMMANDS_H_

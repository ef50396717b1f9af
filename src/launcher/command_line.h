// What the user typed.
#ifndef LANISTA_SRC_LAUNCHER_COMMAND_LINE_H_
#define LANISTA_SRC_LAUNCHER_COMMAND_LINE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "src/launcher/command_tree.h"

namespace lanista {

// Which models `trials` shows, and in which order.
struct TrialsSelection {
  // "model": by number; "best": by the objectives, the best first; "duration": the longest first.
  std::string sort = "model";
  // Only models of this status; empty: all.
  std::string status;
  // At most so many; 0: all.
  int limit = 0;
};

// Encryption and tokens, at either end: of commands with --head, of `serve`, and of the page.
struct SafetyOptions {
  // With --head: encrypt. So do all others that begin with tls.
  bool tls = false;
  // With --head: the authorities of the head's certificate; empty: the system's.
  std::string tls_ca;
  // The own certificate and its key: both or none.
  std::string tls_cert;
  std::string tls_key;
  // serve: clients need a certificate of one of these authorities; empty: they need none.
  std::string tls_client_ca;
  // With --head: the first token in it is sent; empty: LANISTA_TOKEN_FILE names the file. serve: those of clients.
  std::string token_file;
  // serve: those of nodes.
  std::string node_token_file;
};

// The command and its options. Only what belongs to `command` is set; paths are as typed.
struct CommandLine {
  // What the user called the program by, without its folder.
  std::string program = "lanista";
  // run, resume, validate, devices, version, list, show, trials, export, delete, import, convert, show-graph, serve,
  // submit, watch, stop, node, nodes, drain, web or init.
  std::string command;

  // Global: before or after the command.
  std::string state_dir = "~/.local/share/lanista";
  // Empty: warn.
  std::string log_level;
  bool json = false;
  std::vector<std::string> overrides;
  // Empty: `lanista-trial` beside this program.
  std::string trial_program;

  // serve: empty: it has none.
  std::string config;
  // run, resume: the journal also survives power loss.
  bool durable = false;
  // validate.
  bool explain_cgo = false;
  int samples = 8;
  // resume, show, trials, export, delete, watch, stop: an id, the beginning of one, or "latest".
  std::string experiment;
  TrialsSelection trials;
  // trials: as a table for `evaluator { table {} }`.
  bool csv = false;
  // trials: what the trials printed; of these models alone, unless there are none here; of this attempt (0: the last).
  bool log = false;
  std::vector<int> log_models;
  int log_attempt = 0;
  // trials: what the engine merged, instead of the models.
  bool merged = false;
  // delete: do not ask.
  bool yes = false;
  int top = 1;
  std::string format = "json";
  std::string out = ".";
  bool untrained = false;

  // list, show, trials, export, delete, watch, resume: "HOST:PORT" of a head; empty: the state folder. submit, stop,
  // nodes, drain: never empty. node: empty where head_file has it.
  std::string head;
  // With `head`, run and serve.
  SafetyOptions safety;
  // run, serve: listen anywhere without TLS and token. With `head`: send the token anywhere without TLS.
  bool insecure = false;
  // submit: show the progress until the end.
  bool watch = false;
  // submit: empty: a new one.
  std::string request_id;

  // serve, run, resume.
  std::string listen = "127.0.0.1:7421";
  // serve: the address is written into it. node: read from it, instead of `head`.
  std::string head_file;
  int max_experiments = 10000;
  // In seconds.
  int lost_after = 120;
  // run, resume, validate, export, serve, node: NAME=DIR each.
  std::vector<std::string> data;
  // run, resume, validate, serve, node: KEY=VALUE each.
  std::vector<std::string> labels;
  // serve: of what an experiment uploads, and of all that is kept. In bytes.
  uint64_t upload_limit = uint64_t{1} << 30;
  uint64_t upload_space = uint64_t{20} << 30;
  // serve, run, resume: of the state folder's disk. In bytes.
  uint64_t keep_free = uint64_t{1} << 30;
  // submit: also what the head sees under the same path.
  bool upload = false;
  // serve, node. None: as a `local` block without it.
  std::optional<int> cpu_slots;
  std::vector<int> gpus;
  // The highest that experiments get.
  int max_priority = 0;

  // node: empty: the machine's.
  std::string name;
  // For copies of the head's files, where this machine does not see them. In bytes.
  std::string cache_dir = "~/.cache/lanista";
  uint64_t cache_size = uint64_t{20} << 30;
  // In seconds.
  int give_up_after = 3600;
  // drain: a node's name.
  std::string node;

  // run, resume, serve: "[HOST:]PORT" of the page; empty: no page. web: never empty.
  std::string web;
  // run, resume: the page stays open after the end.
  bool web_stay = false;
  // "none": no token; empty: the state folder's.
  std::string web_token;
  std::vector<std::string> web_hosts;

  // import, convert, show-graph.
  std::string file;
  std::vector<std::string> basic_units;
  // "1,3,224,224".
  std::vector<std::string> input_shapes;
  // "keep" or "init".
  std::string weights = "keep";
  std::string svg;

  // init: the folder of the new project; "cmake" or "bazel"; for the latter, the sources of Lanista.
  std::string folder;
  std::string build_tool = "cmake";
  std::string source;
};

// Nothing is left to do but to print a text and to end.
struct CommandLineExit {
  int exit_code;
  // Help, on stdout where exit_code is 0; else what is wrong, for stderr.
  std::string text;
  // Where something is wrong: --json is among the arguments.
  bool json = false;
};

// Parses the command line. `--help`, mistakes (exit code 2), and what `man` and `completion` print come as
// CommandLineExit.
std::variant<CommandLine, CommandLineExit> ParseCommandLine(int argc, const char* const* argv);

// All commands and options of a program of this name.
CommandTree DescribeCommandLine(const std::string& program);

}  // namespace lanista

#endif  // LANISTA_SRC_LAUNCHER_COMMAND_LINE_H_

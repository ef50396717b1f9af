#include "src/devices/ssh_commands.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "src/base/display_text.h"
#include "src/base/utf8.h"

namespace lanista {
namespace {

// Tells lines of the script from those that a login shell prints.
constexpr absl::string_view kTag = "lanista: ";

// More of them explain nothing.
constexpr size_t kLastLines = 3;

constexpr absl::string_view kLook = R"sh(umask 077
base=${XDG_CACHE_HOME:-$HOME/.cache}/lanista
echo "lanista: machine $(uname -m)"
while IFS= read -r sha && [ "$sha" != . ]; do
  IFS= read -r name || exit 1
  file=$base/programs/$sha/$name
  [ -f "$file" ] && [ "$(sha256sum < "$file" | cut -c 1-64)" = "$sha" ] || continue
  touch "${file%/*}"
  echo "lanista: has $sha"
  LC_ALL=C ldd "$file" 2>&1 | sed -n 's/^[[:space:]]*/lanista: lacks /; / not found/p'
done
find "$base/programs" "$base/nodes" -mindepth 1 -maxdepth 1 -type d -mtime +30 -exec rm -rf {} + 2> /dev/null
echo "lanista: looked"
)sh";

// A login shell waits for all who have its outputs: so nothing that may stay longer than the node does. What the node
// uses is touched every day, so that no look, from whichever machine that shares the folder, takes it for unused.
constexpr absl::string_view kStart = R"sh(umask 077
base=${XDG_CACHE_HOME:-$HOME/.cache}/lanista
IFS= read -r key && IFS= read -r count && IFS= read -r port && IFS= read -r token || exit 1
IFS= read -r program && IFS= read -r trial_program || exit 1
option=
while IFS= read -r option && [ "$option" != . ]; do set -- "$@" "$option"; done
[ "$option" = . ] || exit 1
for earlier in "$base/nodes/$key".*; do
  pid=$(cat "$earlier/pid" 2> /dev/null) || continue
  tr '\0' '\n' < "/proc/$pid/cmdline" 2> /dev/null | grep -qxF "$earlier/token" || continue
  kill "$pid"
  tries=0
  while kill -0 "$pid" 2> /dev/null && [ $tries -lt 20 ]; do sleep 1; tries=$((tries + 1)); done
  kill -9 "$pid" 2> /dev/null
done
run=$base/nodes/$key.$count
mkdir -p "$run" && echo "$token" > "$run/token" || exit 1
exec 3<&0
"$base/programs/$program" node --head "127.0.0.1:$port" --token-file "$run/token" \
  --trial-program "$base/programs/$trial_program" "$@" < /dev/null 3<&- &
node=$!
echo $node > "$run/pid"
signaled=
trap 'signaled=yes; kill $node' HUP INT TERM
{
  while timeout 86400 cat; [ $? = 124 ]; do
    touch -c "$run" "$base/programs/${program%/*}" "$base/programs/${trial_program%/*}"
  done
  kill $node
  tries=0
  while [ $tries -lt 30 ]; do sleep 1; tries=$((tries + 1)); done
  kill -9 $node
} <&3 > /dev/null 2>&1 &
watcher=$!
exec 3<&-
wait $node
code=$?
if [ -n "$signaled" ]; then
  wait $node
  code=143
fi
kill $watcher
rm -rf "$run"
rmdir "$base/nodes" 2> /dev/null
exit $code
)sh";

bool IsLibrary(absl::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_' || c == '+' || c == '-';
  });
}

}  // namespace

std::vector<std::string> SshArguments(const v1::MachineConfig& machine, const std::string& tunnel_end) {
  std::vector<std::string> arguments = {"ssh", "-T", "-a", "-x", "-e", "none"};
  for (const char* const option : {"BatchMode=yes", "StrictHostKeyChecking=yes", "LogLevel=INFO", "ControlMaster=no",
                                   "ControlPath=none", "PermitLocalCommand=no", "RemoteCommand=none",
                                   "ConnectTimeout=15", "ServerAliveInterval=5", "ServerAliveCountMax=3"}) {
    arguments.insert(arguments.end(), {"-o", option});
  }
  if (machine.has_port()) arguments.insert(arguments.end(), {"-p", absl::StrCat(machine.port())});
  if (machine.has_user()) arguments.insert(arguments.end(), {"-l", machine.user()});
  if (machine.has_ssh_key_file()) {
    arguments.insert(arguments.end(), {"-o", "IdentitiesOnly=yes", "-i", machine.ssh_key_file()});
  }
  if (tunnel_end.empty()) {
    arguments.insert(arguments.end(), {"-o", "ClearAllForwardings=yes"});
  } else {
    arguments.insert(arguments.end(), {"-o", "ExitOnForwardFailure=yes", "-R", "0:" + tunnel_end});
  }
  arguments.insert(arguments.end(), {"--", machine.host()});
  return arguments;
}

std::optional<int> ParseAllocatedPort(absl::string_view line) {
  if (!absl::ConsumePrefix(&line, "Allocated port ")) return std::nullopt;
  int port = 0;
  const bool known = absl::SimpleAtoi(line.substr(0, line.find(' ')), &port) && port > 0 && port <= 65535;
  return known ? std::optional<int>(port) : std::nullopt;
}

// dd alone reads no byte too many from a pipe: the rest is for the script. csh takes no line break inside quotes.
std::string RunScriptFromInput(absl::string_view script) {
  return absl::StrCat("exec sh -c 'eval \"$(dd bs=1 count=", script.size(), " 2> /dev/null)\"'");
}

absl::string_view LookScript() { return kLook; }

std::string LookInput(const std::vector<NodeProgram>& programs) {
  std::string input;
  for (const NodeProgram& program : programs) absl::StrAppend(&input, program.sha256, "\n", program.name, "\n");
  return input + ".\n";
}

bool ParseLookedLine(absl::string_view line, Looked* looked) {
  if (!absl::ConsumePrefix(&line, kTag)) return false;
  if (line == "looked") {
    looked->complete = true;
  } else if (absl::ConsumePrefix(&line, "machine ")) {
    looked->machine = OneLine(ToUtf8(line));
  } else if (absl::ConsumePrefix(&line, "has ")) {
    looked->programs.emplace(line);
  } else if (absl::ConsumePrefix(&line, "lacks ")) {
    // "libx.so.1 => not found", or "/lib/libc.so.6: version `GLIBC_2.99' not found (required by ...)".
    const absl::string_view library = line.substr(0, line.find(" => "));
    const std::string lacks = IsLibrary(library) ? std::string(library) : OneLine(ToUtf8(line));
    std::vector<std::string>& all = looked->libraries;
    if (std::find(all.begin(), all.end(), lacks) == all.end()) all.push_back(lacks);
  } else {
    return false;
  }
  return true;
}

std::string CopyCommand(const NodeProgram& program, const std::string& key) {
  const std::string part = absl::StrCat("\"$d/.", program.name, ".", key, "\"");
  return absl::StrCat("exec sh -c 'umask 077; d=${XDG_CACHE_HOME:-$HOME/.cache}/lanista/programs/", program.sha256,
                      "; mkdir -p \"$d\" && cat > ", part, " && [ \"$(sha256sum < ", part,
                      " | cut -c 1-64)\" = ", program.sha256, " ] && chmod 700 ", part, " && mv -f ", part, " \"$d/",
                      program.name, "\" || { rm -f ", part,
                      "; rmdir \"$d\" 2> /dev/null; echo \"it did not arrive whole\" >&2; exit 1; }'");
}

absl::string_view StartScript() { return kStart; }

std::string StartInput(const NodeStart& start) {
  const auto place = [](const NodeProgram& program) { return absl::StrCat(program.sha256, "/", program.name); };
  std::string input = absl::StrCat(start.key, "\n", start.count, "\n", start.port, "\n", start.token, "\n",
                                   place(start.program), "\n", place(start.trial_program), "\n");
  for (const std::string& option : start.options) absl::StrAppend(&input, option, "\n");
  return input + ".\n";
}

std::string LastWords(const std::vector<std::string>& lines) {
  std::vector<std::string> words;
  for (const std::string& line : lines) {
    std::string word = OneLine(ToUtf8(line));
    const bool decoration =
        word.empty() || word[0] == '@' || absl::StartsWith(word, "** ") || absl::StartsWith(word, "Allocated port ");
    if (!decoration) words.push_back(std::move(word));
  }
  if (words.size() > kLastLines) words.erase(words.begin(), words.end() - kLastLines);
  return ReasonLine(absl::StrJoin(words, " "));
}

std::string LibraryAdvice(const std::vector<std::string>& libraries, const CommandRunner& run_command) {
  std::string advice = "it lacks " + absl::StrJoin(libraries, ", ");
  Command command{{"dpkg-query", "--search"}};
  for (const std::string& library : libraries) {
    if (IsLibrary(library)) command.arguments.push_back("*/" + library);
  }
  if (command.arguments.size() == 2) return advice;
  // Where some are in no package, the others are still said.
  const absl::StatusOr<CommandAnswer> answer = run_command(command);
  std::set<std::string> packages;
  // "libx1:amd64: /usr/lib/x86_64-linux-gnu/libx.so.1"
  for (const absl::string_view line : absl::StrSplit(answer.ok() ? answer->output : "", '\n', absl::SkipEmpty())) {
    const absl::string_view package = line.substr(0, line.find(':'));
    if (IsLibrary(package)) packages.emplace(package);
  }
  if (!packages.empty()) absl::StrAppend(&advice, " (apt-get install ", absl::StrJoin(packages, " "), ")");
  return advice;
}

}  // namespace lanista

#include "src/launcher/completion.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "src/base/shell_word.h"

namespace lanista {
namespace {

// The name of the argument that is an experiment's id (command_options.cc).
constexpr char kExperiment[] = "ID";

bool TakesExperiment(const CommandDescription& command) {
  return std::any_of(command.arguments.begin(), command.arguments.end(),
                     [](const OptionDescription& argument) { return argument.names.front() == kExperiment; });
}

std::vector<std::string> Names(const std::vector<OptionDescription>& options) {
  std::vector<std::string> names;
  for (const OptionDescription& option : options) {
    names.insert(names.end(), option.names.begin(), option.names.end());
  }
  return names;
}

std::vector<std::string> CommandNames(const CommandTree& tree, bool with_experiment_only = false) {
  std::vector<std::string> names;
  for (const CommandDescription& command : tree.commands) {
    if (!with_experiment_only || TakesExperiment(command)) names.push_back(command.name);
  }
  return names;
}

// The program as a part of a function's name.
std::string Identifier(const std::string& program) {
  std::string name = program;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return !absl::ascii_isalnum(static_cast<unsigned char>(c)); }, '_');
  return name;
}

// bash: what follows the options that take a value. `scope`: a pattern of commands.
std::string BashValues(const std::string& scope, const std::vector<OptionDescription>& options) {
  std::string text;
  for (const OptionDescription& option : options) {
    if (option.value.empty()) continue;
    for (const std::string& name : option.names) {
      absl::StrAppend(&text, "    ", scope, ":", name, ")\n");
      if (!option.choices.empty()) {
        absl::StrAppend(&text, "      mapfile -t COMPREPLY < <(compgen -W '", absl::StrJoin(option.choices, " "),
                        "' -- \"$current\")\n");
      }
      // Without an answer bash completes file names.
      absl::StrAppend(&text, "      return ;;\n");
    }
  }
  return text;
}

std::string Bash(const CommandTree& tree) {
  const std::string function = "_" + Identifier(tree.program);
  std::string text =
      absl::StrCat("# Completion of ", tree.program, " for bash.\n", function, "() {\n",
                   "  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} command='' i\n"
                   "  COMPREPLY=()\n"
                   "  for ((i = 1; i < COMP_CWORD; ++i)); do\n"
                   "    case ${COMP_WORDS[i]} in\n"
                   "      ",
                   absl::StrJoin(CommandNames(tree), " | "),
                   ")\n"
                   "        command=${COMP_WORDS[i]}\n"
                   "        break ;;\n"
                   "    esac\n"
                   "  done\n"
                   "  case $command:$previous in\n",
                   BashValues("*", tree.options));
  for (const CommandDescription& command : tree.commands) {
    absl::StrAppend(&text, BashValues(command.name, command.options));
  }
  absl::StrAppend(&text,
                  "  esac\n"
                  // Ids are those of the folder that the line names. bash divides `--state-dir=FOLDER` at the sign, and
                  // leaves quotes and backslashes in words.
                  "  local words='' folder=() word\n"
                  "  for ((i = 1; i < ${#COMP_WORDS[@]}; ++i)); do\n"
                  "    [[ ${COMP_WORDS[i]} == --state-dir ]] || continue\n"
                  "    [[ ${COMP_WORDS[i + 1]-} != = ]] || ((++i))\n"
                  "    word=${COMP_WORDS[i + 1]-}\n"
                  "    folder=(--state-dir \"${word//[\\\"\\'\\\\]/}\")\n"
                  "  done\n"
                  "  if [[ $current == -* ]]; then\n"
                  "    words='--help ",
                  absl::StrJoin(Names(tree.options), " "),
                  "'\n"
                  "    case $command in\n");
  for (const CommandDescription& command : tree.commands) {
    if (command.options.empty()) continue;
    absl::StrAppend(&text, "      ", command.name, ") words+=' ", absl::StrJoin(Names(command.options), " "), "' ;;\n");
  }
  absl::StrAppend(&text,
                  "    esac\n"
                  "  else\n"
                  "    case $command in\n"
                  "      '') words='",
                  absl::StrJoin(CommandNames(tree), " "), "' ;;\n", "      ",
                  absl::StrJoin(CommandNames(tree, /*with_experiment_only=*/true), " | "),
                  ")\n"
                  "        words=\"latest $(\"${COMP_WORDS[0]}\" list \"${folder[@]}\" --json 2>/dev/null |\n"
                  "          sed -n 's/^ *\"id\": *\"\\([^\"]*\\)\".*/\\1/p')\" ;;\n"
                  "    esac\n"
                  "  fi\n"
                  "  [[ -z $words ]] || mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\")\n"
                  "}\n"
                  "complete -o default -F ",
                  function, " ", tree.program, "\n");
  return text;
}

// zsh: the specifications of options for _arguments, one a line.
std::string ZshOptions(const std::string& indent, const std::vector<OptionDescription>& options) {
  std::string text;
  for (const OptionDescription& option : options) {
    const std::string description =
        absl::StrReplaceAll(option.description, {{"[", "("}, {"]", ")"}, {":", "\\:"}, {"\\", "\\\\"}});
    for (const std::string& name : option.names) {
      std::string specification = absl::StrCat("*", name, "[", description, "]");
      if (!option.choices.empty()) {
        absl::StrAppend(&specification, ":value:(", absl::StrJoin(option.choices, " "), ")");
      } else if (!option.value.empty()) {
        absl::StrAppend(&specification, ":value:_files");
      }
      absl::StrAppend(&text, indent, QuotedShellWord(specification), "\n");
    }
  }
  return text;
}

std::string Zsh(const CommandTree& tree) {
  const std::string function = "_" + Identifier(tree.program);
  std::string text = absl::StrCat("#compdef ", tree.program, "\n", function,
                                  "() {\n"
                                  "  local -a subcommands flags experiments folder\n"
                                  "  local command='' word before=''\n"
                                  "  subcommands=(\n");
  for (const CommandDescription& command : tree.commands) {
    absl::StrAppend(
        &text, "    ",
        QuotedShellWord(absl::StrCat(command.name, ":", absl::StrReplaceAll(command.description, {{":", "\\:"}}))),
        "\n");
  }
  absl::StrAppend(&text,
                  "  )\n"
                  "  flags=(\n"
                  "    '--help[what there is]'\n",
                  ZshOptions("    ", tree.options),
                  "  )\n"
                  "  for word in ${words[2,CURRENT-1]}; do\n"
                  "    case $word in\n"
                  "      ",
                  absl::StrJoin(CommandNames(tree), "|"),
                  ") command=$word; break ;;\n"
                  "    esac\n"
                  "  done\n"
                  "  case $command in\n"
                  "    '')\n"
                  "      _arguments $flags '1:command:{_describe command subcommands}'\n"
                  "      return ;;\n");
  for (const CommandDescription& command : tree.commands) {
    if (command.options.empty()) continue;
    absl::StrAppend(&text, "    ", command.name, ")\n      flags+=(\n", ZshOptions("        ", command.options),
                    "      ) ;;\n");
  }
  absl::StrAppend(&text,
                  "  esac\n"
                  "  case $command in\n"
                  "    ",
                  absl::StrJoin(CommandNames(tree, /*with_experiment_only=*/true), "|"),
                  ")\n"
                  "      for word in $words; do\n"
                  "        [[ $before != --state-dir ]] || folder=(--state-dir ${(Q)word})\n"
                  "        [[ $word != --state-dir=* ]] || folder=(--state-dir ${(Q)word#*=})\n"
                  "        before=$word\n"
                  "      done\n"
                  "      experiments=(latest ${(f)\"$(${words[1]} list $folder --json 2>/dev/null |\n"
                  "        sed -n 's/^ *\"id\": *\"\\([^\"]*\\)\".*/\\1/p')\"})\n"
                  "      _arguments $flags '1:command:' '2:experiment:($experiments)' ;;\n"
                  "    *) _arguments $flags '1:command:' '*:file:_files' ;;\n"
                  "  esac\n"
                  "}\n",
                  // The file is a function's body where compinit loads it, and a script where it is read.
                  "if [[ $funcstack[1] == ", function, " ]]; then ", function, " \"$@\"; else compdef ", function, " ",
                  tree.program, "; fi\n");
  return text;
}

// fish: one line an option. `condition`: when they are shown.
std::string FishOptions(const std::string& program, const std::string& condition,
                        const std::vector<OptionDescription>& options) {
  std::string text;
  for (const OptionDescription& option : options) {
    for (const std::string& name : option.names) {
      absl::StrAppend(&text, "complete -c ", program, condition, " -l ", name.substr(name.find_first_not_of('-')));
      if (!option.choices.empty()) {
        absl::StrAppend(&text, " -x -a '", absl::StrJoin(option.choices, " "), "'");
      } else if (!option.value.empty()) {
        absl::StrAppend(&text, " -r");
      }
      absl::StrAppend(&text, " -d '", absl::StrReplaceAll(option.description, {{"\\", "\\\\"}, {"'", "\\'"}}), "'\n");
    }
  }
  return text;
}

std::string Fish(const CommandTree& tree) {
  std::string text = absl::StrCat("# Completion of ", tree.program, " for fish.\n");
  for (const CommandDescription& command : tree.commands) {
    absl::StrAppend(&text, "complete -c ", tree.program, " -n __fish_use_subcommand -f -a ", command.name, " -d '",
                    absl::StrReplaceAll(command.description, {{"\\", "\\\\"}, {"'", "\\'"}}), "'\n");
  }
  absl::StrAppend(&text, FishOptions(tree.program, "", tree.options));
  for (const CommandDescription& command : tree.commands) {
    absl::StrAppend(&text,
                    FishOptions(tree.program, absl::StrCat(" -n '__fish_seen_subcommand_from ", command.name, "'"),
                                command.options));
  }
  const std::string folder = absl::StrCat("__", Identifier(tree.program), "_folder");
  absl::StrAppend(&text, "function ", folder,
                  "\n"
                  "  set -l words (commandline -opc)\n"
                  "  set -l option (contains -i -- --state-dir $words)\n"
                  "  and printf '%s\\n' --state-dir $words[(math $option + 1)]\n"
                  "  string match -r -- '^--state-dir=.*' $words\n"
                  "end\n"
                  "complete -c ",
                  tree.program, " -n '__fish_seen_subcommand_from ",
                  absl::StrJoin(CommandNames(tree, /*with_experiment_only=*/true), " "), "' -f -a \"latest (",
                  tree.program, " list (", folder,
                  ") --json 2>/dev/null | string replace -rf '^ *\\\"id\\\": *\\\"([^\\\"]*)\\\".*' '\\$1')\"\n");
  return text;
}

}  // namespace

std::string CompletionScript(const CommandTree& tree, const std::string& shell) {
  if (shell == "zsh") return Zsh(tree);
  if (shell == "fish") return Fish(tree);
  return Bash(tree);
}

}  // namespace lanista

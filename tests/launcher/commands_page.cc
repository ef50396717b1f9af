// Prints docs/reference/commands.md, from the commands and options of the program itself:
//
//   bazel run //tests/launcher:commands_page > docs/reference/commands.md
#include <iostream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "src/launcher/command_line.h"

namespace lanista {
namespace {

constexpr char kBeginning[] =
    R"(<!-- tests/launcher/commands_page.cc writes this page. Change what the commands say of themselves in src/launcher. -->

# Every command and option

[cli.md](../cli.md) explains the commands, with exit codes and the documents of `--json`; this page lists them as `lanista COMMAND --help` and
`lanista man` do. A program of your own that calls `lanista::Main` has the same ones.
)";

// In a cell of a table.
std::string Cell(const std::string& text) {
  return absl::StrReplaceAll(text, {{"|", "\\|"}, {"\n", " "}, {"<", "&lt;"}});
}

std::string Head(const OptionDescription& option) {
  const std::string value = option.names.front()[0] == '-' && !option.value.empty() ? " " + option.value : "";
  return absl::StrCat("`", absl::StrJoin(option.names, "`, `"), value, "`");
}

std::string Table(const std::vector<OptionDescription>& options, const std::string& first) {
  if (options.empty()) return "";
  std::string table = absl::StrCat("\n| ", first, " | |\n| --- | --- |\n");
  for (const OptionDescription& option : options) {
    std::string text = option.description;
    if (!option.choices.empty()) absl::StrAppend(&text, " (", absl::StrJoin(option.choices, ", "), ")");
    if (!option.default_value.empty()) absl::StrAppend(&text, " (default: ", option.default_value, ")");
    if (option.required) absl::StrAppend(&text, " (needed)");
    absl::StrAppend(&table, "| ", Head(option), " | ", Cell(text), " |\n");
  }
  return table;
}

std::string CommandsPage(const CommandTree& tree) {
  std::string page =
      absl::StrCat(kBeginning, "\n## Options of all commands\n\nThey stand before or after the command.\n",
                   Table(tree.options, "option"));
  for (const CommandDescription& command : tree.commands) {
    absl::StrAppend(&page, "\n## ", command.name, "\n\n", Cell(command.description), "\n",
                    Table(command.arguments, "argument"), Table(command.options, "option"));
  }
  return page;
}

}  // namespace
}  // namespace lanista

int main() { std::cout << lanista::CommandsPage(lanista::DescribeCommandLine("lanista")); }

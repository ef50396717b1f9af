#include "src/launcher/man_page.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "src/base/spelling.h"
#include "src/base/version.h"

namespace lanista {
namespace {

// Text as roff has it: no character of it is a command.
std::string Roff(const std::string& text) {
  std::string escaped = absl::StrReplaceAll(text, {{"\\", "\\e"}, {"-", "\\-"}});
  if (!escaped.empty() && (escaped[0] == '.' || escaped[0] == '\'')) escaped.insert(0, "\\&");
  return absl::StrReplaceAll(escaped, {{"\n.", "\n\\&."}, {"\n'", "\n\\&'"}});
}

std::string Heading(const std::string& name) { return absl::StrCat(".SH ", absl::AsciiStrToUpper(Roff(name)), "\n"); }

std::string Title(const std::string& page, const std::string& description) {
  return absl::StrCat(".TH ", absl::AsciiStrToUpper(Roff(page)), " 1 \"\" \"Lanista ", kVersion, "\" \"Lanista\"\n",
                      Heading("Name"), Roff(page), " \\- ", Roff(description), "\n");
}

// "--format FORMAT", in bold where it is to be typed as it stands.
std::string Head(const OptionDescription& option) {
  const bool argument = option.names.front()[0] != '-';
  const std::string names = absl::StrJoin(option.names, ", ", [&](std::string* out, const std::string& name) {
    absl::StrAppend(out, argument ? "\\fI" : "\\fB", Roff(name), "\\fR");
  });
  return option.value.empty() || argument ? names : absl::StrCat(names, " \\fI", Roff(option.value), "\\fR");
}

std::string Options(const std::vector<OptionDescription>& options) {
  std::string text;
  std::string group;
  for (const OptionDescription& option : options) {
    if (option.group != group) absl::StrAppend(&text, ".SS \"", Roff(option.group), "\"\n");
    group = option.group;
    absl::StrAppend(&text, ".TP\n", Head(option), "\n", Roff(option.description));
    if (!option.choices.empty()) absl::StrAppend(&text, " (", Roff(absl::StrJoin(option.choices, ", ")), ")");
    if (!option.default_value.empty()) absl::StrAppend(&text, " [default: ", Roff(option.default_value), "]");
    if (option.required && option.names.front()[0] == '-') absl::StrAppend(&text, " [needed]");
    absl::StrAppend(&text, "\n");
  }
  return text;
}

std::string PageName(const CommandTree& tree, const CommandDescription& command) {
  return absl::StrCat(tree.program, "-", command.name);
}

std::string ProgramPage(const CommandTree& tree) {
  std::string page =
      absl::StrCat(Title(tree.program, tree.description), Heading("Synopsis"), "\\fB", Roff(tree.program),
                   "\\fR [\\fIOPTIONS\\fR] \\fICOMMAND\\fR [\\fIARGUMENTS\\fR]\n", Heading("Commands"));
  for (const CommandDescription& command : tree.commands) {
    absl::StrAppend(&page, ".TP\n\\fB", Roff(command.name), "\\fR\n", Roff(command.description), "\n");
  }
  return absl::StrCat(
      page, ".PP\nEach command has a page of its own: \\fB", Roff(tree.program), "-run\\fR(1).\n", Heading("Options"),
      "They stand before or after the command.\n", Options(tree.options), Heading("Exit status"),
      "0: done. 1: the experiment failed, no model succeeded, or you stopped it; something could not be "
      "read or written. 2: bad usage or configuration, an unknown experiment, a token that is not "
      "taken. 3: the head cannot be reached. 130: ended by Ctrl-C.\n");
}

std::string CommandPage(const CommandTree& tree, const CommandDescription& command) {
  std::string page = absl::StrCat(Title(PageName(tree, command), command.description), Heading("Synopsis"), "\\fB",
                                  Roff(tree.program), " ", Roff(command.name), "\\fR");
  for (const OptionDescription& argument : command.arguments) {
    absl::StrAppend(&page, argument.required ? " " : " [", Head(argument), argument.required ? "" : "]");
  }
  for (const OptionDescription& option : command.options) {
    if (option.required) absl::StrAppend(&page, " ", Head(option));
  }
  absl::StrAppend(&page, " [\\fIOPTIONS\\fR]\n");
  if (!command.arguments.empty()) absl::StrAppend(&page, Heading("Arguments"), Options(command.arguments));
  if (!command.options.empty()) absl::StrAppend(&page, Heading("Options"), Options(command.options));
  return absl::StrCat(page, Heading("Global options"), Options(tree.options), Heading("See also"), "\\fB",
                      Roff(tree.program), "\\fR(1)\n");
}

}  // namespace

std::vector<std::string> ManPageNames(const CommandTree& tree) {
  std::vector<std::string> names = {tree.program};
  for (const CommandDescription& command : tree.commands) names.push_back(PageName(tree, command));
  return names;
}

absl::StatusOr<std::string> ManPage(const CommandTree& tree, const std::string& name) {
  if (name == tree.program) return ProgramPage(tree);
  for (const CommandDescription& command : tree.commands) {
    if (name == PageName(tree, command)) return CommandPage(tree, command);
  }
  const std::vector<std::string> names = ManPageNames(tree);
  return absl::InvalidArgumentError(absl::StrCat("there is no page '", name, "'", DidYouMean(name, names),
                                                 "; the pages are: ", absl::StrJoin(names, ", ")));
}

}  // namespace lanista

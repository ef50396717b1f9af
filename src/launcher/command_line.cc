#include "src/launcher/command_line.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "src/base/spelling.h"
#include "src/launcher/command_options.h"
#include "src/launcher/completion.h"
#include "src/launcher/exit_codes.h"
#include "src/launcher/man_page.h"

namespace lanista {
namespace {

// The name that the user called the program by: a user's own program has another one.
std::string ProgramName(int argc, const char* const* argv) {
  const std::string path = argc > 0 ? argv[0] : "";
  const std::string name = path.substr(path.rfind('/') + 1);
  return name.empty() ? "lanista" : name;
}

OptionDescription Describe(const CLI::Option& option) {
  OptionDescription description;
  for (const std::string& name : option.get_lnames()) description.names.push_back("--" + name);
  if (description.names.empty()) description.names = {option.get_name(/*positional=*/true)};
  description.description = option.get_description();
  if (option.get_group() != "Options") description.group = option.get_group();
  if (option.get_type_size() != 0) {
    // "TEXT:{json,text}": the type, and its validators.
    const std::string type = option.get_type_name();
    description.value = type.substr(0, type.find(':'));
    const size_t choices = type.find(":{");
    if (choices != std::string::npos) {
      const size_t begin = choices + 2;
      description.choices = absl::StrSplit(type.substr(begin, type.find('}', begin) - begin), ',');
    }
    description.default_value = option.get_default_str();
  }
  description.required = option.get_required();
  return description;
}

// Those of a command or a program, without --help; options under a heading come last.
std::vector<OptionDescription> DescribeOptions(const CLI::App& app, bool arguments) {
  std::vector<OptionDescription> descriptions;
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_positional() == arguments && option != app.get_help_ptr()) {
      descriptions.push_back(Describe(*option));
    }
  }
  std::stable_sort(descriptions.begin(), descriptions.end(),
                   [](const OptionDescription& a, const OptionDescription& b) { return a.group < b.group; });
  return descriptions;
}

// A parser of the command line that writes into `line`.
class Parser {
 public:
  explicit Parser(CommandLine* line)
      : line_(*line),
        app_(
            "Lanista searches neural architectures: it proposes models, trains them on every device, and keeps the "
            "best.",
            line->program) {
    formatter_->label("SUBCOMMAND", "COMMAND");
    app_.formatter(formatter_);
    app_.fallthrough();  // Global options may follow the command.
    AddCommands(&app_, &line_);
    app_.add_flag("--version", version_, "the same as the command `version`");
    AddSelfDescription();
  }

  CommandTree Describe() const {
    CommandTree tree{line_.program, app_.get_description(), DescribeOptions(app_, /*arguments=*/false), {}};
    for (const CLI::App* command : app_.get_subcommands(nullptr)) {
      if (command->get_group().empty()) continue;
      tree.commands.push_back({command->get_name(), command->get_description(),
                               DescribeOptions(*command, /*arguments=*/true),
                               DescribeOptions(*command, /*arguments=*/false)});
    }
    return tree;
  }

  // Fills the CommandLine. Returns a value where no command is to run: help was asked for, or there is a mistake.
  std::optional<CommandLineExit> Parse(int argc, const char* const* argv) {
    try {
      app_.parse(argc, argv);
    } catch (const CLI::Success&) {
      return CommandLineExit{kExitDone, Help()};
    } catch (const CLI::ParseError& error) {
      // Parsing stopped at the mistake: the flag may come after it.
      const bool json = std::find(argv, argv + argc, std::string("--json")) != argv + argc;
      return CommandLineExit{kExitUsage, Mistake(error), json};
    }
    if (version_) line_.command = "version";
    if (line_.command == "completion") return CommandLineExit{kExitDone, CompletionScript(Describe(), shell_)};
    if (line_.command == "man") return Man();
    if (line_.command == "web" && line_.web.empty()) line_.web = "127.0.0.1:8081";
    if (line_.command.empty()) {
      return CommandLineExit{kExitUsage, absl::StrCat("name a command; see `", line_.program, " --help`"), line_.json};
    }
    return std::nullopt;
  }

 private:
  // What scripts/install.sh asks for. The help shows neither.
  void AddSelfDescription() {
    CLI::App* const completion =
        AddCommand("completion", "a script that completes the command line in a shell", &app_, &line_);
    completion->group("");
    completion->add_option("SHELL", shell_, "bash, zsh or fish")
        ->required()
        ->check(CLI::IsMember(std::vector<std::string>(std::begin(kShells), std::end(kShells))));
    CLI::App* const man = AddCommand("man", "a page for man(1)", &app_, &line_);
    man->group("");
    CLI::Option* const page = man->add_option("PAGE", page_, "its name; default: the program's");
    man->add_flag("--list", list_pages_, "print the names of all pages")->excludes(page);
  }

  CommandLineExit Man() const {
    const CommandTree tree = Describe();
    if (list_pages_) return {kExitDone, absl::StrJoin(ManPageNames(tree), "\n") + "\n"};
    const absl::StatusOr<std::string> page = ManPage(tree, page_.empty() ? tree.program : page_);
    if (page.ok()) return {kExitDone, *page};
    return {kExitUsage, std::string(page.status().message()), line_.json};
  }

  // The command that was named; nullptr: none was.
  const CLI::App* Named() const {
    const std::vector<CLI::App*> named = app_.get_subcommands();
    return named.empty() ? nullptr : named.front();
  }

  // The help of the command that was named, with the global options; where none was named, the program's.
  std::string Help() const {
    const std::string help = app_.help();
    if (Named() == nullptr) return help;
    const std::vector<const CLI::Option*> global = app_.get_options(
        [&](const CLI::Option* option) { return option->nonpositional() && option != app_.get_help_ptr(); });
    return absl::StrCat(absl::StripTrailingAsciiWhitespace(help), "\n",
                        formatter_->make_group("Global options, before or after the command", false, global));
  }

  // The message of a mistake, with the command or option that the user may have meant.
  std::string Mistake(const CLI::ParseError& error) const {
    const CLI::App* const named = Named();
    std::string text = error.what();
    std::vector<std::string> allowed;
    std::string wrong;
    const std::vector<std::string> unknown = app_.remaining(/*recurse=*/true);
    if (!unknown.empty() && absl::StartsWith(unknown.front(), "--")) {
      wrong = unknown.front().substr(0, unknown.front().find('='));
      for (const CLI::App* app : {&app_, named}) {
        if (app == nullptr) continue;
        for (const CLI::Option* option : app->get_options()) {
          for (const std::string& name : option->get_lnames()) allowed.push_back("--" + name);
        }
      }
    } else if (!unknown.empty() && named == nullptr && !absl::StartsWith(unknown.front(), "-")) {
      wrong = unknown.front();
      text = absl::StrCat("unknown command '", wrong, "'");
      for (const CLI::App* command : app_.get_subcommands(nullptr)) allowed.push_back(command->get_name());
    }
    const std::string meant = DidYouMean(wrong, allowed);
    return absl::StrCat(text, meant, meant.empty() ? "; see" : " See", " `", line_.program, " ",
                        named == nullptr ? "" : absl::StrCat(named->get_name(), " "), "--help`");
  }

  CommandLine& line_;
  bool version_ = false;
  std::string shell_;
  std::string page_;
  bool list_pages_ = false;
  const std::shared_ptr<CLI::Formatter> formatter_ = std::make_shared<CLI::Formatter>();
  CLI::App app_;
};

}  // namespace

std::variant<CommandLine, CommandLineExit> ParseCommandLine(int argc, const char* const* argv) {
  CommandLine line;
  line.program = ProgramName(argc, argv);
  if (std::optional<CommandLineExit> exit = Parser(&line).Parse(argc, argv)) return *std::move(exit);
  return line;
}

CommandTree DescribeCommandLine(const std::string& program) {
  CommandLine line;
  line.program = program;
  return Parser(&line).Describe();
}

}  // namespace lanista

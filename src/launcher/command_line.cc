#include "src/launcher/command_line.h"

#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "src/launcher/exit_codes.h"

namespace lanista {

std::variant<CommandLine, CommandLineExit> ParseCommandLine(int argc, const char* const* argv) {
  CommandLine line;
  CLI::App app(
      "Lanista searches neural architectures: it proposes models, trains them on every device, and keeps the best.",
      "lanista");
  app.fallthrough();  // Global options may follow the command.
  app.add_option("--state-dir", line.state_dir, "where experiments keep their journals")->capture_default_str();
  app.add_option("--log-level", line.log_level, "what stderr shows: trace, debug, info, warn, error or off")
      ->check(CLI::IsMember({"trace", "debug", "info", "warn", "error", "off"}));
  app.add_flag("--json", line.json, "one JSON document on stdout");
  app.add_option("--set", line.overrides, "path.to.field=value: overrides a field of CONFIG; may be repeated")
      ->allow_extra_args(false);
  app.add_option("--trial-program", line.trial_program,
                 "the program that runs trials; default: lanista-trial beside this one");

  const auto command = [&](const char* name, const char* description) {
    return app.add_subcommand(name, description)->callback([&line, name] { line.command = name; });
  };
  const auto config_command = [&](const char* name, const char* description) {
    CLI::App* const one = command(name, description);
    one->add_option("CONFIG", line.config, "the experiment: protobuf text, or JSON (.json)")->required();
    return one;
  };
  const auto experiment_command = [&](const char* name, const char* description) {
    CLI::App* const one = command(name, description);
    one->add_option("ID", line.experiment, "the experiment's id, as `list` shows it")->required();
    return one;
  };
  config_command("run", "run an experiment to its end on this machine's devices");
  CLI::App* const validate =
      config_command("validate", "check a configuration, print the space's choices and its size; run nothing");
  validate->add_flag("--explain-cgo", line.explain_cgo,
                     "show what models of the engine `cgo` would share, what not, and why");
  validate->add_option("--samples", line.samples, "--explain-cgo: how many models, as the strategy proposes them")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command("devices", "what this machine offers");
  command("version", "versions of Lanista and of what it stands on");
  command("list", "all experiments");
  experiment_command("show", "an experiment: state, counts, the best models");
  experiment_command("trials", "all models of an experiment with their attempts and metrics");
  CLI::App* const export_command = experiment_command("export", "write the best models to files");
  export_command->add_option("--top", line.top, "how many")->check(CLI::Range(1, 1000000))->capture_default_str();
  export_command->add_option("--format", line.format, "json, cpp, python, torchscript or onnx")->capture_default_str();
  export_command->add_option("--out", line.out, "the folder for the files")->capture_default_str();
  experiment_command("delete", "delete an experiment with all its files");

  const auto graph_command = [&](const char* name, const char* description) {
    CLI::App* const one = command(name, description);
    one->add_option("FILE", line.file, "a graph (.graph, .textproto, .json) or a TorchScript file (.pt)")->required();
    one->add_option("--basic-unit", line.basic_units, "TorchScript: keep modules of this class whole; may be repeated")
        ->allow_extra_args(false);
    one->add_option("--input-shape", line.input_shapes, "1,3,224,224 (-1: any size), once for each input")
        ->allow_extra_args(false);
    return one;
  };
  graph_command("import", "read a TorchScript file as a graph")
      ->add_option("--out", line.out, "the graph file: .textproto, .json, or binary")
      ->required();
  CLI::App* const convert_command = graph_command("convert", "write a graph's model in another form");
  convert_command->add_option("--format", line.format, "python, cpp, torchscript, onnx, or text, json, binary")
      ->required();
  convert_command->add_option("--out", line.out, "path of the files, without a suffix")->required();
  convert_command->add_option("--weights", line.weights, "keep the imported ones, or init: draw new ones")
      ->check(CLI::IsMember({"keep", "init"}))
      ->capture_default_str();
  graph_command("show-graph", "a graph as a tree, with shapes, parameters and FLOPs")
      ->add_option("--svg", line.svg, "also draw it into this file (needs Graphviz's `dot`)");

  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& help) {
    // --help of the command that was named, if one was.
    const std::vector<CLI::App*> named = app.get_subcommands();
    return CommandLineExit{kExitDone, named.empty() ? app.help() : named.front()->help()};
  } catch (const CLI::ParseError& error) {
    const std::vector<std::string> unknown = app.remaining();
    if (app.get_subcommands().empty() && !unknown.empty() && unknown.front()[0] != '-') {
      return CommandLineExit{kExitUsage, "unknown command '" + unknown.front() + "'; see `lanista --help`"};
    }
    return CommandLineExit{kExitUsage, std::string(error.what()) + "; see `lanista --help`"};
  }
  if (line.command.empty()) return CommandLineExit{kExitUsage, "name a command; see `lanista --help`"};
  return line;
}

}  // namespace lanista

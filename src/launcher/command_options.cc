#include "src/launcher/command_options.h"

#include <cstdint>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "src/exporters/common/formats.h"

namespace lanista {
namespace {

constexpr char kPageCertificate[] = "serve the page by HTTPS; its certificate (PEM)";

// Of the options that say how to get to a head.
constexpr char kHeadGroup[] = "With --head";

// Adds the commands, a group after the other. What CLI11 keeps refers to `line`, and never to this object.
class CommandAdder {
 public:
  CommandAdder(CLI::App* app, CommandLine* line) : app_(*app), line_(*line) {}

  void AddGlobalOptions() {
    app_.add_option("--state-dir", line_.state_dir, "where experiments keep their journals")->capture_default_str();
    app_.add_option("--log-level", line_.log_level, "what stderr shows: trace, debug, info, warn, error or off")
        ->check(CLI::IsMember({"trace", "debug", "info", "warn", "error", "off"}));
    app_.add_flag("--json", line_.json, "one JSON document on stdout");
    app_.add_option(
            "--set", line_.overrides,
            "path.to.field=value: overrides a field of CONFIG, or of what `resume` goes on with; may be repeated")
        ->allow_extra_args(false);
    app_.add_option("--trial-program", line_.trial_program,
                    "the program that runs trials; default: lanista-trial beside this one");
  }

  void AddExperimentCommands() {
    CLI::App* const run = AddConfigCommand("run", "run an experiment to its end on this machine's devices");
    AddDurable(run);
    AddData(run);
    AddLabels(run);
    AddRunPage(run);
    CLI::Option* const certificate =
        AddCertificate(run, "encrypt; the certificate (PEM) of the page and of the port for nodes");
    AddInsecure(run);
    AddNodePort(run);
    AddNodeAccess(run, certificate);
    run->add_option("--token-file", line_.safety.token_file,
                    "clients, which can look at it, need one of the tokens in it");
    CLI::App* const resume = AddExperimentCommand(
        "resume", "go on with an experiment that was interrupted or stopped, or that may have higher limits (--set)");
    AddDurable(resume);
    AddData(resume);
    AddLabels(resume);
    CLI::Option* const head_to_resume = AddHead(resume);
    AddRunPage(resume);
    AddNodePort(resume);
    // Without --head they are those of the page and of the port for nodes.
    for (const char* option : {"--insecure", "--tls-cert", "--token-file"}) {
      resume->get_option(option)->remove_needs(head_to_resume);
    }
    resume->get_option("--insecure")
        ->description("send the token, or let the page and the port for nodes be reached, elsewhere even without TLS");
    resume->get_option("--tls-cert")
        ->description(
            "encrypt; the own certificate (PEM): of the page and of the port for nodes, or the one that a head wants");
    resume->get_option("--token-file")
        ->description(
            "with --head a file that begins with the token to send (default: LANISTA_TOKEN_FILE names it); without, "
            "clients, which can look at the port for nodes, need one of the tokens in it");
    AddNodeAccess(resume, resume->get_option("--tls-cert"));
    // Of a head that begins with the search.
    for (const char* option : {"--tls-client-ca", "--node-token-file", "--durable", "--data", "--label", "--web",
                               "--web-stay", "--web-token", "--web-host", "--listen", "--keep-free"}) {
      resume->get_option(option)->excludes(head_to_resume);
    }
    CLI::App* const validate =
        AddConfigCommand("validate", "check a configuration, print the space's choices and its size; run nothing");
    AddData(validate);
    AddLabels(validate);
    validate->add_flag("--explain-cgo", line_.explain_cgo,
                       "show what models of the engine `cgo` would share, what not, and why");
    validate->add_option("--samples", line_.samples, "--explain-cgo: how many models, as the strategy proposes them")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str();
    AddHead(AddCommand("list", "all experiments"));
    AddHead(AddExperimentCommand("show", "an experiment: state, counts, the best models"));
    CLI::App* const trials =
        AddExperimentCommand("trials", "all models of an experiment with their attempts and metrics");
    AddHead(trials);
    CLI::Option* const sort = trials->add_option("--sort", line_.trials.sort, "model (default), best or duration");
    sort->check(CLI::IsMember({"model", "best", "duration"}));
    CLI::Option* const status =
        trials->add_option("--status", line_.trials.status, "only models of this status: SUCCEEDED, FAILED, ...")
            ->check(CLI::IsMember(
                {"QUEUED", "RUNNING", "INTERRUPTED", "SUCCEEDED", "FAILED", "STOPPED_EARLY", "INFEASIBLE", "CANCELED"},
                CLI::ignore_case));
    CLI::Option* const csv =
        trials->add_flag("--csv", line_.csv, "the models that succeeded as a table, which the evaluator `table` reads")
            ->excludes(status);
    CLI::Option* const log =
        trials->add_flag("--log", line_.log, "what the trials of these models printed, each with its last attempt")
            ->excludes(csv);
    CLI::Option* const model =
        trials->add_option("--model", line_.log_models, "--log: of this model alone; may be repeated")
            ->check(CLI::Range(1, 1000000000))
            ->allow_extra_args(false)
            ->needs(log);
    trials->add_option("--attempt", line_.log_attempt, "--log --model: of this attempt")
        ->check(CLI::Range(1, 1000000000))
        ->needs(model);
    trials->add_flag("--merged", line_.merged, "what models of the engine `cgo` shared, what fell back, and why")
        ->excludes(csv)
        ->excludes(log)
        ->excludes(status)
        ->excludes(sort);
    CLI::Option* const limit =
        trials->add_option("--limit", line_.trials.limit, "at most so many models")->check(CLI::Range(1, 1000000000));
    trials->get_option("--merged")->excludes(limit);
    CLI::App* const export_command = AddExperimentCommand("export", "write the best models to files");
    export_command->add_option("--top", line_.top, "how many")->check(CLI::Range(1, 1000000))->capture_default_str();
    export_command->add_option("--format", line_.format, absl::StrCat("one of ", exporters::FormatNames()))
        ->capture_default_str();
    export_command->add_flag("--untrained", line_.untrained,
                             "also models whose trained weights were not kept, with their initial ones");
    AddData(export_command);
    // A head has data of its own.
    export_command->get_option("--data")->excludes(AddHead(export_command));
    export_command->add_option("--out", line_.out, "the folder for the files")->capture_default_str();
    CLI::App* const delete_command = AddExperimentCommand("delete", "delete an experiment with all its files");
    delete_command->add_flag("--yes", line_.yes, "do not ask; needed where stdin is no terminal");
    AddHead(delete_command);
    AddHead(AddExperimentCommand("watch", "show the progress of an experiment until its end"));
    CLI::App* const web = AddCommand("web", "the web page of all experiments in the state folder");
    web->add_option("--listen", line_.web, "where browsers find it; port 0: any free one (default: 127.0.0.1:8081)");
    AddPageAccess(web);
    AddCertificate(web, kPageCertificate);
    AddInsecure(web);
  }

  // Commands that only a head can do.
  void AddHeadCommands() {
    CLI::App* const serve =
        AddCommand("serve", "run the experiments of clients, on this machine's devices and on nodes");
    serve->add_option("--listen", line_.listen, "where clients find it; port 0: any free one")->capture_default_str();
    serve->add_option("--head-file", line_.head_file, "also write the address into this file");
    CLI::Option* const certificate =
        AddCertificate(serve, "encrypt; the head's certificate (PEM), and the page's unless it stays on this machine");
    serve
        ->add_option("--tls-client-ca", line_.safety.tls_client_ca,
                     "clients and nodes need a certificate of one of these authorities (PEM)")
        ->needs(certificate);
    serve->add_option("--token-file", line_.safety.token_file, "clients need one of the tokens in it, one a line");
    serve->add_option("--node-token-file", line_.safety.node_token_file,
                      "nodes need one of the tokens in it, one a line");
    serve->add_flag("--insecure", line_.insecure,
                    "listen elsewhere than on this machine without TLS and token: whoever reaches it can run programs "
                    "as you");
    serve->add_option("--max-experiments", line_.max_experiments, "clients may fill the state folder with so many")
        ->check(CLI::Range(1, 1000000))
        ->capture_default_str();
    AddSize(serve, "--upload-limit", &line_.upload_limit, "1GB",
            "how much an experiment's files may have that its client uploads");
    AddSize(serve, "--upload-space", &line_.upload_space, "20GB", "how much uploaded files may have, all together");
    AddKeepFree(serve);
    AddPage(serve);
    AddDevices(serve);
    AddData(serve);
    AddLabels(serve);
    serve->add_option("--config", line_.config,
                      "the head's own configuration: training_service blocks, also for nodes that it asks for itself");
    serve
        ->add_option("--lost-after", line_.lost_after,
                     "seconds without a word of a node after which what it ran runs elsewhere")
        ->check(CLI::Range(1, 1000000))
        ->capture_default_str();
    serve->add_option("--max-priority", line_.max_priority, "experiments that ask for a higher `priority` get this one")
        ->check(CLI::Range(-1000, 1000))
        ->capture_default_str();
    CLI::App* const submit = AddConfigCommand("submit", "send an experiment to a head and print its id");
    AddHead(submit)->required();
    submit->add_flag("--watch", line_.watch, "show its progress until its end");
    submit->add_flag("--upload", line_.upload,
                     "upload all files that it names, also those which the head sees under the same path");
    submit->add_option("--request-id", line_.request_id,
                       "the same one makes the same experiment, however often it is sent; default: a new one");
    AddHead(AddExperimentCommand("stop", "stop an experiment that a head runs"))->required();
    CLI::App* const node = AddCommand("node", "offer this machine's devices to a head");
    CLI::Option* const head_of_node = AddHead(node);
    node->add_option("--head-file", line_.head_file,
                     "instead of --head: the file that `serve --head-file` writes, read anew at each dial")
        ->excludes(head_of_node);
    for (CLI::Option* option : node->get_options({})) {
      if (option->get_group() == kHeadGroup) option->remove_needs(head_of_node);
    }
    node->callback([line = &line_] {
      line->command = "node";
      if (line->head.empty() && line->head_file.empty()) throw CLI::RequiredError("--head or --head-file");
    });
    AddDevices(node);
    node->add_option("--name", line_.name, "what the head calls it; default: the machine's name");
    node->add_option("--cache-dir", line_.cache_dir,
                     "where copies of the head's files are kept, if this machine does not see them")
        ->capture_default_str();
    AddSize(node, "--cache-size", &line_.cache_size, "20GB", "how large these copies may be together: 500MB, 2TB");
    AddData(node);
    AddLabels(node);
    node->add_option("--give-up-after", line_.give_up_after,
                     "seconds without a head after which what runs here, and the node, are ended")
        ->check(CLI::Range(1, 100000000))
        ->capture_default_str();
    AddHead(AddCommand("nodes", "the nodes of a head"))->required();
    CLI::App* const drain = AddCommand("drain", "give a node no new work, and send it home when its own has ended");
    drain->add_option("NODE", line_.node, "its name, as `nodes` shows it")->required();
    AddHead(drain)->required();
  }

  void AddGraphCommands() {
    AddGraphCommand("import", "read a TorchScript file as a graph")
        ->add_option("--out", line_.out, "the graph file: .textproto, .json, or binary")
        ->required();
    CLI::App* const convert = AddGraphCommand("convert", "write a graph's model in another form");
    convert
        ->add_option("--format", line_.format,
                     absl::StrCat(exporters::FormatNames({v1::ExportFormat::GRAPH}), ", or text, json, binary"))
        ->required();
    convert->add_option("--out", line_.out, "path of the files, without a suffix")->required();
    convert->add_option("--weights", line_.weights, "keep the imported ones, or init: draw new ones")
        ->check(CLI::IsMember({"keep", "init"}))
        ->capture_default_str();
    AddGraphCommand("show-graph", "a graph as a tree, with shapes, parameters and FLOPs")
        ->add_option("--svg", line_.svg, "also draw it into this file (needs Graphviz's `dot`)");
  }

  void AddInit() {
    CLI::App* const init = AddCommand(
        "init", "write a project of your own, ready to build: a space, data, an evaluator, a strategy and tests");
    init->add_option("DIR", line_.folder, "the folder of the project; it must not exist, or be empty")->required();
    init->add_option("--build", line_.build_tool, "what builds it: cmake, with an installed Lanista, or bazel")
        ->check(CLI::IsMember({"cmake", "bazel"}))
        ->capture_default_str();
    init->add_option("--source", line_.source, "--build bazel: the folder of Lanista's sources");
  }

 private:
  CLI::App* AddCommand(const char* name, const char* description) {
    return lanista::AddCommand(name, description, &app_, &line_);
  }

  CLI::App* AddConfigCommand(const char* name, const char* description) {
    CLI::App* const command = AddCommand(name, description);
    command->add_option("CONFIG", line_.config, "the experiment: protobuf text, or JSON (.json)")->required();
    return command;
  }

  CLI::App* AddExperimentCommand(const char* name, const char* description) {
    CLI::App* const command = AddCommand(name, description);
    command
        ->add_option("ID", line_.experiment,
                     "the experiment: its id as `list` shows it, a beginning that no other id has, or `latest`")
        ->required();
    return command;
  }

  CLI::App* AddGraphCommand(const char* name, const char* description) {
    CLI::App* const command = AddCommand(name, description);
    command->add_option("FILE", line_.file, "a graph (.graph, .textproto, .json) or a TorchScript file (.pt)")
        ->required();
    command
        ->add_option("--basic-unit", line_.basic_units,
                     "TorchScript: keep modules of this class whole; may be repeated")
        ->allow_extra_args(false);
    command->add_option("--input-shape", line_.input_shapes, "1,3,224,224 (-1: any size), once for each input")
        ->allow_extra_args(false);
    return command;
  }

  // --head, and what it takes to get in there.
  CLI::Option* AddHead(CLI::App* command) {
    SafetyOptions& safety = line_.safety;
    CLI::Option* const head = command->add_option("--head", line_.head, "HOST:PORT of a head (`serve`)");
    command->add_flag("--tls", safety.tls, "encrypt; the system knows the authority of the head's certificate")
        ->needs(head)
        ->group(kHeadGroup);
    command->add_option("--tls-ca", safety.tls_ca, "encrypt; the authority of the head's certificate (PEM)")
        ->needs(head)
        ->group(kHeadGroup);
    AddCertificate(command, "encrypt; the own certificate (PEM), where the head wants one")->needs(head);
    for (const char* option : {"--tls-cert", "--tls-key"}) command->get_option(option)->group(kHeadGroup);
    command
        ->add_option("--token-file", safety.token_file,
                     "a file that begins with the token to send; default: the one that LANISTA_TOKEN_FILE names")
        ->needs(head)
        ->group(kHeadGroup);
    command->add_flag("--insecure", line_.insecure, "send the token to another machine even without TLS")
        ->needs(head)
        ->group(kHeadGroup);
    return head;
  }

  // --tls-cert and --tls-key.
  CLI::Option* AddCertificate(CLI::App* command, const char* description) {
    CLI::Option* const certificate = command->add_option("--tls-cert", line_.safety.tls_cert, description);
    CLI::Option* const key = command->add_option("--tls-key", line_.safety.tls_key, "the certificate's key (PEM)");
    key->needs(certificate);
    return certificate->needs(key);
  }

  // Where this machine has data.
  void AddData(CLI::App* command) {
    command
        ->add_option("--data", line_.data,
                     "NAME=DIR: this machine has the data that configurations call data://NAME in this folder; may be "
                     "repeated")
        ->allow_extra_args(false);
  }

  // What this machine is called by experiments that require it.
  void AddLabels(CLI::App* command) {
    command
        ->add_option("--label", line_.labels,
                     "KEY=VALUE: a label of this machine, for experiments that require it (requirements.node_labels); "
                     "may be repeated")
        ->allow_extra_args(false);
  }

  void AddSize(CLI::App* command, const char* option, uint64_t* bytes, const char* by_default,
               const char* description) {
    command->add_option(option, *bytes, description)
        ->transform(CLI::AsSizeValue(/*kb_is_1000=*/false))
        ->check(CLI::Range(uint64_t{1} << 20, uint64_t{1} << 50))
        ->default_str(by_default);
  }

  void AddDurable(CLI::App* command) {
    command->add_flag("--durable", line_.durable,
                      "lose nothing to power loss, either: wait for the disk with each record");
  }

  void AddInsecure(CLI::App* command) {
    command->add_flag(
        "--insecure", line_.insecure,
        "let a port be reached from other machines without TLS or token: whoever reaches it, or sees what is sent, "
        "can do what it can");
  }

  // How the page may be reached.
  void AddPageAccess(CLI::App* command) {
    command
        ->add_option("--web-token", line_.web_token,
                     "none: whoever reaches the page may see and do everything; on this machine only")
        ->check(CLI::IsMember({"none"}));
    command->add_option("--web-host", line_.web_hosts, "another name that browsers reach the page by; may be repeated")
        ->allow_extra_args(false);
  }

  // A page beside what the command does.
  void AddPage(CLI::App* command) {
    CLI::Option* const web =
        command->add_option("--web", line_.web, "[HOST:]PORT of a web page that shows it; port 0: any free one");
    AddPageAccess(command);
    for (const char* option : {"--web-token", "--web-host"}) command->get_option(option)->needs(web);
  }

  // Where the nodes of a search come in.
  void AddNodePort(CLI::App* command) {
    const CLI::Option* const listen = command->add_option(
        "--listen", line_.listen,
        "where nodes find it that it asks for (training_service); default: any free port of this machine");
    command->callback([line = &line_, command, listen] {
      line->command = command->get_name();
      if (listen->count() == 0) line->listen = "127.0.0.1:0";
    });
  }

  // What the nodes of a search need to join.
  void AddNodeAccess(CLI::App* command, CLI::Option* certificate) {
    command
        ->add_option("--tls-client-ca", line_.safety.tls_client_ca,
                     "nodes need a certificate of one of these authorities (PEM)")
        ->needs(certificate);
    command->add_option("--node-token-file", line_.safety.node_token_file,
                        "nodes need one of the tokens in it, one a line");
    AddKeepFree(command);
  }

  void AddKeepFree(CLI::App* command) {
    AddSize(command, "--keep-free", &line_.keep_free, "1GB",
            "how much of the state folder's disk stays free for journals: what nodes deliver waits there meanwhile");
  }

  void AddRunPage(CLI::App* command) {
    AddPage(command);
    command->add_flag("--web-stay", line_.web_stay, "keep the page open after the end, until Ctrl-C")
        ->needs(command->get_option("--web"));
  }

  void AddDevices(CLI::App* command) {
    command->add_option("--cpu-slots", line_.cpu_slots, "CPU devices; default: as `run` has")
        ->check(CLI::Range(0, 4096));
    command->add_option("--gpus", line_.gpus, "GPUs, for example 0,1; default: none")->delimiter(',');
  }

  CLI::App& app_;
  CommandLine& line_;
};

}  // namespace

CLI::App* AddCommand(const char* name, const char* description, CLI::App* app, CommandLine* line) {
  return app->add_subcommand(name, description)->group("Commands")->callback([line, name] { line->command = name; });
}

void AddCommands(CLI::App* app, CommandLine* line) {
  CommandAdder adder(app, line);
  adder.AddGlobalOptions();
  adder.AddExperimentCommands();
  adder.AddHeadCommands();
  adder.AddGraphCommands();
  adder.AddInit();
  AddCommand("devices", "what this machine offers", app, line);
  AddCommand("version", "versions of Lanista and of what it stands on", app, line);
}

}  // namespace lanista

// The commands that read journals: list, show, trials, export, delete.
#include <unistd.h>

#include <functional>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "nlohmann/json.hpp"
#include "src/base/display_text.h"
#include "src/base/status.h"
#include "src/config/paths.h"
#include "src/exporters/results/exporter.h"
#include "src/launcher/commands.h"
#include "src/launcher/console.h"
#include "src/launcher/exit_codes.h"
#include "src/launcher/export_models.h"
#include "src/launcher/head_connection.h"
#include "src/launcher/interrupt_note.h"
#include "src/storage/find_experiment.h"
#include "src/storage/journal.h"
#include "src/storage/state_dir.h"
#include "src/views/documents.h"
#include "src/views/merged_view.h"
#include "src/views/tables.h"
#include "src/views/trials_csv.h"
#include "src/views/trials_document.h"

namespace lanista {
namespace {

using Json = nlohmann::ordered_json;

absl::StatusOr<JournalReader> OpenExperiment(const CommandContext& context) {
  LANISTA_ASSIGN_OR_RETURN(const std::string root, context.state_dir);
  const StateDir state_dir = StateDir::OpenReadOnly(root);
  LANISTA_ASSIGN_OR_RETURN(const std::string id, FindExperiment(state_dir, context.line.experiment));
  LANISTA_ASSIGN_OR_RETURN(const std::string folder, state_dir.ExperimentFolder(id));
  return JournalReader::Open(folder);
}

// "digits-k3f9 (DONE, 18 models)"; only the id if the journal cannot be read.
std::string Described(const std::string& id, const absl::StatusOr<Json>& document) {
  if (!document.ok()) return id;
  return absl::StrCat(id, " (", (*document)["status"].get<std::string>(), ", ",
                      Counted((*document)["models"]["total"].get<int>(), "model"), ")");
}

// Of an experiment in the state folder.
absl::StatusOr<Json> DocumentOf(const StateDir& state_dir, const std::string& id) {
  LANISTA_ASSIGN_OR_RETURN(const std::string folder, state_dir.ExperimentFolder(id));
  LANISTA_ASSIGN_OR_RETURN(const JournalReader reader, JournalReader::Open(folder));
  return ShowDocument(reader);
}

// Asks the user on the terminal, even if stdout is none. INVALID_ARGUMENT: there is no terminal.
absl::StatusOr<bool> Ask(const std::string& question) {
  if (isatty(STDIN_FILENO) == 0 || isatty(STDERR_FILENO) == 0) {
    return absl::InvalidArgumentError("nobody can be asked whether to delete it: add --yes to delete it unasked");
  }
  PrintQuestion(absl::StrCat(question, " [y/N] "));
  std::string answer;
  std::getline(std::cin, answer);
  answer = absl::AsciiStrToLower(absl::StripAsciiWhitespace(answer));
  return answer == "y" || answer == "yes";
}

// Prints a document as JSON, or its form for people.
int Print(const CommandContext& context, const Json& document, std::string (*text)(const Json&, int width)) {
  if (context.line.json) {
    PrintJson(document);
  } else {
    PrintText(text(document, OutputWidth()));
  }
  return kExitDone;
}

// `export --head`. Returns the paths of the files.
absl::StatusOr<std::vector<std::string>> ExportOfHead(const CommandContext& context, const std::string& out,
                                                      const std::function<void(const std::string&)>& warn) {
  LANISTA_ASSIGN_OR_RETURN(const std::unique_ptr<HeadClient> head, ConnectToHead(context));
  v1::DownloadRequest request;
  request.set_experiment(context.line.experiment);
  request.set_top(context.line.top);
  request.set_format(context.line.format);
  request.set_untrained(context.line.untrained);
  return ExportFromHead(*head, request, out, warn);
}

// `trials --csv`: a TrialsCsvDocument.
int PrintCsv(const Json& document) {
  PrintText(absl::StrJoin(document["lines"].get<std::vector<std::string>>(), "\n"));
  const auto left_out = document["left_out"].get<int64_t>();
  if (left_out > 0) {
    PrintNote(absl::StrCat(Counted(left_out, "model"), " did not succeed and ", left_out == 1 ? "is" : "are",
                           " not in the table"));
  }
  return kExitDone;
}

}  // namespace

absl::StatusOr<int> ListExperiments(const CommandContext& context) {
  if (!context.line.head.empty()) {
    LANISTA_ASSIGN_OR_RETURN(const std::unique_ptr<HeadClient> head, ConnectToHead(context));
    LANISTA_ASSIGN_OR_RETURN(const Json document, head->ListAll());
    return Print(context, document, ListText);
  }
  ViewOptions options;
  options.now = absl::Now();
  LANISTA_ASSIGN_OR_RETURN(const std::string root, context.state_dir);
  LANISTA_ASSIGN_OR_RETURN(const Json document, ListDocument(StateDir::OpenReadOnly(root), options));
  return Print(context, document, ListText);
}

absl::StatusOr<int> ShowExperiment(const CommandContext& context) {
  if (!context.line.head.empty()) {
    LANISTA_ASSIGN_OR_RETURN(const std::unique_ptr<HeadClient> head, ConnectToHead(context));
    LANISTA_ASSIGN_OR_RETURN(const HeadExperiment experiment, GetFromHead(*head, context.line.experiment));
    return Print(context, experiment.document, ShowText);
  }
  LANISTA_ASSIGN_OR_RETURN(const JournalReader reader, OpenExperiment(context));
  ViewOptions options;
  options.now = absl::Now();
  LANISTA_ASSIGN_OR_RETURN(const Json document, ShowDocument(reader, options));
  return Print(context, document, ShowText);
}

absl::StatusOr<int> ShowTrials(const CommandContext& context) {
  if (context.line.log) return ShowTrialLogs(context);
  if (context.line.csv && context.line.json) {
    return absl::InvalidArgumentError("--csv and --json exclude each other: take one of them");
  }
  const TrialsSelection& selection = context.line.trials;
  TrialsCsvOptions csv;
  csv.for_terminal = isatty(STDOUT_FILENO) != 0;
  if (!context.line.head.empty()) {
    LANISTA_ASSIGN_OR_RETURN(const std::unique_ptr<HeadClient> head, ConnectToHead(context));
    v1::ListTrialsRequest request;
    request.set_experiment(context.line.experiment);
    request.set_sort(selection.sort);
    request.set_status(selection.status);
    request.set_limit(selection.limit);
    if (context.line.merged) request.set_view(v1::ListTrialsRequest::MERGED);
    if (context.line.csv) request.set_view(v1::ListTrialsRequest::CSV);
    request.set_for_terminal(csv.for_terminal);
    if (context.line.json && !context.line.csv) {
      JsonPrinter printer;
      LANISTA_RETURN_IF_ERROR(head->ListTrials(request, [&printer](Json part) { printer.Add(std::move(part)); }));
      printer.Print();
      return kExitDone;
    }
    LANISTA_ASSIGN_OR_RETURN(const Json document, head->ListTrials(request));
    if (context.line.csv) return PrintCsv(document);
    return Print(context, document, context.line.merged ? MergedTrialsText : TrialsText);
  }
  LANISTA_ASSIGN_OR_RETURN(const JournalReader reader, OpenExperiment(context));
  if (context.line.merged) {
    LANISTA_ASSIGN_OR_RETURN(const Json merged, MergedTrialsDocument(reader));
    return Print(context, merged, MergedTrialsText);
  }
  if (context.line.csv) {
    LANISTA_ASSIGN_OR_RETURN(const Json table, TrialsCsvDocument(reader, selection.limit, selection.sort, csv));
    return PrintCsv(table);
  }
  LANISTA_ASSIGN_OR_RETURN(const Json document,
                           TrialsDocument(reader, {selection.status, selection.limit, selection.sort}));
  return Print(context, document, TrialsText);
}

absl::StatusOr<int> ExportModels(const CommandContext& context) {
  const InterruptNote interrupted("interrupted: a file that was not finished was not written");
  LANISTA_ASSIGN_OR_RETURN(const std::string out, ResolvePath(context.line.out, UserDirectory()));
  const auto warn = [](const std::string& warning) { PrintWarning(warning); };
  std::vector<std::string> files;
  if (!context.line.head.empty()) {
    LANISTA_ASSIGN_OR_RETURN(files, ExportOfHead(context, out, warn));
  } else {
    LANISTA_ASSIGN_OR_RETURN(const JournalReader reader, OpenExperiment(context));
    const ExportOptions options{context.line.top, context.line.format, out, context.line.untrained};
    LANISTA_ASSIGN_OR_RETURN(files, ExportWithTrialProgram(reader, options, context.trial_program, warn));
  }
  return Print(context, {{"files", files}}, [](const Json& document, int) {
    std::string text;
    for (const Json& file : document["files"]) absl::StrAppend(&text, Printable(file.get<std::string>()), "\n");
    return text;
  });
}

absl::StatusOr<int> DeleteExperiment(const CommandContext& context) {
  std::unique_ptr<HeadClient> head;
  std::string id;
  std::string described;
  std::optional<StateDir> state_dir;
  if (!context.line.head.empty()) {
    LANISTA_ASSIGN_OR_RETURN(head, ConnectToHead(context));
    LANISTA_ASSIGN_OR_RETURN(const HeadExperiment experiment, GetFromHead(*head, context.line.experiment));
    id = experiment.document["id"].get<std::string>();
    described = absl::StrCat(Described(id, experiment.document), " of ", context.line.head);
  } else {
    LANISTA_ASSIGN_OR_RETURN(const std::string root, context.state_dir);
    state_dir = StateDir::OpenReadOnly(root);
    LANISTA_ASSIGN_OR_RETURN(id, FindExperiment(*state_dir, context.line.experiment));
    described = Described(id, DocumentOf(*state_dir, id));
  }
  if (!context.line.yes) {
    LANISTA_ASSIGN_OR_RETURN(const bool agreed, Ask(absl::StrCat("delete ", described, " with all its files?")));
    if (!agreed) return absl::CancelledError("nothing was deleted");
  }
  if (head != nullptr) {
    v1::DeleteExperimentRequest request;
    request.set_experiment(id);
    LANISTA_RETURN_IF_ERROR(head->Delete(request).status());
  } else {
    LANISTA_RETURN_IF_ERROR(RemoveExperiment(*state_dir, id));
  }
  return Print(context, {{"deleted", id}}, [](const Json& document, int) {
    return absl::StrCat("deleted ", Printable(document["deleted"].get<std::string>()), "\n");
  });
}

}  // namespace lanista

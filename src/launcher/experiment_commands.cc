// list, show, trials, export, delete: what journals tell.
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "nlohmann/json.hpp"
#include "src/base/status.h"
#include "src/config/paths.h"
#include "src/exporters/exporter.h"
#include "src/launcher/commands.h"
#include "src/launcher/exit_codes.h"
#include "src/launcher/trial_session.h"
#include "src/storage/journal.h"
#include "src/storage/state_dir.h"
#include "src/views/documents.h"
#include "src/views/tables.h"

namespace lanista {
namespace {

using Json = nlohmann::ordered_json;

absl::StatusOr<JournalReader> OpenExperiment(const CommandContext& context) {
  LANISTA_ASSIGN_OR_RETURN(const std::string root, context.state_dir);
  const StateDir state_dir = StateDir::OpenReadOnly(root);
  LANISTA_ASSIGN_OR_RETURN(const std::string folder, state_dir.ExperimentFolder(context.line.experiment));
  absl::StatusOr<JournalReader> reader = JournalReader::Open(folder);
  if (!absl::IsNotFound(reader.status())) return reader;
  return absl::NotFoundError(absl::StrCat("there is no experiment '", context.line.experiment, "' in ", root,
                                          "; `lanista list` shows those that are there"));
}

// Prints a document, or what people see of it.
int Print(const CommandContext& context, const Json& document, std::string (*text)(const Json&)) {
  if (context.line.json) {
    std::puts(ToText(document).c_str());
  } else {
    std::fputs(text(document).c_str(), stdout);
  }
  return kExitDone;
}

}  // namespace

absl::StatusOr<int> ListExperiments(const CommandContext& context) {
  ViewOptions options;
  options.now = absl::Now();
  LANISTA_ASSIGN_OR_RETURN(const std::string root, context.state_dir);
  LANISTA_ASSIGN_OR_RETURN(const Json document, ListDocument(StateDir::OpenReadOnly(root), options));
  return Print(context, document, ListText);
}

absl::StatusOr<int> ShowExperiment(const CommandContext& context) {
  LANISTA_ASSIGN_OR_RETURN(const JournalReader reader, OpenExperiment(context));
  ViewOptions options;
  options.now = absl::Now();
  LANISTA_ASSIGN_OR_RETURN(const Json document, ShowDocument(reader, options));
  return Print(context, document, ShowText);
}

absl::StatusOr<int> ShowTrials(const CommandContext& context) {
  LANISTA_ASSIGN_OR_RETURN(const JournalReader reader, OpenExperiment(context));
  LANISTA_ASSIGN_OR_RETURN(const Json document, TrialsDocument(reader));
  return Print(context, document, TrialsText);
}

absl::StatusOr<int> ExportModels(const CommandContext& context) {
  LANISTA_ASSIGN_OR_RETURN(const JournalReader reader, OpenExperiment(context));
  LANISTA_ASSIGN_OR_RETURN(const std::string out, ResolvePath(context.line.out, UserDirectory()));
  std::unique_ptr<TrialSession> session;
  const GraphConverter convert = [&](const v1::Convert& request) -> absl::StatusOr<std::vector<std::string>> {
    if (session == nullptr) {
      LANISTA_ASSIGN_OR_RETURN(session, TrialSession::Start(context.trial_program));
    }
    return session->Convert(request);
  };
  LANISTA_ASSIGN_OR_RETURN(const std::vector<std::string> files,
                           ExportBest(reader, context.line.top, context.line.format, out, convert));
  return Print(context, {{"files", files}}, [](const Json& document) {
    std::string text;
    for (const Json& file : document["files"]) absl::StrAppend(&text, file.get<std::string>(), "\n");
    return text;
  });
}

absl::StatusOr<int> DeleteExperiment(const CommandContext& context) {
  LANISTA_ASSIGN_OR_RETURN(const std::string root, context.state_dir);
  LANISTA_RETURN_IF_ERROR(RemoveExperiment(StateDir::OpenReadOnly(root), context.line.experiment));
  return Print(context, {{"deleted", context.line.experiment}}, [](const Json& document) {
    return absl::StrCat("deleted ", document["deleted"].get<std::string>(), "\n");
  });
}

}  // namespace lanista

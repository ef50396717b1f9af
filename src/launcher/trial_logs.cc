// trials --log: what trials printed.
#include <unistd.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "nlohmann/json.hpp"
#include "src/base/display_text.h"
#include "src/base/status.h"
#include "src/base/utf8.h"
#include "src/launcher/commands.h"
#include "src/launcher/console.h"
#include "src/launcher/exit_codes.h"
#include "src/launcher/head_connection.h"
#include "src/service/experiments.h"
#include "src/service/news.h"
#include "src/storage/state_dir.h"

namespace lanista {
namespace {

using Json = nlohmann::ordered_json;

// How much of a log is read at a time: the most that a head sends.
constexpr int kPartBytes = 1 << 20;

// Where logs come from: a head, or the state folder.
struct TrialSource {
  std::function<absl::StatusOr<Json>(const v1::ListTrialsRequest&)> list;
  std::function<absl::StatusOr<v1::GetTrialReply>(const v1::GetTrialRequest&)> get;
};

// The log of one attempt at a model.
struct Log {
  int model = 0;
  // 0: the model has had no attempt yet.
  int attempt = 0;
  // The model's.
  std::string status;
  std::string text;
};

absl::StatusOr<Log> ReadLog(const TrialSource& source, v1::GetTrialRequest request) {
  Log log;
  log.model = request.model();
  log.attempt = request.attempt();
  request.set_log_limit(kPartBytes);
  while (true) {
    request.set_log_offset(static_cast<int64_t>(log.text.size()));
    LANISTA_ASSIGN_OR_RETURN(const v1::GetTrialReply reply, source.get(request));
    if (request.attempt() == 0) {
      const Json model = Json::parse(reply.json(), nullptr, /*allow_exceptions=*/false);
      if (!model.is_object()) return absl::InternalError("the head's answer is no document");
      log.status = model.value("status", "");
      log.attempt = static_cast<int>(model.value("attempts", Json::array()).size());
      // The next parts must come from the same attempt, even if another one begins meanwhile.
      request.set_attempt(log.attempt);
    }
    log.text += reply.log();
    if (reply.log().empty() || static_cast<int64_t>(log.text.size()) >= reply.log_size()) return log;
  }
}

// On a terminal, lines without control characters; elsewhere as it was printed.
void PrintLog(const Log& log) {
  if (isatty(STDOUT_FILENO) == 0) {
    PrintText(log.text);
    if (!log.text.empty() && log.text.back() != '\n') PrintText("\n");
    return;
  }
  std::vector<std::string> lines = absl::StrSplit(log.text, '\n');
  if (lines.back().empty()) lines.pop_back();
  for (const std::string& line : lines) PrintLine(line);
}

// The models whose logs are asked for.
absl::StatusOr<std::vector<int>> SelectedModels(const CommandLine& line, const std::string& id,
                                                const TrialSource& source) {
  if (!line.log_models.empty()) return line.log_models;
  v1::ListTrialsRequest request;
  request.set_experiment(id);
  request.set_sort(line.trials.sort);
  request.set_status(line.trials.status);
  request.set_limit(line.trials.limit);
  LANISTA_ASSIGN_OR_RETURN(const Json document, source.list(request));
  std::vector<int> models;
  for (const Json& model : document["models"]) models.push_back(model["id"].get<int>());
  return models;
}

// `id`: the whole one, because "latest" may become another experiment between two logs.
absl::StatusOr<int> PrintLogs(const CommandLine& line, const std::string& id, const TrialSource& source) {
  LANISTA_ASSIGN_OR_RETURN(const std::vector<int> models, SelectedModels(line, id, source));
  Json logs = Json::array();
  for (const int model : models) {
    v1::GetTrialRequest request;
    request.set_experiment(id);
    request.set_model(model);
    request.set_attempt(line.log_attempt);
    LANISTA_ASSIGN_OR_RETURN(const Log log, ReadLog(source, request));
    if (line.json) {
      logs.push_back({{"model", log.model}, {"attempt", log.attempt}, {"log", ToUtf8(log.text)}});
      continue;
    }
    // A single log is printed unchanged, so that other programs can read it.
    if (line.log_models.size() != 1) {
      PrintLine(absl::StrCat("== model ", log.model, ", attempt ", log.attempt,
                             log.status.empty() ? "" : absl::StrCat(", ", log.status),
                             log.text.empty() ? ": nothing" : "", " =="));
    } else if (log.text.empty()) {
      PrintNote(absl::StrCat("model ", log.model, " printed nothing",
                             log.attempt == 0 ? ": it has not begun" : absl::StrCat(" in attempt ", log.attempt)));
    }
    PrintLog(log);
  }
  if (line.json) PrintJson({{"logs", std::move(logs)}});
  return kExitDone;
}

}  // namespace

absl::StatusOr<int> ShowTrialLogs(const CommandContext& context) {
  if (!context.line.head.empty()) {
    LANISTA_ASSIGN_OR_RETURN(const std::unique_ptr<HeadClient> head, ConnectToHead(context));
    LANISTA_ASSIGN_OR_RETURN(const HeadExperiment experiment, GetFromHead(*head, context.line.experiment));
    return PrintLogs(context.line, experiment.document["id"].get<std::string>(),
                     {[&head](const v1::ListTrialsRequest& request) { return head->ListTrials(request); },
                      [&head](const v1::GetTrialRequest& request) { return head->GetTrial(request); }});
  }
  LANISTA_ASSIGN_OR_RETURN(const std::string root, context.state_dir);
  News news;
  Experiments experiments(StateDir::OpenReadOnly(root), nullptr, &news);
  LANISTA_ASSIGN_OR_RETURN(const ExperimentPlace place, experiments.Locate(context.line.experiment));
  return PrintLogs(context.line, place.id,
                   {[&experiments](const v1::ListTrialsRequest& request) { return experiments.ListTrials(request); },
                    [&experiments](const v1::GetTrialRequest& request) { return experiments.GetTrial(request); }});
}

}  // namespace lanista

// submit, watch, stop, and resume on a head.
#include <condition_variable>
#include <cstdio>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "src/base/status.h"
#include "src/base/unique_id.h"
#include "src/config/config.h"
#include "src/launcher/commands.h"
#include "src/launcher/console.h"
#include "src/launcher/exit_codes.h"
#include "src/launcher/head_connection.h"
#include "src/launcher/interrupt_note.h"
#include "src/launcher/progress_view.h"
#include "src/launcher/results.h"
#include "src/launcher/sent_files.h"
#include "src/launcher/waiting_question.h"
#include "src/service/experiments.h"
#include "src/service/news.h"
#include "src/storage/state_dir.h"
#include "src/views/tables.h"

namespace lanista {
namespace {

using Json = nlohmann::ordered_json;

// An experiment that can be watched: on a head, or in the state folder.
struct Watched {
  std::function<absl::StatusOr<HeadExperiment>()> get;
  // Whether that says what it waits for.
  bool says_waiting = false;
  // Calls the function with each event, up to the end of the experiment.
  std::function<absl::Status(const std::function<void(const v1::ExperimentEvent&)>&)> follow;
};

// A wake-up that is kept until a thread waits for it.
class WakeUp {
 public:
  void Give() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      given_ = true;
    }
    changed_.notify_one();
  }
  void Take() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return given_; });
    given_ = false;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool given_ = false;
};

// All events of an experiment of the state folder.
absl::Status FollowHere(Experiments& experiments, const std::string& id,
                        const std::function<void(const v1::ExperimentEvent&)>& on_event) {
  v1::WatchRequest request;
  request.set_experiment(id);
  const auto wake_up = std::make_shared<WakeUp>();
  LANISTA_ASSIGN_OR_RETURN(const std::unique_ptr<ExperimentWatch> watch,
                           experiments.Watch(request, [wake_up] { wake_up->Give(); }));
  while (true) {
    LANISTA_ASSIGN_OR_RETURN(const ExperimentWatch::Batch batch, watch->Next());
    for (const v1::ExperimentEvent& event : batch.events) on_event(event);
    if (batch.ended) return absl::OkStatus();
    if (batch.events.empty()) wake_up->Take();
  }
}

// What an experiment waits for, from its document; empty: nothing, or it is not known.
std::string WaitingFor(const Json& document) {
  const auto waiting_for = document.find("waiting_for");
  return waiting_for != document.end() && waiting_for->is_string() ? waiting_for->get<std::string>() : "";
}

// Shows an experiment until its end, and then its results.
absl::StatusOr<int> WatchToEnd(const CommandContext& context, const Watched& watched) {
  const InterruptNote interrupted("interrupted: the experiment goes on");
  LANISTA_ASSIGN_OR_RETURN(const HeadExperiment before, watched.get());
  {
    std::optional<ProgressView> progress;
    std::optional<WaitingQuestion> waiting;
    if (!context.line.json) progress.emplace(before.config, StandardOutput());
    if (progress.has_value() && watched.says_waiting) {
      const auto ask = [&watched]() -> std::optional<std::string> {
        const absl::StatusOr<HeadExperiment> now = watched.get();
        if (!now.ok()) return std::nullopt;
        return WaitingFor(now->document);
      };
      waiting.emplace(WaitingFor(before.document), ask,
                      [&progress](const std::string& waiting_for) { progress->SetWaiting(waiting_for); });
    }
    LANISTA_RETURN_IF_ERROR(watched.follow([&](const v1::ExperimentEvent& event) {
      if (waiting.has_value()) waiting->OnEvent();
      if (progress.has_value()) progress->OnEvent(event);
    }));
  }
  LANISTA_ASSIGN_OR_RETURN(const HeadExperiment end, watched.get());
  if (context.line.json) {
    PrintJson(end.document);
  } else {
    PrintText(absl::StrCat("\n", ShowText(end.document, OutputWidth())));
  }
  if (end.document["status"] != "DONE") return kExitFailed;
  const std::string no_result = FindNoResult(end.document);
  if (!no_result.empty()) PrintError(no_result);
  return no_result.empty() ? kExitDone : kExitFailed;
}

absl::StatusOr<int> WatchOnHead(const CommandContext& context, HeadClient& head, const std::string& id) {
  return WatchToEnd(context, {[&] { return GetFromHead(head, id); }, /*says_waiting=*/true,
                              [&](const auto& on_event) {
                                v1::WatchRequest request;
                                request.set_experiment(id);
                                const auto follow = [&on_event](const v1::ExperimentEvent& event) {
                                  on_event(event);
                                  return true;
                                };
                                return FollowOnHead(head, &request, follow, PrintNote);
                              }});
}

int PrintId(const CommandContext& context, const std::string& id, const std::string& line) {
  if (context.line.json) {
    PrintJson({{"id", id}});
  } else {
    PrintLine(line);
  }
  return kExitDone;
}

}  // namespace

absl::StatusOr<int> SubmitExperiment(const CommandContext& context) {
  v1::CreateExperimentRequest request;
  LANISTA_ASSIGN_OR_RETURN(*request.mutable_config(), LoadConfig(context.line.config, context.line.overrides));
  request.set_request_id(context.line.request_id.empty() ? NewUniqueId() : context.line.request_id);
  LANISTA_ASSIGN_OR_RETURN(const std::unique_ptr<HeadClient> head, ConnectToHead(context));
  LANISTA_RETURN_IF_ERROR(SendFiles(*head, context.line.upload, &request));
  LANISTA_ASSIGN_OR_RETURN(const v1::CreateExperimentReply reply, head->Create(request));
  if (!context.line.watch) return PrintId(context, reply.experiment(), reply.experiment());
  if (!context.line.json) PrintLine(reply.experiment());
  // The progress display does not use stdio, so stdio is flushed first.
  std::fflush(stdout);
  return WatchOnHead(context, *head, reply.experiment());
}

absl::StatusOr<int> WatchExperiment(const CommandContext& context) {
  if (!context.line.head.empty()) {
    LANISTA_ASSIGN_OR_RETURN(const std::unique_ptr<HeadClient> head, ConnectToHead(context));
    LANISTA_ASSIGN_OR_RETURN(const HeadExperiment experiment, GetFromHead(*head, context.line.experiment));
    return WatchOnHead(context, *head, experiment.document["id"].get<std::string>());
  }
  LANISTA_ASSIGN_OR_RETURN(const std::string root, context.state_dir);
  News news;
  Experiments experiments(StateDir::OpenReadOnly(root), nullptr, &news);
  // Once: "latest" may be another one at its end.
  LANISTA_ASSIGN_OR_RETURN(const ExperimentPlace place, experiments.Locate(context.line.experiment));
  const auto get = [&]() -> absl::StatusOr<HeadExperiment> {
    v1::GetExperimentRequest request;
    request.set_experiment(place.id);
    LANISTA_ASSIGN_OR_RETURN(const v1::GetExperimentReply reply, experiments.Get(request));
    return HeadExperiment{Json::parse(reply.json()), reply.config()};
  };
  return WatchToEnd(context, {get, /*says_waiting=*/false,
                              [&](const auto& on_event) { return FollowHere(experiments, place.id, on_event); }});
}

absl::StatusOr<int> StopExperiment(const CommandContext& context) {
  LANISTA_ASSIGN_OR_RETURN(const std::unique_ptr<HeadClient> head, ConnectToHead(context));
  v1::StopExperimentRequest request;
  request.set_experiment(context.line.experiment);
  request.set_reason("stopped by the user");
  LANISTA_ASSIGN_OR_RETURN(const v1::StopExperimentReply reply, head->Stop(request));
  return PrintId(context, reply.experiment(), absl::StrCat("stopping ", reply.experiment()));
}

absl::StatusOr<int> ResumeOnHead(const CommandContext& context) {
  LANISTA_ASSIGN_OR_RETURN(const std::unique_ptr<HeadClient> head, ConnectToHead(context));
  v1::ResumeExperimentRequest request;
  request.set_experiment(context.line.experiment);
  for (const std::string& set : context.line.overrides) request.add_set(set);
  LANISTA_ASSIGN_OR_RETURN(const v1::ResumeExperimentReply reply, head->Resume(request));
  return PrintId(context, reply.experiment(), absl::StrCat(reply.experiment(), " goes on"));
}

}  // namespace lanista

#include "include/lanista/experiment.h"

#include <signal.h>

#include <mutex>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "nlohmann/json.hpp"
#include "src/api/head_calls.h"
#include "src/api/program.h"
#include "src/api/results.h"
#include "src/base/guard.h"
#include "src/base/logging.h"
#include "src/base/status.h"
#include "src/base/unique_id.h"
#include "src/base/utf8.h"
#include "src/config/config.h"
#include "src/config/paths.h"
#include "src/launcher/command_line.h"
#include "src/launcher/commands.h"
#include "src/launcher/export_models.h"
#include "src/launcher/head_connection.h"
#include "src/launcher/local_run.h"
#include "src/launcher/results.h"
#include "src/launcher/run_display.h"
#include "src/rpc/head_client.h"
#include "src/storage/journal.h"
#include "src/storage/state_dir.h"
#include "src/views/documents.h"

namespace lanista {
namespace {

using Json = nlohmann::ordered_json;

// Where messages of the command line name an option, this is the setting that stands for it.
CommandLine LineOf(const ExperimentSettings& settings) {
  CommandLine line;
  line.command = "run";
  line.state_dir = settings.state_dir;
  line.durable = settings.durable;
  line.web = settings.web;
  line.log_level = settings.log_level;
  return line;
}

absl::StatusOr<std::string> StateRoot(const ExperimentSettings& settings) {
  if (settings.state_dir.empty()) return absl::InvalidArgumentError("state_dir is empty; name a folder");
  absl::StatusOr<std::string> root = ResolvePath(settings.state_dir, UserDirectory());
  if (!root.ok()) return Annotate(root.status(), "state_dir");
  if (IsUtf8(*root)) return root;
  return absl::InvalidArgumentError(absl::StrCat("state_dir ", ToUtf8(*root), ": the name is not UTF-8"));
}

// The logger is the process's: the first experiment sets it up.
absl::Status SetUpLoggingOnce(const std::string& root, const std::string& level) {
  static std::mutex mutex;
  static bool done = false;
  const std::lock_guard<std::mutex> lock(mutex);
  if (done) return absl::OkStatus();
  LoggingOptions options;
  options.console_level = level;
  options.file = absl::StrCat(root, "/lanista.log");
  LANISTA_RETURN_IF_ERROR(SetUpLogging(options));
  done = true;
  return absl::OkStatus();
}

// Who leaves the page, or a node that goes, must not end the program.
void IgnoreBrokenPipes() {
  struct sigaction action = {};
  if (sigaction(SIGPIPE, nullptr, &action) == 0 && action.sa_handler == SIG_DFL) signal(SIGPIPE, SIG_IGN);
}

// What Wait returns of a search that nobody stopped.
absl::Status OutcomeOf(const Json& document) {
  if (document["status"] == "FAILED") {
    return absl::AbortedError(absl::StrCat("the experiment failed: ", document["reason"].get<std::string>()));
  }
  const std::string no_result = FindNoResult(document);
  if (no_result.empty()) return absl::OkStatus();
  if (document["failures"].empty()) return absl::AbortedError(no_result);
  const Json& failure = document["failures"][0];
  return absl::AbortedError(absl::StrCat(no_result, "; the most frequent failure is ",
                                         failure["reason"].get<std::string>(), ": ",
                                         failure["message"].get<std::string>()));
}

}  // namespace

class Experiment::Impl {
 public:
  Impl(v1::ExperimentConfig config, ExperimentSettings settings)
      : settings_(std::move(settings)), line_(LineOf(settings_)), config_(std::move(config)) {}

  // One that goes on.
  Impl(EarlierExperiment earlier, ExperimentSettings settings) : Impl(earlier.config, std::move(settings)) {
    id_ = earlier.id;
    earlier_ = std::move(earlier);
  }

  // The head first: its events reach the display, which reads its counters.
  ~Impl() {
    if (run_ != nullptr) run_->End();
    display_.reset();
  }

  absl::Status OnEvent(EventCallback callback) {
    LANISTA_ASSIGN_OR_RETURN(const Call call, Enter("OnEvent"));
    if (run_ != nullptr || head_ != nullptr) {
      return absl::FailedPreconditionError("Experiment::OnEvent: the experiment has started; call it before Start");
    }
    callback_ = std::move(callback);
    return absl::OkStatus();
  }

  absl::Status Start() {
    LANISTA_ASSIGN_OR_RETURN(const Call call, Enter("Start"));
    return DoStart();
  }

  absl::Status Wait() {
    LANISTA_ASSIGN_OR_RETURN(const Call call, Enter("Wait"));
    return DoWait();
  }

  absl::Status Run() {
    LANISTA_ASSIGN_OR_RETURN(const Call call, Enter("Run"));
    LANISTA_RETURN_IF_ERROR(DoStart());
    return DoWait();
  }

  absl::Status Submit(const HeadSettings& settings) {
    LANISTA_ASSIGN_OR_RETURN(const Call call, Enter("Submit"));
    LANISTA_RETURN_IF_ERROR(CheckNotStarted("Submit"));
    if (earlier_.has_value()) {
      return absl::FailedPreconditionError(
          "Experiment::Submit: this experiment is in the state folder of this process, and goes on by Start; "
          "lanista::Client::Resume, or `lanista resume ID --head H:P`, goes on with one of a head");
    }
    LANISTA_ASSIGN_OR_RETURN(v1::ExperimentConfig config, api::CheckedConfig(config_));
    LANISTA_ASSIGN_OR_RETURN(std::unique_ptr<HeadClient> head, api::ConnectTo(settings));
    LANISTA_ASSIGN_OR_RETURN(const std::string id, api::SubmitTo(*head, std::move(config), request_id_));
    watched_.set_experiment(id);
    const std::lock_guard<std::mutex> lock(mutex_);
    head_ = std::move(head);
    id_ = id;
    phase_ = Phase::kRunning;
    return absl::OkStatus();
  }

  absl::Status Stop(const std::string& reason) {
    v1::StopExperimentRequest request;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (phase_ == Phase::kNew) {
        return absl::FailedPreconditionError("Experiment::Stop: the experiment was not started");
      }
      if (phase_ == Phase::kEnded) return absl::OkStatus();
      stop_reason_ = reason;
      StopIfAsked();
      if (head_ == nullptr) return absl::OkStatus();
      stopped_ = true;
      request.set_experiment(id_);
      request.set_reason(reason);
    }
    // Once there is one, it stays.
    const absl::Status status = head_->Stop(request).status();
    if (!absl::IsFailedPrecondition(status)) return status;
    // It may have come to its end before Wait has seen it.
    const absl::StatusOr<ExperimentStatus> now = Status();
    v1::ExperimentState::State state;
    const bool has_ended = now.ok() && v1::ExperimentState::State_Parse(now->state, &state) && IsFinal(state);
    return has_ended ? absl::OkStatus() : status;
  }

  std::string id() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return id_;
  }

  std::string page_link() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return page_link_;
  }

  absl::StatusOr<JournalReader> OpenJournal() const {
    const std::string id = this->id();
    if (id.empty()) return absl::FailedPreconditionError("the experiment has not started: call Start or Run first");
    LANISTA_ASSIGN_OR_RETURN(const std::string root, StateRoot(settings_));
    LANISTA_ASSIGN_OR_RETURN(const std::string folder, StateDir::OpenReadOnly(root).ExperimentFolder(id));
    return JournalReader::Open(folder);
  }

  // The head that has it; nullptr: none has.
  HeadClient* Head() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return head_.get();
  }

  absl::StatusOr<ExperimentStatus> Status() const {
    LANISTA_ASSIGN_OR_RETURN(const Json document, Show(/*best=*/1));
    return api::StatusOf(document);
  }

  absl::StatusOr<std::vector<FoundModel>> TopModels(int k) const {
    if (HeadClient* const head = Head(); head != nullptr) return api::TopModelsFrom(*head, id(), k);
    LANISTA_ASSIGN_OR_RETURN(const Json document, Show(k));
    return api::BestOf(document);
  }

  // The document of `show`, with `best` models; a head decides itself how many.
  absl::StatusOr<Json> Show(int best) const {
    if (HeadClient* const head = Head(); head != nullptr) {
      LANISTA_ASSIGN_OR_RETURN(HeadExperiment got, GetFromHead(*head, id()));
      return std::move(got.document);
    }
    LANISTA_ASSIGN_OR_RETURN(const JournalReader journal, OpenJournal());
    ViewOptions options;
    options.best = best;
    options.now = absl::Now();
    return ShowDocument(journal, options);
  }

  absl::StatusOr<std::vector<std::string>> Export(const ExportSettings& settings) const {
    if (HeadClient* const head = Head(); head != nullptr) return api::ExportFrom(*head, id(), settings);
    LANISTA_ASSIGN_OR_RETURN(const JournalReader journal, OpenJournal());
    LANISTA_ASSIGN_OR_RETURN(const TrialProgram program, api::ThisProgram());
    LANISTA_ASSIGN_OR_RETURN(const std::string out, ResolvePath(settings.out, UserDirectory()));
    return ExportWithTrialProgram(journal, {settings.top, settings.format, out, settings.untrained}, program,
                                  [](const std::string& warning) { LogWarning("export: {}", warning); });
  }

 private:
  enum class Phase { kNew, kStarting, kRunning, kEnded };

  // A call that is for one thread at a time is under way, as long as this lives.
  class Call {
   public:
    explicit Call(Impl* impl) : impl_(impl) {}
    ~Call() {
      if (impl_ == nullptr) return;
      const std::lock_guard<std::mutex> lock(impl_->mutex_);
      impl_->calling_ = nullptr;
    }
    Call(Call&& other) noexcept : impl_(std::exchange(other.impl_, nullptr)) {}
    Call& operator=(Call&&) = delete;

   private:
    Impl* impl_;
  };

  absl::StatusOr<Call> Enter(const char* name) {
    if (in_callback_ == this) {
      return absl::FailedPreconditionError(
          absl::StrCat("Experiment::", name,
                       " was called by the callback of events, which would wait for itself: call Stop there, and Wait "
                       "where the experiment was started"));
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    if (calling_ != nullptr) {
      return absl::FailedPreconditionError(
          absl::StrCat("Experiment::", name, ": another thread is in Experiment::", calling_,
                       " of the same object; one thread at a time may use it, and others may call Stop, Status, "
                       "TopModels, Export and id"));
    }
    calling_ = name;
    return Call(this);
  }

  absl::Status CheckNotStarted(const char* call) const {
    if (run_ == nullptr && head_ == nullptr) return absl::OkStatus();
    return absl::FailedPreconditionError(
        absl::StrCat("Experiment::", call,
                     ": the experiment has started before; make another Experiment, or go on with this one by "
                     "Experiment::Resume(id)"));
  }

  absl::Status DoStart() {
    LANISTA_RETURN_IF_ERROR(CheckNotStarted("Start"));
    SetPhase(Phase::kStarting);
    absl::Status status = TryToStart();
    if (status.ok()) {
      SetPhase(Phase::kRunning);
      return status;
    }
    // Destroyed last, and without the lock: its page may be in a call of Stop.
    std::unique_ptr<LocalRun> run;
    SetPhase(Phase::kEnded);
    if (run_ != nullptr) run_->End();
    display_.reset();
    const std::lock_guard<std::mutex> lock(mutex_);
    run = std::move(run_);
    phase_ = Phase::kNew;
    id_ = earlier_.has_value() ? earlier_->id : "";
    page_link_.clear();
    stop_reason_.reset();
    stopped_ = false;
    head_has_it_ = false;
    return status;
  }

  absl::Status TryToStart() {
    LANISTA_ASSIGN_OR_RETURN(const TrialProgram program, api::ThisProgram());
    v1::ExperimentConfig config = config_;
    if (!earlier_.has_value()) {
      LANISTA_ASSIGN_OR_RETURN(config, api::CheckedConfig(std::move(config)));
    }
    LANISTA_ASSIGN_OR_RETURN(const std::string root, StateRoot(settings_));
    LANISTA_ASSIGN_OR_RETURN(const StateDir state_dir, StateDir::Open(root));
    LANISTA_RETURN_IF_ERROR(SetUpLoggingOnce(root, settings_.log_level));
    IgnoreBrokenPipes();

    context_.emplace(CommandContext{line_, program, root});
    LANISTA_ASSIGN_OR_RETURN(std::unique_ptr<LocalRun> run, LocalRun::Open(*context_, state_dir, config));
    if (!settings_.web.empty()) {
      LANISTA_RETURN_IF_ERROR(run->OpenPage([this](const std::string&, const std::string& reason) {
        Stop(reason).IgnoreError();  // It has started, and after its end there is nothing to stop.
      }));
    }
    if (settings_.progress) {
      display_.emplace(config, earlier_.has_value() ? std::make_optional(earlier_->progress) : std::nullopt,
                       run->head());
    }
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      page_link_ = run->page_link();
      run_ = std::move(run);
    }
    const auto watch = [this](const v1::ExperimentEvent& event) { Watch(event); };
    std::string id;
    if (earlier_.has_value()) {
      id = earlier_->id;
      LANISTA_RETURN_IF_ERROR(run_->Resume(id, config, watch));
    } else {
      LANISTA_ASSIGN_OR_RETURN(id, run_->Submit(config, watch));
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    HeadHas(id);
    return absl::OkStatus();
  }

  absl::Status DoWait() {
    if (outcome_.has_value()) return *outcome_;
    if (run_ == nullptr && head_ == nullptr) {
      return absl::FailedPreconditionError("Experiment::Wait: the experiment was not started: call Start first");
    }
    if (head_ != nullptr) {
      LANISTA_RETURN_IF_ERROR(FollowOnHead(
          *head_, &watched_,
          [this](const v1::ExperimentEvent& event) {
            Tell(event);
            return true;
          },
          api::PrintNote));
      SetPhase(Phase::kEnded);
    } else {
      run_->head().Wait(id());
      display_.reset();
      SetPhase(Phase::kEnded);
      run_->End();
    }
    LANISTA_ASSIGN_OR_RETURN(const Json document, Show(/*best=*/1));
    const std::lock_guard<std::mutex> lock(mutex_);
    // Whoever stopped it knows that there may be no model yet. A Stop may also have failed, or come after the end.
    outcome_ = stopped_ && document["status"] == "STOPPED" ? absl::OkStatus() : OutcomeOf(document);
    return *outcome_;
  }

  // On the thread that watches the experiment.
  void Watch(const v1::ExperimentEvent& event) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      // The first event comes before Submit returns.
      HeadHas(event.experiment());
    }
    if (display_.has_value()) display_->OnEvent(event);
    Tell(event);
  }

  // Calls the user's callback.
  void Tell(const v1::ExperimentEvent& event) {
    if (callback_ == nullptr) return;
    // The callback may wait for another experiment.
    const absl::Cleanup leave = [outer = std::exchange(in_callback_, this)] { in_callback_ = outer; };
    const absl::Status status = GuardCall("the callback of events", [&] {
      callback_(event);
      return absl::OkStatus();
    });
    if (!status.ok()) LogError("{}{}", LogTag(event.experiment()), std::string(status.message()));
  }

  // The head of this process has the experiment. REQUIRES: mutex_ is held.
  void HeadHas(const std::string& id) {
    id_ = id;
    head_has_it_ = true;
    StopIfAsked();
  }

  // Passes on a Stop that came, once there is something to stop. REQUIRES: mutex_ is held.
  void StopIfAsked() {
    if (!stop_reason_.has_value() || stopped_ || !head_has_it_ || phase_ == Phase::kEnded) return;
    stopped_ = true;
    run_->head().Stop(id_, *stop_reason_);
  }

  void SetPhase(Phase phase) {
    const std::lock_guard<std::mutex> lock(mutex_);
    phase_ = phase;
  }

  // The experiment whose callback this thread is in.
  static inline thread_local const Impl* in_callback_ = nullptr;

  // Constant after construction.
  const ExperimentSettings settings_;
  const CommandLine line_;
  const v1::ExperimentConfig config_;
  std::optional<EarlierExperiment> earlier_;
  // A Submit that is called again after an error makes no second experiment.
  const std::string request_id_ = NewUniqueId();

  // Used by the thread that is in a Call; not changed while events come.
  EventCallback callback_;
  std::optional<CommandContext> context_;
  std::optional<absl::Status> outcome_;
  // What Wait has told of an experiment of a head.
  v1::WatchRequest watched_;

  mutable std::mutex mutex_;
  // Protected by mutex_.
  const char* calling_ = nullptr;
  Phase phase_ = Phase::kNew;
  std::string id_;
  std::string page_link_;
  std::optional<std::string> stop_reason_;
  bool stopped_ = false;
  bool head_has_it_ = false;

  // Changed by the thread that is in a Call, under mutex_, and once. Null: the experiment is this process's.
  std::unique_ptr<HeadClient> head_;
  // Changed by the thread that is in a Call, and `run_` under mutex_.
  std::optional<RunDisplay> display_;
  std::unique_ptr<LocalRun> run_;
};

Experiment::Experiment(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Experiment::Experiment(v1::ExperimentConfig config, ExperimentSettings settings)
    : impl_(std::make_unique<Impl>(std::move(config), std::move(settings))) {}
Experiment::~Experiment() = default;
Experiment::Experiment(Experiment&& other) noexcept = default;
Experiment& Experiment::operator=(Experiment&& other) noexcept = default;

absl::StatusOr<Experiment> Experiment::Load(const std::string& path, const std::vector<std::string>& overrides,
                                            ExperimentSettings settings) {
  LANISTA_ASSIGN_OR_RETURN(v1::ExperimentConfig config, LoadConfig(path, overrides));
  return Experiment(std::move(config), std::move(settings));
}

absl::StatusOr<Experiment> Experiment::Parse(const std::string& text, ExperimentSettings settings) {
  LANISTA_ASSIGN_OR_RETURN(v1::ExperimentConfig config, ParseConfig(text));
  return Experiment(std::move(config), std::move(settings));
}

absl::StatusOr<Experiment> Experiment::Resume(const std::string& experiment, const std::vector<std::string>& overrides,
                                              ExperimentSettings settings) {
  LANISTA_ASSIGN_OR_RETURN(const std::string root, StateRoot(settings));
  LANISTA_ASSIGN_OR_RETURN(EarlierExperiment earlier, FindEarlier(root, experiment, overrides));
  return Experiment(std::make_unique<Impl>(std::move(earlier), std::move(settings)));
}

absl::Status Experiment::OnEvent(EventCallback callback) { return impl_->OnEvent(std::move(callback)); }
absl::Status Experiment::Start() { return impl_->Start(); }
absl::Status Experiment::Submit(const HeadSettings& head) { return impl_->Submit(head); }
absl::Status Experiment::Wait() { return impl_->Wait(); }
absl::Status Experiment::Run() { return impl_->Run(); }
absl::Status Experiment::Stop(const std::string& reason) { return impl_->Stop(reason); }
std::string Experiment::id() const { return impl_->id(); }
std::string Experiment::page_link() const { return impl_->page_link(); }

absl::StatusOr<ExperimentStatus> Experiment::Status() const { return impl_->Status(); }

absl::StatusOr<std::vector<FoundModel>> Experiment::TopModels(int k) const {
  LANISTA_RETURN_IF_ERROR(api::CheckTop("Experiment::TopModels", k));
  return impl_->TopModels(k);
}

absl::StatusOr<std::vector<std::string>> Experiment::Export(const ExportSettings& settings) const {
  return impl_->Export(settings);
}

}  // namespace lanista

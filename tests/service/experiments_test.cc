#include "src/service/experiments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <utility>

#include "absl/time/clock.h"
#include "nlohmann/json.hpp"
#include "src/storage/last_words.h"
#include "tests/service/service_testing.h"

namespace lanista {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// The numbers of all events up to now; and whether they are all that there will ever be.
std::pair<std::vector<int64_t>, bool> ReadAll(ExperimentWatch& watch) {
  std::vector<int64_t> numbers;
  while (true) {
    const absl::StatusOr<ExperimentWatch::Batch> batch = watch.Next();
    EXPECT_TRUE(batch.ok()) << batch.status();
    for (const v1::ExperimentEvent& event : batch->events) numbers.push_back(event.number());
    if (batch->events.empty() || batch->ended) return {numbers, batch->ended};
  }
}

class ExperimentsTest : public ServiceTest {
 protected:
  std::unique_ptr<ExperimentWatch> Watch(
      const std::string& id, int64_t after, std::function<void()> wake = [] {}) {
    v1::WatchRequest request;
    request.set_experiment(id);
    request.set_after(after);
    auto watch = experiments_.Watch(request, std::move(wake));
    EXPECT_TRUE(watch.ok()) << watch.status();
    return *std::move(watch);
  }

  // Of a request that is refused.
  template <typename Reply>
  static std::string Error(const absl::StatusOr<Reply>& reply, absl::StatusCode code) {
    EXPECT_EQ(reply.status().code(), code) << reply.status();
    return std::string(reply.status().message());
  }

  static std::vector<std::string> Listed(const v1::ListExperimentsReply& reply) {
    const nlohmann::json document = nlohmann::json::parse(reply.json());
    std::vector<std::string> ids;
    for (const auto& entry : document["experiments"]) ids.push_back(entry["id"]);
    return ids;
  }
};

TEST_F(ExperimentsTest, WhatIsToBeRunIsCompleteAndChecked) {
  v1::CreateExperimentRequest request;
  *request.mutable_config() = SmallConfig();
  request.set_request_id("r");
  EXPECT_EQ(experiments_.Create(request)->experiment(), "made-r");
  EXPECT_TRUE(runner_.config_.engine().has_direct()) << "what a file may leave out, a request may";

  request.mutable_config()->set_max_trial_number(-1);
  EXPECT_THAT(Error(experiments_.Create(request), absl::StatusCode::kInvalidArgument), HasSubstr("max_trial_number: "));
  *request.mutable_config() = SmallConfig();
  request.mutable_config()->mutable_space()->mutable_torchscript()->set_path("net.pt");
  EXPECT_THAT(Error(experiments_.Create(request), absl::StatusCode::kInvalidArgument),
              HasSubstr("space.torchscript.path: 'net.pt' is a path of the client's machine"));
  *request.mutable_config() = SmallConfig();
  request.set_request_id(std::string(101, 'x'));
  EXPECT_THAT(Error(experiments_.Create(request), absl::StatusCode::kInvalidArgument), HasSubstr("request_id: "));

  v1::ValidateExperimentRequest validate;
  *validate.mutable_config() = SmallConfig();
  validate.set_plan_models(3);
  EXPECT_EQ(experiments_.Validate(validate)->space().fingerprint(), "for 3");
  validate.set_plan_models(1001);
  EXPECT_THAT(Error(experiments_.Validate(validate), absl::StatusCode::kInvalidArgument), HasSubstr("plan_models: "));
}

TEST_F(ExperimentsTest, AFullStateFolderTakesNoMore) {
  Create("a-1");
  Experiments two(state_dir_, &runner_, &news_, {2, {}});
  v1::CreateExperimentRequest request;
  *request.mutable_config() = SmallConfig();
  request.set_request_id("r");
  EXPECT_TRUE(two.Create(request).ok());
  // As the runner would have recorded it.
  const std::string id = StateDir::IdOfRequest("small", "r", 0);
  ASSERT_TRUE(state_dir_.MakeExperimentFolder(id).value());
  v1::ExperimentCreated created;
  created.set_experiment(id);
  created.set_request_id("r");
  *created.mutable_config() = SmallConfig();
  ASSERT_TRUE(JournalWriter::Create(Folder(id), created).ok());
  EXPECT_EQ(two.Create(request)->experiment(), "made-r") << "makes none that is not there";
  for (const char* other : {"", "s"}) {
    request.set_request_id(other);
    EXPECT_THAT(Error(two.Create(request), absl::StatusCode::kResourceExhausted), HasSubstr("`delete`"));
  }
  ASSERT_TRUE(RemoveExperiment(state_dir_, id).ok());
  EXPECT_TRUE(two.Create(request).ok());
}

TEST_F(ExperimentsTest, NoFieldBecomesAPathOutsideTheStateFolder) {
  // What a traversal would find.
  std::filesystem::create_directories(temp_.path() + "/outside");
  std::ofstream(temp_.path() + "/outside/journal.db") << "secret";
  for (const std::string& id : {std::string("../outside"), std::string(".."), std::string("."), std::string("/etc"),
                                std::string("a/../../outside"), std::string(), std::string("a\0b", 3),
                                std::string("-rf"), std::string(101, 'x'), std::string("a\nb")}) {
    v1::GetExperimentRequest get;
    get.set_experiment(id);
    Error(experiments_.Get(get), absl::StatusCode::kInvalidArgument);
    v1::StopExperimentRequest stop;
    stop.set_experiment(id);
    Error(experiments_.Stop(stop), absl::StatusCode::kInvalidArgument);
    v1::ResumeExperimentRequest resume;
    resume.set_experiment(id);
    Error(experiments_.Resume(resume), absl::StatusCode::kInvalidArgument);
    v1::DeleteExperimentRequest remove;
    remove.set_experiment(id);
    Error(experiments_.Delete(remove), absl::StatusCode::kInvalidArgument);
    v1::ListTrialsRequest trials;
    trials.set_experiment(id);
    Error(experiments_.ListTrials(trials), absl::StatusCode::kInvalidArgument);
    v1::GetTrialRequest trial;
    trial.set_experiment(id);
    Error(experiments_.GetTrial(trial), absl::StatusCode::kInvalidArgument);
    v1::WatchRequest watch;
    watch.set_experiment(id);
    Error(experiments_.Watch(watch, [] {}), absl::StatusCode::kInvalidArgument);
    v1::ListExperimentsRequest list;
    list.set_page_token(id);
    EXPECT_THAT(Listed(*experiments_.List(list)), IsEmpty());
  }
  EXPECT_TRUE(std::filesystem::exists(temp_.path() + "/outside/journal.db"));
  EXPECT_THAT(runner_.calls_, IsEmpty());
}

TEST_F(ExperimentsTest, TextsAndListsHaveLimits) {
  Create("a-1");
  v1::CreateExperimentRequest create;
  *create.mutable_config() = SmallConfig();
  create.mutable_config()->set_name(std::string(1000, 'x'));
  EXPECT_TRUE(experiments_.Create(create).ok());
  create.mutable_config()->set_name(std::string(1001, 'x'));
  EXPECT_THAT(Error(experiments_.Create(create), absl::StatusCode::kInvalidArgument), HasSubstr("name: "));
  v1::StopExperimentRequest stop;
  stop.set_experiment("a-1");
  stop.set_reason(std::string(1000, 'x'));
  EXPECT_TRUE(experiments_.Stop(stop).ok());
  stop.set_reason(std::string(1001, 'x'));
  EXPECT_THAT(Error(experiments_.Stop(stop), absl::StatusCode::kInvalidArgument), HasSubstr("reason: "));
  v1::ListExperimentsRequest list;
  for (int i = 0; i < 21; ++i) list.add_status("DONE");
  EXPECT_THAT(Error(experiments_.List(list), absl::StatusCode::kInvalidArgument), HasSubstr("status: "));
  v1::ResumeExperimentRequest resume;
  resume.set_experiment("a-1");
  for (int i = 0; i < 101; ++i) resume.add_set("max_trial_number=20");
  EXPECT_THAT(Error(experiments_.Resume(resume), absl::StatusCode::kInvalidArgument), HasSubstr("set: "));
}

TEST_F(ExperimentsTest, WithoutARunnerTheyAreOnlyShown) {
  Create("a-1");
  Experiments shown(state_dir_, nullptr, &news_);
  v1::GetExperimentRequest get;
  get.set_experiment("a-1");
  EXPECT_TRUE(shown.Get(get).ok());
  v1::CreateExperimentRequest create;
  *create.mutable_config() = SmallConfig();
  EXPECT_TRUE(absl::IsFailedPrecondition(shown.Create(create).status()));
  v1::DeleteExperimentRequest remove;
  remove.set_experiment("a-1");
  EXPECT_TRUE(absl::IsFailedPrecondition(shown.Delete(remove).status()));
}

TEST_F(ExperimentsTest, WhatRunsHereSaysWhatItWaitsFor) {
  Create("a-1");
  v1::GetExperimentRequest get;
  get.set_experiment("a-1");
  const auto waiting_for = [&] { return nlohmann::json::parse(experiments_.Get(get)->json())["waiting_for"]; };
  const auto listed = [&] {
    return nlohmann::json::parse(experiments_.List({})->json())["experiments"][0]["waiting_for"];
  };
  EXPECT_EQ(waiting_for(), "a device for a-1");
  EXPECT_EQ(listed(), "a device for a-1");
  Release("a-1");
  EXPECT_TRUE(waiting_for().is_null()) << "nobody runs it";
  EXPECT_TRUE(listed().is_null());
}

TEST_F(ExperimentsTest, AreListedInPagesAndByStatus) {
  for (const char* id : {"c-1", "a-1", "b-1", "d-1"}) Create(id);
  Write("b-1", "records { state { state: DONE } }");
  v1::ListExperimentsRequest request;
  request.set_page_size(3);
  const auto first = experiments_.List(request);
  EXPECT_THAT(Listed(*first), ElementsAre("a-1", "b-1", "c-1"));
  request.set_page_token(first->next_page_token());
  const auto second = experiments_.List(request);
  EXPECT_THAT(Listed(*second), ElementsAre("d-1"));
  EXPECT_EQ(second->next_page_token(), "");
  request.clear_page_token();
  request.add_status("DONE");
  EXPECT_THAT(Listed(*experiments_.List(request)), ElementsAre("b-1"));
  request.add_status("GONE");
  EXPECT_THAT(Error(experiments_.List(request), absl::StatusCode::kInvalidArgument), HasSubstr("'GONE' is unknown"));
  request.set_page_size(1001);
  EXPECT_THAT(Error(experiments_.List(request), absl::StatusCode::kInvalidArgument), HasSubstr("page_size: "));
}

TEST_F(ExperimentsTest, OneTrialComesWithTheAskedPartOfItsLog) {
  Create("a-1");
  WriteModel("a-1", 1);
  std::ofstream(Folder("a-1") + "/" + TrialLogFile(1)) << "0123456789";
  v1::GetTrialRequest request;
  request.set_experiment("latest");
  request.set_model(1);
  const auto without = experiments_.GetTrial(request);
  ASSERT_TRUE(without.ok()) << without.status();
  EXPECT_EQ(nlohmann::json::parse(without->json())["metrics"]["final"]["default"], 0.5);
  EXPECT_EQ(without->log_size(), 10);
  EXPECT_EQ(without->log(), "");
  request.set_log_limit(4);
  request.set_log_offset(7);
  EXPECT_EQ(experiments_.GetTrial(request)->log(), "789");
  request.set_log_offset(70);
  EXPECT_EQ(experiments_.GetTrial(request)->log(), "");
  request.set_attempt(2);
  EXPECT_THAT(Error(experiments_.GetTrial(request), absl::StatusCode::kNotFound), HasSubstr("attempt: "));
  request.set_model(2);
  EXPECT_THAT(Error(experiments_.GetTrial(request), absl::StatusCode::kNotFound), HasSubstr("model: "));
  request.set_log_limit(2 << 20);
  EXPECT_THAT(Error(experiments_.GetTrial(request), absl::StatusCode::kInvalidArgument), HasSubstr("log_limit: "));
}

TEST_F(ExperimentsTest, TrialsAreSelectedAsOnTheCommandLine) {
  Create("a-1");
  for (const int model : {1, 2}) WriteModel("a-1", model);
  v1::ListTrialsRequest request;
  request.set_experiment("a-1");
  EXPECT_EQ((*experiments_.ListTrials(request))["models"].size(), 2u);
  request.set_limit(1);
  EXPECT_EQ((*experiments_.ListTrials(request))["models"].size(), 1u);
  request.set_status("failed");
  EXPECT_THAT((*experiments_.ListTrials(request))["models"], IsEmpty());
  request.set_sort("beauty");
  EXPECT_THAT(Error(experiments_.ListTrials(request), absl::StatusCode::kInvalidArgument), HasSubstr("sort: "));
}

TEST_F(ExperimentsTest, ManyTrialsComeInPartsOfOneMoment) {
  Create("a-1");
  for (int model = 1; model <= 250; ++model) WriteModel("a-1", model);
  v1::ListTrialsRequest request;
  request.set_experiment("a-1");
  auto parts = experiments_.ListTrialsInParts(request).value();
  EXPECT_THAT(parts.beginning["models"], IsEmpty());
  std::vector<nlohmann::ordered_json> models = parts.next().value();
  EXPECT_LT(models.size(), 250u);
  WriteModel("a-1", 251);
  while (true) {
    const auto next = parts.next().value();
    if (next.empty()) break;
    models.insert(models.end(), next.begin(), next.end());
  }
  ASSERT_EQ(models.size(), 250u);
  for (int model = 1; model <= 250; ++model) EXPECT_EQ(models[static_cast<size_t>(model - 1)]["id"], model);
  request.set_limit(120);
  EXPECT_EQ((*experiments_.ListTrials(request))["models"].size(), 120u);
  request.set_sort("best");
  EXPECT_EQ((*experiments_.ListTrials(request))["models"].size(), 120u);
}

TEST_F(ExperimentsTest, OnlyWhatRunsHereIsStoppedAndWhatRunsIsNotDeleted) {
  Create("a-1");
  v1::StopExperimentRequest stop;
  stop.set_experiment("a");
  stop.set_reason("enough\nof it");
  EXPECT_EQ(experiments_.Stop(stop)->experiment(), "a-1");
  EXPECT_THAT(runner_.calls_, ElementsAre("stop a-1: enough of it"));

  v1::DeleteExperimentRequest remove;
  remove.set_experiment("a-1");
  EXPECT_THAT(Error(experiments_.Delete(remove), absl::StatusCode::kFailedPrecondition), HasSubstr("stop it first"));
  Release("a-1");
  EXPECT_THAT(Error(experiments_.Stop(stop), absl::StatusCode::kFailedPrecondition), HasSubstr("nobody runs a-1"));
  v1::ResumeExperimentRequest resume;
  resume.set_experiment("a-1");
  resume.add_set("max_trial_number=20");
  resume.add_set("priority=-5");
  runner_.on_resume_ = [this] {
    Hold("a-1");
    Write("a-1", "records { state { state: RUNNING } }");
    Release("a-1");
  };
  EXPECT_TRUE(experiments_.Resume(resume).ok());
  EXPECT_EQ(runner_.config_.max_trial_number(), 20);
  EXPECT_EQ(runner_.config_.priority(), -5);
  resume.add_set("seed=20");
  EXPECT_THAT(Error(experiments_.Resume(resume), absl::StatusCode::kInvalidArgument), HasSubstr("'seed'"));
  remove.set_experiment("a");
  EXPECT_TRUE(absl::IsNotFound(experiments_.Delete(remove).status())) << "only a whole id";
  remove.set_experiment("../experiments/a-1");
  EXPECT_TRUE(absl::IsInvalidArgument(experiments_.Delete(remove).status()));
  remove.set_experiment("a-1");
  EXPECT_TRUE(experiments_.Delete(remove).ok());
  EXPECT_TRUE(absl::IsNotFound(experiments_.Stop(stop).status()));
}

TEST_F(ExperimentsTest, WhatAnotherRunnerOfTheProcessRunsIsNotStopped) {
  Create("a-1");
  runner_.of_another_ = "a-1";
  v1::StopExperimentRequest stop;
  stop.set_experiment("a-1");
  EXPECT_THAT(Error(experiments_.Stop(stop), absl::StatusCode::kFailedPrecondition),
              HasSubstr("a-1 is another search of this process: stop it where it was started"));
  EXPECT_THAT(runner_.calls_, IsEmpty());
  // Its news are not told here: who watches it looks again and again.
  Signal woken;
  v1::WatchRequest watch;
  watch.set_experiment("a-1");
  const auto watched = experiments_.Watch(watch, [&woken] { woken.Give(); });
  ASSERT_TRUE(watched.ok()) << watched.status();
  ASSERT_TRUE((*watched)->Next().ok());
  woken.Wait();
}

TEST_F(ExperimentsTest, WhatIsAboutToGoOnAfterItsEndCanBeStopped) {
  Create("a-1");
  Write("a-1", "records { state { state: STOPPED } }");
  v1::StopExperimentRequest stop;
  stop.set_experiment("a-1");
  stop.set_reason("enough");
  EXPECT_TRUE(experiments_.Stop(stop).ok());
  EXPECT_THAT(runner_.calls_, ElementsAre("stop a-1: enough"));
  Release("a-1");
  EXPECT_THAT(Error(experiments_.Stop(stop), absl::StatusCode::kFailedPrecondition), HasSubstr("come to its end"));
}

// Whether an answer is there although nothing has happened that it has to wait for.
template <typename Answer>
bool IsThere(const std::future<Answer>& answer) {
  return answer.wait_for(std::chrono::milliseconds(100)) == std::future_status::ready;
}

TEST_F(ExperimentsTest, AResumeIsAnsweredWhenItIsRecordedThatTheExperimentRuns) {
  Create("a-1");
  Write("a-1", "records { state { state: RUNNING } }");
  Release("a-1");
  Signal taken_up;
  runner_.on_resume_ = [&] {
    Hold("a-1");
    taken_up.Give();
  };
  v1::ResumeExperimentRequest request;
  request.set_experiment("a-1");
  auto answer = std::async(std::launch::async, [&] { return experiments_.Resume(request).status(); });
  taken_up.Wait();
  EXPECT_FALSE(IsThere(answer));
  Write("a-1", "records { state { state: INTERRUPTED } }");
  EXPECT_FALSE(IsThere(answer));
  Write("a-1", "records { state { state: RUNNING } }");
  EXPECT_EQ(answer.get(), absl::OkStatus());
  Release("a-1");

  const auto error = [&](std::function<void()> then) {
    runner_.on_resume_ = [this, then] {
      Hold("a-1");
      then();
    };
    const absl::Status status = experiments_.Resume(request).status();
    Release("a-1");
    return status;
  };
  const absl::Status failed =
      error([this] { Write("a-1", "records { state { state: FAILED reason: 'the data has gone' } }"); });
  EXPECT_TRUE(absl::IsFailedPrecondition(failed)) << failed;
  EXPECT_EQ(failed.message(), "a-1 ended before it went on: the data has gone");
  const absl::Status died = error([this] { Release("a-1"); });
  EXPECT_TRUE(absl::IsAborted(died)) << died;

  Experiments hasty(state_dir_, &runner_, &news_,
                    {kMaxExperiments, {/*running=*/absl::Milliseconds(1), absl::Seconds(10)}});
  runner_.on_resume_ = [this] { Hold("a-1"); };
  EXPECT_TRUE(absl::IsDeadlineExceeded(hasty.Resume(request).status()));
}

TEST_F(ExperimentsTest, WhatHasComeToItsEndIsWaitedForUntilTheHeadLetsGoOfIt) {
  Create("a-1");
  Write("a-1", "records { state { state: DONE } }");
  v1::DeleteExperimentRequest remove;
  remove.set_experiment("a-1");
  v1::ResumeExperimentRequest resume;
  resume.set_experiment("a-1");
  Experiments hasty(state_dir_, &runner_, &news_,
                    {kMaxExperiments, {absl::Seconds(30), /*release=*/absl::Milliseconds(1)}});
  for (const absl::Status& status : {hasty.Delete(remove).status(), hasty.Resume(resume).status()}) {
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("a-1 has come to its end, but this head still holds it"));
  }
  EXPECT_THAT(runner_.calls_, IsEmpty());

  runner_.on_resume_ = [this] {
    Hold("a-1");
    Write("a-1", "records { state { state: RUNNING } } records { state { state: DONE } }");
  };
  auto resumed = std::async(std::launch::async, [&] { return experiments_.Resume(resume).status(); });
  EXPECT_FALSE(IsThere(resumed));
  Release("a-1");
  EXPECT_EQ(resumed.get(), absl::OkStatus());
  auto removed = std::async(std::launch::async, [&] { return experiments_.Delete(remove).status(); });
  EXPECT_FALSE(IsThere(removed));
  Release("a-1");
  EXPECT_EQ(removed.get(), absl::OkStatus());
}

TEST_F(ExperimentsTest, ASubmittedTrainingServiceCapsTheTrials) {
  v1::CreateExperimentRequest request;
  const auto create = [&](const std::string& more) {
    *request.mutable_config() = SmallConfig();
    request.mutable_config()->MergeFrom(Parse<v1::ExperimentConfig>(more));
    return experiments_.Create(request);
  };
  const auto cap = [&](const std::string& more) {
    const auto created = create(more);
    EXPECT_TRUE(created.ok()) << created.status();
    EXPECT_EQ(runner_.config_.training_service_size(), 1);
    EXPECT_EQ(runner_.config_.training_service(0).local().ByteSizeLong(), 0u);
    return runner_.config_.has_trial_concurrency() ? runner_.config_.trial_concurrency() : 0;
  };
  EXPECT_EQ(cap(""), 0) << "all that the head has";
  EXPECT_EQ(cap("training_service { local { threads_per_slot: 1 use_active_gpu: false isolation: PROCESS } }"), 0);
  EXPECT_EQ(cap("training_service { local { cpu_slots: 2 } }"), 2);
  EXPECT_EQ(cap("training_service { local { cpu_slots: 2 } } training_service { local { gpu_indices: [0, 3] } }"), 4);
  EXPECT_EQ(cap("training_service { local { cpu_slots: 2000000000 gpu_indices: 0 } } trial_concurrency: 3"), 3);

  for (const auto& [field, value] : {std::pair("threads_per_slot", "4"), std::pair("use_active_gpu", "true"),
                                     std::pair("isolation", "IN_PROCESS"), std::pair("memory_limit", "1000000000")}) {
    const std::string text =
        absl::StrCat("training_service { local {} } training_service { local { ", field, ": ", value, " } }");
    EXPECT_THAT(Error(create(text), absl::StatusCode::kInvalidArgument),
                HasSubstr(absl::StrCat("training_service[1].local.", field, ": ")));
  }
  EXPECT_EQ(cap("training_service { remote {} }"), 0) << "nodes join a head anyway";
  EXPECT_EQ(cap("training_service { local { cpu_slots: 2 } } training_service { remote {} }"), 0);
  EXPECT_EQ(cap("training_service { remote {} } trial_concurrency: 3"), 3);

  for (const char* const service : {"slurm {}", "remote { machine_list { host: 'a' } }"}) {
    EXPECT_THAT(Error(create(absl::StrCat("training_service { ", service, " }")), absl::StatusCode::kPermissionDenied),
                HasSubstr("training_service[0]: which machines work for a head is said where it is started"));
  }
  EXPECT_THAT(Error(create("training_service { custom { name: 'cloud' } }"), absl::StatusCode::kPermissionDenied),
              HasSubstr("training_service[0]: "));
}

TEST_F(ExperimentsTest, MoreThanTheCapThatItWasSubmittedWithIsAskedForByName) {
  v1::ExperimentConfig capped = SmallConfig();
  capped.set_trial_concurrency(1);
  Create("a-1", capped);
  Write("a-1", "records { state { state: STOPPED } }");
  Release("a-1");
  v1::ResumeExperimentRequest resume;
  resume.set_experiment("a-1");
  resume.add_set("training_service.local.cpu_slots=4");
  EXPECT_THAT(Error(experiments_.Resume(resume), absl::StatusCode::kInvalidArgument),
              AllOf(HasSubstr("at most 1 trial of this experiment"), HasSubstr("trial_concurrency=4")));
  runner_.on_resume_ = [this] {
    Hold("a-1");
    Write("a-1", "records { state { state: RUNNING } }");
    Release("a-1");
  };
  resume.add_set("trial_concurrency=4");
  EXPECT_TRUE(experiments_.Resume(resume).ok());
  EXPECT_EQ(runner_.config_.trial_concurrency(), 4);
}

TEST_F(ExperimentsTest, AWatcherGetsEverythingOnceWheneverItComes) {
  Create("a-1");
  Write("a-1", "records { state { state: RUNNING } }");
  Signal news;
  const auto early = Watch("a-1", 0, [&news] { news.Give(); });
  EXPECT_EQ(ReadAll(*early), (std::pair<std::vector<int64_t>, bool>({1, 2}, false)));
  EXPECT_FALSE(news.given());
  WriteModel("a-1", 1);
  news.Wait();
  EXPECT_EQ(ReadAll(*early), (std::pair<std::vector<int64_t>, bool>({5, 6, 7}, false)));
  WriteModel("a-1", 2);
  Write("a-1", "records { state { state: DONE } }");
  Release("a-1");
  news.Wait();
  EXPECT_EQ(ReadAll(*early), (std::pair<std::vector<int64_t>, bool>({10, 11, 12, 13}, true)));
  EXPECT_EQ(ReadAll(*Watch("a-1", 0)), (std::pair<std::vector<int64_t>, bool>({1, 2, 5, 6, 7, 10, 11, 12, 13}, true)));
  EXPECT_EQ(ReadAll(*Watch("a-1", 7)), (std::pair<std::vector<int64_t>, bool>({10, 11, 12, 13}, true)));
  EXPECT_EQ(ReadAll(*Watch("a-1", 1000)), (std::pair<std::vector<int64_t>, bool>({}, true)));
}

TEST_F(ExperimentsTest, AWatcherKnowsWhetherItHasToLookAgain) {
  Create("a-1");
  const auto watch = Watch("a-1", 0);
  const auto next = [&watch] {
    const auto batch = watch->Next();
    EXPECT_TRUE(batch.ok()) << batch.status();
    return std::make_pair(batch->events.size(), batch->more);
  };
  EXPECT_EQ(next(), std::make_pair(size_t{1}, false)) << "it will be woken";
  std::string many;
  for (int i = 0; i < 600; ++i) absl::StrAppend(&many, "records { state { state: RUNNING } } ");
  Write("a-1", many);
  EXPECT_EQ(next(), std::make_pair(size_t{500}, true));
  EXPECT_EQ(next(), std::make_pair(size_t{100}, false));
  Write("a-1", "records { state { state: DONE } }");
  EXPECT_EQ(next(), std::make_pair(size_t{1}, true)) << "it has not said that this was the end";
  EXPECT_TRUE(watch->Next()->ended);
  Create("a-2");
  Write("a-2", "records { state { state: RUNNING } }");
  Release("a-2");
  EXPECT_TRUE(Watch("a-2", 0)->Next()->more) << "nobody will wake it";
}

TEST_F(ExperimentsTest, WhatIsTooMuchForOneBatchOfModelsComesInItsOrder) {
  Create("a-1");
  std::string records;
  for (int model = 1; model <= 7000; ++model) {
    absl::StrAppend(&records, "records { model { model: ", model, " } } records { trial { trial: ", model,
                    " members { model: ", model,
                    " attempt: 1 } } } records { event { attempt: 1 sequence: 1 started {} ", "model: ", model,
                    " } } records { event { attempt: 1 sequence: 2 ended { outcome: SUCCEEDED } model: ", model,
                    " } } records { outcome { attempt: 1 outcome: SUCCEEDED model: ", model, " } } ");
  }
  Write("a-1", absl::StrCat(records, "records { state { state: DONE } }"));
  Release("a-1");
  const auto watch = Watch("a-1", 0);
  std::vector<int64_t> numbers;
  size_t models = 0;
  while (true) {
    const auto batch = watch->Next(ExperimentWatch::Form::kManyAsModels);
    ASSERT_TRUE(batch.ok()) << batch.status();
    for (const v1::ExperimentEvent& event : batch->events) numbers.push_back(event.number());
    models += batch->models.size();
    if (batch->ended) break;
  }
  EXPECT_TRUE(std::is_sorted(numbers.begin(), numbers.end())) << "its end did not come last";
  EXPECT_EQ(numbers.back(), AllNumbers("a-1").back());
  EXPECT_GT(models, 6000u) << "what is behind the first events is told as models";
  EXPECT_LT(models, 7000u);
}

TEST_F(ExperimentsTest, AnEndThatWasFollowedByAResumeIsNone) {
  Create("a-1");
  Write("a-1", "records { state { state: STOPPED } }");
  Write("a-1", "records { state { state: RUNNING } }");
  EXPECT_EQ(ReadAll(*Watch("a-1", 0)), (std::pair<std::vector<int64_t>, bool>({1, 2, 3}, false)));
}

TEST_F(ExperimentsTest, AWatcherHearsThatNobodyRunsItAnyMore) {
  Create("a-1");
  Write("a-1", "records { state { state: RUNNING } }");
  Release("a-1");
  const auto watch = Watch("a-1", 0);
  EXPECT_EQ(watch->Next()->events.size(), 2u) << "first what was recorded";
  EXPECT_THAT(Error(watch->Next(), absl::StatusCode::kAborted), HasSubstr("`resume a-1`"));
}

TEST_F(ExperimentsTest, AWatcherHearsTheLastWordsOfAJournal) {
  Create("a-1");
  Write("a-1", "records { state { state: RUNNING } }");
  Release("a-1");
  ASSERT_TRUE(LastWords::Reserve(Folder("a-1"))->Write(absl::Now(), "the disk is gone").ok());
  const auto watch = Watch("a-1", 2);
  const auto batch = watch->Next();
  ASSERT_TRUE(batch.ok()) << batch.status();
  EXPECT_TRUE(batch->ended);
  ASSERT_EQ(batch->events.size(), 1u);
  EXPECT_EQ(batch->events[0].state().reason(), "the disk is gone");
  EXPECT_EQ(batch->events[0].number(), 0);
}

TEST_F(ExperimentsTest, WhatAnotherProcessRecordsIsSeenWithoutBeingTold) {
  Create("a-1");
  Release("a-1");
  const std::string folder = Folder("a-1");
  int order[2];
  ASSERT_EQ(pipe(order), 0);
  const ChildProcess child([&](int ready) {
    const auto lock = ExperimentLock::Acquire(folder);
    const auto writer = JournalWriter::Open(folder);
    char byte = 'r';
    if (write(ready, &byte, 1) != 1 || read(order[0], &byte, 1) != 1) return;
    (*writer)->Write(Batch("records { state { state: DONE } }")).status().IgnoreError();
  });
  ASSERT_TRUE(child.WaitForByte());
  Signal news;
  const auto watch = Watch("a-1", 1, [&news] { news.Give(); });
  EXPECT_EQ(ReadAll(*watch), (std::pair<std::vector<int64_t>, bool>({}, false)));
  ASSERT_EQ(write(order[1], "w", 1), 1);
  std::pair<std::vector<int64_t>, bool> seen;
  while (!seen.second) {
    news.Wait();
    const auto more = ReadAll(*watch);
    seen.first.insert(seen.first.end(), more.first.begin(), more.first.end());
    seen.second = more.second;
  }
  EXPECT_THAT(seen.first, ElementsAre(2));
}

TEST_F(ExperimentsTest, AWatchOfNothingIsRefused) {
  v1::WatchRequest request;
  request.set_experiment("nobody");
  EXPECT_THAT(Error(experiments_.Watch(request, [] {}), absl::StatusCode::kNotFound), HasSubstr("experiment: "));
  Create("a-1");
  request.set_experiment("a-1");
  request.set_after(-1);
  EXPECT_THAT(Error(experiments_.Watch(request, [] {}), absl::StatusCode::kInvalidArgument), HasSubstr("after: "));
}

TEST_F(ExperimentsTest, AnExportLiesInAFolderOfItsOwnThatGoesWithIt) {
  Create("a-1");
  std::string folder;
  model_maker_.on_export_ = [this, &folder](const std::string& of, const ModelMaker::ExportRequest& request,
                                            const std::string& out,
                                            const ModelMaker::Abandoned&) -> absl::StatusOr<ModelMaker::Exported> {
    EXPECT_EQ(of, Folder("a-1"));
    EXPECT_TRUE(std::filesystem::is_empty(out));
    folder = out;
    const std::string file = absl::StrCat(out, "/", request.top, request.format, request.untrained ? "!" : "");
    std::ofstream(file) << "x";
    return ModelMaker::Exported{{file}, {"a warning"}};
  };
  v1::DownloadRequest request;
  request.set_experiment("a-");
  {
    const auto exported = experiments_.Export(request, nullptr);
    ASSERT_TRUE(exported.ok()) << exported.status();
    EXPECT_EQ(exported->folder.path(), folder);
    EXPECT_EQ(exported->files, std::vector<std::string>{folder + "/1json"});
    EXPECT_EQ(exported->warnings, std::vector<std::string>{"a warning"});
    EXPECT_TRUE(std::filesystem::exists(folder + "/1json"));
  }
  EXPECT_FALSE(std::filesystem::exists(folder));
  request.set_top(1000);
  request.set_format("onnx");
  request.set_untrained(true);
  const auto all = experiments_.Export(request, nullptr);
  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_EQ(all->files, std::vector<std::string>{folder + "/1000onnx!"});
  for (const int top : {0, 1001}) {
    request.set_top(top);
    EXPECT_EQ(experiments_.Export(request, nullptr).status(),
              absl::InvalidArgumentError(absl::StrCat("top: must be from 1 to 1000, got ", top)));
  }
  request.clear_top();
  request.set_experiment("b");
  EXPECT_TRUE(absl::IsNotFound(experiments_.Export(request, nullptr).status()));
  // What failed leaves nothing, either.
  request.set_experiment("a-1");
  model_maker_.on_export_ = [&folder](const std::string&, const ModelMaker::ExportRequest&, const std::string& out,
                                      const ModelMaker::Abandoned&) {
    folder = out;
    return absl::FailedPreconditionError("weights were not kept");
  };
  EXPECT_EQ(experiments_.Export(request, nullptr).status(), absl::FailedPreconditionError("weights were not kept"));
  EXPECT_FALSE(std::filesystem::exists(folder));
}

}  // namespace
}  // namespace lanista

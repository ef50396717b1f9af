#include "src/files/cached_files.h"

#include <gmock/gmock.h>
#include <sys/resource.h>

#include <csignal>
#include <functional>
#include <future>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "protos/graph.pb.h"
#include "src/base/file_lock.h"
#include "src/base/sha256.h"
#include "src/files/earlier_caches.h"
#include "src/graph/io.h"
#include "tests/files/files_testing.h"

namespace lanista {
namespace {

using ::testing::HasSubstr;

// A head that is played by the test.
class FakeSource : public FileSource {
 public:
  absl::Status FetchCheckpoint(const std::string&, int model, Cancellation*,
                               const std::function<absl::Status(const v1::FileSet&)>& begin,
                               const FileCache::Write& write) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    ++checkpoints_;
    if (!errors_.empty()) {
      const absl::Status error = errors_.back();
      errors_.pop_back();
      return error;
    }
    v1::FileSet files;
    if (checkpoint_.count(model) == 0) return begin(files);
    const std::string& content = checkpoint_[model];
    v1::SetFile& file = *files.add_files();
    file.set_path("checkpoint");
    file.set_sha256(Sha256(content));
    file.set_size(static_cast<int64_t>(content.size()));
    const absl::Status begun = begin(files);
    return begun.ok() ? write(damages_ ? std::string(content.size(), '?') : content) : begun;
  }
  absl::StatusOr<v1::InputList> List(const std::string&, Cancellation*) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    ++lists_;
    if (!errors_.empty()) {
      const absl::Status error = errors_.back();
      errors_.pop_back();
      return error;
    }
    return list_;
  }
  absl::Status Fetch(const std::string&, const std::string& sha256, Cancellation* cancellation,
                     const FileCache::Write& write) override {
    std::string content;
    bool hangs = false;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      ++fetches_;
      content = contents_[sha256];
      hangs = hangs_;
      if (std::exchange(cuts_, false)) {
        EXPECT_TRUE(write(content.substr(0, 1)).ok());
        return absl::UnavailableError("the connection is lost");
      }
    }
    if (hangs) {
      hanging_.set_value();
      while (!cancellation->canceled()) cancellation->WaitFor(std::chrono::hours(1));
      return absl::CancelledError("");
    }
    constexpr size_t kPiece = 1 << 16;
    absl::Status written = absl::OkStatus();
    for (size_t begin = 0; written.ok() && begin < content.size(); begin += kPiece) {
      written = write(content.substr(begin, kPiece));
      const std::lock_guard<std::mutex> lock(mutex_);
      ++pieces_;
    }
    return written;
  }

  v1::InputFile& Add(const std::string& path, const std::string& content) {
    v1::InputFile& file = *list_.add_files();
    file.set_path(path);
    file.set_sha256(Sha256(content));
    file.set_size(static_cast<int64_t>(content.size()));
    contents_[file.sha256()] = content;
    return file;
  }

  v1::InputList list_;
  std::map<std::string, std::string> contents_;
  std::promise<void> hanging_;
  std::mutex mutex_;
  // Protected by mutex_, once there are calls.
  std::vector<absl::Status> errors_;
  bool cuts_ = false;
  bool hangs_ = false;
  bool damages_ = false;
  std::map<int, std::string> checkpoint_;
  int checkpoints_ = 0;
  int lists_ = 0;
  int fetches_ = 0;
  int pieces_ = 0;
};

struct NoSink : FileSink {
  absl::Status Deliver(const v1::OutputHeader&, FileSetReader*, Cancellation*) override {
    return absl::UnimplementedError("");
  }
  absl::StatusOr<v1::WeightsBar> FindWeightsBar(const std::string&, Cancellation*) override {
    return absl::UnimplementedError("");
  }
};

class CachedFilesTest : public ::testing::Test {
 protected:
  CachedFilesTest() { Open(); }

  void Open(int64_t max_bytes = 1 << 20) {
    files_.reset();
    auto source = std::make_unique<FakeSource>();
    source_ = source.get();
    files_.emplace(Options(max_bytes), std::move(source), std::make_shared<NoSink>());
  }

  CachedFiles::Options Options(int64_t max_bytes, const std::string& host = "h") const {
    CachedFiles::Options options;
    options.folder = folder_;
    options.max_bytes = max_bytes;
    options.host = host;
    options.first_delay = std::chrono::milliseconds(1);
    return options;
  }

  static v1::Assignment Trial(const std::string& path, const std::string& experiment = "x") {
    v1::Assignment assignment;
    assignment.set_id("head/1/1");
    v1::TrialSpec& spec = *assignment.mutable_trial();
    spec.set_experiment(experiment);
    if (!path.empty()) spec.mutable_space()->mutable_graph()->set_path(path);
    return assignment;
  }
  absl::StatusOr<LocalWorkPtr> Prepare(const v1::Assignment& assignment) {
    std::promise<absl::StatusOr<LocalWorkPtr>> prepared;
    files_->Prepare(assignment, [&](absl::StatusOr<LocalWorkPtr> work) { prepared.set_value(std::move(work)); });
    return prepared.get_future().get();
  }
  // Of the assignment's space, on this machine.
  static std::string PathHere(const LocalWork& work, v1::Assignment assignment) {
    work.ToHere(assignment.mutable_trial());
    return assignment.trial().space().graph().path();
  }
  static int EntriesOf(const std::string& folder) {
    int count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) count += entry.exists() ? 1 : 0;
    return count;
  }

  const std::string folder_ = FreshFolder() + "/cache";
  FakeSource* source_ = nullptr;
  std::optional<CachedFiles> files_;
};

TEST_F(CachedFilesTest, ATrialFindsItsFilesUnderTheirNames) {
  source_->Add("/data/net.graph", "graph");
  source_->Add("/data/weights/net.pt", "weights");
  source_->list_.add_folders("/data/empty");
  const auto work = Prepare(Trial("/data/net.graph"));
  ASSERT_TRUE(work.ok()) << work.status();
  const std::string here = PathHere(**work, Trial("/data/../data/net.graph"));
  EXPECT_THAT(here, HasSubstr(folder_ + "/h-1/trees/"));
  EXPECT_EQ(Content(here), "graph");
  const std::filesystem::path data = std::filesystem::path(here).parent_path();
  EXPECT_EQ(Content(data / "weights/net.pt"), "weights");
  EXPECT_TRUE(std::filesystem::is_directory(data / "empty"));

  // The experiment's next trial takes the same, without a word to the head.
  const auto next = Prepare(Trial("/data/net.graph"));
  EXPECT_EQ(PathHere(**next, Trial("/data/net.graph")), here);
  EXPECT_EQ(source_->lists_, 1);
  EXPECT_EQ(source_->fetches_, 2);
  // Another experiment's: the head may have other files now, and has not.
  EXPECT_TRUE(Prepare(Trial("/data/net.graph", "y")).ok());
  EXPECT_EQ(source_->lists_, 2);
  EXPECT_EQ(source_->fetches_, 2);
}

TEST_F(CachedFilesTest, WhatATrialWritesHasAFolderOfItsOwn) {
  v1::Assignment assignment = Trial("");
  v1::TrialSpec& spec = *assignment.mutable_trial();
  spec.set_log_file("/head/logs/7.log");
  spec.add_models()->set_model(3);
  spec.mutable_models(0)->set_output_folder("/head/trials/7");
  spec.mutable_models(0)->set_checkpoint_folder("/head/checkpoints/3");
  spec.add_models()->set_model(4);
  auto work = Prepare(assignment);
  ASSERT_TRUE(work.ok()) << work.status();
  EXPECT_EQ(source_->lists_, 0) << "it reads nothing";
  (*work)->ToHere(&spec);
  const std::string folder = std::filesystem::path(spec.log_file()).parent_path();
  EXPECT_THAT(folder, HasSubstr(folder_ + "/h-1/assignments/"));
  EXPECT_TRUE(std::filesystem::is_directory(folder));
  EXPECT_EQ(spec.models(0).output_folder(), folder + "/output-3");
  EXPECT_EQ(spec.models(0).checkpoint_folder(), folder + "/checkpoint-3");
  EXPECT_EQ(spec.models(1).checkpoint_folder(), "") << "it leaves none";
  work = absl::UnknownError("it has ended");
  EXPECT_FALSE(std::filesystem::exists(folder));
}

TEST_F(CachedFilesTest, PathsComeBackAsTheHeads) {
  v1::ModelGraph graph;
  graph.add_graphs();
  graph.add_archives()->set_path("/far/net.pt");
  graph.add_archives()->set_path("near.pt");
  const std::string content = graph::Write(graph, graph::Format::kText);
  source_->Add("/data/net.textproto", content).set_is_graph(true);
  source_->Add("/far/net.pt", "far");
  source_->Add("/data/near.pt", "near");
  const auto work = Prepare(Trial("/data/net.textproto"));
  ASSERT_TRUE(work.ok()) << work.status();

  v1::Assignment assignment = Trial("/data/net.textproto");
  v1::TrialSpec& spec = *assignment.mutable_trial();
  spec.add_space_files()->set_path("/data/net.textproto");
  spec.mutable_space_files(0)->set_sha256(Sha256(content));
  *spec.add_space_files() = spec.space_files(0);
  spec.mutable_space_files(1)->set_sha256(Sha256("what the experiment began with"));
  (*work)->ToHere(&spec);
  std::string digest;
  const auto here = graph::ReadFile(spec.space().graph().path(), &digest);
  ASSERT_TRUE(here.ok()) << here.status();
  EXPECT_EQ(Content(here->archives(0).path()), "far");
  EXPECT_EQ(Content(here->archives(1).path()), "near");
  EXPECT_EQ(spec.space_files(0).path(), spec.space().graph().path());
  EXPECT_EQ(spec.space_files(0).sha256(), digest);
  EXPECT_EQ(spec.space_files(1).sha256(), Sha256("what the experiment began with"));

  v1::Discovered discovered;
  *discovered.mutable_space()->add_files() = spec.space_files(0);
  *discovered.mutable_graph_space()->mutable_base() = *here;
  discovered.mutable_error()->set_message(spec.space().graph().path() + ": no");
  (*work)->ToHead(&discovered);
  EXPECT_EQ(discovered.space().files(0).path(), "/data/net.textproto");
  EXPECT_EQ(discovered.space().files(0).sha256(), Sha256(content));
  EXPECT_EQ(discovered.graph_space().base().archives(0).path(), "/far/net.pt");
  EXPECT_EQ(discovered.graph_space().base().archives(1).path(), "/data/near.pt");
  EXPECT_EQ(discovered.error().message(), "/data/net.textproto: no");

  v1::ModelEvent event;
  event.mutable_ended()->mutable_failure()->set_message(here->archives(0).path() + " is broken");
  (*work)->ToHead(&event);
  EXPECT_EQ(event.ended().failure().message(), "/far/net.pt is broken");
}

TEST_F(CachedFilesTest, AConversionFindsItsWeightsAndWritesHere) {
  source_->Add("/data/net.graph", "graph");
  source_->Add("/head/trials/7/weights.pt", "weights");
  v1::Assignment assignment;
  assignment.set_id("head/1/1");
  v1::Convert& convert = *assignment.mutable_discover()->mutable_convert();
  convert.set_out("/head/incoming/1/output/1-model-7");
  v1::SpaceModel& model = *convert.mutable_model();
  model.mutable_space()->mutable_graph()->set_path("/data/net.graph");
  model.set_weights_file("/head/trials/7/weights.pt");
  model.add_space_files()->set_path("/data/net.graph");
  model.mutable_space_files(0)->set_sha256(Sha256("graph"));
  const auto work = Prepare(assignment);
  ASSERT_TRUE(work.ok()) << work.status();
  (*work)->ToHere(assignment.mutable_discover());
  EXPECT_EQ(Content(model.space().graph().path()), "graph");
  EXPECT_EQ(Content(model.weights_file()), "weights");
  EXPECT_EQ(model.space_files(0).path(), model.space().graph().path());
  EXPECT_EQ(model.space_files(0).sha256(), Sha256("graph"));
  EXPECT_EQ(convert.out(), (*work)->output_folder(kConvertedModel) + "/1-model-7");
  EXPECT_TRUE(std::filesystem::is_directory((*work)->output_folder(kConvertedModel)));

  v1::Discovered discovered;
  v1::Converted& converted = *discovered.mutable_converted();
  converted.mutable_error()->set_message(model.weights_file() + ": is broken");
  converted.add_warnings(model.space().graph().path() + ": some weights are new");
  (*work)->ToHead(&discovered);
  EXPECT_EQ(converted.error().message(), "/head/trials/7/weights.pt: is broken");
  EXPECT_EQ(converted.warnings(0), "/data/net.graph: some weights are new");

  v1::Discover untrained;
  untrained.mutable_convert()->set_out("/head/incoming/1/output/1-model-7");
  (*work)->ToHere(&untrained);
  EXPECT_EQ(untrained.convert().model().weights_file(), "") << "a model at its beginning";
}

TEST_F(CachedFilesTest, NothingOfTheHeadsLeadsElsewhere) {
  for (const char* path : {"/../x", "/a/../../x", "a", "", "/", "/a//b", "/a/./b", "/a/"}) {
    source_->list_.Clear();
    source_->Add(path, "x");
    EXPECT_TRUE(absl::IsInvalidArgument(Prepare(Trial("/a")).status())) << path;
    source_->list_.Clear();
    source_->list_.add_folders(path);
    EXPECT_TRUE(absl::IsInvalidArgument(Prepare(Trial("/a")).status())) << path;
  }
  source_->list_.Clear();
  source_->Add("/a", "x").set_sha256("../../x");
  EXPECT_TRUE(absl::IsInvalidArgument(Prepare(Trial("/a")).status()));
  // A file that is a folder.
  source_->list_.Clear();
  source_->Add("/a", "x");
  source_->Add("/a/b", "y");
  EXPECT_FALSE(Prepare(Trial("/a")).ok());
  EXPECT_EQ(EntriesOf(folder_ + "/h-1/trees"), 0);
}

TEST_F(CachedFilesTest, ALostConnectionIsWaitedFor) {
  source_->Add("/a", "content");
  source_->errors_ = {absl::UnavailableError("no head"), absl::NotFoundError("not joined yet")};
  source_->cuts_ = true;
  const auto work = Prepare(Trial("/a"));
  ASSERT_TRUE(work.ok()) << work.status();
  EXPECT_EQ(Content(PathHere(**work, Trial("/a"))), "content");
  EXPECT_EQ(source_->lists_, 3);
  EXPECT_EQ(source_->fetches_, 2);
}

TEST_F(CachedFilesTest, WhatNobodyCanDoIsSaid) {
  source_->errors_ = {absl::FailedPreconditionError("/a has changed")};
  EXPECT_EQ(Prepare(Trial("/a")).status(), absl::FailedPreconditionError("/a has changed"));
  source_->Add("/a", "content");
  source_->contents_[Sha256("content")] = "Content";
  const absl::Status other = Prepare(Trial("/a")).status();
  EXPECT_TRUE(absl::IsDataLoss(other)) << other;
  EXPECT_THAT(std::string(other.message()), HasSubstr("/a: "));
}

TEST_F(CachedFilesTest, WhatThisMachineCannotTakeIsForAnother) {
  Open(5);
  source_->Add("/a", "content");
  EXPECT_TRUE(absl::IsAborted(Prepare(Trial("/a")).status()));
  EXPECT_EQ(source_->fetches_, 0);
  // A file is where the folder should be.
  Open();
  std::filesystem::remove_all(folder_);
  MakeFile(folder_, "");
  EXPECT_TRUE(absl::IsUnavailable(Prepare(Trial("")).status()));
}

TEST_F(CachedFilesTest, WhatANodeThatWasKilledLeftIsNobodysWork) {
  for (const int number : {1, 2, 3}) {
    MakeFile(absl::StrCat(folder_, "/h-1/assignments/", number, "/checkpoint-3/weights"), "of another experiment");
  }
  v1::Assignment assignment = Trial("");
  assignment.mutable_trial()->set_log_file("/head/logs/7.log");
  const auto work = Prepare(assignment);
  ASSERT_TRUE(work.ok()) << work.status();
  (*work)->ToHere(assignment.mutable_trial());
  EXPECT_EQ(EntriesOf(std::filesystem::path(assignment.trial().log_file()).parent_path()), 0);
  EXPECT_EQ(EntriesOf(folder_ + "/h-1/assignments"), 1);
}

TEST_F(CachedFilesTest, WhatAnEarlierBuildLeftIsRemovedWhereThatIsCertain) {
  const auto leave = [&](const std::string& name) {
    for (const char* part : {"files", "trees", "assignments"}) {
      std::filesystem::create_directories(absl::StrCat(folder_, "/", name, "/", part));
    }
    MakeFile(absl::StrCat(folder_, "/", name, "/lock"), "123\n");
    MakeFile(absl::StrCat(folder_, "/", name, "/files/", Sha256("copy")), "copy");
    MakeFile(absl::StrCat(folder_, "/", name, "/trees/4/data/net.pt"), "copy");
    return absl::StrCat(folder_, "/", name);
  };
  const std::string left = leave("1"), locked = leave("2"), with_more = leave("3"), with_other = leave("4"),
                    named = leave("h2-1");
  const auto lock = LockFile(locked + "/lock");
  ASSERT_TRUE(lock.ok()) << lock.status();
  MakeFile(with_more + "/notes", "mine");
  MakeFile(with_other + "/files/notes", "mine");
  const std::string elsewhere = leave("elsewhere");
  std::filesystem::create_directory_symlink(elsewhere, folder_ + "/5");
  MakeFile(folder_ + "/6/file", "mine");
  ASSERT_TRUE(Prepare(Trial("")).ok());
  EXPECT_EQ(std::filesystem::exists(left), !LocksReachAll(folder_));
  for (const std::string& stays : {locked, with_more, with_other, named, elsewhere}) {
    EXPECT_TRUE(std::filesystem::exists(stays + "/files/" + Sha256("copy"))) << stays;
    EXPECT_TRUE(std::filesystem::exists(stays + "/trees/4/data/net.pt")) << stays;
  }
  EXPECT_TRUE(std::filesystem::exists(folder_ + "/6/file"));
}

TEST_F(CachedFilesTest, AFullDiskIsSaidAndNotTriedAgain) {
  Open(8 << 20);
  source_->Add("/a", std::string(4 << 20, 'x'));
  // As on a disk that is full: what is written beyond is an error.
  rlimit before = {};
  getrlimit(RLIMIT_FSIZE, &before);
  const auto handler = signal(SIGXFSZ, SIG_IGN);
  const rlimit small = {1000, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  const absl::Status full = Prepare(Trial("/a")).status();
  setrlimit(RLIMIT_FSIZE, &before);
  signal(SIGXFSZ, handler);
  EXPECT_TRUE(absl::IsUnavailable(full)) << full;
  EXPECT_EQ(source_->fetches_, 1);
  EXPECT_LT(source_->pieces_, 64) << "the rest is not fetched for nothing";
}

TEST_F(CachedFilesTest, WithoutAFolderNothingIsTouched) {
  files_.reset();
  CachedFiles::Options options = Options(1 << 20);
  options.folder.clear();
  files_.emplace(options, std::make_unique<FakeSource>(), std::make_shared<NoSink>());
  const absl::Status refused = Prepare(Trial("")).status();
  EXPECT_TRUE(absl::IsUnavailable(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("--cache-dir"));
}

TEST_F(CachedFilesTest, AModelThatGoesOnFindsItsCheckpoint) {
  v1::Assignment assignment = Trial("");
  for (const int attempt : {1, 2, 2}) {
    v1::TrialModel& model = *assignment.mutable_trial()->add_models();
    model.set_model(assignment.trial().models_size());
    model.set_attempt(attempt);
    model.set_checkpoint_folder("/head/checkpoints/m");
  }
  source_->checkpoint_ = {{1, "never asked for"}, {2, "step 5"}};
  source_->errors_ = {absl::UnavailableError("the connection is lost")};
  const auto work = Prepare(assignment);
  ASSERT_TRUE(work.ok()) << work.status();
  EXPECT_EQ(source_->checkpoints_, 3) << "the second one twice, the third one once";
  EXPECT_FALSE(std::filesystem::exists((*work)->checkpoint_folder(1)));
  EXPECT_EQ(Content((*work)->checkpoint_folder(2) + "/checkpoint"), "step 5");
  EXPECT_FALSE(std::filesystem::exists((*work)->checkpoint_folder(3))) << "there is none";

  // Without it, the model begins anew.
  source_->damages_ = true;
  const auto anew = Prepare(assignment);
  ASSERT_TRUE(anew.ok()) << anew.status();
  EXPECT_EQ(EntriesOf((*anew)->folder()), 0) << "nor is a half one left";
}

TEST_F(CachedFilesTest, TreesThatNobodyUsesMakeRoom) {
  Open(10);
  source_->Add("/a", "1234567");
  auto work = Prepare(Trial("/a"));
  ASSERT_TRUE(work.ok()) << work.status();
  source_->list_.Clear();
  source_->Add("/b", "7654321");
  EXPECT_TRUE(absl::IsAborted(Prepare(Trial("/b")).status())) << "the first one's trial runs";
  work = absl::UnknownError("it has ended");
  EXPECT_TRUE(Prepare(Trial("/b")).ok());
  EXPECT_EQ(EntriesOf(folder_ + "/h-1/files"), 1);
}

TEST_F(CachedFilesTest, ACanceledOneEnds) {
  source_->Add("/a", "content");
  source_->hangs_ = true;
  std::promise<absl::Status> ended;
  const auto cancellation =
      files_->Prepare(Trial("/a"), [&](const absl::StatusOr<LocalWorkPtr>& work) { ended.set_value(work.status()); });
  source_->hanging_.get_future().wait();
  cancellation->Cancel();
  EXPECT_TRUE(absl::IsCancelled(ended.get_future().get()));
  // What runs at the end is canceled, too.
  source_->hanging_ = std::promise<void>();
  std::promise<absl::Status> last;
  files_->Prepare(Trial("/a"), [&](const absl::StatusOr<LocalWorkPtr>& work) { last.set_value(work.status()); });
  source_->hanging_.get_future().wait();
  files_.reset();
  EXPECT_TRUE(absl::IsCancelled(last.get_future().get()));
}

TEST_F(CachedFilesTest, MachinesThatShareAFolderDoNotMeetInIt) {
  source_->Add("/a", "content");
  const auto first = Prepare(Trial("/a"));
  ASSERT_TRUE(first.ok()) << first.status();
  auto source = std::make_unique<FakeSource>();
  source->Add("/a", "content");
  // Whatever it is called: no part of its name leads elsewhere.
  CachedFiles other(Options(100, "../gpu 1"), std::move(source), std::make_shared<NoSink>());
  std::promise<absl::StatusOr<LocalWorkPtr>> prepared;
  other.Prepare(Trial("/a"), [&](absl::StatusOr<LocalWorkPtr> work) { prepared.set_value(std::move(work)); });
  EXPECT_THAT(PathHere(**prepared.get_future().get(), Trial("/a")), HasSubstr(folder_ + "/..-gpu-1-1/trees/"));
  EXPECT_TRUE(std::filesystem::exists(PathHere(**first, Trial("/a"))));
}

TEST_F(CachedFilesTest, AsManyFilesComeAtATimeAsThereMayBeThreads) {
  CachedFiles::Options options = Options(1 << 20);
  options.threads = 2;
  files_.reset();
  auto source = std::make_unique<FakeSource>();
  source_ = source.get();
  files_.emplace(options, std::move(source), std::make_shared<NoSink>());
  source_->Add("/large", "content");
  source_->hangs_ = true;
  std::promise<absl::Status> large;
  const auto cancellation = files_->Prepare(
      Trial("/large"), [&](const absl::StatusOr<LocalWorkPtr>& work) { large.set_value(work.status()); });
  source_->hanging_.get_future().wait();
  EXPECT_TRUE(Prepare(Trial("")).ok()) << "one that needs none waits for nobody";
  cancellation->Cancel();
  EXPECT_TRUE(absl::IsCancelled(large.get_future().get()));
}

TEST_F(CachedFilesTest, NodesOfOneMachineHaveFoldersOfTheirOwn) {
  source_->Add("/a", "content");
  ASSERT_TRUE(Prepare(Trial("/a")).ok());
  auto source = std::make_unique<FakeSource>();
  FakeSource* const second_source = source.get();
  second_source->Add("/a", "content");
  {
    CachedFiles second(Options(100), std::move(source), std::make_shared<NoSink>());
    std::promise<absl::StatusOr<LocalWorkPtr>> prepared;
    second.Prepare(Trial("/a"), [&](absl::StatusOr<LocalWorkPtr> work) { prepared.set_value(std::move(work)); });
    EXPECT_THAT(PathHere(**prepared.get_future().get(), Trial("/a")), HasSubstr(folder_ + "/h-2/trees/"));
  }
  // The next node takes over what the last one left.
  Open();
  source_->Add("/a", "content");
  const auto work = Prepare(Trial("/a"));
  EXPECT_THAT(PathHere(**work, Trial("/a")), HasSubstr(folder_ + "/h-1/trees/"));
  EXPECT_EQ(source_->fetches_, 0);
}

}  // namespace
}  // namespace lanista

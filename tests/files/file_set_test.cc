#include "src/files/file_set.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/base/sha256.h"
#include "src/files/file_set_writer.h"
#include "src/files/received_outputs.h"
#include "tests/files/files_testing.h"

namespace lanista {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

v1::SetFile FileOf(const std::string& path, const std::string& content) {
  v1::SetFile file;
  file.set_path(path);
  file.set_sha256(Sha256(content));
  file.set_size(static_cast<int64_t>(content.size()));
  return file;
}

// What is in the folder and below it: "path: content".
std::vector<std::string> ContentsOf(const std::string& folder) {
  std::vector<std::string> contents;
  const auto found = FindFiles(folder);
  EXPECT_TRUE(found.ok()) << found.status();
  for (const FoundFile& file : *found) contents.push_back(file.path + ": " + Content(folder + "/" + file.path));
  return contents;
}

bool IsEmptyFolder(const std::string& folder) {
  return std::filesystem::directory_iterator(folder) == std::filesystem::directory_iterator();
}

TEST(FileSetReaderTest, RegularFilesAreFoundAndRead) {
  const std::string folder = FreshFolder();
  const std::string large(700000, 'l');
  MakeFile(folder + "/b", "bb");
  MakeFile(folder + "/sub/a", large);
  MakeFile(folder + "/empty", "");
  MakeFile(folder + "/.lanista.x1", "half");
  std::filesystem::create_symlink("/etc", folder + "/folder_link");
  std::filesystem::create_symlink("/etc/passwd", folder + "/link");
  mkfifo((folder + "/pipe").c_str(), 0600);
  const auto found = FindFiles(folder);
  ASSERT_TRUE(found.ok()) << found.status();
  auto reader = FileSetReader::Open(folder, *found, kCheckpointLimits);
  ASSERT_TRUE(reader.ok()) << reader.status();
  std::vector<std::string> paths;
  for (const v1::SetFile& file : reader->files().files()) paths.push_back(file.path());
  EXPECT_THAT(paths, ElementsAre("b", "empty", "sub/a"));
  EXPECT_EQ(reader->files().files(2).sha256(), Sha256(large));
  // Replacing a file does not tear what is sent.
  std::filesystem::rename(MakeFile(folder + "/new", "BB"), folder + "/b");
  std::string bytes, piece;
  for (absl::StatusOr<bool> more = true; *more;) {
    more = reader->Next(&piece);
    ASSERT_TRUE(more.ok()) << more.status();
    if (*more) bytes += piece;
  }
  EXPECT_EQ(bytes, "bb" + large);
  EXPECT_THAT(*FindFiles(folder + "/nowhere"), IsEmpty());
}

TEST(FileSetReaderTest, AFileThatChangesIsNoticed) {
  const std::string folder = FreshFolder();
  const std::string path = MakeFile(folder + "/a", "content");
  const auto found = FindFiles(folder);
  MakeFile(path, "longer content");
  EXPECT_TRUE(absl::IsDataLoss(FileSetReader::Open(folder, *found, kCheckpointLimits).status()));
  auto reader = FileSetReader::Open(folder, *FindFiles(folder), kCheckpointLimits);
  ASSERT_TRUE(reader.ok()) << reader.status();
  MakeFile(path, "");
  std::string piece;
  EXPECT_TRUE(absl::IsDataLoss(reader->Next(&piece).status()));
  MakeFile(folder + "/b", "1");
  const absl::Status many = FileSetReader::Open(folder, *FindFiles(folder), {1, 10}).status();
  EXPECT_TRUE(absl::IsResourceExhausted(many)) << many;
  EXPECT_THAT(std::string(many.message()), HasSubstr("2 files"));
}

TEST(FileSetWriterTest, ASetComesInPiecesAndTakesThePlaceOfAnother) {
  const std::string root = FreshFolder();
  for (const std::string& content : {std::string("first"), std::string("second")}) {
    v1::FileSet files;
    *files.add_files() = FileOf("deep/a", content);
    *files.add_files() = FileOf("empty", "");
    *files.add_files() = FileOf("z", "z");
    auto writer = FileSetWriter::Begin(files, root + "/staging", kOutputLimits);
    ASSERT_TRUE(writer.ok()) << writer.status();
    for (const char byte : content + "z") EXPECT_TRUE((*writer)->Write(absl::string_view(&byte, 1)).ok());
    EXPECT_TRUE((*writer)->Finish().ok());
    const absl::Status moved = (*writer)->MoveFolder(root, "trials/7/3");
    EXPECT_TRUE(moved.ok()) << moved;
    writer->reset();
    EXPECT_FALSE(std::filesystem::exists(root + "/staging"));
    EXPECT_THAT(ContentsOf(root + "/trials/7/3"), ElementsAre("deep/a: " + content, "empty: ", "z: z"));
  }
}

TEST(FileSetWriterTest, WhatIsNotWholeLeavesNothing) {
  const std::string root = FreshFolder();
  v1::FileSet files;
  *files.add_files() = FileOf("a", "content");
  const auto status_of = [&](const std::string& bytes) {
    auto writer = FileSetWriter::Begin(files, root + "/staging", kOutputLimits);
    EXPECT_TRUE(writer.ok()) << writer.status();
    absl::Status status = (*writer)->Write(bytes);
    return status.ok() ? (*writer)->Finish() : status;
  };
  for (const char* bytes : {"", "conten", "Content", "content and more"}) {
    EXPECT_TRUE(absl::IsDataLoss(status_of(bytes))) << bytes;
    EXPECT_TRUE(IsEmptyFolder(root)) << bytes;
  }
  EXPECT_TRUE(status_of("content").ok());
}

TEST(FileSetWriterTest, NamesLeadNowhereElse) {
  const std::string root = FreshFolder();
  const std::string nul("a\0b", 3);
  for (const std::string& path :
       {std::string(), std::string("/etc/passwd"), std::string("../a"), std::string("a/../../b"), std::string("a//b"),
        std::string("."), std::string("a/"), nul, std::string(300, 'n')}) {
    v1::FileSet files;
    *files.add_files() = FileOf(path, "x");
    EXPECT_TRUE(absl::IsInvalidArgument(FileSetWriter::Begin(files, root + "/staging", kOutputLimits).status()))
        << path;
  }
  for (const char* second : {"a", "a/b"}) {
    v1::FileSet files;
    *files.add_files() = FileOf("a", "x");
    *files.add_files() = FileOf(second, "x");
    auto writer = FileSetWriter::Begin(files, root + "/staging", kOutputLimits);
    ASSERT_TRUE(writer.ok());
    EXPECT_TRUE(absl::IsInvalidArgument((*writer)->Write("xx"))) << second;
  }
  v1::FileSet lies;
  *lies.add_files() = FileOf("a", "x");
  lies.mutable_files(0)->set_sha256("../../x");
  EXPECT_TRUE(absl::IsInvalidArgument(FileSetWriter::Begin(lies, root + "/staging", kOutputLimits).status()));
  lies.mutable_files(0)->set_sha256(Sha256("x"));
  lies.mutable_files(0)->set_size(-1);
  EXPECT_TRUE(absl::IsInvalidArgument(FileSetWriter::Begin(lies, root + "/staging", kOutputLimits).status()));
  // Sizes that overflow are no way around the limit.
  lies.mutable_files(0)->set_size(INT64_MAX);
  *lies.add_files() = lies.files(0);
  EXPECT_TRUE(absl::IsResourceExhausted(FileSetWriter::Begin(lies, root + "/staging", kOutputLimits).status()));
  EXPECT_TRUE(IsEmptyFolder(root));
}

TEST(FileSetWriterTest, LinksOnTheWayAreNotFollowed) {
  const std::string root = FreshFolder(), elsewhere = FreshFolder();
  std::filesystem::create_symlink(elsewhere, root + "/trials");
  std::filesystem::create_directory(root + "/logs");
  std::filesystem::create_symlink(elsewhere + "/target", root + "/logs/trial-1.log");
  v1::FileSet files;
  *files.add_files() = FileOf("log", "x");
  auto writer = FileSetWriter::Begin(files, root + "/staging", kLogLimits);
  ASSERT_TRUE(writer.ok());
  EXPECT_TRUE((*writer)->Write("x").ok());
  EXPECT_TRUE((*writer)->Finish().ok());
  EXPECT_FALSE((*writer)->MoveFolder(root, "trials/1").ok());
  EXPECT_TRUE((*writer)->MoveFile(root, "logs/trial-1.log").ok()) << "the link itself is replaced";
  EXPECT_TRUE(IsEmptyFolder(elsewhere));
  EXPECT_EQ(Content(root + "/logs/trial-1.log"), "x");
  EXPECT_FALSE(std::filesystem::is_symlink(root + "/logs/trial-1.log"));
}

// The head's half.
class ReceivedOutputsTest : public ::testing::Test {
 protected:
  ReceivedOutputsTest() {
    outputs_.set_folder(folder_);
    outputs_.set_incoming_folder(folder_ + "/incoming");
    outputs_.set_log_file(folder_ + "/logs/trial-7.log");
    v1::ModelOutputs& model = *outputs_.add_models();
    model.set_model(3);
    model.set_output_folder(folder_ + "/trials/7");
    model.set_checkpoint_folder(folder_ + "/checkpoints/3");
  }

  static v1::OutputHeader Header(const std::string& path, const std::string& content) {
    v1::OutputHeader header;
    *header.mutable_files()->add_files() = FileOf(path, content);
    return header;
  }
  absl::Status Deliver(const v1::OutputHeader& header, const std::string& content) {
    absl::StatusOr<ReceivedOutput> output = ReceivedOutput::Begin(outputs_, header, &room_);
    if (!output.ok()) return output.status();
    const absl::Status written = output->Write(content);
    return written.ok() ? output->Commit(now_.value_or(outputs_)) : written;
  }

  const std::string folder_ = FreshFolder();
  // The disk that the head seems to have.
  DiskRoom::Space disk_ = {1 << 30, 1 << 30};
  DiskRoom room_{/*keep_free=*/300000, [this](const std::string&) { return disk_; }};
  v1::AssignmentOutputs outputs_;
  // What the head says when all has come, where that differs.
  std::optional<v1::AssignmentOutputs> now_;
};

TEST_F(ReceivedOutputsTest, EverythingGetsToItsPlaceAndTwiceIsOnce) {
  for (int i = 0; i < 2; ++i) {
    v1::OutputHeader log = Header("any name", "printed");
    log.set_log(true);
    EXPECT_EQ(Deliver(log, "printed"), absl::OkStatus());
    v1::OutputHeader output = Header("weights.pt", "weights");
    output.set_output_of(3);
    EXPECT_EQ(Deliver(output, "weights"), absl::OkStatus());
    v1::OutputHeader checkpoint = Header("checkpoint", "step 5");
    checkpoint.set_checkpoint_of(3);
    EXPECT_EQ(Deliver(checkpoint, "step 5"), absl::OkStatus());
    EXPECT_THAT(ContentsOf(folder_), ElementsAre("checkpoints/3/checkpoint: step 5", "logs/trial-7.log: printed",
                                                 "trials/7/weights.pt: weights"));
    EXPECT_TRUE(IsEmptyFolder(folder_ + "/incoming"));
  }
  // It is what the next attempt begins with.
  auto reader = ReadCheckpoint(outputs_, 3);
  ASSERT_TRUE(reader.ok()) << reader.status();
  EXPECT_EQ(reader->files().files(0).sha256(), Sha256("step 5"));
  EXPECT_TRUE(absl::IsPermissionDenied(ReadCheckpoint(outputs_, 4).status()));
}

TEST_F(ReceivedOutputsTest, SomeOfTheDiskStaysFreeWhateverIsOnItsWay) {
  const std::string content(100000, 'x');
  v1::OutputHeader output = Header("a", content);
  output.set_output_of(3);
  const auto begin = [&] { return ReceivedOutput::Begin(outputs_, output, &room_); };
  disk_.free = 300000 + 99999;
  const absl::Status full = begin().status();
  EXPECT_TRUE(absl::IsUnavailable(full)) << full;
  EXPECT_THAT(std::string(full.message()), HasSubstr("--keep-free"));
  EXPECT_TRUE(IsEmptyFolder(folder_ + "/incoming"));
  disk_.free = 300000 + 200000;
  {
    auto first = begin();
    const auto second = begin();
    ASSERT_TRUE(first.ok() && second.ok());
    EXPECT_TRUE(absl::IsUnavailable(begin().status())) << "both will need their room";
    // What is written is not free any more, and counts once.
    ASSERT_TRUE(first->Write(content).ok());
    disk_.free = 300000 + 199999;
    EXPECT_TRUE(absl::IsUnavailable(begin().status()));
    disk_.free = 300000 + 200000;
    EXPECT_TRUE(begin().ok());
  }
  EXPECT_TRUE(begin().ok()) << "nothing is on its way any more";
  // Of a small disk a tenth stays free.
  disk_ = {/*free=*/200000, /*size=*/1000000};
  EXPECT_TRUE(begin().ok());
  disk_.free = 199999;
  EXPECT_FALSE(begin().ok());
  // What trials printed is small, and a conversion's files are soon gone.
  disk_.free = 0;
  v1::OutputHeader log = Header("log", "printed");
  log.set_log(true);
  EXPECT_EQ(Deliver(log, "printed"), absl::OkStatus());
  outputs_.set_temporary(true);
  EXPECT_TRUE(begin().ok());
}

TEST_F(ReceivedOutputsTest, OnlyWhatEndsAModelWaitsForTheDisk) {
  const std::string content(100000, 'x');
  disk_.free = 300000;
  v1::OutputHeader header = Header("a", content);
  header.set_checkpoint_of(3);
  EXPECT_TRUE(absl::IsUnavailable(Deliver(header, content)));
  EXPECT_EQ(room_.WaitingFor(folder_), "") << "the trial goes on without it";
  header.set_output_of(3);
  EXPECT_TRUE(absl::IsUnavailable(Deliver(header, content)));
  EXPECT_THAT(room_.WaitingFor(folder_), HasSubstr("room for what nodes deliver: the disk of " + folder_));
}

TEST_F(ReceivedOutputsTest, WhatTheAssignmentDoesNotWriteIsRefused) {
  v1::OutputHeader output = Header("a", "x");
  EXPECT_TRUE(absl::IsInvalidArgument(Deliver(output, "x"))) << "it does not say what it is";
  output.set_output_of(4);
  EXPECT_TRUE(absl::IsPermissionDenied(Deliver(output, "x"))) << "another model";
  output.set_output_of(3);
  // It ended while the bytes came.
  now_ = outputs_;
  now_->clear_models();
  EXPECT_TRUE(absl::IsPermissionDenied(Deliver(output, "x")));
  now_.reset();
  // Nor does a mistake of the head's lead out of the experiment's folder.
  for (const std::string& place : {std::string("/etc/x"), folder_ + "x/a", folder_ + "/../x", std::string()}) {
    outputs_.mutable_models(0)->set_output_folder(place);
    EXPECT_TRUE(absl::IsPermissionDenied(Deliver(output, "x"))) << place;
  }
  v1::OutputHeader logs = Header("a", "x");
  *logs.mutable_files()->add_files() = FileOf("b", "x");
  logs.set_log(true);
  EXPECT_TRUE(absl::IsInvalidArgument(Deliver(logs, "xx"))) << "two logs";
  v1::OutputHeader large = Header("a", "x");
  large.set_log(true);
  large.mutable_files()->mutable_files(0)->set_size(kLogLimits.bytes + 1);
  EXPECT_TRUE(absl::IsResourceExhausted(Deliver(large, "x")));
  EXPECT_THAT(ContentsOf(folder_), IsEmpty());
}

}  // namespace
}  // namespace lanista

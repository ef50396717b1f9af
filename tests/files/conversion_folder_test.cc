#include "src/files/conversion_folder.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "src/base/held_folder.h"
#include "src/base/sha256.h"
#include "src/base/unique_fd.h"
#include "src/files/received_outputs.h"
#include "src/files/trial_outputs.h"
#include "tests/files/files_testing.h"

namespace lanista {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ConversionFolderTest : public ::testing::Test {
 protected:
  ConversionFolderTest() {
    request_.set_out(out_ + "/1-model-7");
    request_.add_keep("/some/file");
    for_node_ = folder_->ForNode(request_);
  }

  // What lies where the node writes.
  std::string Written() const { return fs::path(for_node_.out()).parent_path(); }
  absl::StatusOr<v1::Converted> Take(const std::string& file) const {
    v1::Converted converted;
    converted.add_files(file);
    return folder_->Take(converted, request_.out());
  }

  const std::string incoming_ = FreshFolder() + "/incoming";
  const std::string out_ = FreshFolder();
  std::optional<ConversionFolder> folder_ = ConversionFolder::Make(incoming_).value();
  v1::Convert request_, for_node_;
};

TEST_F(ConversionFolderTest, WhatANodeWroteGetsToItsPlaceAndTheFolderGoes) {
  EXPECT_THAT(for_node_.out(), HasSubstr(incoming_ + "/"));
  EXPECT_EQ(fs::path(for_node_.out()).filename(), "1-model-7");
  EXPECT_TRUE(for_node_.keep().empty());
  MakeFile(for_node_.out() + ".py", "source");
  MakeFile(for_node_.out() + ".pt", "weights");
  v1::Converted converted;
  // As a node names them whose folder is another one.
  converted.add_files("/cache/assignments/1/output-1/1-model-7.py");
  converted.add_files("/cache/assignments/1/output-1/1-model-7.pt");
  converted.add_warnings("a warning");
  const auto taken = folder_->Take(converted, request_.out());
  ASSERT_TRUE(taken.ok()) << taken.status();
  EXPECT_THAT(taken->files(), ElementsAre(out_ + "/1-model-7.py", out_ + "/1-model-7.pt"));
  EXPECT_THAT(taken->warnings(), ElementsAre("a warning"));
  EXPECT_EQ(Content(out_ + "/1-model-7.py"), "source");
  EXPECT_EQ(Content(out_ + "/1-model-7.pt"), "weights");
  folder_.reset();
  EXPECT_TRUE(fs::is_empty(incoming_));
}

TEST_F(ConversionFolderTest, WhatIsDeliveredGetsWhereItIsTakenFrom) {
  v1::OutputHeader header;
  header.set_output_of(kConvertedModel);
  v1::SetFile& file = *header.mutable_files()->add_files();
  file.set_path("1-model-7.py");
  file.set_size(6);
  file.set_sha256(Sha256("source"));
  const v1::AssignmentOutputs outputs = OutputsOf(for_node_);
  DiskRoom room;
  absl::StatusOr<ReceivedOutput> received = ReceivedOutput::Begin(outputs, header, &room);
  ASSERT_TRUE(received.ok()) << received.status();
  EXPECT_EQ(received->Write("source"), absl::OkStatus());
  EXPECT_EQ(received->Commit(outputs), absl::OkStatus());
  ASSERT_TRUE(Take("1-model-7.py").ok());
  EXPECT_EQ(Content(out_ + "/1-model-7.py"), "source");

  // Nothing else of it is taken.
  for (const bool log : {true, false}) {
    v1::OutputHeader other = header;
    if (log) {
      other.set_log(true);
    } else {
      other.set_checkpoint_of(kConvertedModel);
    }
    EXPECT_TRUE(absl::IsPermissionDenied(ReceivedOutput::Begin(outputs, other, &room).status()));
  }
}

TEST_F(ConversionFolderTest, WhatNoConversionWritesIsNotTaken) {
  MakeFile(for_node_.out() + ".py", "source");
  MakeFile(Written() + "/other.py", "source");
  fs::create_symlink("/etc/passwd", for_node_.out() + ".pt");
  for (const char* file : {"other.py", "/etc/passwd", "", "1-model-7.h", "1-model-7.pt", "1-model-7"}) {
    EXPECT_TRUE(absl::IsInternal(Take(file).status())) << file;
  }
  v1::Converted twice;
  twice.add_files("1-model-7.py");
  twice.add_files("1-model-7.py");
  EXPECT_TRUE(absl::IsInternal(folder_->Take(twice, request_.out()).status()));
}

TEST_F(ConversionFolderTest, AResumeMeanwhileLeavesItAloneAndRemovesWhatAKilledHeadLeft) {
  MakeFile(for_node_.out() + ".py", "source");
  MakeFile(incoming_ + "/left/output/1-model-7.py", "source");
  RemoveUnlessHeld(incoming_);
  EXPECT_FALSE(fs::exists(incoming_ + "/left"));
  EXPECT_EQ(Take("1-model-7.py").status(), absl::OkStatus());
  EXPECT_EQ(Content(out_ + "/1-model-7.py"), "source");
  folder_.reset();
  RemoveUnlessHeld(incoming_);
  EXPECT_FALSE(fs::exists(incoming_));
}

TEST_F(ConversionFolderTest, WhatAResumeRemovesBeforeItIsHeldIsMadeAgain) {
  absl::StatusOr<UniqueFd> held;
  const std::function<void(const std::string&)> disturbances[] = {
      [this](const std::string&) { RemoveUnlessHeld(incoming_); },
      // The resume holds it, and is about to remove it.
      [&held](const std::string& folder) { held = HoldFolder(folder); },
      // It has removed what is inside, and not yet the folder.
      [](const std::string& folder) { fs::remove_all(folder + "/output"); }};
  for (const auto& disturb : disturbances) {
    std::set<std::string> made;
    const auto folder = ConversionFolder::Make(incoming_, [&](const std::string& path) {
      if (made.insert(path).second && made.size() == 1) disturb(path);
    });
    ASSERT_TRUE(folder.ok()) << folder.status();
    EXPECT_EQ(made.size(), 2u);
    EXPECT_TRUE(fs::is_directory(fs::path(folder->ForNode(request_).out()).parent_path()));
  }
}

TEST_F(ConversionFolderTest, WhatIsAlwaysRemovedIsNotMadeForEver) {
  folder_.reset();
  int made = 0;
  const auto folder = ConversionFolder::Make(incoming_, [&](const std::string&) {
    ++made;
    RemoveUnlessHeld(incoming_);
  });
  EXPECT_TRUE(absl::IsNotFound(folder.status())) << folder.status();
  EXPECT_EQ(made, 3);
  EXPECT_FALSE(fs::exists(incoming_));
}

TEST_F(ConversionFolderTest, AFolderThatCannotBeMadeIsAnError) {
  MakeFile(out_ + "/file", "in the way");
  EXPECT_FALSE(ConversionFolder::Make(out_ + "/file").ok());
}

}  // namespace
}  // namespace lanista

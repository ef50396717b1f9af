#include "src/files/outgoing_files.h"

#include <gmock/gmock.h>

#include <map>
#include <string>

#include "absl/strings/escaping.h"
#include "protos/graph.pb.h"
#include "src/base/sha256.h"
#include "src/graph/io.h"
#include "tests/files/files_testing.h"

namespace lanista {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

// What arrives: path -> content. The digests are those of the content.
std::map<std::string, std::string> Sent(const OutgoingFiles& outgoing) {
  std::map<std::string, std::string> sent;
  for (int i = 0; i < outgoing.list().files_size(); ++i) {
    const v1::UploadFile& file = outgoing.list().files(i);
    std::string& content = sent[file.path()];
    EXPECT_TRUE(outgoing
                    .Read(i,
                          [&content](absl::string_view bytes) {
                            content.append(bytes.data(), bytes.size());
                            return true;
                          })
                    .ok());
    EXPECT_EQ(static_cast<int64_t>(content.size()), file.size());
    EXPECT_EQ(absl::BytesToHexString(file.sha256()), Sha256(content)) << file.path();
  }
  return sent;
}

TEST(OutgoingFilesTest, FilesAndFoldersKeepTheirNames) {
  const std::string folder = FreshFolder();
  const std::string table = MakeFile(folder + "/a/table.csv", "x,y\n");
  MakeFile(folder + "/images/cat/1.png", "cat");
  MakeFile(folder + "/images/dog/1.png", std::string(700000, 'd'));
  std::filesystem::create_directories(folder + "/images/empty");
  const auto outgoing = OutgoingFiles::Make({table, folder + "/images/"}, {});
  ASSERT_TRUE(outgoing.ok()) << outgoing.status();
  EXPECT_THAT(Sent(*outgoing), ElementsAre(Pair("0/table.csv", "x,y\n"), Pair("1/images/cat/1.png", "cat"),
                                           Pair("1/images/dog/1.png", std::string(700000, 'd'))));
  EXPECT_THAT(outgoing->list().folders(),
              UnorderedElementsAre("1/images", "1/images/cat", "1/images/dog", "1/images/empty"));
  EXPECT_EQ(outgoing->PlaceOf(table), "0/table.csv");
  EXPECT_EQ(outgoing->PlaceOf(folder + "/images/"), "1/images");
  EXPECT_EQ(outgoing->bytes(), 700007);
}

TEST(OutgoingFilesTest, AGraphComesWithItsArchives) {
  const std::string folder = FreshFolder();
  MakeFile(folder + "/elsewhere/net.pt", "weights");
  v1::ModelGraph model;
  model.set_name("net");
  model.add_graphs()->set_name("net");
  model.add_archives()->set_path(folder + "/elsewhere/net.pt");
  const std::string graph = MakeFile(folder + "/net.textproto", graph::Write(model, graph::Format::kText));
  const auto outgoing = OutgoingFiles::Make({graph}, {graph});
  ASSERT_TRUE(outgoing.ok()) << outgoing.status();
  std::map<std::string, std::string> sent = Sent(*outgoing);
  EXPECT_EQ(sent.size(), 2u);
  EXPECT_EQ(sent["0/archives/0/net.pt"], "weights");
  // As the head reads it there.
  const std::string there = FreshFolder();
  for (const auto& [path, content] : sent) MakeFile(there + "/" + path, content);
  const auto read = graph::ReadFile(there + "/" + outgoing->PlaceOf(graph));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->name(), "net");
  EXPECT_EQ(read->archives(0).path(), there + "/0/archives/0/net.pt");

  std::filesystem::remove(folder + "/elsewhere/net.pt");
  EXPECT_THAT(std::string(OutgoingFiles::Make({graph}, {graph}).status().message()), HasSubstr("elsewhere/net.pt"));
}

TEST(OutgoingFilesTest, AFileThatBecomesShorterIsNamed) {
  const std::string path = MakeFile(FreshFolder() + "/a", "long enough");
  const auto outgoing = OutgoingFiles::Make({path}, {});
  ASSERT_TRUE(outgoing.ok()) << outgoing.status();
  MakeFile(path, "short");
  const absl::Status status = outgoing->Read(0, [](absl::string_view) { return true; });
  EXPECT_THAT(std::string(status.message()), HasSubstr(path));
  // One that grows is sent as far as it was listed.
  MakeFile(path, "long enough, and more");
  EXPECT_EQ(Sent(*OutgoingFiles::Make({path}, {}))["0/a"], "long enough, and more");
  std::string content;
  EXPECT_TRUE(outgoing
                  ->Read(0,
                         [&content](absl::string_view bytes) {
                           content.append(bytes.data(), bytes.size());
                           return true;
                         })
                  .ok());
  EXPECT_EQ(content, "long enough");
}

}  // namespace
}  // namespace lanista

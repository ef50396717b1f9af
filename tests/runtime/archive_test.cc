// What a TorchScript file, and a graph that names one, may do.
#include <ATen/ops/arange.h>
#include <torch/csrc/jit/api/module.h>

#include <filesystem>
#include <fstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "src/base/read_file.h"
#include "src/base/sha256.h"
#include "src/runtime/archive_check.h"
#include "src/runtime/archive_torch.h"
#include "src/runtime/aten_call_torch.h"

namespace lanista::runtime {
namespace {

using ::testing::HasSubstr;

// Saves a module of this forward method; returns the file's path.
std::string Save(const std::string& name, const std::string& forward) {
  torch::jit::Module module("Net");
  module.register_parameter("weight", at::arange(100, at::kFloat), false);
  module.define("def forward(self, x):\n" + forward);
  const std::string path = testing::TempDir() + "/" + name + ".pt";
  module.save(path);
  return path;
}

v1::Archive Named(const std::string& path, const std::string& sha256 = "") {
  v1::Archive archive;
  archive.set_path(path);
  archive.set_sha256(sha256);
  return archive;
}

TEST(Archive, WithoutADigestIsCheckedLikeAnyOther) {
  const std::string path = Save("hostile", "  return x + torch.from_file('/etc/hostname', False, 1)\n");
  const auto archive = Archive::Open(Named(path));
  EXPECT_EQ(archive.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(archive.status().message()), HasSubstr("operator 'aten::from_file' is refused"));

  const std::string text = testing::TempDir() + "/text.pt";
  std::ofstream(text) << "not a model";
  EXPECT_THAT(std::string(Archive::Open(Named(text)).status().message()), HasSubstr("is no TorchScript file"));
}

TEST(Archive, IsWhatWasHashedWhateverBecomesOfTheFile) {
  const std::string path = Save("changes", "  return x + 1\n");
  auto first = Archive::Open(Named(path));
  ASSERT_TRUE(first.ok()) << first.status();
  const std::string digest = (*first)->sha256();
  EXPECT_EQ(digest, Sha256(ReadWholeFile(path, 1 << 20).value_or("")));

  Save("changes", "  return x + 2\n");
  auto same = Archive::Open(Named(path, digest));
  ASSERT_TRUE(same.ok()) << "what is open stays what it was: " << same.status();
  EXPECT_EQ(*same, *first);
  const auto other = Archive::Open(Named(path));
  ASSERT_TRUE(other.ok()) << other.status();
  EXPECT_NE((*other)->sha256(), digest);

  first = absl::CancelledError();
  same = absl::CancelledError();
  const auto gone = Archive::Open(Named(path, digest));
  EXPECT_EQ(gone.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(gone.status().message()), HasSubstr(path + " is not the file that the graph was made from"));
}

TEST(Archive, OfNoFileSaysSo) {
  EXPECT_EQ(Archive::Open(Named("/nowhere.pt")).status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(Archive::Open(Named("/dev/zero")).status().message()), HasSubstr("no regular file"));
}

TEST(CheckArchive, FindsEveryChangedBit) {
  const std::string path = Save("rot", "  return x + 1\n");
  const std::string content = ReadWholeFile(path, 1 << 20).value_or("");
  ASSERT_TRUE(CheckArchive(path, content).ok());
  // The weights: a hundred floats, 0 to 99.
  const float expected[] = {41, 42, 43};
  const size_t weights = content.find(std::string(reinterpret_cast<const char*>(expected), sizeof(expected)));
  ASSERT_NE(weights, std::string::npos);
  std::string rotten = content;
  rotten[weights] = static_cast<char>(rotten[weights] ^ 1);
  const absl::Status status = CheckArchive(path, rotten);
  EXPECT_THAT(std::string(status.message()), HasSubstr("the checksum of its record"));
}

TEST(AtenCall, RunsNoOperatorThatIsRefused) {
  for (const char* const type : {"aten::save", "aten::from_file", "aten::from_file.out", "prim::PythonOp",
                                 "quantized::linear", "lanista::unheard_of"}) {
    v1::Node node;
    node.mutable_op()->set_type(type);
    const auto call = AtenCall::Create(node);
    EXPECT_EQ(call.status().code(), absl::StatusCode::kInvalidArgument) << type;
    EXPECT_THAT(std::string(call.status().message()), HasSubstr(std::string("operator '") + type + "' is refused"));
  }
  EXPECT_EQ(CheckAtenOperator("aten::unheard_of").message(), "LibTorch has no operator 'aten::unheard_of'");
  EXPECT_TRUE(CheckAtenOperator("aten::add.Tensor").ok());
  EXPECT_TRUE(CheckAtenOperator("prim::ListConstruct").ok());
}

}  // namespace
}  // namespace lanista::runtime

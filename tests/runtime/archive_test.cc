// What a TorchScript file, and a graph that names one, may do.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
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

TEST(Archive, CopiesOfAModuleShareMemoryAmongThemselvesOnly) {
  torch::jit::Module module("Net");
  const at::Tensor all = at::arange(12, at::kFloat);
  module.register_buffer("two", all.narrow(0, 0, 2));
  module.register_buffer("four", all.narrow(0, 2, 4));
  module.register_parameter("first", all.narrow(0, 6, 2), false);
  module.register_parameter("second", all.narrow(0, 8, 2).detach().requires_grad_(), false);
  module.register_parameter("same", all.narrow(0, 6, 2), false);
  // One that is not trained shows what a trained one does.
  module.register_buffer("shown", all.narrow(0, 8, 2));
  module.register_attribute("list", c10::ListType::ofTensors(),
                            c10::List<at::Tensor>({all.narrow(0, 0, 2), all.narrow(0, 10, 2)}));
  module.define("def forward(self, x):\n  return x + self.two\n");
  const std::string path = testing::TempDir() + "/views.pt";
  module.save(path);
  const auto archive = Archive::Open(Named(path));
  ASSERT_TRUE(archive.ok()) << archive.status();
  const auto copied = (*archive)->CopyModule("");
  ASSERT_TRUE(copied.ok()) << copied.status();
  const auto tensor = [&](const char* name) { return copied->attr(name).toTensor(); };
  for (const char* const name : {"two", "four", "first", "second", "same", "shown"}) {
    EXPECT_TRUE(at::equal(tensor(name), module.attr(name).toTensor())) << name << ": " << tensor(name);
  }
  EXPECT_EQ(copied->attr("list").toTensorList().get(1)[1].item<float>(), 11);
  EXPECT_TRUE(tensor("first").is_same(tensor("same"))) << "an optimizer must not step it twice";
  EXPECT_TRUE(tensor("second").requires_grad());
  EXPECT_FALSE(tensor("first").requires_grad());
  EXPECT_FALSE(tensor("shown").requires_grad());
  {
    const at::NoGradGuard no_grad;
    tensor("second").fill_(3);
  }
  EXPECT_EQ(tensor("shown")[0].item<float>(), 3);
  tensor("two").fill_(7);
  EXPECT_EQ(copied->attr("list").toTensorList().get(0)[0].item<float>(), 7);
  EXPECT_EQ((*archive)->FindTensor("two")->sum().item<float>(), 1);
}

TEST(Archive, ACopiedSubmoduleHasItsOwnPartOfAStorageOnly) {
  torch::jit::Module module("Net");
  torch::jit::Module part("Part");
  const at::Tensor all = at::arange(100000, at::kFloat);
  part.register_buffer("late", all.narrow(0, 50001, 10));
  part.define("def forward(self, x):\n  return x + self.late\n");
  module.register_buffer("early", all.narrow(0, 0, 10));
  module.register_module("part", part);
  module.define("def forward(self, x):\n  return self.part.forward(x) + self.early\n");
  const std::string path = testing::TempDir() + "/parts.pt";
  module.save(path);
  const auto archive = Archive::Open(Named(path));
  ASSERT_TRUE(archive.ok()) << archive.status();
  const at::Tensor late = (*archive)->CopyModule("part")->attr("late").toTensor();
  EXPECT_TRUE(at::equal(late, all.narrow(0, 50001, 10))) << late;
  EXPECT_LE(late.storage().nbytes(), 64u);
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

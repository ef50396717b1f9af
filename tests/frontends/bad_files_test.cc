// Files that must be refused, each with a reason.
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "tests/frontends/imported_model.h"

namespace lanista {
namespace {

struct BadFile {
  const char* name;
  // What the message must say.
  const char* says;
};

class BadFileTest : public testing::TestWithParam<BadFile> {};

TEST_P(BadFileTest, IsRefusedWithAReason) {
  if (ModelFolder().empty()) GTEST_SKIP() << "no Python with torch";
  const auto model = Import(GetParam().name);
  ASSERT_FALSE(model.ok());
  EXPECT_EQ(model.status().code(), absl::StatusCode::kInvalidArgument) << model.status();
  EXPECT_TRUE(absl::StrContains(model.status().message(), GetParam().says)) << model.status();
  EXPECT_TRUE(absl::StrContains(model.status().message(), GetParam().name)) << model.status();
}

INSTANTIATE_TEST_SUITE_P(
    Files, BadFileTest,
    testing::Values(BadFile{"truncated", "is truncated"}, BadFile{"empty", "is no zip file"},
                    BadFile{"text", "torch.jit.script"}, BadFile{"state_dict", "was written by torch.save"},
                    BadFile{"old_state_dict", "old torch.save"}, BadFile{"traced", "torch.jit.trace"},
                    BadFile{"newer", "is of a newer format"}, BadFile{"unknown_operator", "aten::flutten"},
                    BadFile{"bomb", "would unpack to"}, BadFile{"traversal", "leads out of the archive"},
                    BadFile{"overlap", "overlap"}, BadFile{"huge", "claims to hold 4026531840 bytes"},
                    BadFile{"reads_file", "__torch__.ReadsFile: operator 'aten::from_file'"},
                    BadFile{"forks_file", "'aten::from_file'"}, BadFile{"sets_state", "__setstate__"},
                    BadFile{"sets_state_with_spaces", "__setstate__"}, BadFile{"sets_state_shouted", "__setstate__"},
                    BadFile{"interface_file", "Loader: operator 'aten::from_file'"},
                    BadFile{"bit_rot", "the checksum of its record"},
                    BadFile{"two_directories", "it has two directories"}, BadFile{"no_forward", "no forward method"},
                    BadFile{"hooked", "has forward hooks of its own"}),
    [](const testing::TestParamInfo<BadFile>& info) { return std::string(info.param.name); });

TEST(BadFile, OfNoSuchNameIsNotFound) {
  const auto model = Import("no_such_file");
  EXPECT_EQ(model.status().code(), absl::StatusCode::kNotFound) << model.status();
}

}  // namespace
}  // namespace lanista

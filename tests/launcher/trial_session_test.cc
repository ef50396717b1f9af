#include "src/launcher/trial_session.h"

#include <filesystem>
#include <fstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lanista {
namespace {

using ::testing::HasSubstr;

// A program that runs these lines of shell.
TrialProgram Script(const std::string& lines) {
  TrialProgram program;
  program.path = ::testing::TempDir() + "/trial_session_test.sh";
  std::ofstream(program.path) << "#!/bin/sh\n" << lines << "\n";
  std::filesystem::permissions(program.path, std::filesystem::perms::owner_all);
  return program;
}

TEST(TrialSessionTest, AProgramThatHangsIsNotWaitedForForEver) {
  TrialSession::Limits limits;
  limits.ready = std::chrono::milliseconds(10);
  const auto session = TrialSession::Start(Script("exec sleep 1000"), limits);
  EXPECT_EQ(session.status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(session.status().message()),
              HasSubstr("trial_session_test.sh: there was no answer after 10ms"));
}

TEST(TrialSessionTest, AProgramThatIsNoTrialProgramSaysSo) {
  const auto session = TrialSession::Start(Script("exit 3"));
  EXPECT_EQ(session.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(session.status().message()), HasSubstr("is it a trial program?"));
}

TEST(TrialSessionTest, AProgramThatWasKilledIsNotToBlame) {
  const auto session = TrialSession::Start(Script("kill -9 $$"));
  EXPECT_EQ(session.status().code(), absl::StatusCode::kAborted);
  EXPECT_THAT(std::string(session.status().message()), HasSubstr("was killed (signal 9)"));
}

TEST(TrialSessionTest, AProgramThatIsNotThereIsNotFound) {
  TrialProgram program;
  program.path = "/no/such/program";
  EXPECT_EQ(TrialSession::Start(program).status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace lanista

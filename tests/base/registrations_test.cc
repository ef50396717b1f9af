#include "src/base/registrations.h"

#include "gtest/gtest.h"

namespace lanista {
namespace {

TEST(RegistrationsTest, AdmitsNamesThatAreFree) {
  Registrations registrations;
  EXPECT_TRUE(registrations.Admit("evaluator", "mine", {"yours"}));
  EXPECT_TRUE(registrations.status().ok());
}

TEST(RegistrationsTest, ANameThatIsTakenSaysSo) {
  Registrations registrations;
  EXPECT_FALSE(registrations.Admit("evaluator", "mine", {"mine", "yours"}));
  EXPECT_EQ(registrations.status(), absl::FailedPreconditionError(
                                        "the evaluator 'mine' is registered twice: give one of the two another name"));
}

TEST(RegistrationsTest, TheFirstProblemIsKept) {
  Registrations registrations;
  EXPECT_FALSE(registrations.Admit("evaluator", "", {}));
  EXPECT_FALSE(registrations.Admit("dataset", "mine", {"mine"}));
  EXPECT_EQ(registrations.status(),
            absl::FailedPreconditionError("the evaluator '' needs a name: configurations refer to it by its name"));
}

TEST(RegistrationsTest, NothingIsAdmittedAfterInit) {
  Registrations registrations;
  registrations.Close();
  EXPECT_TRUE(registrations.status().ok());
  EXPECT_FALSE(registrations.Admit("model space", "late", {}));
  EXPECT_EQ(registrations.status(),
            absl::FailedPreconditionError("the model space 'late' was registered after lanista::Init, so trial "
                                          "processes, which begin in Init, do not know it: register it before Init"));
}

}  // namespace
}  // namespace lanista

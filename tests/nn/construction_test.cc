#include "src/nn/construction.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "src/nn/decide.h"
#include "src/nn/value_choice.h"
#include "src/space/space.h"

namespace lanista::nn {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

v1::Decision LastOption(const v1::Choice& choice) { return MakeDecision(choice, *CountOptions(choice) - 1); }

std::vector<std::string> Labels(const Construction& construction) {
  std::vector<std::string> labels;
  for (const auto& asked : construction.asked()) labels.push_back(asked.choice.label());
  return labels;
}

// The text of the SpaceError that `code` throws.
template <typename Code>
std::string ErrorOf(Code code) {
  try {
    code();
  } catch (const SpaceError& error) {
    return error.what();
  }
  return "nothing was thrown";
}

v1::Choice NumberedChoice(const std::string& label, int candidates, int n_chosen) {
  v1::Choice choice;
  choice.set_label(label);
  choice.set_kind(v1::Choice::INPUT_CHOICE);
  choice.set_n_chosen(n_chosen);
  for (int64_t i = 0; i < candidates; ++i) *choice.add_candidates() = ToValue(i);
  return choice;
}

TEST(ValueChoiceTest, TakesTheFirstOptionInAPlainProgram) {
  EXPECT_EQ(ValueChoice({64, 128}), 64);
  EXPECT_EQ(ValueChoice({0.25, 0.5}, "dropout"), 0.25);
  EXPECT_EQ(ValueChoice({"relu", "gelu"}), "relu");
  EXPECT_FALSE(ValueChoice({false, true}));
}

TEST(ValueChoiceTest, IsAnErrorWhereASearchCannotAnswer) {
  const auto ask = [] { ValueChoice({64, 128}, "width"); };
  {
    const SearchGuard search;
    EXPECT_THAT(ErrorOf(ask), AllOf(HasSubstr("choice 'width' at "), HasSubstr("construction_test.cc:"),
                                    HasSubstr("outside of a model's constructor")));
    const Construction construction(LastOption);
    EXPECT_EQ(ErrorOf(ask), "nothing was thrown");
  }
  EXPECT_EQ(ErrorOf(ask), "nothing was thrown") << "a plain program";
}

TEST(ValueChoiceTest, CandidatesOfALabelThatClashesReadAsEverywhereElse) {
  Construction construction(LastOption);
  ValueChoice({8, 16}, "width");
  EXPECT_THAT(ErrorOf([] { ValueChoice({"a"}, "width"); }),
              AllOf(HasSubstr("value choice of 1 from [8, 16]"), HasSubstr("from [\"a\"]")));
}

TEST(ValueChoiceTest, ReturnsPlainValuesForArithmetic) {
  Construction construction(LastOption);
  const int64_t width = 2 * ValueChoice({64, 128}) + 1;
  const double rate = 1 - ValueChoice<double>({0, 0.25});
  const std::string name = ValueChoice(std::vector<std::string>{"a", "b"}) + "x";
  EXPECT_EQ(width, 257);
  EXPECT_EQ(rate, 0.75);
  EXPECT_EQ(name, "bx");
  EXPECT_TRUE(ValueChoice(std::vector<bool>{false, true}));
}

TEST(ValueChoiceTest, RefusesCandidatesThatCannotBeChosenFrom) {
  EXPECT_THAT(ErrorOf([] { ValueChoice(std::vector<int64_t>(), "width"); }),
              AllOf(HasSubstr("'width'"), HasSubstr("construction_test.cc:"), HasSubstr("no candidates")));
  EXPECT_THAT(ErrorOf([] { ValueChoice({1, 2, 1}); }), AllOf(HasSubstr("candidate 1"), HasSubstr("twice")));
  EXPECT_THAT(ErrorOf([] { ValueChoice({1.0, std::numeric_limits<double>::quiet_NaN()}); }), HasSubstr("finite"));
}

TEST(LabelTest, TheSameLabelIsOneChoiceAskedOnce) {
  int asked = 0;
  Construction construction([&](const v1::Choice& choice) {
    ++asked;
    return LastOption(choice);
  });
  EXPECT_EQ(ValueChoice({1, 2}, "width"), 2);
  EXPECT_EQ(ValueChoice({1, 2}, "width"), 2);
  EXPECT_EQ(asked, 1);
  EXPECT_THAT(Labels(construction), ElementsAre("width"));
  EXPECT_EQ(Space::ToJson(construction.sample()), R"({"width":2})");
}

TEST(LabelTest, TheSameLabelWithOtherCandidatesNamesBothPlaces) {
  Construction construction(LastOption);
  const int first = __LINE__ + 1;
  ValueChoice({1, 2}, "width");
  const std::string error = ErrorOf([] { ValueChoice({1, 3}, "width"); });
  const int second = __LINE__ - 1;
  EXPECT_THAT(error, AllOf(HasSubstr("'width'"), HasSubstr("construction_test.cc:" + std::to_string(first)),
                           HasSubstr("construction_test.cc:" + std::to_string(second))));
}

TEST(LabelTest, TheSameLabelForAnotherKindIsAnError) {
  Construction construction(LastOption);
  ValueChoice({0, 1}, "pick");
  EXPECT_THAT(ErrorOf([] { Ask(NumberedChoice("pick", 2, 1), Location::Here()); }),
              AllOf(HasSubstr("value choice"), HasSubstr("input choice")));
}

TEST(LabelTest, AutomaticLabelsAreScopePathKindAndOrdinal) {
  Construction construction(LastOption);
  ValueChoice({1, 2});
  ValueChoice({1, 2}, "named");
  Ask(NumberedChoice("", 2, 1), Location::Here());
  {
    LabelScope layer("layer_1/conv");
    ValueChoice({1, 2});
    { LabelScope cell(LabelOr("", "cell")); }
  }
  ValueChoice({1, 2});
  EXPECT_EQ(LabelOr("given", "cell"), "given");
  EXPECT_THAT(Labels(construction), ElementsAre("value_1", "named", "input_1", "layer_1/conv/value_1", "value_2"));
}

TEST(LabelTest, EnteringAScopeAgainSharesWhatIsInside) {
  Construction construction(LastOption);
  for (int i = 0; i < 2; ++i) {
    LabelScope cell("normal");
    ValueChoice({3, 5});
  }
  EXPECT_THAT(Labels(construction), ElementsAre("normal/value_1"));
}

TEST(ConstructionTest, TheInnermostAnswersAndTheOuterOneGoesOn) {
  Construction outer(LastOption);
  try {
    Construction inner([](const v1::Choice& choice) { return MakeDecision(choice, 1); });
    EXPECT_EQ(ValueChoice({1, 2, 3}), 2);
    LabelScope scope("inside");
    throw SpaceError("half-way");
  } catch (const SpaceError&) {
  }
  EXPECT_EQ(ValueChoice({1, 2, 3}), 3);
  EXPECT_THAT(Labels(outer), ElementsAre("value_1"));
}

TEST(AskTest, RefusesToChooseMoreThanThereIs) {
  EXPECT_THAT(ErrorOf([] { Ask(NumberedChoice("skip", 2, 3), Location::Here()); }),
              AllOf(HasSubstr("'skip'"), HasSubstr("3 of 2")));
  EXPECT_THAT(ErrorOf([] { Ask(NumberedChoice("skip", 2, 0), Location::Here()); }), HasSubstr("0 of 2"));
  EXPECT_THAT(ErrorOf([] { Ask(NumberedChoice("skip", 100, 50), Location::Here()); }), HasSubstr("'skip'"));
}

TEST(DecideTest, ADecisionsIndexAndValueMustAgreeWithTheCandidates) {
  const v1::Choice choice = NumberedChoice("skip", 4, 2);
  v1::Decision decision = MakeDecision(choice, 3);
  EXPECT_EQ(CheckedDecision(choice, decision).SerializeAsString(), decision.SerializeAsString());
  decision.mutable_value(0)->set_i(2);
  EXPECT_THAT(ErrorOf([&] { CheckedDecision(choice, decision); }), HasSubstr("skip"));
  decision = MakeDecision(choice, 3);
  decision.set_index(1, 9);
  EXPECT_THAT(ErrorOf([&] { CheckedDecision(choice, decision); }), HasSubstr("skip"));
}

TEST(DecideTest, ValuesAloneFindTheirIndices) {
  const v1::Choice choice = NumberedChoice("skip", 4, 2);
  v1::Decision decision = MakeDecision(choice, 3);
  decision.clear_index();
  EXPECT_EQ(CheckedDecision(choice, decision).SerializeAsString(), MakeDecision(choice, 3).SerializeAsString());
}

TEST(DecideTest, DrawsDependOnSeedAndLabelAlone) {
  const auto drawn = [](const std::string& label, uint64_t seed) {
    return OptionOf(NumberedChoice(label, 1000, 1), DrawnDecision(NumberedChoice(label, 1000, 1), seed));
  };
  EXPECT_EQ(drawn("a", 1), drawn("a", 1));
  EXPECT_NE(drawn("a", 1), drawn("b", 1));
  EXPECT_NE(drawn("a", 1), drawn("a", 2));
}

}  // namespace
}  // namespace lanista::nn

#include "src/config/choices.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "src/space/space.h"

namespace lanista {
namespace {

using ::testing::HasSubstr;

v1::ChoicesConfig Parse(const std::string& text) {
  v1::ChoicesConfig choices;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &choices)) << text;
  return choices;
}

constexpr char kChoices[] = R"pb(
  choice {
    label: "depth"
    candidate:
    [ { i: 1 }
      , { i: 2 }
      , { i: 3 }]
  }
  choice {
    label: "rate"
    candidate:
    [ { f: 0.5 }
      , { f: 1 }]
  }
  choice {
    label: "skips"
    n_chosen: 2
    candidate:
    [ { s: "a" }
      , { s: "b" }
      , { s: "c" }]
  }
  choice {
    label: "second"
    candidate:
    [ { s: "conv" }
      , { b: true }
      , {
        list {
          values:
          [ { i: 1 }
            , { i: 2 }]
        }
      }]
    active_if {
      all_of {
        label: "depth"
        candidate:
        [ { i: 2 }
          , { i: 3 }]
      }
    }
  }
  choice {
    label: "third"
    candidate:
    [ { i: 0 }
      , { i: 1 }]
    active_if {
      all_of {
        label: "depth"
        candidate { i: 3 }
      }
      all_of {
        label: "second"
        candidate { b: true }
      }
    }
    active_if {
      all_of {
        label: "skips"
        candidate { s: "c" }
      }
    }
  }
)pb";

TEST(ChoicesTest, BecomeASpaceWithConditions) {
  const auto spec = SpaceOfChoices(Parse(kChoices));
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_TRUE(spec->complete());
  const auto space = Space::FromProto(*spec);
  ASSERT_TRUE(space.ok()) << space.status();
  EXPECT_EQ(space->Describe(),
            "depth: value choice, [1, 2, 3]\n"
            "  second: value choice, [\"conv\", true, [1,2]], if depth in {2, 3}\n"
            "    third: value choice, [0, 1], if depth = 3 and second = true, or skips in {[\"a\", \"c\"], [\"b\", "
            "\"c\"]}\n"
            "rate: value choice, [0.5, 1.0]\n"
            "skips: value choice, 2 of [\"a\", \"b\", \"c\"]\n");
  // Of depth 1, 2 and 3; with c, in two of three combinations of skips, `third` is always there.
  EXPECT_EQ(*space->size(), 2 * ((1 + 3 + 4) + 2 * 2 * (1 + 3 + 3)));
}

TEST(ChoicesTest, TheOrderOfCandidatesInAConditionDoesNotMatter) {
  v1::ChoicesConfig other = Parse(kChoices);
  other.mutable_choice(3)->mutable_active_if(0)->mutable_all_of(0)->mutable_candidate()->SwapElements(0, 1);
  EXPECT_EQ(SpaceOfChoices(Parse(kChoices))->fingerprint(), SpaceOfChoices(other)->fingerprint());
}

// What is wrong with a second choice, after 'a' between 1 and 2.
std::string Error(const std::string& second) {
  const auto choices = Parse("choice { label: 'a' candidate: [ { i: 1 }, { i: 2 } ] } " + second);
  const auto violation = FindViolationInChoices(choices, "space.choices");
  EXPECT_EQ(SpaceOfChoices(choices).ok(), !violation.has_value());
  return violation.has_value() ? absl::StrCat(violation->path, ": ", violation->message) : "";
}

TEST(ChoicesTest, MistakesAreNamedWithTheirPlace) {
  const std::string path = "space.choices.choice[1]";
  EXPECT_EQ(Error("choice { label: 'b' candidate { i: 1 } }"), "");
  EXPECT_EQ(Error("choice { candidate { i: 1 } }"), path + ".label: is required: what samples call the choice");
  EXPECT_EQ(Error("choice { label: 'a' candidate { i: 1 } }"),
            path + ".label: choice number 1 is named 'a', too: labels must differ");
  EXPECT_EQ(Error("choice { label: 'b' }"), path + ".candidate: is required: at least one");
  EXPECT_EQ(Error("choice { label: 'b' candidate: [ { s: 'x' }, { i: 1 }, { s: 'x' } ] }"),
            path + ".candidate[2]: \"x\" is candidate number 1, too: keep one");
  EXPECT_EQ(Error("choice { label: 'b' candidate: [ { f: nan } ] }"), path + ".candidate[0]: must be a finite number");
  for (const char* value : {"{}", "{ tensor {} }", "{ expression {} }", "{ list { values {} } }"}) {
    EXPECT_THAT(Error(absl::StrCat("choice { label: 'b' candidate: [ { i: 1 }, ", value, " ] }")),
                HasSubstr(path + ".candidate[1]: is no value that can be chosen; set one of: i, f, b, s, list"));
  }
  for (const int n : {-1, 0, 3}) {
    EXPECT_EQ(Error(absl::StrCat("choice { label: 'b' candidate: [ { i: 1 }, { i: 2 } ] n_chosen: ", n, " }")),
              absl::StrCat(path, ".n_chosen: must be from 1 to 2, the number of candidates, got ", n));
  }
  EXPECT_EQ(FindViolationInChoices(Parse(""), "space.choices")->path, "space.choices.choice");
}

TEST(ChoicesTest, MistakesInConditionsAreNamedWithTheirPlace) {
  const std::string at = "space.choices.choice[1].active_if[0].all_of";
  const auto error = [](const std::string& condition, const std::string& third = "") {
    return Error("choice { label: 'b' candidate { i: 1 } active_if { " + condition + " } } " + third);
  };
  EXPECT_EQ(error("all_of { label: 'a' candidate { i: 2 } }"), "");
  EXPECT_EQ(error(""), at + ": is required: at least one choice that must have been made");
  EXPECT_EQ(error("all_of { candidate { i: 2 } }"), at + "[0].label: is required: the choice that must have been made");
  EXPECT_EQ(error("all_of { label: 'x' candidate { i: 2 } }"),
            at + "[0].label: there is no choice 'x'; earlier than 'b' there are: a");
  EXPECT_EQ(error("all_of { label: 'b' candidate { i: 2 } }"), at + "[0].label: 'b' cannot depend on itself");
  EXPECT_EQ(error("all_of { label: 'c' candidate { i: 2 } }", "choice { label: 'c' candidate { i: 2 } }"),
            at + "[0].label: 'c' comes after 'b': a condition names earlier choices");
  EXPECT_EQ(error("all_of { label: 'a' }"), at + "[0].candidate: is required: some of the candidates of 'a'");
  EXPECT_EQ(error("all_of { label: 'a' candidate: [ { i: 2 }, { i: 5 } ] }"),
            at + "[0].candidate[1]: 5 is no candidate of 'a', whose candidates are: 1, 2");
  EXPECT_EQ(error("all_of { label: 'a' candidate: [ { i: 2 }, { i: 2 } ] }"),
            at + "[0].candidate[1]: 2 is named twice; keep one");
  EXPECT_EQ(error("all_of { label: 'a' candidate { i: 2 } } all_of { label: 'a' candidate { i: 1 } }"),
            at + "[1].label: 'a' is named twice; name all of its candidates at once");
}

TEST(ChoicesTest, AConditionOnTooManyCombinationsIsRefused) {
  std::vector<std::string> candidates;
  for (int i = 0; i < 20; ++i) candidates.push_back(absl::StrCat("candidate { i: ", i, " }"));
  std::string text = "choice { label: 'x' n_chosen: 10 ";
  for (const std::string& candidate : candidates) text += candidate;
  text += " } choice { label: 'b' candidate { i: 1 } active_if { all_of { label: 'x' candidate { i: 0 } } } }";
  EXPECT_EQ(Error(text),
            "space.choices.choice[2].active_if[0].all_of[0].label: 'x' has 184756 combinations of candidates; a "
            "condition is possible up to 10000");
}

}  // namespace
}  // namespace lanista

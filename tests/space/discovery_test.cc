#include "src/space/discovery.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <new>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/space/space.h"
#include "tests/space/testing.h"

namespace lanista {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::MakeChoice;
using ::testing::Not;

// Stands for a model's constructor: asks for choices, may throw.
class Builder {
 public:
  explicit Builder(const v1::Sample& assignment) {
    for (const v1::Decision& decision : assignment.decisions()) fixed_[decision.label()] = decision.index(0);
  }

  // The option taken: as ordinary C++ sees a ValueChoice over 0 .. options-1.
  int operator()(const std::string& label, int options, const std::string& place = "Net") {
    ConstructionTrace::Asked asked;
    asked.choice = MakeChoice(label, options);
    asked.choice.set_declared_in(place);
    const auto fixed = fixed_.find(label);
    asked.option = fixed == fixed_.end() ? 0 : fixed->second;
    trace.asked.push_back(asked);
    return asked.option;
  }

  ConstructionTrace trace;

 private:
  std::map<std::string, int> fixed_;
};

using Constructor = std::function<void(Builder& ask)>;

RunConstructor Running(const Constructor& constructor, int* runs = nullptr) {
  return [constructor, runs](const v1::Sample& assignment) -> absl::StatusOr<ConstructionTrace> {
    if (runs != nullptr) ++*runs;
    Builder builder(assignment);
    try {
      constructor(builder);
    } catch (const std::exception& error) {
      builder.trace.error = error.what();
    }
    return builder.trace;
  };
}

Space Discover(const Constructor& constructor, const DiscoveryOptions& options = {}) {
  absl::StatusOr<v1::SpaceSpec> spec = DiscoverSpace(Running(constructor), options);
  EXPECT_TRUE(spec.ok()) << spec.status();
  return Space::FromProto(*spec).value();
}

// Every model of the space asks for exactly the choices that the space says, and no two models are the same.
void ExpectExact(const Constructor& constructor, const Space& space, int size) {
  EXPECT_TRUE(space.complete()) << space.spec().DebugString();
  ASSERT_TRUE(space.size().has_value());
  EXPECT_EQ(*space.size(), size) << space.Describe();
  std::set<std::string> keys;
  std::optional<v1::Sample> sample = space.First();
  for (; sample.has_value(); sample = space.Next(*sample)) {
    Builder builder(*sample);
    constructor(builder);
    std::set<std::string> asked;
    for (const auto& a : builder.trace.asked) asked.insert(a.choice.label());
    std::set<std::string> predicted;
    for (const v1::Decision& decision : sample->decisions()) predicted.insert(decision.label());
    ASSERT_EQ(asked, predicted) << Space::ToJson(*sample) << "\n" << space.Describe();
    keys.insert(Space::Key(*sample));
  }
  EXPECT_EQ(keys.size(), size);
}

void ExpectExact(const Constructor& constructor, int size) { ExpectExact(constructor, Discover(constructor), size); }

TEST(DiscoveryTest, IndependentChoicesTakeOneRunForEachFurtherOption) {
  const Constructor constructor = [](Builder& ask) {
    for (int i = 0; i < 300; ++i) ask(absl::StrCat("choice", i), 3);
  };
  int runs = 0;
  DiscoveryOptions options;
  options.max_runs = 601;
  const absl::StatusOr<v1::SpaceSpec> spec = DiscoverSpace(Running(constructor, &runs), options);
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(runs, 601);
  EXPECT_TRUE(spec->complete());
  mpz_class expected;
  mpz_ui_pow_ui(expected.get_mpz_t(), 3, 300);
  EXPECT_EQ(*Space::FromProto(*spec)->size(), expected);
}

TEST(DiscoveryTest, NestedChoicesDependOnTheirParentAlone) {
  const Constructor constructor = [](Builder& ask) {
    if (ask("outer", 3) == 1 && ask("middle", 2) == 1) ask("inner", 4);
    ask("last", 2);
  };
  const Space space = Discover(constructor);
  ExpectExact(constructor, space, 2 * (1 + 1 + (1 + 4)));
  EXPECT_EQ(space.Describe(),
            "outer: value choice, [0, 1, 2]\n"
            "  middle: value choice, [0, 1], if outer = 1\n"
            "    inner: value choice, [0, 1, 2, 3], if middle = 1\n"
            "last: value choice, [0, 1]\n");
}

TEST(DiscoveryTest, ChoicesThatVanishAreSeen) {
  ExpectExact(
      [](Builder& ask) {
        if (ask("outer", 3) != 1) ask("inner", 4);
      },
      4 + 1 + 4);
}

TEST(DiscoveryTest, AChoiceThatSeveralChoicesMayEndNeedsAllOfThem) {
  ExpectExact(
      [](Builder& ask) {
        const bool a = ask("a", 3) == 0;
        const bool b = ask("b", 2) == 0;
        if (a && b) ask("both", 5);
      },
      5 + 5);
}

TEST(DiscoveryTest, AChoiceMayBeEndedFromInsideAnotherBranch) {
  ExpectExact(
      [](Builder& ask) {
        if (ask("p", 2) == 1 && ask("q", 2) == 1) return;
        ask("rest", 3);
      },
      3 + 3 + 1);
}

TEST(DiscoveryTest, AChoiceOutlivesTheChoiceThatMayEndIt) {
  ExpectExact(
      [](Builder& ask) {
        if (ask("p", 2) == 0 && ask("q", 2) == 1) return;
        ask("rest", 3);
      },
      3 + 1 + 3);
}

TEST(DiscoveryTest, ASharedLabelIsActiveWhereverItIsAskedFor) {
  const Constructor constructor = [](Builder& ask) {
    if (ask("p", 2) == 1) ask("shared", 3);
    if (ask("q", 2) == 1) ask("shared", 3);
  };
  ExpectExact(constructor, 1 + 3 + 3 + 3);
}

TEST(DiscoveryTest, SharedLabelsInDifferentOrdersAreSortedByDependence) {
  ExpectExact(
      [](Builder& ask) {
        if (ask("p", 2) == 1) ask("shared", 3);
        if (ask("q", 2) == 1) ask("shared", 3);
        ask("last", 2);
        if (ask("r", 2) == 1) ask("shared", 3);
      },
      2 * (1 + 7 * 3));
}

TEST(DiscoveryTest, RepeatsHoldChoicesInEachBlock) {
  ExpectExact(
      [](Builder& ask) {
        const int depth = 1 + ask("depth", 4);
        for (int i = 0; i < depth; ++i) {
          if (ask(absl::StrCat("op", i), 2) == 1) ask(absl::StrCat("kernel", i), 2);
        }
      },
      3 + 9 + 27 + 81);
}

TEST(DiscoveryTest, RepeatsInRepeats) {
  ExpectExact(
      [](Builder& ask) {
        const int depth = 1 + ask("depth", 2);
        for (int i = 0; i < depth; ++i) {
          const int inner = 1 + ask(absl::StrCat("inner", i), 2);
          for (int j = 0; j < inner; ++j) {
            if (ask(absl::StrCat("op", i, j), 2) == 0) ask(absl::StrCat("kernel", i, j), 2);
          }
        }
      },
      (3 + 9) + (3 + 9) * (3 + 9));
}

TEST(DiscoveryTest, ACellOfManyNodesIsDiscoveredInOneRunForEachOption) {
  const Constructor constructor = [](Builder& ask) {
    for (int node = 2; node < 12; ++node) {
      for (int edge = 0; edge < 2; ++edge) {
        ask(absl::StrCat("node", node, "/input", edge), node);
        if (ask(absl::StrCat("node", node, "/op", edge), 8) == 3) ask(absl::StrCat("node", node, "/rate", edge), 3);
      }
    }
  };
  const Space space = Discover(constructor);
  EXPECT_TRUE(space.complete());
  mpz_class expected = 1;
  for (int node = 2; node < 12; ++node) expected *= mpz_class(node * 10) * (node * 10);
  EXPECT_EQ(*space.size(), expected);
}

TEST(DiscoveryTest, DeepRepeatsAreDiscoveredQuickly) {
  const Constructor constructor = [](Builder& ask) {
    const int depth = 1 + ask("depth", 60);
    for (int i = 0; i < depth; ++i) {
      for (int j = 0; j < 3; ++j) {
        if (ask(absl::StrCat("op", i, "/", j), 4) == 3) ask(absl::StrCat("kernel", i, "/", j), 2);
      }
    }
  };
  const Space space = Discover(constructor);
  EXPECT_TRUE(space.complete()) << space.spec().warnings(0);
  mpz_class expected = 0;
  mpz_class power = 1;
  for (int i = 0; i < 60; ++i) {
    power *= 125;
    expected += power;
  }
  EXPECT_EQ(*space.size(), expected);
}

TEST(DiscoveryTest, CandidatesThatCannotBeBuiltAreNamedAndLeftOut) {
  const Constructor constructor = [](Builder& ask) {
    if (ask("layer", 3) == 1) throw std::runtime_error("kernel larger than input");
    ask("dropout", 2);
  };
  const Space space = Discover(constructor);
  EXPECT_TRUE(space.complete());
  EXPECT_EQ(*space.size(), 4);
  EXPECT_THAT(space.spec().warnings(), ElementsAre("choice 'layer': 1 cannot be built: kernel larger than input",
                                                   "left out because they cannot be built: 2 of 6 models"));
}

TEST(DiscoveryTest, OnlyModelsThatGiveTheSameAnswersAreLeftOut) {
  // Too large to try all: 3^7 models.
  const Constructor constructor = [](Builder& ask) {
    for (int i = 0; i < 3; ++i) ask(absl::StrCat("before", i), 3);
    if (ask("layer", 3) == 2) throw std::runtime_error("no");
    for (int i = 0; i < 3; ++i) ask(absl::StrCat("after", i), 3);
  };
  const Space space = Discover(constructor);
  ASSERT_TRUE(space.size().has_value());
  EXPECT_LE(*space.size(), 3 * 3 * 3 * 3 * 27 - 27) << "at least those of the first candidates before it";
  EXPECT_GE(*space.size(), 3 * 3 * 3 * 2 * 27) << "never one that can be built";
  for (std::optional<v1::Sample> sample = space.First(); sample.has_value(); sample = space.Next(*sample)) {
    if (sample->decisions(3).index(0) == 2) return;  // Nobody has tried it.
  }
  ADD_FAILURE() << "a model that was not tried is left out";
}

TEST(DiscoveryTest, WhatAFailureDependsOnIsFoundByMerging) {
  // Whatever `first` is, and `nested` below it: the failure depends on `layer` alone.
  const Space space = Discover([](Builder& ask) {
    if (ask("first", 3) == 1) ask("nested", 2);
    if (ask("layer", 4) == 2) throw std::runtime_error("no");
    ask("last", 2);
  });
  EXPECT_EQ(*space.size(), 4 * 3 * 2);
  ASSERT_EQ(space.spec().impossible_size(), 1);
  EXPECT_EQ(space.spec().impossible(0).ShortDebugString(), R"(all_of { label: "layer" chosen: 2 })");
}

TEST(DiscoveryTest, AModelForWhichMemoryWasShortStays) {
  const Space space = Discover([](Builder& ask) {
    if (ask("layer", 3) == 1) throw std::bad_alloc();
  });
  EXPECT_EQ(*space.size(), 3);
  EXPECT_TRUE(space.spec().impossible().empty());
}

TEST(DiscoveryTest, ManyFailuresOfALargeSpaceDoNotHideItsSize) {
  const Constructor constructor = [](Builder& ask) {
    for (int i = 0; i < 300; ++i) {
      if (ask(absl::StrCat("choice", i), 3) == 2) throw std::runtime_error("no");
    }
  };
  const Space space = Discover(constructor);
  EXPECT_TRUE(space.complete());
  ASSERT_TRUE(space.size().has_value());
  EXPECT_FALSE(space.spec().impossible().empty());
  std::mt19937_64 random(1);
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(space.Check(space.Random(random)).ok());
}

TEST(DiscoveryTest, AFirstCandidateThatCannotBeBuiltHidesNothing) {
  const Constructor constructor = [](Builder& ask) {
    if (ask("before", 2) == 1) ask("nested", 2);
    if (ask("layer", 3) == 0) throw std::runtime_error("no");
    if (ask("dropout", 2) == 1) ask("rate", 3);
  };
  const Space space = Discover(constructor);
  EXPECT_TRUE(space.complete());
  EXPECT_EQ(*space.size(), 3 * 2 * 4) << space.Describe();
}

TEST(DiscoveryTest, AssignmentsThatEndedTheProcessAreNotRunAgain) {
  std::vector<v1::Sample> tried;
  DiscoveryOptions options;
  options.before_run = [&](const v1::Sample& assignment) { tried.push_back(assignment); };
  const auto constructor = [](Builder& ask) {
    if (ask("layer", 2) == 1) ask("kernel", 2);
    ask("dropout", 2);
  };
  Discover(constructor, options);
  ASSERT_GE(tried.size(), 2);
  const v1::Sample crashed = tried[1];
  EXPECT_EQ(Space::ToJson(crashed), R"({"layer":1})");
  options.skip = {crashed};
  tried.clear();
  const Space space = Discover(constructor, options);
  for (const v1::Sample& sample : tried) EXPECT_NE(sample.SerializeAsString(), crashed.SerializeAsString());
  EXPECT_THAT(space.spec().warnings(0), HasSubstr("choice 'layer': 1 cannot be built: building it ended the process"));
}

TEST(DiscoveryTest, SkippingKeepsWhatIsKnownOtherwise) {
  DiscoveryOptions options;
  v1::Sample crashed;
  *crashed.add_decisions() = MakeDecision(MakeChoice("layer", 3), 2);
  options.skip = {crashed};
  const Space space = Discover(
      [](Builder& ask) {
        ask("layer", 3);
        ask("dropout", 2);
      },
      options);
  EXPECT_TRUE(space.complete());
  EXPECT_EQ(*space.size(), 6);
}

TEST(DiscoveryTest, NothingThatCanBeBuiltIsAnErrorThatSaysWhy) {
  const auto spec = DiscoverSpace(Running([](Builder& ask) {
    ask("a", 2);
    throw std::runtime_error("no such file");
  }));
  EXPECT_EQ(spec.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(spec.status().message()), HasSubstr("no such file"));
}

TEST(DiscoveryTest, TheSameLabelForAnotherChoiceNamesBothPlaces) {
  const auto spec = DiscoverSpace(Running([](Builder& ask) {
    ask("width", 2, "Net, ValueChoice");
    if (ask("deep", 2) == 1) ask("width", 3, "Head, ValueChoice");
  }));
  EXPECT_EQ(spec.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(spec.status().message()),
              AllOf(HasSubstr("'width'"), HasSubstr("Net, ValueChoice"), HasSubstr("Head, ValueChoice"),
                    HasSubstr("[0, 1] here, [0, 1, 2] there")));
}

TEST(DiscoveryTest, AnExhaustedBudgetLeavesTheSpaceIncomplete) {
  DiscoveryOptions options;
  options.max_runs = 5;
  int runs = 0;
  const auto spec = DiscoverSpace(Running(
                                      [](Builder& ask) {
                                        for (int i = 0; i < 10; ++i) ask(absl::StrCat("c", i), 2);
                                      },
                                      &runs),
                                  options);
  ASSERT_TRUE(spec.ok());
  EXPECT_EQ(runs, 5);
  EXPECT_FALSE(spec->complete());
  EXPECT_EQ(spec->choices_size(), 10);
  EXPECT_FALSE(Space::FromProto(*spec)->size().has_value());
  EXPECT_THAT(spec->warnings(0), HasSubstr("5 runs"));
}

TEST(DiscoveryTest, AChoiceOfVeryManyOptionsDoesNotHideTheOthers) {
  DiscoveryOptions options;
  options.max_runs = 20;
  const Space space = Discover(
      [](Builder& ask) {
        ask("many", 1000);
        if (ask("few", 2) == 1) ask("nested", 2);
      },
      options);
  EXPECT_FALSE(space.complete());
  EXPECT_EQ(space.spec().choices_size(), 3);
}

TEST(DiscoveryTest, ConditionsBeyondSingleChangesLeaveTheSpaceIncomplete) {
  const Space space = Discover([](Builder& ask) {
    const int a = ask("a", 2);
    const int b = ask("b", 2);
    if (a == 1 && b == 1) ask("hidden", 2);
  });
  EXPECT_FALSE(space.complete());
  ASSERT_EQ(space.spec().warnings_size(), 1);
  EXPECT_THAT(space.spec().warnings(0), AllOf(HasSubstr("'hidden'"), HasSubstr(R"({"a":1,"b":1})")));
}

TEST(DiscoveryTest, ChoicesThatDependOnEachOtherInACircleLeaveTheSpaceIncomplete) {
  const Space space = Discover([](Builder& ask) {
    if (ask("first", 2) == 0) {
      if (ask("a", 2) == 1) ask("b", 2);
    } else {
      if (ask("b", 2) == 1) ask("a", 2);
    }
  });
  EXPECT_FALSE(space.complete());
  EXPECT_EQ(space.spec().choices_size(), 3);
}

TEST(DiscoveryTest, AConstructorThatIsNotDeterministicIsNoticed) {
  int calls = 0;
  const Space space = Discover([&](Builder& ask) {
    if (calls++ % 2 == 0) ask("sometimes", 2);
    ask("always", 2);
  });
  EXPECT_FALSE(space.complete());
  EXPECT_THAT(space.spec().warnings(), Not(IsEmpty()));
}

TEST(DiscoveryTest, AModelWithoutChoicesIsASpaceOfOne) {
  const Space space = Discover([](Builder&) {});
  EXPECT_EQ(*space.size(), 1);
}

TEST(DiscoveryTest, AChoiceWithoutCandidatesIsAnError) {
  const auto spec = DiscoverSpace(Running([](Builder& ask) { ask("empty", 0); }));
  EXPECT_EQ(spec.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(spec.status().message()), HasSubstr("choice 'empty' has no candidates"));
}

}  // namespace
}  // namespace lanista

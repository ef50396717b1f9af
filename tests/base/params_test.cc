#include "src/base/params.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

namespace lanista {
namespace {

using ::testing::ElementsAre;

// The text of the ParamError that `code` throws.
std::string ErrorOf(const std::function<void()>& code) {
  try {
    code();
  } catch (const ParamError& error) {
    return error.what();
  }
  return "";
}

TEST(Params, AreReadAsTheirTypes) {
  Params params;
  params.Set("n", 3).Set("rate", 0.5).Set("flag", true).Set("name", "x");
  EXPECT_EQ(params.Get<int64_t>("n"), 3);
  EXPECT_EQ(params.Get<double>("n"), 3.0);
  EXPECT_EQ(params.Get<double>("rate"), 0.5);
  EXPECT_TRUE(params.Get<bool>("flag"));
  EXPECT_EQ(params.Get<std::string>("name"), "x");
  EXPECT_EQ(params.Get<int64_t>("absent", 7), 7);
  params.CheckAllRead();
}

TEST(Params, ListsOfIntegersAreVectors) {
  google::protobuf::Map<std::string, v1::Value> values;
  for (int64_t width : {8, 16}) *values["widths"].mutable_list()->add_values() = ToValue(width);
  EXPECT_THAT(Params(values).Get<std::vector<int64_t>>("widths"), ElementsAre(8, 16));
}

TEST(Params, ErrorsNameTheKeyAndTheExpectedType) {
  Params params;
  params.Set("width", "wide");
  EXPECT_EQ(ErrorOf([&] { params.Get<int64_t>("width", 64); }),
            "parameter 'width' is { s: \"wide\" }; it must be an integer: value { i: 1 }");
  EXPECT_EQ(ErrorOf([&] { params.Get<double>("rate"); }),
            "parameter 'rate' is missing; it is a number: value { f: 0.5 }; given: width");
}

TEST(Params, KeysThatNobodyReadsAreRefusedWithTheKnownOnes) {
  Params params;
  params.Set("widht", 64);
  params.Get<int64_t>("width", 64);
  EXPECT_EQ(ErrorOf([&] { params.CheckAllRead(); }),
            "there is no parameter 'widht'; did you mean 'width'? it takes: width");
}

TEST(MakeWithParams, TurnsMistakesIntoErrorsThatNameTheOwner) {
  const auto make = [](const Params& params) -> absl::StatusOr<int64_t> { return params.Get<int64_t>("n", 1) + 1; };
  Params::Values values;
  EXPECT_EQ(*MakeWithParams(values, "the thing", make), 2);
  values["n"].set_i(5);
  EXPECT_EQ(*MakeWithParams(values, "the thing", make), 6);
  values["m"].set_i(5);
  EXPECT_EQ(MakeWithParams(values, "the thing", make).status(),
            absl::InvalidArgumentError("the thing has no parameter 'm'; it takes: n"));
  values["n"].set_b(true);
  EXPECT_EQ(
      MakeWithParams(values, "the thing", make).status(),
      absl::InvalidArgumentError("parameter 'n' of the thing is { b: true }; it must be an integer: value { i: 1 }"));
}

}  // namespace
}  // namespace lanista

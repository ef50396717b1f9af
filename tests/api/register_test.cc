#include "src/api/register.h"

#include "gtest/gtest.h"
#include "src/base/params.h"

namespace lanista::api {
namespace {

// What a factory gets beside the parameters.
struct Context {
  int number = 0;
};

struct OfBoth {
  OfBoth(const Params& params, const Context& context) : sum(params.Get<int64_t>("number") + context.number) {}
  int64_t sum;
};

struct OfParams {
  explicit OfParams(const Params& params) : number(params.Get<int64_t>("number")) {}
  int64_t number;
};

struct OfContext {
  explicit OfContext(const Context& context) : number(context.number) {}
  int number;
};

struct OfNothing {
  int number = 3;
};

TEST(RegisterTest, AnObjectIsMadeByTheConstructorThatItsClassHas) {
  const Params params = Params().Set("number", 1);
  const Context context{20};
  EXPECT_EQ(Construct<OfBoth>(params, context)->sum, 21);
  EXPECT_EQ(Construct<OfParams>(params, context)->number, 1);
  EXPECT_EQ(Construct<OfContext>(params, context)->number, 20);
  EXPECT_EQ(Construct<OfNothing>(params, context)->number, 3);
}

TEST(RegisterTest, AnObjectIsMadeOfParametersAlone) {
  EXPECT_EQ(Construct<OfParams>(Params().Set("number", 1))->number, 1);
  EXPECT_EQ(Construct<OfNothing>(Params())->number, 3);
}

}  // namespace
}  // namespace lanista::api

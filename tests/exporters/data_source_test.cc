#include "src/exporters/common/data_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/storage/storage_testing.h"

namespace lanista::exporters {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

v1::DataSpec Images() {
  return Parse<v1::DataSpec>(R"pb(
    input_shape: [ 3, 20, 20 ]
    model_input_shape: [ 3, 8, 9 ]
    outputs: 2
    class_names: [ "cat", "d\303\266g \"x\"" ]
    preprocessing { resizing { height: 8 width: 9 } }
    preprocessing {
      standardization {
        mean: [ 0.1, 0.2, 0.3 ]
        std: [ 1, 2, 3 ]
      }
    })pb");
}

TEST(DataSource, JsonTellsEverythingInNumbers) {
  EXPECT_EQ(DataJsonText(Images()),
            R"({"input_shape":[3,20,20],"model_input_shape":[3,8,9],"outputs":2,"class_names":["cat",)"
            "\"d\303\266g \\\"x\\\"\"],"
            R"("preprocessing":[{"resizing":{"height":8,"width":9}},{"standardization":{"mean":[0.1,0.2,0.3],)"
            R"("std":[1.0,2.0,3.0]}}]})");
}

TEST(DataSource, StepsAreInTheirOrder) {
  const std::string python = PythonPredict(Images());
  EXPECT_THAT(python, HasSubstr("CLASS_NAMES = [\"cat\", \"d\303\266g \\\"x\\\"\"]"));
  EXPECT_LT(python.find("size=(8, 9)"), python.find("mean = torch.tensor([0.1, 0.2, 0.3]"));
  const std::string cpp = CppPredict(Images());
  EXPECT_THAT(cpp, HasSubstr(R"("d\303\266g \"x\"")"));
  EXPECT_LT(cpp.find("{8, 9}"), cpp.find("torch::tensor({0.1, 0.2, 0.3}"));
}

TEST(DataSource, AStepThatNobodyKnowsIsNamedInsteadOfAPredictThatLeavesItOut) {
  v1::DataSpec data = Images();
  data.add_preprocessing()->set_custom("halve");
  for (const std::string& source : {PythonPredict(data), CppPredict(data)}) {
    EXPECT_THAT(source, AllOf(HasSubstr("applied the transform \"halve\""), Not(HasSubstr("predict("))));
  }
}

}  // namespace
}  // namespace lanista::exporters

#include "src/base/source_literals.h"

#include <cmath>
#include <limits>

#include "gtest/gtest.h"

namespace lanista {
namespace {

TEST(SourceLiterals, NumbersAreAsShortAsTheyCanBe) {
  EXPECT_EQ(PythonFloatLiteral(0.03636363636363637), "0.03636363636363637");
  EXPECT_EQ(PythonFloatLiteral(0.1), "0.1");
  EXPECT_EQ(PythonFloatLiteral(1e-6), "1e-06");
  EXPECT_EQ(CppFloatLiteral(0.1 + 0.2), "0.30000000000000004");
  EXPECT_EQ(CppFloatLiteral(-3), "-3.0");
  // A subnormal number.
  EXPECT_EQ(CppFloatLiteral(5e-324), "4.94066e-324");
}

TEST(SourceLiterals, WhatIsNotFiniteHasANameInEachLanguage) {
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(PythonFloatLiteral(-infinity), "float(\"-inf\")");
  EXPECT_EQ(PythonFloatLiteral(std::nan("")), "float(\"nan\")");
  EXPECT_EQ(CppFloatLiteral(-infinity), "-std::numeric_limits<double>::infinity()");
  EXPECT_EQ(CppFloatLiteral(std::nan("")), "std::numeric_limits<double>::quiet_NaN()");
}

TEST(SourceLiterals, TextIsEscaped) {
  EXPECT_EQ(StringLiteral("a\"b\\c\nd\xc3\xa9"), R"("a\"b\\c\nd\303\251")");
  EXPECT_EQ(PythonStringLiteral("a\"b\n\xc3\xa9"), "\"a\\\"b\\n\xc3\xa9\"");
}

}  // namespace
}  // namespace lanista

// JSON that is printed in parts is the JSON that is printed at once.
#include "src/launcher/console.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace lanista {
namespace {

using Json = nlohmann::ordered_json;

TEST(JsonPrinterTest, PrintsInPartsWhatPrintJsonPrintsAtOnce) {
  const Json entry = {{"id", 1}, {"text", "two\nlines \x1b and \xff"}, {"nested", {{"empty", Json::array()}}}};
  const std::vector<std::vector<Json>> cases = {
      {Json::array()},
      {Json::array(), Json::array()},
      {Json::array({entry})},
      {Json::array({entry, 2}), Json::array({entry}), Json::array(), Json::array({"last"})},
      {Json::array(), Json::array({entry})}};
  for (const std::vector<Json>& lists : cases) {
    Json whole = {{"name", "constant"}, {"models", Json::array()}};
    JsonPrinter printer;
    testing::internal::CaptureStdout();
    for (size_t i = 0; i < lists.size(); ++i) {
      for (const Json& each : lists[i]) whole["models"].push_back(each);
      printer.Add(i == 0 ? Json{{"name", "constant"}, {"models", lists[0]}} : lists[i]);
    }
    printer.Print();
    const std::string in_parts = testing::internal::GetCapturedStdout();
    testing::internal::CaptureStdout();
    PrintJson(whole);
    EXPECT_EQ(in_parts, testing::internal::GetCapturedStdout());
  }
}

}  // namespace
}  // namespace lanista

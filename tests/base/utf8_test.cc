#include "src/base/utf8.h"

#include "gtest/gtest.h"
#include "protos/graph.pb.h"
#include "protos/trial.pb.h"

namespace lanista {
namespace {

TEST(Utf8Test, TextThatIsUtf8Stays) {
  const std::string characters =
      "a \x7f \xc2\x80 \xc3\xa9 \xe0\xa0\x80 \xe2\x82\xac \xef\xbf\xbf \xf0\x9f\x98\x80 \xf4\x8f\xbf\xbf";
  EXPECT_EQ(ToUtf8(characters), characters);
  EXPECT_EQ(ToUtf8(std::string("\0", 1)), std::string("\0", 1));
  EXPECT_EQ(ToUtf8(""), "");
}

TEST(Utf8Test, OtherBytesAreReplaced) {
  const std::vector<std::string> wrong = {"\xe9",              // Latin-1
                                          "\x80",              // the end of a character
                                          "\xe2\x82",          // its beginning
                                          "\xc0\x80",          // longer than need be
                                          "\xe0\x9f\xbf",      //
                                          "\xf0\x8f\xbf\xbf",  //
                                          "\xed\xa0\x80",      // half of a pair of UTF-16
                                          "\xf4\x90\x80\x80",  // past the last character
                                          // Leads of characters that are no more.
                                          "\xf8\x90\x80\x80", "\xf8\x88\x80\x80\x80", "\xf9\x80\x80\x80",
                                          "\xfb\xbf\xbf\xbf", "\xfc\x84\x80\x80\x80\x80", "\xff"};
  for (const std::string& bytes : wrong)
    EXPECT_EQ(ToUtf8("a" + bytes + "b"),
              "a\xef\xbf\xbd"
              "b");
}

TEST(Utf8Test, IsWhatProtobufTakes) {
  // All lead bytes, with as many bytes behind them as there may be.
  for (int lead = 0; lead < 256; ++lead) {
    for (const char* rest : {"", "\x80", "\x90\x80", "\x90\x80\x80", "\xbf\xbf\xbf\xbf"}) {
      const std::string text = std::string(1, static_cast<char>(lead)) + rest;
      v1::Failure failure, read;
      failure.set_message(text);
      EXPECT_EQ(IsUtf8(text), read.ParseFromString(failure.SerializeAsString())) << lead << " " << rest;
    }
  }
}

TEST(Utf8Test, TheFirstBadFieldIsNamed) {
  v1::TrialModel model;
  v1::Decision& decision = *model.mutable_sample()->add_decisions();
  decision.set_label("fine");
  decision.add_value()->set_s("fine");
  EXPECT_FALSE(FindNonUtf8(model).has_value());
  decision.add_value()->mutable_list()->add_values()->set_s("caf\xe9");
  EXPECT_EQ(FindNonUtf8(model)->path, "sample.decisions[0].value[1].list.values[0].s");
  EXPECT_EQ(FindNonUtf8(model)->text, "caf\xef\xbf\xbd");
  v1::Metrics metrics;
  (*metrics.mutable_values())["\xe9t\xe9"] = 1;
  EXPECT_EQ(FindNonUtf8(metrics)->path, "values.\xef\xbf\xbdt\xef\xbf\xbd");
}

TEST(Utf8Test, WhatProtobufRefusesIsReadAndMadeUtf8) {
  v1::ModelEvent event, read;
  event.set_model(300);  // Bytes that are no text.
  event.mutable_ended()->mutable_failure()->set_message("caf\xe9");
  (*event.mutable_ended()->mutable_metrics()->mutable_values())["pr\xe9"] = -0.25;
  const std::string bytes = event.SerializeAsString();
  ASSERT_FALSE(read.ParseFromString(bytes));
  ASSERT_TRUE(ParseMakingUtf8(bytes, &read));
  EXPECT_TRUE(MakeUtf8(&event));
  EXPECT_EQ(read.DebugString(), event.DebugString());
  EXPECT_FALSE(ParseMakingUtf8(bytes.substr(0, bytes.size() - 1), &read)) << "damaged";
}

TEST(Utf8Test, AMessageCanBeReadAgain) {
  v1::ModelEvent event;
  event.mutable_ended()->mutable_failure()->set_message("caf\xe9");
  (*event.mutable_ended()->mutable_metrics()->mutable_values())
      ["pr\xe9"
       "cision"] = 0.5;
  v1::Decision& decision = *event.mutable_ended()->mutable_actual_sample()->add_decisions();
  decision.set_label("\xe9t\xe9");
  decision.add_value()->set_s("\xff");
  v1::Converted converted;
  converted.add_files("\xff.pt");
  converted.add_warnings("fine");

  EXPECT_TRUE(MakeUtf8(&event));
  EXPECT_FALSE(MakeUtf8(&event)) << "it is done";
  EXPECT_TRUE(MakeUtf8(&converted));
  v1::ModelEvent read;
  ASSERT_TRUE(read.ParseFromString(event.SerializeAsString()));
  EXPECT_EQ(read.ended().failure().message(), "caf\xef\xbf\xbd");
  EXPECT_EQ(read.ended().metrics().values().at("pr\xef\xbf\xbd"
                                               "cision"),
            0.5);
  EXPECT_EQ(read.ended().actual_sample().decisions(0).value(0).s(), "\xef\xbf\xbd");
  EXPECT_EQ(converted.files(0), "\xef\xbf\xbd.pt");
  EXPECT_EQ(converted.warnings(0), "fine");
}

TEST(Utf8Test, BytesFieldsStay) {
  v1::Tensor tensor;
  tensor.set_data("\xff");
  EXPECT_FALSE(MakeUtf8(&tensor));
  EXPECT_EQ(tensor.data(), "\xff");
}

}  // namespace
}  // namespace lanista

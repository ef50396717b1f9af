#include "src/evaluators/model_table.h"

#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "src/base/output_files.h"
#include "src/config/choices.h"
#include "src/config/table_columns.h"
#include "src/space/space.h"

namespace lanista {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

v1::SpaceSpec SpaceOf(const std::string& text) {
  v1::ChoicesConfig choices;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &choices)) << text;
  const auto spec = SpaceOfChoices(choices);
  EXPECT_TRUE(spec.ok()) << spec.status();
  return *spec;
}

// A layer of 8 or 16, and in the second case perhaps another one.
const v1::SpaceSpec& Layers() {
  static const auto* const kSpace = new v1::SpaceSpec(SpaceOf(R"pb(
    choice {
      label: "width"
      candidate:
      [ { i: 8 }
        , { i: 16 }]
    }
    choice {
      label: "second"
      candidate:
      [ { s: "none" }
        , { s: "conv, 3" }]
      active_if {
        all_of {
          label: "width"
          candidate { i: 16 }
        }
      }
    }
  )pb"));
  return *kSpace;
}

std::string PathOf(const std::string& csv) {
  std::string path = absl::StrCat(::testing::TempDir(), "/model_table_test.csv");
  EXPECT_TRUE(WriteFile(path, csv).ok());
  return path;
}

// A table of `space`, checked against it.
absl::StatusOr<ModelTable> Read(const std::string& csv, const std::string& config_text = "",
                                const v1::SpaceSpec& space = Layers()) {
  v1::TableConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(config_text, &config)) << config_text;
  const auto file = ReadTableFile(PathOf(csv));
  if (!file.ok()) return file.status();
  AddTableColumns(space, &config);
  absl::StatusOr<ModelTable> table = ModelTable::Create(*file, config);
  if (!table.ok()) return table;
  const absl::Status fits = table->Check(space);
  if (!fits.ok()) return fits;
  return table;
}

// The error without the file's folder.
std::string Error(const std::string& csv, const std::string& config_text = "", const v1::SpaceSpec& space = Layers()) {
  const absl::Status status = Read(csv, config_text, space).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  const std::string message(status.message());
  const size_t name = message.find("model_table_test.csv");
  return name == std::string::npos ? message : message.substr(name + sizeof("model_table_test.csv") - 1);
}

absl::StatusOr<ModelTable::Results> Find(const ModelTable& table, const std::string& sample,
                                         const v1::SpaceSpec& space = Layers(), uint64_t seed = 1) {
  return table.Find(Space::FromProto(space)->FromJson(sample).value(), seed);
}

constexpr char kTable[] =
    "width,second,default,params,loss@1,default@1,default@2\n"
    "8,,0.5,100,2.5,0.25,0.5\n"
    "16,none,0.75,200,2.25,0.5,0.75\n"
    "16,\"conv, 3\",0.875,400,2,0.625,0.875\n";

TEST(ModelTableTest, FindsWhatAModelReported) {
  const auto table = Read(kTable);
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ(table->size(), 3);
  const auto results = Find(*table, R"({"width": 16, "second": "conv, 3"})");
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_THAT(results->steps,
              ElementsAre(ElementsAre(Pair("default", 0.625), Pair("loss", 2)), ElementsAre(Pair("default", 0.875))));
  EXPECT_THAT(results->final, ElementsAre(Pair("default", 0.875), Pair("loss", 2), Pair("params", 400)))
      << "a metric of steps alone ends with its last step";
  EXPECT_EQ(Find(*table, R"({"width": 8})")->final.at("params"), 100);
}

TEST(ModelTableTest, AModelWithoutALineIsNamedByItsChoices) {
  const auto table = Read("width,second,default\n8,,0.5\n");
  ASSERT_TRUE(table.ok()) << table.status();
  const absl::Status status = Find(*table, R"({"width": 16, "second": "none"})").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(status.message(),
              HasSubstr(R"(model_table_test.csv has no line for the model {"width":16,"second":"none"})"));
}

TEST(ModelTableTest, WhatIsEmptyWasNotReported) {
  const auto table = Read(
      "width,second,default,extra,default@1,default@2\n"
      "8,,0.5,,0.25,\n"
      "16,none,,1,,\n");
  ASSERT_TRUE(table.ok()) << table.status();
  const auto short_one = Find(*table, R"({"width": 8})");
  EXPECT_THAT(short_one->steps, ElementsAre(ElementsAre(Pair("default", 0.25))));
  EXPECT_THAT(short_one->final, ElementsAre(Pair("default", 0.5)));
  const auto without = Find(*table, R"({"width": 16, "second": "none"})");
  EXPECT_THAT(without->steps, IsEmpty());
  EXPECT_THAT(without->final, ElementsAre(Pair("extra", 1)));
}

TEST(ModelTableTest, CellsThatMeanTheSameAreTheSame) {
  const v1::SpaceSpec space = SpaceOf(R"pb(
    choice {
      label: "rate"
      candidate:
      [ { f: 0.001 }
        , { f: 1 }]
    }
    choice {
      label: "bias"
      candidate:
      [ { b: true }
        , { b: false }]
    }
    choice {
      label: "kernel"
      candidate:
      [ {
        list {
          values:
          [ { i: 3 }
            , { i: 3 }]
        }
      }
        , {
          list {
            values:
            [ { i: 5 }
              , { i: 1 }]
          }
        }]
    }
    choice {
      label: "skips"
      n_chosen: 2
      candidate:
      [ { s: "a" }
        , { s: "b" }
        , { i: 1 }]
    }
  )pb");
  const auto table = Read(
      "rate,bias,kernel,skips,default\n"
      "1e-3, True ,\"[3, 3]\",\"[\"\"a\"\",1]\",1\n"
      "1,false,\"[5,1.0]\",\"[\"\"a\"\", \"\"b\"\"]\",2\n",
      "", space);
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ(
      Find(*table, R"({"rate": 0.001, "bias": true, "kernel": [3, 3], "skips": ["a", 1]})", space)->final.at("default"),
      1);
  EXPECT_EQ(Find(*table, R"({"rate": 1.0, "bias": false, "kernel": [5, 1], "skips": ["b", "a"]})", space)
                ->final.at("default"),
            2);
}

TEST(ModelTableTest, OneOfSeveralDefaultsIsDrawnByTheSeed) {
  const auto table =
      Read("width,second,first,other,default,other@1\n8,,1,2,3,4\n", "default_metric: ['first', 'other']");
  ASSERT_TRUE(table.ok()) << table.status();
  std::set<double> drawn;
  for (uint64_t seed = 0; seed < 32; ++seed) {
    const auto results = Find(*table, R"({"width": 8})", Layers(), seed);
    const double value = results->final.at("default");
    drawn.insert(value);
    EXPECT_EQ(Find(*table, R"({"width": 8})", Layers(), seed)->final.at("default"), value) << "the same seed, the same";
    // Its own curve, and no other's.
    EXPECT_EQ(results->steps[0].count("default"), value == 2 ? 1u : 0u);
  }
  EXPECT_THAT(drawn, ElementsAre(1, 2));
}

TEST(ModelTableTest, ColumnsMayHaveOtherNames) {
  const auto table = Read("w,op,accuracy\n16,none,0.5\n", R"(
    column { label: "width" column: "w" } column { label: "second" column: "op" } default_metric: "accuracy")");
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_THAT(Find(*table, R"({"width": 16, "second": "none"})")->final,
              ElementsAre(Pair("accuracy", 0.5), Pair("default", 0.5)));
}

TEST(ModelTableTest, WrongColumnsAreNamed) {
  EXPECT_EQ(Error(""), ": there are no models: the first line names the columns, and each of the others is a model");
  EXPECT_THAT(Error("width,second,default\n"), HasSubstr("there are no models"));
  EXPECT_EQ(Error("width,second,default,width\n8,,1,8\n"), ":1: two columns are named 'width'");
  EXPECT_EQ(Error("width,,default\n8,,1\n"), ":1: column 2 has no name");
  EXPECT_EQ(Error("width,default\n8,1\n"),
            ":1: there is no column 'second' for the choice 'second'; there are width, default; name it with column { "
            "label column }");
  EXPECT_EQ(Error("width,second,accuracy\n8,,1\n"),
            ":1: there is no metric 'default' to be `default`; the metrics are accuracy: name one with default_metric");
  EXPECT_EQ(Error("width,second,default\n8,,1\n", "default_metric: 'loss'"),
            ":1: there is no metric 'loss' to be `default`; the metrics are default");
  EXPECT_EQ(Error("width,second,default\n8,,1\n", "column { label: 'third' column: 'default' }"),
            ":1: there is no metric 'default' to be `default`; all columns are choices: name one with default_metric");
  EXPECT_EQ(Error("width,second,x,default\n8,,1,1\n", "column { label: 'third' column: 'x' }"),
            "column: the space has no choice 'third'");
  EXPECT_EQ(Error("width,second,default\n8,,1\n", "column { label: 'second' column: 'width' }"),
            ":1: column 'width': it is the column of two choices, 'second' and 'width'");
  EXPECT_EQ(Error("width,second,default,default@2\n8,,1,1\n"),
            ":1: column 'default@2': steps count from 1 without gaps, and there is no column 'default@1'");
  EXPECT_EQ(Error("width,second,default,a@1,a@01\n8,,1,1,1\n"), ":1: column 'a@01': step 1 of 'a' is there twice");
  EXPECT_THAT(Error("width,second,default,a@0\n8,,1,1\n"), HasSubstr("column 'a@0': steps count from 1"));
}

TEST(ModelTableTest, WrongLinesAreNamed) {
  const std::string header = "width,second,default,a@1,a@2\n";
  EXPECT_EQ(Error(header + "8,,1,1,1\n16,none,1,1\n"), ":3: 4 cells, but the first line names 5 columns");
  EXPECT_EQ(Error(header + "8,,1,1,1\n\n16,none,1,1,1\n8,,2,2,2\n"), ":5: the same model as on line 2");
  EXPECT_EQ(Error(header + "8,,1,1,1\n16,conv,1,1,1\n"),
            ":3: column 'second': is no candidate; the choice 'second' takes one of 'none', 'conv, 3'");
  EXPECT_EQ(Error(header + "16,,1,1,1\n"),
            ":2: column 'second': is empty; the choice 'second' takes one of 'none', 'conv, 3'");
  EXPECT_EQ(Error(header + "8,none,1,1,1\n"),
            ":2: column 'second': must be empty: the choice 'second' is not active in this model");
  EXPECT_EQ(Error(header + "8,,good,1,1\n"),
            ":2: column 'default': 'good' is not a finite number; each column that is no choice holds a metric");
  EXPECT_THAT(Error(header + "8,,nan,1,1\n"), HasSubstr("'nan' is not a finite number"));
  EXPECT_EQ(Error(header + "8,,1,,1\n"), ":2: column 'a@2': an earlier step of 'a' has no value");
  EXPECT_EQ(Error(header + "8,,\"1,1,1\n"), ":2: a quote opens and never closes");
}

TEST(ModelTableTest, CandidatesThatATableCannotTellApartAreRefused) {
  const std::string csv = "a,default\n1,1\n";
  EXPECT_EQ(Error(csv, "", SpaceOf("choice { label: 'a' candidate: [ { i: 1 }, { s: '1.0' } ] }")),
            "choice 'a': '1' and '1.0' are the same in a table: rename one");
  EXPECT_THAT(Error(csv, "", SpaceOf("choice { label: 'a' candidate: [ { i: 1 }, { s: ' ' } ] }")),
              HasSubstr("choice 'a': candidate ' ' is nothing in a table"));
}

TEST(ModelTableTest, FilesThatAreNoTablesAreRefused) {
  EXPECT_EQ(ReadTableFile("/no/such/table.csv").status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(ReadTableFile(::testing::TempDir()).status().message(), HasSubstr("folder"));
  EXPECT_EQ(Error("\x1f\x8b compressed"), ": is compressed with gzip; unpack it");
}

TEST(ModelTableTest, TheDigestIsTheFiles) {
  EXPECT_EQ(ReadTableFile(PathOf("a,default\n1,1\n"))->sha256,
            "63969533fce3323595d5ee5703dc281d0d66c03c2a0946f24c299a933faa68d0");
}

}  // namespace
}  // namespace lanista

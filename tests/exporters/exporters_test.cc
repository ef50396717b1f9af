#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "google/protobuf/util/message_differencer.h"
#include "nlohmann/json.hpp"
#include "src/base/hash.h"
#include "src/exporters/results/exporter.h"
#include "src/space/space.h"
#include "tests/storage/storage_testing.h"

namespace lanista {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ExportersTest : public ::testing::Test {
 protected:
  virtual v1::ExperimentCreated created() const {
    return Parse<v1::ExperimentCreated>(R"pb(
      experiment: "mnist-k3f9"
      seed: 42
      config {
        space {
          registered: "mnist_cnn"
          params {
            key: "width"
            value { i: 64 }
          }
        }
      })pb");
  }

  void SetUp() override {
    writer_ = JournalWriter::Create(temp_.path(), created()).value();
    spec_ = Parse<v1::SpaceSpec>(R"pb(
      choices {
        label: "p"
        kind: VALUE_CHOICE
        candidates { f: 0.25 }
        candidates { f: 0.5 }
        n_chosen: 1
      }
      choices {
        label: "in"
        kind: INPUT_CHOICE
        candidates { i: 0 }
        candidates { i: 1 }
        candidates { i: 2 }
        n_chosen: 2
      }
      complete: true
      data {
        input_shape: [ 2 ]
        model_input_shape: [ 2 ]
        outputs: 2
        class_names: [ "no", "yes" ]
        preprocessing {
          standardization {
            mean: [ 0.5, 1 ]
            std: [ 2, 4 ]
          }
        }
      })pb");
    space_ = Space::FromProto(spec_).value();
    v1::JournalBatch batch;
    *batch.add_records()->mutable_discovered()->mutable_space() = space_->spec();
    ASSERT_TRUE(writer_->Write(batch).ok());
  }

  // Records three models, the second of which is the best.
  void RunModels() {
    const double values[] = {0.5, 0.9, 0.7};
    v1::JournalBatch batch;
    for (int model = 1; model <= 3; ++model) {
      auto* created = batch.add_records()->mutable_model();
      created->set_model(model);
      *created->mutable_sample() = space_->Unrank(model);
      // Trial 10 + N tries model N.
      auto* trial = batch.add_records()->mutable_trial();
      trial->set_trial(10 + model);
      trial->add_members()->set_model(model);
      trial->mutable_members(0)->set_attempt(1);
      auto* event = batch.add_records()->mutable_event();
      event->set_trial(10 + model);
      event->set_model(model);
      event->set_attempt(1);
      event->set_sequence(1);
      event->mutable_ended()->set_outcome(v1::ModelEnded::SUCCEEDED);
      auto* record = batch.add_records();
      auto* outcome = record->mutable_outcome();
      outcome->set_model(model);
      outcome->set_attempt(1);
      outcome->set_outcome(v1::ModelEnded::SUCCEEDED);
      (*outcome->mutable_metrics()->mutable_values())["default"] = values[model - 1];
      if (kept_.count(model) > 0) record->mutable_weights()->set_folder(WeightsFolder(model));
    }
    ASSERT_TRUE(writer_->Write(batch).ok());
  }

  absl::StatusOr<std::vector<std::string>> Export(int top_k, const std::string& format, const std::string& folder) {
    return ExportBest(JournalReader::Open(temp_.path()).value(), {top_k, format, folder, untrained_},
                      [this](const v1::Convert& request) -> absl::StatusOr<std::vector<std::string>> {
                        converted_.push_back(request);
                        return std::vector<std::string>{request.out() + ".onnx"};
                      });
  }

  std::string out() const { return temp_.path() + "/new/out"; }

  static std::string WeightsFolder(int model) { return absl::StrCat("trials/", 10 + model); }

  // As if the trial of this model had left its weights.
  void WriteWeights(int model) {
    const std::string folder = absl::StrCat(temp_.path(), "/", WeightsFolder(model));
    std::filesystem::create_directories(folder);
    std::ofstream(folder + "/weights.pt") << "weights, written by Lanista, of " << model;
  }

  TempFolder temp_;
  // Models whose weights are among those of the best, as far as the journal knows.
  std::set<int> kept_;
  bool untrained_ = false;
  std::unique_ptr<JournalWriter> writer_;
  // What was asked of LibTorch's half.
  std::vector<v1::Convert> converted_;
  v1::SpaceSpec spec_;
  std::optional<Space> space_;
};

TEST_F(ExportersTest, WriteTheBestModelsFromWhichTheModelsAreRebuilt) {
  RunModels();
  const auto files = Export(2, "json", out());
  ASSERT_TRUE(files.ok()) << files.status();
  EXPECT_THAT(*files, ElementsAre(out() + "/1-model-2.json", out() + "/2-model-3.json"));
  std::ifstream file(files->front());
  const auto json = nlohmann::ordered_json::parse(file);
  const auto sample = space_->FromJson(json["sample"].dump());
  ASSERT_TRUE(sample.ok()) << sample.status();
  EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(*sample, space_->Unrank(2)));
  nlohmann::ordered_json rest = json;
  rest.erase("sample");
  EXPECT_EQ(rest, nlohmann::ordered_json::parse(absl::StrCat(R"json({
    "experiment": "mnist-k3f9",
    "space": {"registered": "mnist_cnn", "params": {"width": {"i": "64"}}},
    "fingerprint": ")json",
                                                             space_->fingerprint(), R"json(",
    "seed": 42, "order_seed": 17951640479119085690, "rank": 1, "model": 2, "metrics": {"default": 0.9},
    "data": {"input_shape": [2], "model_input_shape": [2], "outputs": 2, "class_names": ["no", "yes"],
             "preprocessing": [{"standardization": {"mean": [0.5, 1.0], "std": [2.0, 4.0]}}]}})json")));
}

TEST_F(ExportersTest, WriteAsManyAsThereAre) {
  RunModels();
  EXPECT_EQ(Export(100, "json", out())->size(), 3);
}

TEST_F(ExportersTest, AskAfterEachModelWhetherToGoOn) {
  RunModels();
  ExportOptions options{2, "json", out()};
  std::vector<int64_t> bytes;
  options.check = [&bytes](int64_t so_far) {
    bytes.push_back(so_far);
    return absl::OkStatus();
  };
  const auto files = ExportBest(*JournalReader::Open(temp_.path()), options, nullptr);
  ASSERT_TRUE(files.ok()) << files.status();
  ASSERT_EQ(files->size(), 2u);
  const auto first = static_cast<int64_t>(std::filesystem::file_size((*files)[0]));
  const auto second = static_cast<int64_t>(std::filesystem::file_size((*files)[1]));
  EXPECT_THAT(bytes, ElementsAre(first, first + second));
  options.check = [](int64_t) { return absl::CancelledError("enough"); };
  EXPECT_EQ(ExportBest(*JournalReader::Open(temp_.path()), options, nullptr).status(), absl::CancelledError("enough"));
}

TEST(ExportStemTest, IsThatOfNamesThatAnExportWrites) {
  EXPECT_EQ(ExportStemOf("1-model-17.py"), "1-model-17");
  EXPECT_EQ(ExportStemOf("12-model-3.weights.pt"), "12-model-3");
  for (const char* name : {"", "1-model-17", "x1-model-17.py", "01-model-17.py", "1-model-017.py", "1-model-.py",
                           "1-model-17.p/y", "1-model-99999999999.py", "+1-model-2.py", " 1-model-2.py"}) {
    EXPECT_EQ(ExportStemOf(name), std::nullopt) << name;
  }
}

TEST_F(ExportersTest, SayWhatTheyCannotDoAndWriteNothing) {
  EXPECT_TRUE(absl::IsFailedPrecondition(Export(1, "json", out()).status()));
  RunModels();
  for (const int top_k : {0, -1}) EXPECT_TRUE(absl::IsInvalidArgument(Export(top_k, "json", out()).status()));
  for (const std::string format : {"onnx", "cpp", "python", "torchscript"}) {
    const absl::Status status = Export(1, format, out()).status();
    EXPECT_TRUE(absl::IsFailedPrecondition(status));
    EXPECT_EQ(status.message(), absl::StrCat("format ", format,
                                             " needs the model's graph: use `engine { graph {} }`; "
                                             "the direct engine exports json, weights"));
  }
  const absl::Status status = Export(1, "yaml", out()).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("known: json, weights, python, cpp, torchscript, onnx"));
  EXPECT_FALSE(std::filesystem::exists(out()));
}

class LimitedExportersTest : public ExportersTest {
 protected:
  v1::ExperimentCreated created() const override {
    v1::ExperimentCreated created = ExportersTest::created();
    created.mutable_config()->MergeFrom(Parse<v1::ExperimentConfig>("constraint { metric: 'default' max: 0.25 }"));
    return created;
  }
};

TEST_F(LimitedExportersTest, SayThatNoModelIsWithinTheLimits) {
  EXPECT_THAT(std::string(Export(1, "json", out()).status().message()), HasSubstr("has succeeded: there is nothing"));
  RunModels();
  EXPECT_EQ(Export(1, "json", out()).status(),
            absl::FailedPreconditionError("no model of experiment mnist-k3f9 is within its limits: there is nothing to "
                                          "export (`show` names the nearest model)"));
}

TEST_F(ExportersTest, HandOutTheWeightsThatWereKept) {
  kept_ = {2};
  RunModels();
  for (const int model : {2, 3}) WriteWeights(model);
  const auto files = Export(1, "weights", out());
  ASSERT_TRUE(files.ok()) << files.status();
  EXPECT_THAT(*files, ElementsAre(out() + "/1-model-2.weights.pt"));
  std::ifstream file(files->front());
  EXPECT_EQ(std::string((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>()),
            "weights, written by Lanista, of 2");
  EXPECT_EQ(
      Export(3, "weights", out()).status(),
      absl::FailedPreconditionError("the trained weights of models 3, 1 were not kept: an experiment keeps those of "
                                    "its N best models with `keep_weights { best: N }`"));
}

TEST_F(ExportersTest, ReplaceOnlyExportsOfTheirOwn) {
  kept_ = {2};
  RunModels();
  WriteWeights(2);
  const auto content = [](const std::string& path) {
    std::ifstream file(path);
    return std::string((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  };
  for (const std::string suffix : {"json", "weights.pt"}) {
    const std::string format = suffix == "json" ? "json" : "weights";
    ASSERT_TRUE(Export(1, format, out()).ok());
    EXPECT_TRUE(Export(1, format, out()).ok());
    const std::string file = absl::StrCat(out(), "/1-model-2.", suffix);
    std::ofstream(file) << "{\"mine\": 1}";
    const absl::Status status = Export(1, format, out()).status();
    EXPECT_TRUE(absl::IsFailedPrecondition(status));
    EXPECT_THAT(std::string(status.message()), HasSubstr(file + " is not replaced: Lanista did not write it"));
    EXPECT_EQ(content(file), "{\"mine\": 1}");
  }
}

class GraphExportersTest : public ExportersTest {
 protected:
  v1::ExperimentCreated created() const override {
    return Parse<v1::ExperimentCreated>(R"pb(
      experiment: "net-k3f9"
      seed: 42
      config {
        space { torchscript { path: "/data/net.pt" } }
        engine { graph {} }
      })pb");
  }
};

TEST_F(GraphExportersTest, HandTheModelAndItsTrainedWeightsToTheConverter) {
  kept_ = {2, 3};
  RunModels();
  for (const int model : {2, 3}) WriteWeights(model);
  const auto files = Export(2, "onnx", out());
  ASSERT_TRUE(files.ok()) << files.status();
  EXPECT_THAT(*files, ElementsAre(out() + "/1-model-2.onnx", out() + "/2-model-3.onnx"));
  ASSERT_EQ(converted_.size(), 2u);
  const v1::SpaceModel& model = converted_[0].model();
  EXPECT_EQ(converted_[0].format(), "onnx");
  EXPECT_EQ(model.space().torchscript().path(), "/data/net.pt");
  EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(model.sample(), space_->Unrank(2)));
  EXPECT_EQ(model.model_seed(), ModelSeed(42, 2));
  EXPECT_EQ(model.weights_file(), temp_.path() + "/trials/12/weights.pt");
  EXPECT_EQ(model.data().class_names(1), "yes");
  EXPECT_EQ(converted_[1].model().weights_file(), temp_.path() + "/trials/13/weights.pt");
}

TEST_F(GraphExportersTest, HandOutInitialWeightsOnlyWhereThatIsAsked) {
  kept_ = {2};
  RunModels();
  WriteWeights(2);
  EXPECT_EQ(
      Export(2, "onnx", out()).status(),
      absl::FailedPreconditionError("the trained weights of model 3 were not kept: an experiment keeps those of its "
                                    "N best models with `keep_weights { best: N }`; to export the initial weights "
                                    "instead, add --untrained"));
  EXPECT_TRUE(converted_.empty());
  untrained_ = true;
  ASSERT_TRUE(Export(2, "onnx", out()).ok());
  EXPECT_EQ(converted_[0].model().weights_file(), temp_.path() + "/trials/12/weights.pt");
  EXPECT_EQ(converted_[1].model().weights_file(), "");
}

class KeptGraphExportersTest : public GraphExportersTest {
 protected:
  v1::ExperimentCreated created() const override {
    v1::ExperimentCreated created = GraphExportersTest::created();
    created.mutable_config()->mutable_keep_weights()->set_best(2);
    return created;
  }
};

TEST_F(KeptGraphExportersTest, SayThatWeightsAreMissingThatWereToBeKept) {
  kept_ = {2, 3};
  RunModels();
  WriteWeights(2);
  EXPECT_EQ(Export(2, "python", out()).status(),
            absl::FailedPreconditionError("the trained weights of model 3 are missing, although the experiment has "
                                          "`keep_weights { best: 2 }`: their files are not in its folder `trials` (any "
                                          "more); to export the initial weights instead, add --untrained"));
  EXPECT_TRUE(converted_.empty()) << "none of them, and never with initial weights";
  untrained_ = true;
  ASSERT_TRUE(Export(2, "python", out()).ok());
  EXPECT_EQ(converted_[1].model().weights_file(), "") << "nobody looks for a file that is not there";
}

TEST_F(ExportersTest, NameTheFolderThatCannotBeMade) {
  RunModels();
  std::ofstream(temp_.path() + "/file") << "in the way";
  const absl::Status status = Export(1, "json", temp_.path() + "/file/out").status();
  EXPECT_THAT(std::string(status.message()), HasSubstr(temp_.path() + "/file/out"));
}

}  // namespace
}  // namespace lanista

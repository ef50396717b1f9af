#include "src/launcher/trial_model_maker.h"

#include <array>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/storage/storage_testing.h"

namespace lanista {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Json = nlohmann::json;

class TrialModelMakerTest : public ::testing::Test {
 protected:
  // An experiment of the graph engine with so many models, of which the first has succeeded. Its trial processes do
  // what `order` says (converting_trial_program.cc).
  void Create(const std::string& order, int models = 1, const std::string& engine = "graph {}") {
    v1::ExperimentCreated created;
    created.set_experiment("net-1");
    created.mutable_config()->mutable_space()->set_registered(order);
    *created.mutable_config()->mutable_engine() = Parse<v1::EngineConfig>(engine);
    writer_ = JournalWriter::Create(folder(), created).value();
    for (int model = 1; model <= models; ++model) {
      ASSERT_TRUE(writer_->Write(Batch(absl::StrCat("records { model { model: ", model, " } }"))).ok());
    }
    ASSERT_TRUE(writer_
                    ->Write(Batch("records { trial { trial: 1 members { model: 1 attempt: 1 } } } "
                                  "records { event { model: 1 attempt: 1 sequence: 1 ended { outcome: SUCCEEDED } } } "
                                  "records { outcome { model: 1 attempt: 1 outcome: SUCCEEDED metrics { values { key: "
                                  "'default' value: 0.5 } } } }"))
                    .ok());
  }

  static TrialProgram Program() {
    TrialProgram program;
    program.path = std::filesystem::absolute(std::getenv("CONVERTING_TRIAL_PROGRAM")).string();
    return program;
  }

  // Its options where nodes do what `nodes` does; the last request is kept.
  TrialModelMaker::Options WithNodes(std::function<absl::StatusOr<v1::Converted>(const v1::Convert&)> nodes) {
    TrialModelMaker::Options options;
    options.nodes = [this, nodes = std::move(nodes)](const v1::Convert& request, const std::string& program,
                                                     const ModelMaker::Abandoned&) {
      request_ = request;
      program_ = program;
      return nodes(request);
    };
    return options;
  }
  // As a node does it that writes these bytes.
  static std::function<absl::StatusOr<v1::Converted>(const v1::Convert&)> Writing(const std::string& content) {
    return [content](const v1::Convert& request) {
      v1::Converted converted;
      converted.add_files(absl::StrCat(request.out(), ".", request.format()));
      converted.add_warnings("of a node");
      std::ofstream(converted.files(0), std::ios::binary) << content;
      return converted;
    };
  }

  std::string folder() const { return temp_.path() + "/experiment"; }
  // A file in which processes sign, as an order.
  std::string Signatures() const { return temp_.path() + "/signatures"; }
  std::set<std::string> Processes() const {
    std::ifstream file(Signatures());
    const std::string text(std::istreambuf_iterator<char>(file), {});
    return absl::StrSplit(text, '\n', absl::SkipEmpty());
  }

  static bool Never() { return false; }

  TempFolder temp_;
  std::unique_ptr<JournalWriter> writer_;
  TrialModelMaker maker_{Program()};
  v1::Convert request_;
  std::string program_;
};

TEST_F(TrialModelMakerTest, AGraphIsTheDocumentOfShowGraphAndIsMadeOnce) {
  Create(Signatures());
  const auto graph = maker_.Graph(folder(), 1, Never);
  ASSERT_TRUE(graph.ok()) << graph.status();
  const Json document = Json::parse(**graph);
  EXPECT_EQ(document["name"], "net");
  EXPECT_EQ(document["nodes"][0]["name"], "relu");
  EXPECT_EQ(document["nodes"][0]["type"], "ReLU");
  const auto again = maker_.Graph(folder(), 1, Never);
  EXPECT_EQ(*again, *graph) << "the same text, not only an equal one";
  EXPECT_EQ(Processes().size(), 1u);
}

TEST_F(TrialModelMakerTest, WithoutRoomNothingIsKept) {
  TrialModelMaker::Options options;
  options.max_kept_bytes = 1;
  TrialModelMaker maker(Program(), options);
  Create(Signatures());
  ASSERT_TRUE(maker.Graph(folder(), 1, Never).ok());
  ASSERT_TRUE(maker.Graph(folder(), 1, Never).ok());
  EXPECT_EQ(Processes().size(), 2u);
}

TEST_F(TrialModelMakerTest, WhatHasNoGraphSaysWhy) {
  Create("net", 1, "direct {}");
  const absl::Status direct = maker_.Graph(folder(), 1, Never).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(direct));
  EXPECT_THAT(std::string(direct.message()), HasSubstr("the engine `direct` builds models from C++ code alone"));
  EXPECT_TRUE(absl::IsNotFound(maker_.Graph(folder(), 2, Never).status()));
  EXPECT_TRUE(absl::IsNotFound(maker_.Graph(temp_.path(), 1, Never).status()));
}

TEST_F(TrialModelMakerTest, ATrialProcessThatDiesOrRefusesIsAnErrorAndTheNextOneIsNew) {
  Create("die");
  const absl::Status died = maker_.Graph(folder(), 1, Never).status();
  EXPECT_TRUE(absl::IsInternal(died)) << died;
  EXPECT_THAT(std::string(died.message()), HasSubstr("ended by signal 9"));
  std::filesystem::remove_all(folder());
  Create("refuse");
  const absl::Status refused = maker_.Graph(folder(), 1, Never).status();
  EXPECT_EQ(refused, absl::FailedPreconditionError("the files have changed"));
  std::filesystem::remove_all(folder());
  Create("net");
  EXPECT_TRUE(maker_.Graph(folder(), 1, Never).ok());
}

TEST_F(TrialModelMakerTest, WithoutATrialProgramItSaysSo) {
  TrialModelMaker maker(TrialProgram{"/no/such/program", nullptr});
  Create("net");
  const absl::Status status = maker.Graph(folder(), 1, Never).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("--trial-program"));
  // JSON needs none.
  EXPECT_TRUE(maker.Export(folder(), {1, "json", false}, temp_.path(), Never).ok());
}

TEST_F(TrialModelMakerTest, WhatNobodyWaitsForIsGivenUp) {
  Create("hang");
  std::atomic<bool> abandoned{false};
  std::atomic<int> asked{0};
  absl::Status status;
  std::thread caller([&] {
    status = maker_
                 .Graph(folder(), 1,
                        [&] {
                          ++asked;
                          return abandoned.load();
                        })
                 .status();
  });
  // One who waits for the turn, and one who has it.
  while (asked == 0) std::this_thread::yield();
  EXPECT_TRUE(absl::IsCancelled(maker_.Graph(folder(), 1, [] { return true; }).status()));
  abandoned = true;
  caller.join();
  EXPECT_TRUE(absl::IsCancelled(status)) << status;
}

TEST_F(TrialModelMakerTest, OnlySoManyWait) {
  TrialModelMaker::Options options;
  options.max_waiting = 1;
  TrialModelMaker maker(Program(), options);
  Create("hang", 3);
  std::atomic<bool> abandoned{false};
  std::array<std::atomic<bool>, 2> waits{};
  std::vector<std::thread> callers;
  for (size_t i = 0; i < waits.size(); ++i) {
    callers.emplace_back([&, i] {
      const auto asked = [&] {
        waits[i] = true;
        return abandoned.load();
      };
      EXPECT_TRUE(absl::IsCancelled(maker.Graph(folder(), static_cast<int>(i) + 1, asked).status()));
    });
    while (!waits[i]) std::this_thread::yield();
  }
  const absl::Status third = maker.Graph(folder(), 3, Never).status();
  EXPECT_TRUE(absl::IsResourceExhausted(third)) << third;
  abandoned = true;
  for (std::thread& caller : callers) caller.join();
}

TEST_F(TrialModelMakerTest, WhoeverIsNextTakesTheSameProcess) {
  Create(Signatures(), 4);
  const std::string hold = Signatures() + ".hold";
  std::ofstream(hold) << "until all wait";
  std::array<std::atomic<bool>, 4> waits{};
  std::vector<std::thread> callers;
  for (size_t i = 0; i < waits.size(); ++i) {
    callers.emplace_back([&, i] {
      const auto asked = [&] {
        waits[i] = true;
        return false;
      };
      EXPECT_TRUE(maker_.Graph(folder(), static_cast<int>(i) + 1, asked).ok());
    });
  }
  for (const std::atomic<bool>& waiting : waits) {
    while (!waiting) std::this_thread::yield();
  }
  std::filesystem::remove(hold);
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(Processes().size(), 1u);
}

TEST_F(TrialModelMakerTest, AnExportWritesTheBestAndHandsOnWarnings) {
  Create("net");
  const auto exported = maker_.Export(folder(), {3, "onnx", true}, temp_.path() + "/out", Never);
  ASSERT_TRUE(exported.ok()) << exported.status();
  EXPECT_THAT(exported->files, ElementsAre(temp_.path() + "/out/1-model-1.onnx"));
  EXPECT_THAT(exported->warnings, ElementsAre("of onnx"));
  EXPECT_TRUE(absl::IsFailedPrecondition(maker_.Export(folder(), {1, "onnx", false}, temp_.path(), Never).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(maker_.Export(folder(), {1, "word", false}, temp_.path(), Never).status()));
}

TEST_F(TrialModelMakerTest, AnExportThatIsTooLargeOrThatNobodyWaitsForEnds) {
  TrialModelMaker::Options options;
  options.max_exported_bytes = 10;
  TrialModelMaker maker(Program(), options);
  Create("net");
  const absl::Status large = maker.Export(folder(), {1, "json", false}, temp_.path(), Never).status();
  EXPECT_TRUE(absl::IsResourceExhausted(large)) << large;
  EXPECT_THAT(std::string(large.message()), HasSubstr("export fewer models at a time"));
  // JSON needs no trial process: nobody else would ask.
  const absl::Status abandoned =
      maker_.Export(folder(), {1, "json", false}, temp_.path(), [] { return true; }).status();
  EXPECT_TRUE(absl::IsCancelled(abandoned)) << abandoned;
}

// Without a trial program of its own.
TEST_F(TrialModelMakerTest, WhereThereAreNodesTheyDoIt) {
  Create("net");
  ASSERT_TRUE(writer_->Write(Batch("records { discovered { space { fingerprint: 'f' } program: 'build 7' } }")).ok());
  TrialModelMaker maker(TrialProgram{"/no/such/program", nullptr}, WithNodes(Writing("made by a node")));
  const std::string out = temp_.path() + "/out";
  const auto exported = maker.Export(folder(), {1, "onnx", true}, out, Never);
  ASSERT_TRUE(exported.ok()) << exported.status();
  EXPECT_THAT(exported->files, ElementsAre(out + "/1-model-1.onnx"));
  EXPECT_THAT(exported->warnings, ElementsAre("of a node"));
  std::ifstream file(exported->files[0]);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), "made by a node");
  EXPECT_EQ(program_, "build 7");
  EXPECT_THAT(request_.out(), HasSubstr(folder() + "/incoming/"));
  EXPECT_FALSE(std::filesystem::exists(std::filesystem::path(request_.out()).parent_path()));

  // What a node writes need not be a graph.
  const absl::Status graph = maker.Graph(folder(), 1, Never).status();
  EXPECT_FALSE(graph.ok());
  EXPECT_EQ(request_.format(), "graph");
}

TEST_F(TrialModelMakerTest, WhereNoNodeCanTheProgramOfThisMachineDoesIt) {
  Create(Signatures());
  const auto none = [](const v1::Convert&) { return absl::UnavailableError("no node is there"); };
  TrialModelMaker here(Program(), WithNodes(none));
  EXPECT_TRUE(here.Graph(folder(), 1, Never).ok());
  EXPECT_EQ(Processes().size(), 1u);
  TrialModelMaker nowhere(TrialProgram{"/no/such/program", nullptr}, WithNodes(none));
  const absl::Status status = nowhere.Graph(folder(), 1, Never).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status))
      << "clients take UNAVAILABLE for a head that is not there: " << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("no node is there"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("--trial-program"));
}

TEST_F(TrialModelMakerTest, WhatANodeSaysOfTheModelStands) {
  Create(Signatures());
  const absl::Status changed = absl::FailedPreconditionError("the files have changed");
  TrialModelMaker maker(Program(), WithNodes([&changed](const v1::Convert&) { return changed; }));
  EXPECT_EQ(maker.Graph(folder(), 1, Never).status(), changed);
  EXPECT_TRUE(Processes().empty());
}

}  // namespace
}  // namespace lanista

// What discovery tells before a search trains models in vain.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/nn/modules/linear.h>

#include <string>
#include <vector>

#include "google/protobuf/text_format.h"
#include "src/graph/registered_graphs.h"
#include "src/nn/nn.h"
#include "src/trial/runner.h"

namespace lanista {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A classifier of 28 x 28 digits, wrong in the way that `fault` says where `member` is not 7.
class Digits : public nn::ModelSpace {
 public:
  explicit Digits(const nn::Params& params) {
    fault_ = params.Get<std::string>("fault");
    const int64_t member = nn::ValueChoice({0, 1, 2, 3, 4, 5, 6, 7}, "member");
    if (member == params.Get<int64_t>("fine")) fault_ = "none";
    layer_ = register_module("layer", torch::nn::Linear(fault_ == "width" ? 100 : 784, fault_ == "classes" ? 3 : 10));
  }

  torch::Tensor forward(torch::Tensor x) override {
    if (fault_ == "choice") nn::ValueChoice({1, 2}, "late");
    // What fails on a GPU may fail once: the batch of two samples is the first that a model gets.
    TORCH_CHECK(fault_ != "cuda" || x.size(0) != 2, "CUDA error: an illegal memory access was encountered");
    TORCH_CHECK(fault_ != "cuda_memory", "CUDA error: CUBLAS_STATUS_ALLOC_FAILED");
    return layer_(x.flatten(1));
  }

 private:
  std::string fault_;
  torch::nn::Linear layer_{nullptr};
};
LANISTA_REGISTER(model_space, "digits", nn::MakeModelSpace<Digits>);

class TryModelsTest : public ::testing::Test {
 protected:
  TryModelsTest() {
    v1::TrialRequest request;
    request.mutable_setup()->mutable_device()->set_kind(v1::DeviceKind::CPU);
    runner_.Handle(request);
  }

  // Discovers the space of `fault`, in which member number `fine` has none.
  v1::Discovered Discover(const std::string& fault, int fine = -1, const std::string& trying_failed = "") {
    v1::TrialRequest request;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
        R"(discover { engine { direct {} } space { registered: "digits" }
                      evaluator { classification { dataset { synthetic_digits {} } } } })",
        &request));
    auto& params = *request.mutable_discover()->mutable_space()->mutable_params();
    params["fault"].set_s(fault);
    params["fine"].set_i(fine);
    request.mutable_discover()->set_trying_failed(trying_failed);
    events_.clear();
    runner_.Handle(request);
    return events_.back().discovered();
  }

  int Tried() const {
    int tried = 0;
    for (const v1::TrialEvent& event : events_) tried += event.discovering().trying();
    return tried;
  }

  std::vector<v1::TrialEvent> events_;
  TrialRunner runner_{[this](const v1::TrialEvent& event) { events_.push_back(event); }, /*redirect_output=*/false};
};

TEST_F(TryModelsTest, OneModelIsEnoughWhereItRuns) {
  const v1::Discovered discovered = Discover("none");
  EXPECT_FALSE(discovered.has_error()) << discovered.error().message();
  EXPECT_THAT(discovered.space().warnings(), ElementsAre());
  EXPECT_EQ(Tried(), 1);
}

TEST_F(TryModelsTest, WhatNoModelSurvivesIsAnErrorThatNamesTheLayer) {
  EXPECT_THAT(Discover("width").error().message(),
              AllOf(HasSubstr("none of 8 models that were tried can run"), HasSubstr(R"({"member":0})"),
                    HasSubstr("layer 'layer' (Linear)"), HasSubstr("does not fit weight [10, 100]")));
  EXPECT_THAT(Discover("classes").error().message(), HasSubstr("the dataset has 10 classes"));
}

TEST_F(TryModelsTest, WhatSomeModelsSurviveIsAWarning) {
  const v1::Discovered discovered = Discover("width", /*fine=*/7);
  EXPECT_FALSE(discovered.has_error()) << discovered.error().message();
  EXPECT_THAT(discovered.space().warnings(), ElementsAre(HasSubstr("the first, {\"member\":0}: layer 'layer'")));
}

TEST_F(TryModelsTest, AnErrorOfCudaSaysNothingOfTheOtherModels) {
  const v1::Discovered discovered = Discover("cuda");
  EXPECT_FALSE(discovered.has_error()) << discovered.error().message();
  EXPECT_TRUE(discovered.tries_failed());
  EXPECT_THAT(discovered.space().warnings(),
              ElementsAre(AllOf(HasSubstr("a model that was tried cannot run: {"), HasSubstr("CUDA error"))));
}

TEST_F(TryModelsTest, AGpuThatIsFullSaysNothingOfSmallerModels) {
  const v1::Discovered discovered = Discover("cuda_memory", /*fine=*/7);
  EXPECT_FALSE(discovered.has_error()) << discovered.error().message();
  EXPECT_THAT(discovered.space().warnings(), ElementsAre(HasSubstr("the first, {\"member\":0}: CUDA error")));
}

TEST_F(TryModelsTest, AChoiceThatIsAskedInForwardIsAnErrorThatNamesItsPlace) {
  EXPECT_THAT(Discover("choice", /*fine=*/7).error().message(),
              AllOf(HasSubstr("choice 'late' at "), HasSubstr("try_models_test.cc:"), HasSubstr("in its forward")));
  EXPECT_EQ(Tried(), 1) << "other models do not matter";
}

TEST_F(TryModelsTest, NoneIsTriedWhereOneEndedTheProcess) {
  const v1::Discovered discovered = Discover("width", /*fine=*/-1, "the model {} ended its process");
  EXPECT_FALSE(discovered.has_error());
  EXPECT_THAT(discovered.space().warnings(), ElementsAre("the model {} ended its process"));
  EXPECT_EQ(Tried(), 0);
}

// A graph that runs on no input of the shape that it names.
absl::StatusOr<v1::ModelGraph> Misfit(const Params&) {
  v1::ModelGraph model;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
      R"(version: 1
         graphs {
           name: "Misfit"
           inputs { name: "x" type { kind: TENSOR data_type: FLOAT32 shape { dims: [-1, 4] } } }
           nodes { name: "view" inputs { node: "x" arg: "self" } op { type: "aten::view"
             attr { key: "size" value { list { values { i: 7 } } } } } }
           outputs { node: "view" }
         })",
      &model));
  return model;
}
LANISTA_REGISTER(graph_space, "misfit", Misfit);

TEST_F(TryModelsTest, GraphsRunOnZerosWhereTheEvaluatorHasNoSamples) {
  v1::TrialRequest request;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
      R"(discover { engine { graph {} } space { registered: "misfit" } evaluator { constant {} } })", &request));
  runner_.Handle(request);
  const v1::Discovered& discovered = events_.back().discovered();
  EXPECT_FALSE(discovered.has_error()) << discovered.error().message();
  EXPECT_THAT(discovered.space().warnings(),
              ElementsAre(AllOf(HasSubstr("1 model that was tried cannot run"), HasSubstr("shape '[7]' is invalid"))));
}

}  // namespace
}  // namespace lanista

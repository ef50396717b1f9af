// The options of protos/experiment.proto: they are where they can mean something, and others read them right.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/descriptor.pb.h"
#include "google/protobuf/duration.pb.h"
#include "google/protobuf/message.h"
#include "gtest/gtest.h"
#include "protos/experiment.pb.h"
#include "src/base/component.h"
#include "src/base/field_rules.h"
#include "src/config/paths.h"

namespace lanista {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

bool IsNumber(const FieldDescriptor& field) {
  return field.cpp_type() == FieldDescriptor::CPPTYPE_INT32 || field.cpp_type() == FieldDescriptor::CPPTYPE_INT64 ||
         field.cpp_type() == FieldDescriptor::CPPTYPE_DOUBLE;
}

// What is wrong with the options of a field.
std::vector<std::string> ProblemsOf(const FieldDescriptor& field) {
  std::vector<std::string> problems;
  const v1::FieldRules& rules = RulesOf(field);
  const auto expect = [&](bool fine, const char* what) {
    if (!fine) problems.push_back(absl::StrCat(field.full_name(), ": ", what));
  };
  const bool is_string = field.cpp_type() == FieldDescriptor::CPPTYPE_STRING;
  const bool is_duration = field.message_type() == google::protobuf::Duration::descriptor();
  expect(!rules.has_range() || IsNumber(field), "a range is for numbers");
  expect(!rules.path() || is_string, "a path is a string");
  expect(!rules.of_head() || rules.path(), "of_head is for paths");
  expect(!rules.has_unique() || field.is_repeated(), "unique is for lists");
  expect(rules.zero().empty() || is_duration, "zero is for durations");
  const bool is_bool = field.cpp_type() == FieldDescriptor::CPPTYPE_BOOL;
  expect(
      rules.meaning() == v1::FieldRules::MEANING_UNSPECIFIED || ((IsNumber(field) || is_bool) && !field.is_repeated()),
      "what has a meaning is one number or truth value");
  expect(rules.required().empty() || field.has_presence() || is_string || field.is_repeated(),
         "a number without presence is never missing");
  for (const v1::ExclusiveRule& rule : rules.not_with()) {
    expect(!rule.because().empty(), "not_with says why");
    for (const std::string& other : rule.field()) {
      expect(field.containing_type()->FindFieldByName(other) != nullptr, "not_with names a field of the message");
    }
  }
  return problems;
}

TEST(FieldOptionsTest, StandWhereTheyMeanSomething) {
  std::vector<std::string> problems;
  int with_rules = 0;
  const auto* const file = v1::ExperimentConfig::descriptor()->file();
  for (int i = 0; i < file->message_type_count(); ++i) {
    const Descriptor& message = *file->message_type(i);
    for (int j = 0; j < message.field_count(); ++j) {
      with_rules += message.field(j)->options().HasExtension(v1::rules) ? 1 : 0;
      for (std::string& problem : ProblemsOf(*message.field(j))) problems.push_back(std::move(problem));
    }
  }
  EXPECT_THAT(problems, IsEmpty());
  // Options that the program does not find would let everything pass.
  EXPECT_GT(with_rules, 100);
}

TEST(FieldOptionsTest, StepsAreThoseOfTheEvaluatorsThatTrain) {
  v1::EvaluatorConfig evaluator;
  EXPECT_EQ(NumberOfComponent(evaluator, v1::FieldRules::STEPS), std::nullopt);
  evaluator.mutable_classification();
  EXPECT_EQ(NumberOfComponent(evaluator, v1::FieldRules::STEPS), 1);
  evaluator.mutable_regression()->set_max_epochs(7);
  EXPECT_EQ(NumberOfComponent(evaluator, v1::FieldRules::STEPS), 7);
  evaluator.mutable_constant();
  EXPECT_EQ(NumberOfComponent(evaluator, v1::FieldRules::STEPS), std::nullopt);
  evaluator.mutable_custom()->set_name("unknown");
  EXPECT_EQ(NumberOfComponent(evaluator, v1::FieldRules::STEPS), std::nullopt);
}

TEST(FieldOptionsTest, RulesAreThoseOfTheComponentThatIsSet) {
  v1::EngineConfig engine;
  EXPECT_FALSE(RulesOfComponent(engine).knows_graphs());
  engine.mutable_direct();
  EXPECT_FALSE(RulesOfComponent(engine).knows_graphs());
  engine.mutable_graph();
  EXPECT_TRUE(RulesOfComponent(engine).knows_graphs());
  EXPECT_FALSE(RulesOfComponent(engine).merges_models());
  engine.mutable_cgo();
  EXPECT_TRUE(RulesOfComponent(engine).knows_graphs());
  EXPECT_TRUE(RulesOfComponent(engine).merges_models());
  // Nothing is known of a user's own: what it may do is allowed to it.
  v1::EvaluatorConfig evaluator;
  evaluator.mutable_custom()->set_name("unknown");
  EXPECT_TRUE(RulesOfComponent(evaluator).reports_any_metric());
  EXPECT_FALSE(RulesOfComponent(evaluator).trains_networks());
}

TEST(FieldOptionsTest, PathsAreThoseOfTheOptions) {
  v1::ExperimentConfig config;
  config.mutable_evaluator()->mutable_table()->set_path("/table.csv");
  v1::RemoteConfig& remote = *config.add_training_service()->mutable_remote();
  remote.add_machine_list()->set_host("one");
  remote.add_machine_list()->set_ssh_key_file("/key");
  std::vector<std::string> fields;
  ASSERT_TRUE(VisitPaths(config, [&fields](const std::string& field, const std::string& path) {
                fields.push_back(absl::StrCat(field, " ", path));
                return absl::OkStatus();
              }).ok());
  EXPECT_THAT(fields, ElementsAre("evaluator.table.path /table.csv",
                                  "training_service[0].remote.machine_list[1].ssh_key_file /key"));
  MapPaths([](const std::string& path) { return "/new" + path; }, &config);
  EXPECT_EQ(config.evaluator().table().path(), "/new/table.csv");
  EXPECT_EQ(config.training_service(0).remote().machine_list(1).ssh_key_file(), "/new/key");
  EXPECT_FALSE(config.training_service(0).remote().machine_list(0).has_ssh_key_file());
}

// What stands in the field of this name.
std::optional<double> NumberOf(const google::protobuf::Message& message, const std::string& field, int index = 0) {
  const FieldDescriptor* const found = message.GetDescriptor()->FindFieldByName(field);
  EXPECT_NE(found, nullptr) << field;
  return found == nullptr ? std::nullopt : NumberIn(message, *found, index);
}

TEST(FieldOptionsTest, NumbersAndTruthValuesAreReadByOneFunction) {
  v1::AdamConfig adam;
  EXPECT_EQ(NumberOf(adam, "amsgrad"), 0) << "not set";
  adam.set_amsgrad(true);
  EXPECT_EQ(NumberOf(adam, "amsgrad"), 1);
  adam.set_amsgrad(false);
  EXPECT_EQ(NumberOf(adam, "amsgrad"), 0);
  adam.set_learning_rate(0.25);
  EXPECT_EQ(NumberOf(adam, "learning_rate"), 0.25);
  v1::ExperimentConfig config;
  config.set_max_trial_number(7);
  EXPECT_EQ(NumberOf(config, "max_trial_number"), 7);
  config.set_name("7");
  EXPECT_EQ(NumberOf(config, "name"), std::nullopt);
  v1::NormalizeConfig normalize;
  normalize.add_mean(0.5);
  normalize.add_mean(-1.5);
  EXPECT_EQ(NumberOf(normalize, "mean", 1), -1.5);
}

// What a field is, but for the example of who has forgotten it.
std::string DescribeField(const FieldDescriptor& field) {
  google::protobuf::FieldDescriptorProto description;
  field.CopyTo(&description);
  description.mutable_options()->MutableExtension(v1::rules)->clear_required();
  return description.DebugString();
}

TEST(FieldOptionsTest, WhatEvaluatorsThatTrainHaveInCommonIsTheSame) {
  // They cannot share a message: users write these fields without one. docs/architecture.md has more of it.
  constexpr int kFirstOwn = 50;
  const Descriptor& one = *v1::ClassificationConfig::descriptor();
  const Descriptor& other = *v1::RegressionConfig::descriptor();
  std::vector<std::string> fields, others;
  for (int i = 0; i < one.field_count(); ++i) {
    if (one.field(i)->number() < kFirstOwn) fields.push_back(DescribeField(*one.field(i)));
  }
  for (int i = 0; i < other.field_count(); ++i) {
    if (other.field(i)->number() < kFirstOwn) others.push_back(DescribeField(*other.field(i)));
  }
  EXPECT_GT(fields.size(), 10u);
  EXPECT_EQ(fields, others);
}

}  // namespace
}  // namespace lanista

#include "actors/node_assignments.h"

#include <string>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "tests/actors/actor_test.h"

namespace lanista {
namespace {

using Assignment = NodeAssignments::Assignment;
using Report = NodeAssignments::Report;
using Trial = NodeAssignments::Trial;

class NodeAssignmentsTest : public ::testing::Test {
 protected:
  // An assignment of trial `number` of experiment e, with models 1 and 2.
  Assignment& Give(const std::string& id, int number = 7) {
    v1::TrialSpec spec = MakeTrial("e", number, 1);
    *spec.add_models() = MakeModel(2);
    return assignments_.Add({id, /*device=*/0, 0, 0, NodeAssignments::NewTrial(std::move(spec))});
  }

  static v1::ModelEvent Event(int model, int sequence, int attempt = 1, int trial = 7) {
    v1::ModelEvent event;
    event.set_experiment("e");
    event.set_trial(trial);
    event.set_model(model);
    event.set_attempt(attempt);
    event.set_sequence(sequence);
    event.mutable_time();
    event.mutable_intermediate()->set_step(sequence);
    return event;
  }

  static v1::ModelEvent End(int model, int sequence) {
    v1::ModelEvent event = Event(model, sequence);
    event.mutable_ended()->set_outcome(v1::ModelEnded::SUCCEEDED);
    return event;
  }

  // The node reports this, in news of their own.
  void Say(Assignment& assignment, const v1::ModelEvent& event) {
    ++assignment.received;
    ASSERT_EQ(*NodeAssignments::Note(assignment, event), Report::kNew);
    assignments_.AddUnrecorded(assignment, event, {});
  }

  // "1 CANCELED, 2 LOST": what becomes of the models that have not ended.
  static std::string Ends(const Assignment& assignment) {
    std::string text;
    for (const v1::ModelEvent& event :
         NodeAssignments::EndsOf(std::get<Trial>(assignment.work), v1::ModelEnded::LOST)) {
      absl::StrAppend(&text, text.empty() ? "" : ", ", event.model(), " ",
                      v1::ModelEnded::Outcome_Name(event.ended().outcome()));
    }
    return text;
  }

  EventAmount all_unrecorded_;
  NodeAssignments assignments_{&all_unrecorded_};
};

TEST_F(NodeAssignmentsTest, AreFoundByTheirIdAndByTheirTrial) {
  Assignment& first = Give("a", 7);
  Assignment& second = Give("b", 8);
  EXPECT_EQ(assignments_.Find("a"), &first);
  EXPECT_EQ(assignments_.Find("c"), nullptr);
  EXPECT_EQ(assignments_.FindTrial(&first, "e", 7), &first);
  EXPECT_EQ(assignments_.FindTrial(&first, "e", 8), &second);
  EXPECT_EQ(assignments_.FindTrial(nullptr, "e", 8), &second);
  EXPECT_EQ(assignments_.FindTrial(&first, "f", 7), nullptr);
  assignments_.Forget(first);
  EXPECT_EQ(assignments_.Find("a"), nullptr);
  EXPECT_EQ(assignments_.FindTrial(nullptr, "e", 7), nullptr);
}

TEST_F(NodeAssignmentsTest, ADiscoveryIsNoTrial) {
  v1::Discover request;
  request.set_experiment("e");
  Assignment& discovery =
      assignments_.Add({"d", 0, 0, 0, NodeAssignments::Discovery{request, NodeAssignments::Promise(), false}});
  EXPECT_EQ(assignments_.FindTrial(&discovery, "e", 0), nullptr);
  EXPECT_FALSE(NodeAssignments::Note(discovery, Event(1, 1)).ok());
}

TEST_F(NodeAssignmentsTest, RefuseReportsThatCannotBe) {
  Assignment& assignment = Give("a");
  const auto error = [&](const v1::ModelEvent& event) {
    return std::string(NodeAssignments::Note(assignment, event).status().message());
  };
  EXPECT_EQ(error(Event(1, 1, 1, /*trial=*/8)), "the node reports on a trial that it was not given");
  EXPECT_EQ(error(Event(3, 1)), "the node reports on model 3, which has ended or is not of its trial");
  EXPECT_EQ(error(Event(1, 1, /*attempt=*/2)), "the node reports on attempt 2 of model 1, not on attempt 1");
  v1::ModelEvent built = Event(1, 1);
  built.mutable_built()->set_flops(-1);
  EXPECT_EQ(error(built), "the node says that the model has a negative number of parameters or FLOPs");
  Say(assignment, Event(1, 2));
  EXPECT_EQ(error(Event(1, 2)), "the node numbers a report 2 after 2");
  Say(assignment, End(1, 3));
  EXPECT_EQ(error(Event(1, 4)), "the node reports on model 1, which has ended or is not of its trial");
  EXPECT_TRUE(std::get<Trial>(assignment.work).begun);
}

TEST_F(NodeAssignmentsTest, WhatIsRecordedCoversAllNewsBefore) {
  Assignment& assignment = Give("a");
  // Of a model's reports, the 64th is acknowledged. Model 2 reports between them.
  for (int sequence = 1; sequence <= 64; ++sequence) Say(assignment, Event(1, sequence));
  Say(assignment, Event(2, 1));
  for (int sequence = 65; sequence <= 128; ++sequence) Say(assignment, Event(1, sequence));
  const auto record = [&](int model, int sequence, int attempt = 1) {
    v1::EventsRecorded recorded;
    recorded.set_experiment("e");
    recorded.set_trial(7);
    recorded.set_model(model);
    recorded.set_attempt(attempt);
    recorded.set_sequence(sequence);
    return assignments_.Record(assignment, recorded, {});
  };
  EXPECT_FALSE(record(3, 64).has_value());
  EXPECT_FALSE(record(1, 64, /*attempt=*/2).has_value());
  EXPECT_EQ(assignment.recorded, 0);
  const auto said = record(1, 64);
  ASSERT_TRUE(said.has_value());
  EXPECT_EQ(said->assignment(), "a");
  EXPECT_EQ(said->model(), 1);
  EXPECT_EQ(said->sequence(), 64);
  EXPECT_EQ(assignment.recorded, 64);
  record(1, 128);
  EXPECT_EQ(assignment.recorded, 129);
}

TEST_F(NodeAssignmentsTest, WhatIsUnrecordedCountsUntilTheAssignmentIsForgotten) {
  Assignment& assignment = Give("a");
  // Each of its two models may have 64 on their way.
  for (int sequence = 1; sequence <= 128; ++sequence) Say(assignment, Event(1, sequence));
  EXPECT_EQ(all_unrecorded_.events, 0);
  EXPECT_TRUE(assignments_.may_say_more(/*too_many=*/true));
  for (int sequence = 129; sequence <= 138; ++sequence) Say(assignment, Event(1, sequence));
  EXPECT_EQ(all_unrecorded_.events, 10);
  EXPECT_TRUE(assignments_.may_say_more(/*too_many=*/false));
  EXPECT_FALSE(assignments_.may_say_more(/*too_many=*/true));
  assignments_.Forget(assignment);
  EXPECT_EQ(all_unrecorded_.events, 0);
  EXPECT_TRUE(assignments_.may_say_more(/*too_many=*/true));
}

TEST_F(NodeAssignmentsTest, ReportsOfACanceledTrialDoNotCount) {
  Assignment& assignment = Give("a");
  for (int sequence = 1; sequence <= 138; ++sequence) Say(assignment, Event(1, sequence));
  assignments_.ForgetUnrecorded(std::get<Trial>(assignment.work));
  EXPECT_EQ(all_unrecorded_.events, 0);
  assignments_.Forget(assignment);
  EXPECT_EQ(all_unrecorded_.events, 0);
}

TEST_F(NodeAssignmentsTest, ModelsEndAsWasAskedFor) {
  Assignment& assignment = Give("a");
  Trial& trial = std::get<Trial>(assignment.work);
  EXPECT_EQ(Ends(assignment), "1 LOST, 2 LOST");
  trial.open.at(2).stopped = true;
  EXPECT_EQ(Ends(assignment), "1 LOST, 2 STOPPED_EARLY");
  trial.canceled = true;
  EXPECT_EQ(Ends(assignment), "1 CANCELED, 2 STOPPED_EARLY");
  Say(assignment, End(1, 1));
  EXPECT_EQ(Ends(assignment), "2 STOPPED_EARLY");
}

TEST_F(NodeAssignmentsTest, AKeptTrialGoesOnWhereTheJournalEnds) {
  // Model 1 has its end in the journal; of model 2 it has 3 events.
  v1::HeldTrial held;
  held.set_assignment("G/1/5");
  for (const int model : {1, 2}) {
    v1::HeldAttempt& attempt = *held.add_attempts();
    attempt.set_model(model);
    attempt.set_attempt(1);
  }
  v1::ReturningTrial wanted;
  *wanted.mutable_spec() = MakeTrial("e", 7, 2);
  wanted.add_recorded(3);
  Assignment& kept = assignments_.Add({"G/1/5", 0, 10, 10, NodeAssignments::KeptTrial(held, wanted)});
  EXPECT_TRUE(std::get<Trial>(kept.work).begun);
  kept.received = 12;
  EXPECT_EQ(*NodeAssignments::Note(kept, End(1, 9)), Report::kKnown);
  EXPECT_EQ(kept.recorded, 12);
  kept.received = 13;
  EXPECT_EQ(*NodeAssignments::Note(kept, Event(2, 3)), Report::kKnown);
  EXPECT_EQ(kept.recorded, 13);
  kept.received = 14;
  EXPECT_EQ(*NodeAssignments::Note(kept, Event(2, 4)), Report::kNew);
  EXPECT_EQ(kept.recorded, 13);
}

}  // namespace
}  // namespace lanista

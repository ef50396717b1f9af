#include "actors/assignment_messages.h"

#include <string>
#include <utility>

#include "tests/actors/actor_test.h"

namespace lanista {
namespace {

using Assignment = NodeAssignments::Assignment;

// "cancel a; stop a 2; ".
std::string Again(const Assignment& assignment) {
  std::string text;
  for (const v1::HeadMessage& message : MessagesAgain(assignment)) text += message.ShortDebugString() + "; ";
  return text;
}

TEST(AssignmentMessagesTest, SaysWhatTheDeviceIsToDo) {
  const Assignment trial = {"a", 3, 0, 0, NodeAssignments::NewTrial(MakeTrial("e", 7))};
  const v1::HeadMessage given = AssignmentMessage(trial);
  EXPECT_EQ(given.assignment().id(), "a");
  EXPECT_EQ(given.assignment().device(), 3);
  EXPECT_EQ(given.assignment().trial().trial(), 7);
  NodeAssignments::Discovery discovery;
  discovery.request.set_experiment("e");
  EXPECT_EQ(AssignmentMessage({"b", 0, 0, 0, std::move(discovery)}).assignment().discover().experiment(), "e");
}

TEST(AssignmentMessagesTest, WhatWasSaidInVainIsSaidAgain) {
  NodeAssignments::Trial trial = NodeAssignments::NewTrial(MakeTrial("e", 7, 1));
  trial.open[2].stopped = true;
  trial.open[2].recorded.emplace().set_sequence(64);
  Assignment assignment = {"a", 0, 0, 0, trial};
  EXPECT_EQ(Again(assignment), "stop { assignment: \"a\" model: 2 }; recorded { sequence: 64 }; ");
  trial.canceled = true;
  // Of a model that has ended nothing is said.
  trial.open.erase(2);
  assignment.work = trial;
  EXPECT_EQ(Again(assignment), "cancel { assignment: \"a\" }; ");
}

TEST(AssignmentMessagesTest, ACanceledConversionIsCanceledAgain) {
  NodeAssignments::Discovery discovery;
  Assignment assignment = {"a", 0, 0, 0, discovery};
  EXPECT_EQ(Again(assignment), "");
  discovery.canceled = true;
  assignment.work = discovery;
  EXPECT_EQ(Again(assignment), "cancel { assignment: \"a\" }; ");
}

TEST(AssignmentMessagesTest, WorkThatFitsIntoNoMessageIsRefused) {
  v1::TrialSpec spec = MakeTrial("e", 7);
  EXPECT_TRUE(CheckSize(spec).ok());
  spec.set_program(std::string(64 << 20, 'x'));
  EXPECT_EQ(CheckSize(spec).code(), absl::StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace lanista

#include "actors/live_actors.h"

#include "tests/actors/actor_test.h"

namespace lanista {
namespace {

using LiveActorsTest = ActorTest;

TEST_F(LiveActorsTest, NamesThoseThatHaveNotEnded) {
  LiveActors live;
  const auto nothing = [](WatcherActor::pointer) -> WatcherActor::behavior_type {
    return {[](const v1::ExperimentEvent&) {}};
  };
  const WatcherActor first = Spawn(nothing), second = Spawn(nothing);
  live.Add(first, "the first");
  live.Add(second, "the second");
  EXPECT_EQ(live.WaitForNone(std::chrono::milliseconds(0)), (std::vector<std::string>{"the first", "the second"}));
  caf::anon_send_exit(first, caf::exit_reason::user_shutdown);
  Run();
  EXPECT_EQ(live.WaitForNone(std::chrono::milliseconds(0)), std::vector<std::string>{"the second"});
  caf::anon_send_exit(second, caf::exit_reason::kill);
  Run();
  EXPECT_TRUE(live.WaitForNone(std::chrono::hours(1)).empty());
  live.Add(second, "one that has ended");
  EXPECT_TRUE(live.WaitForNone(std::chrono::hours(1)).empty());
}

}  // namespace
}  // namespace lanista

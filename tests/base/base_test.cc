#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "src/base/clock.h"
#include "src/base/cuda_error.h"
#include "src/base/custom.h"
#include "src/base/hash.h"
#include "src/base/named_things.h"
#include "src/base/out_of_memory.h"
#include "src/base/params.h"
#include "src/base/registry.h"
#include "src/base/sha256.h"
#include "src/base/status.h"
#include "src/base/thread_priority.h"

namespace lanista {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// These values are in people's journals: they never change.
TEST(HashTest, ValuesArePinned) {
  EXPECT_EQ(StableHash(""), 0xf52a15e9a9b5e89bu);
  EXPECT_EQ(StableHash("lanista"), 0x69cb099bd558bb56u);
  EXPECT_EQ(OrderSeed(42), 0xf92109e7656a907au);
  EXPECT_EQ(ModelSeed(42, 1), 0x8dea2ac5d09c1dd9u);
}

TEST(HashTest, SeedsDependOnEveryPartAndOnTheirOrder) {
  EXPECT_NE(MixSeed({1, 2}), MixSeed({2, 1}));
  EXPECT_NE(MixSeed({1}), MixSeed({1, 0}));
  EXPECT_NE(ModelSeed(42, 1), ModelSeed(42, 2));
  EXPECT_NE(ModelSeed(42, 1), ModelSeed(43, 1));
  EXPECT_NE(OrderSeed(42), OrderSeed(43));
}

// NIST's example of SHA-256 (FIPS 180-2, B.1).
TEST(Sha256Test, DigitsAndBytesAreTheSameDigest) {
  EXPECT_EQ(Sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  const std::string bytes = Sha256Bytes(Sha256("abc"));
  ASSERT_EQ(bytes.size(), 32u);
  EXPECT_EQ(bytes.substr(0, 4), "\xba\x78\x16\xbf");
  EXPECT_EQ(bytes.substr(29), std::string("\x00\x15\xad", 3));
}

TEST(StatusTest, AnnotateKeepsTheCodeAndPrependsTheContext) {
  EXPECT_TRUE(Annotate(absl::OkStatus(), "config").ok());
  EXPECT_EQ(Annotate(absl::NotFoundError("no file"), "config"), absl::NotFoundError("config: no file"));
}

TEST(StatusTest, ErrnoBecomesTheCodeThatAUserCanActOn) {
  EXPECT_EQ(ErrnoToStatus(ENOENT, "data.csv"), absl::NotFoundError("data.csv: No such file or directory"));
  // A full disk is not memory: RESOURCE_EXHAUSTED would be read as OUT_OF_MEMORY.
  EXPECT_EQ(ErrnoToStatus(ENOSPC, "x").code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(ErrnoToStatus(EACCES, "x").code(), absl::StatusCode::kPermissionDenied);
}

TEST(OutOfMemoryTest, IsTheSameForAllWhoSayIt) {
  for (const char* message :
       {"DefaultCPUAllocator: can't allocate memory: you tried to allocate 4 bytes",
        "CUDA out of memory. Tried to allocate 2.00 GiB", "CUDA error: CUBLAS_STATUS_ALLOC_FAILED",
        "cuDNN error: CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED", "std::bad_alloc",
        "fork: Cannot allocate memory"}) {
    EXPECT_TRUE(SaysOutOfMemory(message)) << message;
  }
  for (const char* message : {"No space left on device", "shapes cannot be multiplied", ""}) {
    EXPECT_FALSE(SaysOutOfMemory(message)) << message;
  }
}

TEST(CudaErrorTest, WantOfMemoryIsNone) {
  EXPECT_TRUE(SaysCudaError("CUDA error: device-side assert triggered"));
  EXPECT_FALSE(SaysCudaError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED"));
  EXPECT_FALSE(SaysCudaError("shapes cannot be multiplied"));
}

TEST(StatusTest, AMessageThatQuotesAFileIsBoundedOnTheWire) {
  // Cut before, not within, the two bytes of a letter.
  const std::string text = std::string(8191, 'x') + "\xc3\xa4" + std::string(5000000, 'x');
  EXPECT_EQ(StatusToProto(absl::InvalidArgumentError(text)).message(),
            std::string(8191, 'x') + "... (5000002 more bytes)");
}

TEST(StatusTest, CrossesTheWireUnchanged) {
  const absl::Status status = absl::FailedPreconditionError("held by 17");
  EXPECT_EQ(StatusFromProto(StatusToProto(status)), status);
  EXPECT_TRUE(StatusFromProto(StatusToProto(absl::OkStatus())).ok());
}

TEST(ClockTest, CountsFinerThanSecondsAndNeverBackHere) {
  const auto first = Now();
  const auto second = Now();
  EXPECT_GE(second.seconds(), first.seconds());
  EXPECT_GT(first.seconds(), 1600000000);
}

// A registry of things with a text, made from strategies' configurations.
struct Thing {
  std::string text;
};
using ThingRegistry = Registry<Thing, v1::StrategyConfig, int>;

absl::StatusOr<std::unique_ptr<Thing>> MakeRandomThing(const v1::RandomConfig& config, int number) {
  return std::make_unique<Thing>(Thing{absl::StrCat("random ", config.dedup(), " ", number)});
}
absl::StatusOr<std::unique_ptr<Thing>> MakeOwnThing(const Params& params, int number) {
  return std::make_unique<Thing>(Thing{absl::StrCat("own ", params.Get<int64_t>("width"), " ", number)});
}
LANISTA_REGISTER_BUILT_IN(ThingRegistry, random, v1::RandomConfig, MakeRandomThing);
// What LANISTA_REGISTER does with a kind of Lanista's.
const bool kOwnThingIsRegistered = CustomKind<ThingRegistry>::Register("thing", "own", MakeOwnThing);

TEST(RegistryTest, MakesWhatTheOneofNames) {
  v1::StrategyConfig config;
  config.mutable_random()->set_dedup(true);
  const auto thing = ThingRegistry::Get().Create(config, 7);
  ASSERT_TRUE(thing.ok()) << thing.status();
  EXPECT_EQ((*thing)->text, "random 1 7");
}

TEST(RegistryTest, MakesWhatUsersRegister) {
  ASSERT_TRUE(kOwnThingIsRegistered);
  v1::StrategyConfig config;
  config.mutable_custom()->set_name("own");
  (*config.mutable_custom()->mutable_params())["width"].set_i(64);
  const auto thing = ThingRegistry::Get().Create(config, 7);
  ASSERT_TRUE(thing.ok()) << thing.status();
  EXPECT_EQ((*thing)->text, "own 64 7");
}

TEST(RegistryTest, NamesAreSortedAndStandInErrors) {
  EXPECT_THAT(ThingRegistry::Get().Names(), ElementsAre("random", "custom:own"));
  v1::StrategyConfig config;
  EXPECT_EQ(ThingRegistry::Get().Create(config, 0).status().code(), absl::StatusCode::kInvalidArgument);
  config.mutable_grid_search();
  const absl::Status missing = ThingRegistry::Get().Create(config, 0).status();
  EXPECT_EQ(missing.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(missing.message()), HasSubstr("random, custom:own"));
}

TEST(RegistryDeathTest, ASecondDefinitionEndsTheProgram) {
  EXPECT_DEATH(ThingRegistry::Get().Add("random", false, nullptr), "registered twice");
}

TEST(NamedThingsTest, AnUnknownNameListsTheKnownOnes) {
  NamedThings<int> numbers("number");
  EXPECT_EQ(numbers.UnknownName("six"), "no number 'six' is registered in this program; known: none");
  numbers.Add("two", 2);
  numbers.Add("one", 1);
  EXPECT_EQ(numbers.UnknownName("six"), "no number 'six' is registered in this program; known: one, two");
  ASSERT_NE(numbers.Find("two"), nullptr);
  EXPECT_EQ(*numbers.Find("two"), 2);
  EXPECT_EQ(numbers.Find("six"), nullptr);
}

TEST(NamedThingsDeathTest, OneNameForTwoKindsThatShareThemEndsTheProgram) {
  std::set<std::string> taken;
  NamedThings<int> numbers("number", &taken);
  numbers.Add("two", 2);
  NamedThings<char> letters("letter", &taken);
  EXPECT_DEATH(letters.Add("two", 'b'), "the letter 'two' is registered twice");
  letters.Add("b", 'b');
  NamedThings<char>("sign").Add("two", '2');
}

TEST(ThreadPriorityTest, TheOtherThreadsKeepTheirs) {
  const auto niceness = [] { return getpriority(PRIO_PROCESS, static_cast<id_t>(syscall(SYS_gettid))); };
  const int before = niceness();
  int lowered = before;
  std::thread([&] {
    LowerThreadPriority();
    lowered = niceness();
  }).join();
  EXPECT_EQ(lowered, std::max(before, 10));
  EXPECT_EQ(niceness(), before);
}

}  // namespace
}  // namespace lanista

#include "actors/queued_discovery.h"

#include "gtest/gtest.h"

namespace lanista {
namespace {

absl::Status Lost() { return absl::UnavailableError("the worker went down"); }
absl::Status Left() { return absl::AbortedError("the node left"); }

TEST(QueuedDiscoveryTest, BelongsToWhoeverAskedForIt) {
  v1::Discover request;
  request.set_experiment("a");
  request.set_asked_by("b");
  EXPECT_TRUE(IsOf(request, "a"));
  EXPECT_TRUE(IsOf(request, "b"));
  EXPECT_FALSE(IsOf(request, "c"));
}

TEST(QueuedDiscoveryTest, ThreeWorkersOrNodesTryADiscovery) {
  QueuedDiscovery discovery;
  EXPECT_TRUE(CountFailure(discovery, /*local=*/true, "", Lost()));
  EXPECT_TRUE(CountFailure(discovery, /*local=*/false, "n", Lost()));
  EXPECT_TRUE(CountFailure(discovery, /*local=*/false, "n", Lost())) << "the same node";
  EXPECT_FALSE(CountFailure(discovery, /*local=*/false, "m", Lost()));
}

TEST(QueuedDiscoveryTest, ANodeThatLeavesInOrderSaysNothingOfIt) {
  QueuedDiscovery discovery;
  for (const char* const node : {"a", "b", "c", "d", "e"}) {
    EXPECT_TRUE(CountFailure(discovery, /*local=*/false, node, Left()));
  }
  EXPECT_TRUE(discovery.lost_nodes.empty());
  EXPECT_TRUE(IsBlameless(/*local=*/false, Left()));
  EXPECT_FALSE(IsBlameless(/*local=*/true, Left()));
  EXPECT_FALSE(IsBlameless(/*local=*/false, Lost()));
}

TEST(QueuedDiscoveryTest, WhatWillNotPassIsNotTriedAgain) {
  QueuedDiscovery discovery;
  EXPECT_FALSE(CountFailure(discovery, /*local=*/true, "", absl::NotFoundError("there is no such program")));
  QueuedDiscovery canceled;
  canceled.canceled = true;
  EXPECT_FALSE(CountFailure(canceled, /*local=*/false, "n", Left()));
}

TEST(QueuedDiscoveryTest, ThreePlacesTryAConversion) {
  QueuedDiscovery conversion;
  conversion.request.mutable_convert();
  EXPECT_TRUE(CountFailure(conversion, /*local=*/false, "n", Left()));
  EXPECT_TRUE(CountFailure(conversion, /*local=*/false, "n", Lost()));
  EXPECT_FALSE(CountFailure(conversion, /*local=*/false, "n", Left()));
}

}  // namespace
}  // namespace lanista

#include "actors/node_hello.h"

#include <string>

#include "gtest/gtest.h"
#include "src/base/clock.h"
#include "src/base/node_link.h"

namespace lanista {
namespace {

v1::NodeHello Hello() {
  v1::NodeHello hello;
  hello.set_protocol_version(kNodeProtocolVersion);
  hello.set_instance("i");
  hello.set_name("n");
  hello.set_program("p");
  hello.set_version("1.0");
  *hello.mutable_now() = Now();
  hello.add_devices()->set_kind(v1::DeviceKind::CPU);
  return hello;
}

// What is wrong with a hello that was changed so.
template <class Change>
std::string Wrong(Change change) {
  v1::NodeHello hello = Hello();
  change(hello);
  return std::string(CheckHello(hello).message());
}

TEST(NodeHelloTest, ANodeWithDevicesMayJoin) {
  EXPECT_TRUE(CheckHello(Hello()).ok());
  EXPECT_EQ(Wrong([](v1::NodeHello& hello) {
              // A place for preparing work beside its device.
              v1::Device& place = *hello.add_devices();
              place.set_kind(v1::DeviceKind::CPU);
              place.set_prepares(true);
              hello.add_data("mnist");
              (*hello.mutable_labels())["gpu"] = "a100";
            }),
            "");
}

TEST(NodeHelloTest, AnotherProtocolIsToldApart) {
  v1::NodeHello hello = Hello();
  hello.set_protocol_version(kNodeProtocolVersion + 1);
  EXPECT_EQ(CheckHello(hello).code(), absl::StatusCode::kFailedPrecondition);
}

TEST(NodeHelloTest, WhatCannotBeIsRefused) {
  EXPECT_EQ(Wrong([](v1::NodeHello& hello) { hello.clear_program(); }),
            "the node does not say which instance, program and version it is");
  EXPECT_EQ(Wrong([](v1::NodeHello& hello) { hello.set_version("1.0\n"); }),
            "the node does not say which instance, program and version it is");
  EXPECT_EQ(Wrong([](v1::NodeHello& hello) { hello.mutable_devices(0)->set_prepares(true); }),
            "the node has 0 devices; 1 to 1024 can join");
  EXPECT_EQ(Wrong([](v1::NodeHello& hello) { hello.mutable_devices(0)->set_memory(-1); }),
            "the node describes a device that cannot be");
  EXPECT_EQ(Wrong([](v1::NodeHello& hello) {
              for (int i = 0; i < 5; ++i) hello.add_assignments("a");
            }),
            "the node names more assignments than it can have");
  EXPECT_EQ(Wrong([](v1::NodeHello& hello) { hello.add_held_trials(); }), "the node has more trials than assignments");
  EXPECT_EQ(Wrong([](v1::NodeHello& hello) { hello.mutable_now()->set_seconds(-1); }), "the node has no time");
  EXPECT_EQ(Wrong([](v1::NodeHello& hello) { hello.add_data("a/b"); }), "the node has data with an impossible name");
  EXPECT_EQ(Wrong([](v1::NodeHello& hello) { (*hello.mutable_labels())["gpu"] = "a b"; }),
            "the node has an impossible label");
}

}  // namespace
}  // namespace lanista

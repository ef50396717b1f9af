// A pool of devices with workers that do nothing, for tests of what looks at it.
#ifndef LANISTA_TESTS_ACTORS_DEVICE_POOL_TEST_H_
#define LANISTA_TESTS_ACTORS_DEVICE_POOL_TEST_H_

#include <cstdint>
#include <memory>
#include <set>
#include <string>

#include "actors/device_pool.h"
#include "tests/actors/actor_test.h"

namespace lanista {

constexpr int64_t kGiB = 1 << 30;

class DevicePoolTest : public ActorTest {
 protected:
  using Slot = DevicePool::Slot;

  static WorkerActor::behavior_type Nothing(WorkerActor::pointer) {
    return {[](const v1::TrialSpec&) {}, [](const v1::CancelTrial&) {}, [](const v1::StopModel&) {},
            [](const v1::EventsRecorded&) {}, [](const v1::Discover&) { return v1::Discovered(); }};
  }

  WorkerActor MakeWorker() { return Spawn(Nothing); }

  // A device of that node ("": of this machine), with a worker.
  Slot& AddGpu(const std::string& node, int64_t memory = kGiB, const DataNames& data = {}) {
    v1::Device device;
    device.set_kind(v1::DeviceKind::GPU);
    device.set_node(node);
    device.set_memory(memory);
    Slot& slot = pool_.Add(device, node.empty(), data, {});
    pool_.SetWorker(slot, MakeWorker());
    return slot;
  }

  // A place for preparing work, with a worker.
  Slot& AddPlace(const std::string& node) {
    v1::Device device;
    device.set_kind(v1::DeviceKind::CPU);
    device.set_node(node);
    device.set_prepares(true);
    Slot& slot = pool_.Add(device, node.empty(), {}, {});
    pool_.SetWorker(slot, MakeWorker());
    return slot;
  }

  void SetIdle(Slot& slot, bool warm = true) { pool_.WorkerReady(slot, warm); }

  // The node gets no more work; `leaving`: it drains.
  bool Hold(const std::string& node, bool leaving) {
    v1::HoldNode hold;
    hold.set_node(node);
    hold.set_hold(true);
    hold.set_leaving(leaving);
    return pool_.Hold(hold);
  }
  bool Release(const std::string& node) {
    v1::HoldNode hold;
    hold.set_node(node);
    return pool_.Hold(hold);
  }

  int changes_ = 0;
  DevicePool pool_{[this] { ++changes_; }};
};

}  // namespace lanista

#endif  // LANISTA_TESTS_ACTORS_DEVICE_POOL_TEST_H_

// The devices that a training service has: which are there, which of them are alike, and which are idle.
//
// Each has a slot, with a number that no other ever gets. Slots of devices that are alike are of one kind: the same
// trials may run there, so whoever looks for a device looks at kinds. A place for preparing work (Device.prepares) has
// a slot, too, and is of no kind.
#ifndef LANISTA_ACTORS_DEVICE_POOL_H_
#define LANISTA_ACTORS_DEVICE_POOL_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "actors/data_names.h"
#include "actors/interfaces.h"
#include "actors/queued_discovery.h"
#include "actors/trial_queue.h"
#include "caf/actor_clock.hpp"
#include "src/config/labels.h"
#include "src/telemetry/telemetry.h"

namespace lanista {

// A plain class for one thread. It sends no messages and spawns no workers: it is told what happens to a slot, and
// everything that it says follows at once.
class DevicePool {
 public:
  using TimePoint = caf::actor_clock::time_point;

  // In a pool that is not open, a device on which no work was ever done is given up after so many workers.
  static constexpr int kMaxFirstWorkers = 4;

  // Devices that are alike: the same trials may run on each of them. The sets hold the numbers of their slots.
  struct Kind {
    bool local = false;
    // Empty: not known.
    std::set<std::string> programs;
    // As DeviceMemory, rounded down: a machine's memory differs from its sister's by some pages. And the smallest of
    // them, as it is.
    int64_t memory = 0;
    int64_t least_memory = 0;
    // The data that their node has.
    DataNames data;
    v1::DeviceKind::Kind device_kind = v1::DeviceKind::KIND_UNSPECIFIED;
    Labels labels;
    // When they are gone (TimePoint::max(): nobody knows), and how long that was after their node had begun.
    TimePoint ends;
    std::chrono::milliseconds lifetime{0};
    std::set<int> devices;
    // Those that take trials now or are likely to do so soon: all but those of nodes that drain, and those that fail
    // again and again.
    std::set<int> staying;
    // Those with a worker that are not held, and among these the ones that are idle.
    std::set<int> usable;
    std::set<int> idle_warm;
    std::set<int> idle_cold;
  };
  using KindKey = std::tuple<bool, std::set<std::string>, int64_t, DataNames, TimePoint, v1::DeviceKind::Kind, Labels>;
  // Only the pool changes a slot, but for two things: what runs there is the business of whoever gives it work, and
  // when it ends may be set before it gets its first worker.
  struct Slot {
    int number = 0;
    v1::Device device;
    // It is a device of this machine.
    bool local = false;
    // Null: the device was given up, or it is not yet time for its next worker.
    WorkerActor worker;
    TimePoint ends = TimePoint::max();
    std::chrono::milliseconds lifetime{0};
    DataNames data;
    Labels labels;
    // The kind in which it is listed; null: it is listed in none.
    Kind* kind = nullptr;
    bool held = false;
    // Its node drains.
    bool leaving = false;
    bool idle = false;
    // Its trial process is up.
    bool warm = false;
    // It has work, and its trial process is not up yet.
    bool starting = false;
    // Some work was done here.
    bool works = false;
    // Workers that went down since work was last done here.
    int downs = 0;
    // What runs there: at most one of the two.
    std::optional<QueuedTrial> trial;
    std::optional<QueuedDiscovery> discovery;
    // When the trial was assigned.
    TimePoint assigned;
    // The state in which telemetry counts it.
    CountedIn use;
  };
  // This machine, or one that joined.
  struct Node {
    // What was discovered there.
    std::set<std::string> programs;
    std::set<int> slots;
  };

  // `on_change` is called whenever it changed which devices there are, or may be counted on; perhaps many times in a
  // row.
  explicit DevicePool(std::function<void()> on_change) : on_change_(std::move(on_change)) {}
  DevicePool(const DevicePool&) = delete;
  DevicePool& operator=(const DevicePool&) = delete;

  // Before the first slot. `max_starting`: so many trial processes may be starting on this machine at a time.
  // `telemetry` learns what each device does.
  void Begin(int max_starting, TelemetryPtr telemetry);

  // A new slot, without a worker. Nobody finds it but by its number.
  Slot& Add(v1::Device device, bool local, DataNames data, Labels labels);
  // The slot has a worker, and from the first one on is among those that are like it.
  void SetWorker(Slot& slot, WorkerActor worker);
  // Its worker waits for work; `warm`: its trial process is up. REQUIRES, as below: it has had a worker.
  void WorkerReady(Slot& slot, bool warm);
  // Its trial process is up.
  void ProcessUp(Slot& slot);
  // It gets work.
  void Occupy(Slot& slot);
  // It has no worker any more. What ran there stays until it is taken.
  void WorkerDown(Slot& slot);
  // No trial will run there.
  void GiveUp(Slot& slot);
  // It is gone, and with its last slot its node.
  void Remove(Slot& slot);
  // The program runs on the slot's node.
  void Learn(const Slot& slot, const std::string& program);
  // What runs on the node's devices gets no new work, or some again. Returns whether there is such a node.
  bool Hold(const v1::HoldNode& hold);
  // Its work has ended, and the device is well. Where its process was not up yet the work was canceled or stopped,
  // which says nothing about the device.
  static void WorkEnded(Slot& slot);

  // The slot with that number; nullptr: it has left.
  Slot* Find(int number);
  Slot& at(int number) { return slots_.at(number); }
  const Slot& at(int number) const { return slots_.at(number); }
  std::map<int, Slot>& slots() { return slots_; }
  const Node& NodeOf(const Slot& slot) const { return nodes_.at(NameOfNode(slot)); }
  const std::map<KindKey, Kind>& kinds() const { return kinds_; }
  // Places for preparing work, by number.
  const std::set<int>& places() const { return places_; }
  // Whether another trial process may start on this machine.
  bool may_start() const { return starting_ < max_starting_; }
  // Whether a device is idle.
  bool AnyIdle() const;

  // Whether trials of that program may run there.
  static bool Runs(const Kind& kind, const std::string& program);
  // Whether all of the data is there.
  static bool Has(const Kind& kind, const DataNames& data) { return Includes(kind.data, data); }
  // The first of these devices of the kind with so much memory; nullptr: none has it. (A kind's devices differ by a
  // little.)
  Slot* FirstWith(const Kind& kind, const std::set<int>& numbers, int64_t memory);
  const Slot* FirstWith(const Kind& kind, const std::set<int>& numbers, int64_t memory) const;
  // Whether some of its devices meet the requirements.
  bool HasWhatIsRequired(const Kind& kind, const v1::RequirementsConfig& requirements) const;
  // An idle worker that may get work now, on a device with so much memory; nullptr: there is none.
  Slot* Idle(const Kind& kind, int64_t memory = 0);
  // The memory of each device that may run such trials, in bytes.
  std::vector<int64_t> MemoriesOf(const std::string& program, const DataNames& data,
                                  const v1::RequirementsConfig& requirements) const;
  // The devices that `list` asks for.
  v1::DeviceList DevicesOf(const v1::ListDevices& list) const;

 private:
  // The name of this machine is empty here, because a node may be called as this machine is.
  static std::string NameOfNode(const Slot& slot) { return slot.local ? "" : slot.device.node(); }
  static KindKey KeyOf(const Kind& kind);
  // Enters the slot in its kind. REQUIRES: it is no place for preparing work.
  void List(Slot& slot);
  void Unlist(Slot& slot);
  // Enters where others look what it does now. REQUIRES: it is listed, or a place.
  void Update(Slot& slot);
  void SetStarting(Slot& slot, bool starting);
  static DeviceUse UseOf(const Slot& slot);

  const std::function<void()> on_change_;
  int max_starting_ = 1;
  TelemetryPtr telemetry_ = std::make_shared<Telemetry>();
  std::map<int, Slot> slots_;
  int last_number_ = -1;
  // The key is the node's name.
  std::map<std::string, Node> nodes_;
  std::map<KindKey, Kind> kinds_;
  std::set<int> places_;
  // How many slots are starting.
  int starting_ = 0;
};

}  // namespace lanista

#endif  // LANISTA_ACTORS_DEVICE_POOL_H_

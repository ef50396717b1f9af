// What trials and discoveries that wait are lacking, and how many of them devices that may come could run.
#ifndef LANISTA_ACTORS_WAITING_WORK_H_
#define LANISTA_ACTORS_WAITING_WORK_H_

#include <deque>
#include <set>
#include <string>

#include "actors/device_pool.h"
#include "actors/expected_devices.h"
#include "actors/placement.h"
#include "actors/queued_discovery.h"
#include "actors/returning_trials.h"
#include "actors/trial_history.h"
#include "actors/trial_queue.h"

namespace lanista {

// Looks at what a training service has, which outlives this, and changes nothing. For the thread of that.
class WaitingWork {
 public:
  using TimePoint = DevicePool::TimePoint;

  // What waits.
  struct Work {
    const TrialQueue& queue;
    const std::deque<QueuedDiscovery>& discoveries;
    const ReturningTrials& returning;
  };
  // What there is for it. `absent`: nodes of the head before that have not returned.
  struct Devices {
    const DevicePool& pool;
    const Placement& placement;
    const ExpectedDevices& expected;
    const TrialHistory& history;
    const std::set<std::string>& absent;
  };

  WaitingWork(const Work& work, const Devices& devices) : work_(work), devices_(devices) {}

  // What the experiment waits for, for people ("a device: ..."); empty: for nothing.
  std::string LackingFor(const std::string& experiment, TimePoint now) const;
  // How many trials and discoveries wait that such devices could run, and that no device is free for.
  int CountFor(const v1::ExpectDevices& expect, TimePoint now) const;
  // The experiments of which something waits, or may.
  std::set<std::string> Experiments() const;

 private:
  using Kind = DevicePool::Kind;

  // What is lacking for a trial, or (nullptr) for a discovery, that reads this data; empty: nothing.
  std::string Lacking(const v1::TrialSpec* trial, const DataNames& data, TimePoint now) const;
  // Why no device with this data meets the requirements; empty: one does.
  std::string WhyNotMet(const v1::RequirementsConfig& requirements, const DataNames& data) const;

  const Work work_;
  const Devices devices_;
};

}  // namespace lanista

#endif  // LANISTA_ACTORS_WAITING_WORK_H_

// How the devices of a pool are divided between the experiments that use them.
//
// Of the devices that run an experiment's program, what a higher priority leaves is divided evenly, but nobody gets
// more than it can use, or less than one trial. A share limits nobody: it says how many trials an experiment should
// keep queued or running.
#ifndef LANISTA_ACTORS_DEVICE_SHARES_H_
#define LANISTA_ACTORS_DEVICE_SHARES_H_

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "actors/device_pool.h"
#include "actors/expected_devices.h"
#include "actors/interfaces.h"
#include "actors/trial_history.h"
#include "caf/actor_addr.hpp"

namespace lanista {

// A plain class for one thread. It sends nothing.
class DeviceShares {
 public:
  using Told = std::vector<std::pair<DeviceUserActor, v1::DeviceShare>>;

  // Returns whether the user is a new one.
  bool Want(v1::WantDevices wants, const DeviceUserActor& user);
  // Returns whether it was a user.
  bool Forget(const caf::actor_addr& user) { return users_.erase(user) > 0; }
  // Divides anew. Returns who has to be told, in this order, because its share is another one.
  Told Divide(const DevicePool& pool, const ExpectedDevices& expected, const TrialHistory& history);

 private:
  // Whoever was told its share.
  struct User {
    v1::WantDevices wants;
    DeviceUserActor actor;
    std::optional<v1::DeviceShare> told;
  };

  // Of those with the same program.
  static void Share(const std::string& program, const std::vector<User*>& users, const DevicePool& pool,
                    const ExpectedDevices& expected, const TrialHistory& history, Told* told);

  std::map<caf::actor_addr, User> users_;
};

}  // namespace lanista

#endif  // LANISTA_ACTORS_DEVICE_SHARES_H_

#include "actors/device_shares.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <tuple>

#include "engines/device_memory.h"

namespace lanista {

bool DeviceShares::Want(v1::WantDevices wants, const DeviceUserActor& user) {
  const auto [entry, added] = users_.emplace(user.address(), User());
  entry->second.wants = std::move(wants);
  entry->second.actor = user;
  return added;
}

DeviceShares::Told DeviceShares::Divide(const DevicePool& pool, const ExpectedDevices& expected,
                                        const TrialHistory& history) {
  std::map<std::string, std::vector<User*>> by_program;
  for (auto& entry : users_) by_program[entry.second.wants.program()].push_back(&entry.second);
  Told told;
  for (const auto& [program, users] : by_program) Share(program, users, pool, expected, history, &told);
  return told;
}

void DeviceShares::Share(const std::string& program, const std::vector<User*>& users, const DevicePool& pool,
                         const ExpectedDevices& expected, const TrialHistory& history, Told* told) {
  struct Sharing {
    User* user;
    // So many trials at a time it can run at most.
    int most;
    int64_t memory;
  };
  std::vector<int64_t> all = pool.MemoriesOf(program, {}, {});
  int left = static_cast<int>(all.size()) + expected.Count(program, {}, {});
  const int64_t memory_of_all = PlanningMemory(std::move(all));
  std::vector<Sharing> sharing;
  std::map<int, int> equals;
  for (User* const user : users) {
    const v1::WantDevices& wants = user->wants;
    ++equals[wants.priority()];
    Sharing& one = sharing.emplace_back(
        Sharing{user, wants.has_most_trials() ? wants.most_trials() : std::numeric_limits<int>::max(), memory_of_all});
    const DataNames& data = history.DataOfTrials(wants.experiment());
    if (data.empty() && !wants.has_requirements()) continue;
    std::vector<int64_t> memories = pool.MemoriesOf(program, data, wants.requirements());
    one.most =
        std::min(one.most, static_cast<int>(memories.size()) + expected.Count(program, data, wants.requirements()));
    if (!memories.empty()) one.memory = PlanningMemory(std::move(memories));
  }
  // Who can use little comes first: what is left is the others'.
  std::sort(sharing.begin(), sharing.end(), [](const Sharing& a, const Sharing& b) {
    return std::make_tuple(-a.user->wants.priority(), a.most, a.user->wants.experiment()) <
           std::make_tuple(-b.user->wants.priority(), b.most, b.user->wants.experiment());
  });
  for (const Sharing& one : sharing) {
    User& user = *one.user;
    // Those of its priority that have no share yet, this one included.
    int& equal = equals[user.wants.priority()];
    const int trials = std::min(one.most, (left + equal - 1) / equal);
    --equal;
    left -= trials;
    v1::DeviceShare share;
    share.set_trials(std::max(1, trials));
    share.set_device_memory(one.memory);
    std::optional<v1::DeviceShare>& last = user.told;
    if (last.has_value() && last->trials() == share.trials() && last->device_memory() == one.memory) continue;
    last = share;
    told->emplace_back(user.actor, std::move(share));
  }
}

}  // namespace lanista

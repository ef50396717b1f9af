#include "actors/live_actors.h"

#include <condition_variable>
#include <mutex>
#include <set>

namespace lanista {

struct LiveActors::State {
  std::mutex mutex;
  std::condition_variable changed;
  // Protected by mutex.
  std::multiset<std::string> names;
};

LiveActors::LiveActors() : state_(std::make_shared<State>()) {}

void LiveActors::Enter(const std::string& name) const {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  state_->names.insert(name);
}

void LiveActors::Leave(const std::string& name) const {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  state_->names.erase(state_->names.find(name));
  state_->changed.notify_all();
}

std::vector<std::string> LiveActors::WaitForNone(std::chrono::milliseconds limit) const {
  std::unique_lock<std::mutex> lock(state_->mutex);
  state_->changed.wait_for(lock, limit, [this] { return state_->names.empty(); });
  return std::vector<std::string>(state_->names.begin(), state_->names.end());
}

}  // namespace lanista

// Threads that ask an actor and wait for its answer, but not longer than anybody needs it.
#ifndef LANISTA_SRC_LAUNCHER_BLOCKING_REQUESTS_H_
#define LANISTA_SRC_LAUNCHER_BLOCKING_REQUESTS_H_

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "actors/message_types.h"
#include "caf/actor_system.hpp"
#include "caf/event_based_actor.hpp"
#include "src/launcher/actor_system.h"

namespace lanista {

// Thread-safe. All calls that wait must have returned before this object goes; answers may come later.
class BlockingRequests {
 public:
  // Says that nobody needs the answer any more.
  using Abandoned = std::function<bool()>;

  // `system` must outlive this object.
  explicit BlockingRequests(caf::actor_system* system) : system_(*system) {}

  // The answer to a request to this actor. UNAVAILABLE: the actor has ended, or ReleaseCallers was called; CANCELLED:
  // it was abandoned. Other errors are the actor's. There is no time-out: the actors have deadlines for whatever may
  // hang.
  template <typename Answer, typename Actor, typename... Message>
  absl::StatusOr<Answer> AskUnless(const Actor& actor, const Abandoned& abandoned, Message... message) {
    // Both stay until the answer comes, which may be later than this call returns.
    const std::shared_ptr<Callers> callers = callers_;
    const auto answer = std::make_shared<std::optional<absl::StatusOr<Answer>>>();
    std::unique_lock<std::mutex> lock(callers->mutex);
    if (!callers->released) {
      Request<Answer>(
          actor,
          [callers, answer](absl::StatusOr<Answer> came) {
            {
              const std::lock_guard<std::mutex> lock(callers->mutex);
              answer->emplace(std::move(came));
            }
            callers->changed.notify_all();
          },
          std::move(message)...);
    }
    const auto is_over = [&] { return answer->has_value() || callers->released; };
    while (!callers->changed.wait_for(lock, kAbandonedInterval, is_over)) {
      if (abandoned && abandoned()) return absl::CancelledError("nobody waits for the answer any more");
    }
    if (!answer->has_value()) return absl::UnavailableError("the head has ended");
    return *std::move(*answer);
  }

  // Lets all waiting callers return, and later ones at once. An actor that is busy for long answers later, and its
  // answer is dropped.
  void ReleaseCallers() {
    {
      const std::lock_guard<std::mutex> lock(callers_->mutex);
      callers_->released = true;
    }
    callers_->changed.notify_all();
  }

 private:
  // How often a call that waits checks whether its answer is still needed.
  static constexpr std::chrono::milliseconds kAbandonedInterval{100};

  // Threads that wait for answers.
  struct Callers {
    std::mutex mutex;
    std::condition_variable changed;
    bool released = false;
  };

  // Sends a request; `done` gets the answer, or UNAVAILABLE if the actor ends first.
  template <typename Answer, typename Actor, typename... Message>
  void Request(const Actor& actor, std::function<void(absl::StatusOr<Answer>)> done, Message... message) {
    const ForeignCall call;
    system_.spawn([actor, done = std::move(done), message...](caf::event_based_actor* self) {
      self->monitor(actor);
      self->set_down_handler([self, done](const caf::down_msg&) {
        self->quit();
        done(absl::UnavailableError("the head has ended"));
      });
      self->request(actor, caf::infinite, message...)
          .then(
              [self, done](Answer& answer) {
                self->quit();
                done(std::move(answer));
              },
              [self, done](const caf::error& error) {
                self->quit();
                done(FromCafError(error));
              });
    });
  }

  caf::actor_system& system_;
  const std::shared_ptr<Callers> callers_ = std::make_shared<Callers>();
};

}  // namespace lanista

#endif  // LANISTA_SRC_LAUNCHER_BLOCKING_REQUESTS_H_

// Finds out what an experiment of a head waits for, while its progress is shown.
#ifndef LANISTA_SRC_LAUNCHER_WAITING_QUESTION_H_
#define LANISTA_SRC_LAUNCHER_WAITING_QUESTION_H_

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>

namespace lanista {

// When to ask. Not thread-safe.
class WaitingPace {
 public:
  // Something happened in the experiment.
  void OnEvent() { goes_on_ = true; }
  // An interval is over, and `known` is the last answer. An experiment that goes on lacks nothing, unless it did.
  bool IsDue(const std::string& known) { return !std::exchange(goes_on_, false) || !known.empty(); }

 private:
  bool goes_on_ = false;
};

// No event tells what an experiment lacks, so the head is asked at intervals (WaitingPace). Thread-safe.
class WaitingQuestion {
 public:
  // Returns what the experiment waits for; empty: nothing; nullopt: the head does not answer. May block.
  using Ask = std::function<std::optional<std::string>()>;
  using Tell = std::function<void(const std::string& waiting_for)>;

  // Tells `known`, which the caller found out before, and then each answer that differs from the one before. Both
  // functions are called on a thread of its own, except for `known`.
  WaitingQuestion(std::string known, Ask ask, Tell tell,
                  std::chrono::milliseconds interval = std::chrono::milliseconds(5000));
  // Waits for an answer that is on its way.
  ~WaitingQuestion();

  WaitingQuestion(const WaitingQuestion&) = delete;
  WaitingQuestion& operator=(const WaitingQuestion&) = delete;

  // See WaitingPace.
  void OnEvent();

 private:
  void Run();

  // Constant after construction.
  const Ask ask_;
  const Tell tell_;
  const std::chrono::milliseconds interval_;

  // Used by the thread alone.
  std::string known_;

  std::mutex mutex_;
  std::condition_variable changed_;
  // Protected by mutex_.
  bool ended_ = false;
  WaitingPace pace_;

  std::thread thread_;
};

}  // namespace lanista

#endif  // LANISTA_SRC_LAUNCHER_WAITING_QUESTION_H_

#include "src/launcher/waiting_question.h"

#include <utility>

namespace lanista {

WaitingQuestion::WaitingQuestion(std::string known, Ask ask, Tell tell, std::chrono::milliseconds interval)
    : ask_(std::move(ask)), tell_(std::move(tell)), interval_(interval), known_(std::move(known)) {
  if (!known_.empty()) tell_(known_);
  thread_ = std::thread(&WaitingQuestion::Run, this);
}

WaitingQuestion::~WaitingQuestion() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ended_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void WaitingQuestion::OnEvent() {
  const std::lock_guard<std::mutex> lock(mutex_);
  pace_.OnEvent();
}

void WaitingQuestion::Run() {
  while (true) {
    {
      std::unique_lock<std::mutex> lock(mutex_);
      if (changed_.wait_for(lock, interval_, [this] { return ended_; })) return;
      if (!pace_.IsDue(known_)) continue;
    }
    std::optional<std::string> answer = ask_();
    if (!answer.has_value() || *answer == known_) continue;
    known_ = *std::move(answer);
    tell_(known_);
  }
}

}  // namespace lanista

// Threads for work that blocks, because the threads of gRPC and of the web server must not block.
#ifndef LANISTA_SRC_BASE_WORK_QUEUE_H_
#define LANISTA_SRC_BASE_WORK_QUEUE_H_

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace lanista {

// Does jobs in the order in which they came, on a fixed number of threads. Thread-safe.
class WorkQueue {
 public:
  // At most `max_waiting` jobs of TryPost wait for a thread.
  WorkQueue(int threads, size_t max_waiting);
  // Does the jobs that are left.
  ~WorkQueue();

  WorkQueue(const WorkQueue&) = delete;
  WorkQueue& operator=(const WorkQueue&) = delete;

  // Adds a job, however many wait: for jobs whose number is bounded elsewhere.
  void Post(std::function<void()> job);
  // Adds a job. Returns false and drops the job if too many wait.
  bool TryPost(std::function<void()> job);

 private:
  void Work();

  const size_t max_waiting_;

  std::mutex mutex_;
  std::condition_variable changed_;
  // Protected by mutex_.
  std::deque<std::function<void()>> jobs_;
  bool ended_ = false;

  std::vector<std::thread> threads_;
};

}  // namespace lanista

#endif  // LANISTA_SRC_BASE_WORK_QUEUE_H_

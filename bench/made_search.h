// Searches that never ran, as large as wanted: journals for the benchmark of the web page.
#ifndef LANISTA_BENCH_MADE_SEARCH_H_
#define LANISTA_BENCH_MADE_SEARCH_H_

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "protos/messages.pb.h"
#include "src/storage/journal.h"

namespace lanista::bench {

// Writes a journal as a head does: twelve choices, three of which depend on another one; one or four metrics at each
// step; one model of fifty fails, in one of five ways. All numbers are drawn from a fixed seed. Used by one thread.
class MadeSearch {
 public:
  // What each step reports: `default` alone, or three more.
  enum class Metrics { kDefault, kFour };

  // A journal in `folder`, which is made, of an experiment that knows its space and does not run yet.
  static absl::StatusOr<std::unique_ptr<MadeSearch>> Create(const std::string& folder, const std::string& id,
                                                            Metrics metrics = Metrics::kFour);
  // Goes on with one that Create made.
  static absl::StatusOr<std::unique_ptr<MadeSearch>> Open(const std::string& folder);

  // It runs from now on; and so many models, from their proposals to their outcomes, in large batches. They took a
  // second a step, ten at a time, and the last one ends about now.
  absl::Status AddPast(int models, int steps);

  // One model from its proposal to its outcome, now, in the batches of a head. Returns when its outcome is recorded.
  absl::Status AddModel(int steps);

  // Starts `count` models, which Report is about from then on.
  absl::Status StartModels(int count);
  // So many reports of them, one after the other, in one batch. Returns the number of the last fact.
  absl::StatusOr<int64_t> Report(int count);

 private:
  struct Running {
    int model = 0;
    int sequence = 1;
  };

  explicit MadeSearch(std::unique_ptr<JournalWriter> writer, Metrics metrics = Metrics::kFour)
      : writer_(std::move(writer)), metrics_(metrics) {}

  v1::JournalRecord* Add(absl::Time time, v1::JournalBatch* batch);
  // A new model's proposal, its trial, its start, and what it costs.
  int Begin(absl::Time time, v1::JournalBatch* batch);
  void AddReport(int model, int sequence, absl::Time time, v1::JournalBatch* batch);
  void End(int model, int steps, absl::Time time, v1::JournalBatch* batch);
  void FillMetrics(int model, int step, v1::Metrics* metrics);
  double Uniform();
  absl::StatusOr<int64_t> Write(v1::JournalBatch* batch);

  const std::unique_ptr<JournalWriter> writer_;
  const Metrics metrics_;
  std::mt19937_64 random_{14};
  int models_ = 0;
  int trials_ = 0;
  std::vector<Running> running_;
  size_t next_running_ = 0;
};

}  // namespace lanista::bench

#endif  // LANISTA_BENCH_MADE_SEARCH_H_

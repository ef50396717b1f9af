// A head in a process of its own, nodes in this one that speak the real protocol and train nothing (stub_nodes.h), and
// one search on them.
#ifndef LANISTA_BENCH_STUB_CLUSTER_H_
#define LANISTA_BENCH_STUB_CLUSTER_H_

#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "bench/head_process.h"
#include "bench/stub_nodes.h"
#include "protos/experiment.pb.h"
#include "protos/trial.pb.h"
#include "src/storage/journal.h"

namespace lanista::bench {

// Of each node.
inline constexpr int kSlots = 8;
// What takes longer than one step may hangs, and an error says what was waited for.
inline constexpr absl::Duration kStepLimit = absl::Seconds(60);

struct Search {
  int nodes = 1;
  int trials = 1;
  // Of each trial.
  int reports = 0;
};

// What a real trial process finds in the space of an experiment. Blocks. DEADLINE_EXCEEDED: it takes longer than
// kStepLimit. Other errors are the trial process's.
absl::StatusOr<v1::Discovered> Discover(const v1::ExperimentConfig& config);

// The configuration of a search with strategy `random`.
v1::ExperimentConfig SearchConfig(const Search& search);

// The spaces of all experiments, and who discovered them.
struct Spaces {
  v1::Discovered search;
  v1::Discovered windows;
};

// A head, nodes that have joined it, and one search. Used by one thread.
class Cluster {
 public:
  // `more_nodes`: for other experiments. `hold`: see StubNodes. `spaces` must outlive it.
  static absl::StatusOr<std::unique_ptr<Cluster>> Start(const std::string& folder, const Search& search,
                                                        const Spaces& spaces, bool hold = false, int more_nodes = 0);

  // The search.
  absl::Status Submit();
  // Any experiment; returns its id.
  absl::StatusOr<std::string> Submit(const v1::ExperimentConfig& config);

  // Until so many trials are over.
  absl::Status AwaitEnded(int trials, absl::Duration limit);

  // Until the search is DONE; returns the seconds that it ran. An error, if the journal lacks a result.
  absl::StatusOr<double> AwaitDone(absl::Duration limit) const;

  HeadProcess& head() { return *head_; }
  StubNodes& nodes() { return nodes_; }
  // Of the search.
  const std::string& experiment() const { return experiment_; }

  // The status with what is known of the head, if it is an error.
  absl::Status Explain(const absl::Status& status) { return status.ok() ? status : head_->Explain(status); }

 private:
  Cluster(const Search& search, std::unique_ptr<HeadProcess> head, StubNodes::Options options)
      : search_(search), head_(std::move(head)), nodes_(std::move(options)) {}

  // Reads the files: the head is asked nothing, which would take its time.
  absl::StatusOr<JournalReader> OpenJournal() const;
  // An error, if the search has come to another end.
  absl::StatusOr<bool> IsDone() const;
  absl::StatusOr<double> CheckJournal() const;

  const Search search_;
  // The nodes end first.
  const std::unique_ptr<HeadProcess> head_;
  StubNodes nodes_;
  int submitted_ = 0;
  std::string experiment_;
};

}  // namespace lanista::bench

#endif  // LANISTA_BENCH_STUB_CLUSTER_H_

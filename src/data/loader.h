// Loaders: batches of a dataset, prepared ahead of training by their own threads.
#ifndef LANISTA_SRC_DATA_LOADER_H_
#define LANISTA_SRC_DATA_LOADER_H_

#include <cstdint>
#include <memory>
#include <optional>

#include "absl/status/statusor.h"
#include "src/data/dataset.h"
#include "src/data/transform.h"

namespace lanista::data {

// The order in which samples are served.
enum class SampleOrder {
  // The order of the dataset.
  kDataset,
  // One random order from H(order_seed), the same in all epochs.
  kPermuted,
  // A different random order in each epoch, from H(order_seed, epoch).
  kShuffled,
};

// Whether a last batch that has fewer samples than the others is served. If it is the only batch, it is always served.
enum class LastBatch {
  kServe,
  // Dropped if it has one sample, because batch normalisation cannot train on one.
  kDropSingle,
  kDrop,
};

struct LoaderOptions {
  int64_t batch_size = 64;
  SampleOrder order = SampleOrder::kDataset;
  LastBatch last_batch = LastBatch::kServe;
  uint64_t order_seed = 0;
  // Threads that prepare batches; 0: Next() prepares them itself.
  int threads = 1;
  // Most batches per epoch; 0: all.
  int64_t max_batches = 0;
};

// Number of batches in an epoch over `samples` samples.
int64_t CountBatches(int64_t samples, const LoaderOptions& options);

// Serves one epoch after the other. The batches depend on dataset, transforms, options and epoch only, never on the
// number of threads: a sample's augmentation is random with the seed H(order_seed, epoch, sample index).
//
// Used by one thread. Holds only a few batches ready, so memory is bounded. The destructor stops the threads.
class Loader {
 public:
  // `transforms` are applied to each sample in order. If all are batchable, and the dataset is in memory and the result
  // not too large, the constructor transforms the whole dataset once. Data in memory is shared with other processes, if
  // ShareDataIn (shared_data.h) was called. REQUIRES: neither pointer is null; batch_size >=
  // 1; threads >= 0.
  Loader(std::shared_ptr<const Dataset> dataset, std::shared_ptr<const TransformChain> transforms,
         LoaderOptions options);
  ~Loader();
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  // Number of batches per epoch.
  int64_t batches() const;

  // Starts epoch `epoch` (any number from 0) at its batch number `first`; the rest of the previous epoch is dropped.
  // REQUIRES: 0 <= first <= batches().
  void StartEpoch(int64_t epoch, int64_t first = 0);

  // The next batch, on the CPU: input float32 [N, ...]; target int64 [N] or float32 [N, targets]. nullopt at the end of
  // the epoch. Errors are the dataset's.
  absl::StatusOr<std::optional<Example>> Next();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace lanista::data

#endif  // LANISTA_SRC_DATA_LOADER_H_

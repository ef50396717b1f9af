// Loaders: batches of a dataset, made ahead of training by threads of their own.
#ifndef LANISTA_SRC_DATA_LOADER_H_
#define LANISTA_SRC_DATA_LOADER_H_

#include <cstdint>
#include <memory>
#include <optional>

#include "absl/status/statusor.h"
#include "src/data/dataset.h"
#include "src/data/transform.h"

namespace lanista::data {

// In which order samples are served.
enum class SampleOrder {
  // The dataset's own.
  kDataset,
  // One random order by H(order_seed), the same in all epochs.
  kPermuted,
  // Another random order in each epoch, by H(order_seed, epoch).
  kShuffled,
};

// What becomes of a last batch that has fewer samples than the others. The only batch is always served.
enum class LastBatch {
  kServe,
  // Left out if it has one sample: batch normalisation cannot train on it.
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
  // At most so many batches an epoch; 0: all.
  int64_t max_batches = 0;
};

// Batches of an epoch over `samples` samples.
int64_t CountBatches(int64_t samples, const LoaderOptions& options);

// Serves one epoch after the other. The batches depend on dataset, transforms, options and epoch only, never on the
// number of threads: the randomness of a sample's augmentation is H(order_seed, epoch, sample index).
//
// Used by one thread. At most a few batches are held ready (bounded memory). The destructor stops the threads.
class Loader {
 public:
  // `transforms` are applied to each sample in order; where all are batchable, to the whole dataset, now.
  // REQUIRES: neither is null; batch_size >= 1; threads >= 0.
  Loader(std::shared_ptr<const Dataset> dataset, std::shared_ptr<const TransformChain> transforms,
         LoaderOptions options);
  ~Loader();
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  // Batches an epoch.
  int64_t batches() const;

  // Begins epoch `epoch` (any number, from 0) with its batch number `first`; what remains of the one before is dropped.
  // REQUIRES: 0 <= first <= batches().
  void StartEpoch(int64_t epoch, int64_t first = 0);

  // The next batch: input float32 [N, ...], target [N] or [N, targets]; nullopt at the epoch's end. Errors are the
  // dataset's.
  absl::StatusOr<std::optional<Example>> Next();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace lanista::data

#endif  // LANISTA_SRC_DATA_LOADER_H_

#include "src/data/loader.h"

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/clone.h>
#include <ATen/ops/empty.h>
#include <dlfcn.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "src/base/hash.h"
#include "src/base/status.h"
#include "src/data/prefetch_queue.h"
#include "src/data/random.h"
#include "src/data/rows.h"
#include "src/data/shared_data.h"

namespace lanista::data {
namespace {

// Makes operators that this thread calls run in this thread alone: a team of OpenMP threads for each loading thread
// would compete with training for the processors. at::set_num_threads is not used because it would also change the
// default of other threads.
void UseOneThread() {
  // LibTorch sets a thread's number of OpenMP threads when the thread first asks for it; this call makes that happen
  // now.
  at::get_num_threads();
  // The function of the OpenMP runtime that LibTorch uses; null if LibTorch was built without one.
  using SetNumThreads = void (*)(int);
  if (const auto set = reinterpret_cast<SetNumThreads>(dlsym(RTLD_DEFAULT, "omp_set_num_threads"))) set(1);
}

// Collects samples, [...] each, into a batch, [N, ...].
class Rows {
 public:
  explicit Rows(int64_t count) : count_(count) {}

  // Copies `sample` to row `row`; rows come in order. INVALID_ARGUMENT if its shape or dtype differs from the first
  // row's.
  absl::Status Put(int64_t row, const at::Tensor& sample) {
    if (!batch_.defined()) {
      std::vector<int64_t> shape = sample.sizes().vec();
      shape.insert(shape.begin(), count_);
      batch_ = at::empty(shape, sample.options());
    }
    if (sample.sizes() != batch_.sizes().slice(1) || sample.scalar_type() != batch_.scalar_type()) {
      return absl::InvalidArgumentError(absl::StrCat("samples of one batch differ: ", ShapeToString(sample.sizes()),
                                                     " and ", ShapeToString(batch_.sizes().slice(1))));
    }
    const at::Tensor flat = sample.contiguous();
    std::memcpy(static_cast<char*>(batch_.data_ptr()) + row * flat.nbytes(), flat.data_ptr(), flat.nbytes());
    return absl::OkStatus();
  }

  at::Tensor Take() { return std::move(batch_); }

 private:
  const int64_t count_;
  at::Tensor batch_;
};

// Transformed datasets of up to this many elements (1 GiB) are kept in memory next to the original.
constexpr int64_t kMostElementsTransformedOnce = 1 << 28;

// Transforms the whole dataset once, if that is possible and needs little enough memory: `dataset` becomes the result,
// and `transforms` becomes empty.
void TransformOnce(std::shared_ptr<const Dataset>& dataset, std::shared_ptr<const TransformChain>& transforms) {
  const Example* all = dataset->InMemory();
  if (all == nullptr || transforms->empty() || !transforms->batchable()) return;
  const absl::StatusOr<std::vector<int64_t>> shape = transforms->OutputShape(all->input.sizes().slice(1).vec());
  if (!shape.ok() || c10::multiply_integers(*shape) > kMostElementsTransformedOnce / dataset->size()) return;
  const at::NoGradGuard no_grad;
  dataset = MakeInMemoryDataset({transforms->Apply(all->input, 0), all->target});
  transforms = std::make_shared<TransformChain>();
}

// The indices of the samples of `epoch` in the order in which they are served.
std::vector<int64_t> OrderOf(int64_t samples, const LoaderOptions& options, int64_t epoch) {
  switch (options.order) {
    case SampleOrder::kDataset:
      break;
    case SampleOrder::kPermuted:
      return RandomPermutation(samples, MixSeed({options.order_seed, StableHash("permute")}));
    case SampleOrder::kShuffled:
      return RandomPermutation(samples,
                               MixSeed({options.order_seed, StableHash("shuffle"), static_cast<uint64_t>(epoch)}));
  }
  std::vector<int64_t> order(samples);
  std::iota(order.begin(), order.end(), 0);
  return order;
}

}  // namespace

int64_t CountBatches(int64_t samples, const LoaderOptions& options) {
  int64_t batches = (samples + options.batch_size - 1) / options.batch_size;
  const int64_t rest = samples % options.batch_size;
  const bool drop =
      options.last_batch == LastBatch::kDrop || (options.last_batch == LastBatch::kDropSingle && rest == 1);
  if (drop && rest != 0 && batches > 1) --batches;
  return options.max_batches > 0 ? std::min(batches, options.max_batches) : batches;
}

class Loader::Impl {
 public:
  Impl(std::shared_ptr<const Dataset> dataset, std::shared_ptr<const TransformChain> transforms, LoaderOptions options)
      : dataset_(std::move(dataset)),
        transforms_(std::move(transforms)),
        options_(options),
        queue_(options.threads, UseOneThread) {}

  int64_t batches() const { return CountBatches(dataset_->size(), options_); }

  void StartEpoch(int64_t epoch, int64_t first) {
    const uint64_t epoch_seed = static_cast<uint64_t>(epoch);
    std::vector<int64_t> order = OrderOf(dataset_->size(), options_, epoch);
    queue_.Start(batches() - first, [this, first, epoch_seed, order = std::move(order)](int64_t batch) {
      const int64_t begin = (first + batch) * options_.batch_size;
      const int64_t end = std::min(begin + options_.batch_size, static_cast<int64_t>(order.size()));
      return MakeBatch(order.data() + begin, end - begin, epoch_seed);
    });
  }

  absl::StatusOr<std::optional<Example>> Next() {
    std::optional<absl::StatusOr<Example>> batch = queue_.Next();
    if (!batch.has_value()) return std::optional<Example>();
    if (!batch->ok()) return batch->status();
    return std::optional<Example>(**std::move(batch));
  }

 private:
  absl::StatusOr<Example> MakeBatch(const int64_t* indices, int64_t count, uint64_t epoch_seed) const {
    const at::NoGradGuard no_grad;
    const Example* all = dataset_->InMemory();
    if (all != nullptr && transforms_->batchable()) {
      return Example{transforms_->Apply(GatherRows(all->input, indices, count), 0),
                     GatherRows(all->target, indices, count)};
    }
    Rows inputs(count);
    Rows targets(count);
    for (int64_t row = 0; row < count; ++row) {
      LANISTA_ASSIGN_OR_RETURN(Example sample, dataset_->Get(indices[row]));
      // A copy: a transform that changes its input, although it must not, changes no data of other trials.
      if (all != nullptr && !transforms_->empty()) sample.input = sample.input.clone();
      const uint64_t seed = MixSeed({options_.order_seed, epoch_seed, static_cast<uint64_t>(indices[row])});
      sample.input = transforms_->Apply(std::move(sample.input), seed);
      LANISTA_RETURN_IF_ERROR(Annotate(inputs.Put(row, sample.input), absl::StrCat("sample ", indices[row])));
      LANISTA_RETURN_IF_ERROR(Annotate(targets.Put(row, sample.target), absl::StrCat("sample ", indices[row])));
    }
    return Example{inputs.Take(), targets.Take()};
  }

  const std::shared_ptr<const Dataset> dataset_;
  const std::shared_ptr<const TransformChain> transforms_;
  const LoaderOptions options_;
  // Declared last, because its threads use the other members.
  PrefetchQueue<absl::StatusOr<Example>> queue_;
};

Loader::Loader(std::shared_ptr<const Dataset> dataset, std::shared_ptr<const TransformChain> transforms,
               LoaderOptions options) {
  TransformOnce(dataset, transforms);
  impl_ = std::make_unique<Impl>(Shared(std::move(dataset)), std::move(transforms), options);
}

Loader::~Loader() = default;

int64_t Loader::batches() const { return impl_->batches(); }

void Loader::StartEpoch(int64_t epoch, int64_t first) { impl_->StartEpoch(epoch, first); }

absl::StatusOr<std::optional<Example>> Loader::Next() { return impl_->Next(); }

}  // namespace lanista::data

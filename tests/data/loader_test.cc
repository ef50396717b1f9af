// Transforms and loaders.
#include "src/data/loader.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Parallel.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/stack.h>
#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <set>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "src/base/hash.h"
#include "src/base/shared_bytes.h"
#include "src/base/temporary_folder.h"
#include "src/data/custom.h"
#include "src/data/random.h"
#include "src/data/shared_data.h"
#include "src/data/transform.h"
#include "tests/data/status_matchers.h"

namespace lanista::data {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::FloatNear;

// `count` images of channels x height x width with pixels 0, 1, 2, ...; image i has class i.
Example CountingImages(int64_t count, int64_t channels, int64_t height, int64_t width) {
  return {at::arange(count * channels * height * width, at::kFloat).reshape({count, channels, height, width}),
          at::arange(count, at::kLong)};
}

DataSplits SplitsOf(const Example& all) {
  DataSplits splits;
  splits.train = MakeInMemoryDataset(all);
  splits.validation = splits.train;
  splits.input_shape = all.input.sizes().slice(1).vec();
  splits.outputs = all.input.size(0);
  return splits;
}

absl::StatusOr<std::shared_ptr<const TransformChain>> MakeChain(const std::vector<std::string>& texts,
                                                                const DataSplits& splits) {
  google::protobuf::RepeatedPtrField<v1::TransformConfig> configs;
  for (const std::string& text : texts) {
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, configs.Add())) << text;
  }
  // Two lists, as evaluators have: augmentation and transforms.
  return TransformChain::Create({configs, {}}, splits);
}

std::vector<float> Values(const at::Tensor& tensor) {
  const at::Tensor flat = tensor.contiguous();
  return std::vector<float>(flat.data_ptr<float>(), flat.data_ptr<float>() + flat.numel());
}

// One image through one transform.
at::Tensor Transformed(const std::string& text, const at::Tensor& image, uint64_t seed = 1) {
  DataSplits splits = SplitsOf({image.unsqueeze(0), at::arange(1, at::kLong)});
  auto chain = MakeChain({text}, splits);
  EXPECT_TRUE(chain.ok()) << chain.status();
  at::Tensor result = (*chain)->Apply(image, seed);
  EXPECT_EQ(result.sizes().vec(), (*chain)->OutputShape(image.sizes().vec()).value());
  return result;
}

at::Tensor Image(int64_t height, int64_t width) { return CountingImages(1, 1, height, width).input[0]; }

// ---- transforms

TEST(Transforms, NormalizeShiftsAndScalesEachChannel) {
  const at::Tensor image = CountingImages(1, 2, 1, 2).input[0];
  EXPECT_THAT(Values(Transformed("normalize { mean: [1, 2] std: [2, 0.5] }", image)), ElementsAre(-0.5, 0, 0, 2));
  EXPECT_THAT(Values(image), ElementsAre(0, 1, 2, 3));
}

TEST(Transforms, NormalizeWithoutValuesLearnsThemFromTheTrainingSplit) {
  // Channel 0 holds 0, 1, 4, 5 (mean 2.5, variance 4.25), channel 1 the same plus 2.
  const DataSplits splits = SplitsOf(CountingImages(2, 2, 1, 2));
  const auto chain = MakeChain({"normalize {}"}, splits);
  ASSERT_TRUE(chain.ok()) << chain.status();
  const float unit = std::sqrt(4.25f);
  EXPECT_THAT(Values((*chain)->Apply(splits.train->InMemory()->input[1], 0)),
              ElementsAre(FloatNear(1.5f / unit, 1e-6), FloatNear(2.5f / unit, 1e-6), FloatNear(1.5f / unit, 1e-6),
                          FloatNear(2.5f / unit, 1e-6)));
  // A constant channel is only shifted.
  EXPECT_THAT(Values(Transformed("normalize {}", at::full({1, 1, 2}, 0.7f))),
              ElementsAre(FloatNear(0, 1e-6), FloatNear(0, 1e-6)));
}

TEST(Transforms, RandomFlipMirrorsLeftRightOrTopDown) {
  EXPECT_THAT(Values(Transformed("random_flip { probability: 1 }", Image(2, 2))), ElementsAre(1, 0, 3, 2));
  EXPECT_THAT(Values(Transformed("random_flip { probability: 1 vertical: true }", Image(2, 2))),
              ElementsAre(2, 3, 0, 1));
  EXPECT_THAT(Values(Transformed("random_flip { probability: 0 }", Image(2, 2))), ElementsAre(0, 1, 2, 3));
  int flipped = 0;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    flipped += Values(Transformed("random_flip {}", Image(1, 2), seed))[0] == 1;
  }
  EXPECT_NEAR(flipped, 200, 50);
}

TEST(Transforms, RandomCropCutsEveryWindowOfThePaddedImage) {
  std::set<std::vector<float>> windows;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    windows.insert(Values(Transformed("random_crop { height: 1 width: 2 padding: 1 }", Image(1, 2), seed)));
  }
  EXPECT_THAT(windows, ElementsAre(std::vector<float>{0, 0}, std::vector<float>{0, 1}, std::vector<float>{1, 0}));
  EXPECT_THAT(Values(Transformed("random_crop {}", Image(2, 2))), ElementsAre(0, 1, 2, 3));
  // A window that may lie in the padding alone.
  for (uint64_t seed = 0; seed < 50; ++seed) {
    Transformed("random_crop { height: 2 width: 2 padding: 5 }", Image(3, 3), seed);
  }
}

TEST(Transforms, RandomRotationTurnsAboutTheCentre) {
  const at::Tensor image = Image(3, 3);
  EXPECT_THAT(Values(Transformed("random_rotation { degrees: 0 }", image)), ElementsAreArray(Values(image)));
  // Whatever the angle, the centre stays, also where the image is not square.
  for (uint64_t seed = 0; seed < 20; ++seed) {
    EXPECT_NEAR(Values(Transformed("random_rotation { degrees: 180 }", Image(3, 5), seed))[7], 7, 1e-4);
  }
  // A bar of height 1 and length 5, turned about a right angle, stands upright where it fits and is cut where not.
  at::Tensor bar = at::full({1, 5, 5}, 0.0f);
  bar[0][2].fill_(1.0f);
  bool upright = false;
  for (uint64_t seed = 0; seed < 300 && !upright; ++seed) {
    const at::Tensor turned = Transformed("random_rotation { degrees: 100 }", bar, seed);
    const at::Tensor column = turned[0].select(1, 2);
    upright = column.min().item<float>() > 0.9f && turned[0][2][0].item<float>() < 0.1f;
  }
  EXPECT_TRUE(upright);
}

TEST(Transforms, ResizeIsBilinear) {
  EXPECT_THAT(Values(Transformed("resize { height: 1 width: 1 }", Image(2, 2))), ElementsAre(1.5));
  EXPECT_THAT(Values(Transformed("resize { height: 1 width: 4 }", Image(1, 2))), ElementsAre(0, 0.25, 0.75, 1));
}

TEST(Transforms, BatchableOnesGiveTheSameBitsForABatch) {
  const DataSplits splits = SplitsOf(CountingImages(5, 3, 7, 9));
  for (const std::string text : {"normalize {}", "resize { height: 5 width: 12 }"}) {
    const auto chain = MakeChain({text}, splits);
    ASSERT_TRUE((*chain)->batchable()) << text;
    const at::Tensor& all = splits.train->InMemory()->input;
    std::vector<at::Tensor> one_by_one;
    for (int64_t i = 0; i < 5; ++i) one_by_one.push_back((*chain)->Apply(all[i], 0));
    EXPECT_TRUE(at::equal((*chain)->Apply(all, 0), at::stack(one_by_one))) << text;
  }
}

TEST(Transforms, ErrorsNameThePosition) {
  const DataSplits images = SplitsOf(CountingImages(2, 1, 4, 4));
  const auto error = [&](const std::string& text) { return MakeChain({"random_flip {}", text}, images); };
  EXPECT_THAT(error(""), IsInvalid("transform 2: nothing is set"));
  EXPECT_THAT(error("normalize { mean: 1 }"), IsInvalid("transform 2: normalize.std: needs as many values as 'mean'"));
  EXPECT_THAT(error("normalize { mean: 1 std: 0 }"), IsInvalid("normalize.std[0]: must be greater than 0, got 0"));
  EXPECT_THAT(error("normalize { mean: [1, 2] std: [1, 1] }"), IsInvalid("for 2 channel(s), but images have 1"));
  EXPECT_THAT(error("random_crop { height: 5 }"), IsInvalid("transform 2: random_crop cuts 5 x 4 pixels"));
  EXPECT_THAT(error("random_crop { padding: -1 }"), IsInvalid("random_crop.padding: must be in [0, 8192], got -1"));
  EXPECT_THAT(error("random_flip { probability: 2 }"), IsInvalid("random_flip.probability: must be in [0, 1], got 2"));
  EXPECT_THAT(error("random_rotation {}"), IsInvalid("random_rotation.degrees: is required"));
  EXPECT_THAT(error("resize { height: 3 }"), IsInvalid("resize.width: is required"));
  // Shapes are followed through the chain, and tables are no images.
  EXPECT_THAT(MakeChain({"resize { height: 2 width: 2 }", "random_crop { height: 3 }"}, images),
              IsInvalid("transform 2: random_crop cuts 3 x 2"));
  DataSplits table = images;
  table.input_shape = {4};
  for (const std::string text : {"normalize {}", "random_crop {}", "random_flip {}", "random_rotation { degrees: 1 }",
                                 "resize { height: 1 width: 1 }"}) {
    EXPECT_THAT(MakeChain({text}, table), IsInvalid("wants images, [channels, height, width]")) << text;
  }
}

class Halve : public Transform {
 public:
  at::Tensor Apply(const at::Tensor& input, SampleRandom&) const override { return input.mul(0.5); }
};

absl::StatusOr<std::unique_ptr<Transform>> MakeHalve(const Params&, const DataSplits&) {
  return std::make_unique<Halve>();
}
LANISTA_REGISTER(transform, "halve", MakeHalve);

TEST(Transforms, SayWhatTheyDo) {
  const DataSplits splits = SplitsOf(CountingImages(2, 2, 4, 4));
  const auto chain = MakeChain({"resize { height: 2 width: 3 }", "normalize { mean: [1, 2] std: [3, 4] }",
                                "custom { name: 'halve' }", "random_flip {}"},
                               splits);
  ASSERT_TRUE(chain.ok()) << chain.status();
  std::vector<std::string> steps;
  for (const v1::Preprocessing& step : (*chain)->Describe()) steps.push_back(step.ShortDebugString());
  EXPECT_THAT(steps, ElementsAre("resizing { height: 2 width: 3 }", "standardization { mean: 1 mean: 2 std: 3 std: 4 }",
                                 "custom: \"halve\"", "custom: \"random_flip\""));
}

TEST(Transforms, UsersRegisterTheirOwn) {
  EXPECT_THAT(Values(Transformed("custom { name: 'halve' }", Image(1, 3))), ElementsAre(0, 0.5, 1));
}

// ---- loaders

// The same samples, but not in memory.
class OneByOne : public Dataset {
 public:
  explicit OneByOne(Example all) : all_(std::move(all)) {}
  int64_t size() const override { return all_.input.size(0); }
  absl::StatusOr<Example> Get(int64_t index) const override {
    if (index == bad_) return absl::InvalidArgumentError("image 7 is corrupt");
    return Example{all_.input[index], all_.target[index]};
  }
  int64_t bad_ = -1;

 private:
  Example all_;
};

std::shared_ptr<const TransformChain> NoTransforms() { return std::make_shared<TransformChain>(); }

// All batches of an epoch.
std::vector<Example> Epoch(Loader& loader, int64_t epoch) {
  std::vector<Example> batches;
  loader.StartEpoch(epoch);
  while (true) {
    absl::StatusOr<std::optional<Example>> batch = loader.Next();
    EXPECT_TRUE(batch.ok()) << batch.status();
    if (!batch.ok() || !batch->has_value()) return batches;
    batches.push_back(**std::move(batch));
  }
}

bool Same(const std::vector<Example>& a, const std::vector<Example>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Example& x, const Example& y) {
    return at::equal(x.input, y.input) && at::equal(x.target, y.target);
  });
}

LoaderOptions Options(int64_t batch_size, bool shuffle, int threads) {
  LoaderOptions options;
  options.batch_size = batch_size;
  options.order = shuffle ? SampleOrder::kShuffled : SampleOrder::kDataset;
  options.threads = threads;
  options.order_seed = 11;
  return options;
}

TEST(Loader, ServesAllSamplesInOrderWithASmallerLastBatch) {
  const Example all = CountingImages(7, 1, 2, 2);
  Loader loader(MakeInMemoryDataset(all), NoTransforms(), Options(3, false, 1));
  EXPECT_EQ(loader.batches(), 3);
  const std::vector<Example> batches = Epoch(loader, 0);
  ASSERT_EQ(batches.size(), 3u);
  EXPECT_EQ(batches[2].input.size(0), 1);
  EXPECT_TRUE(at::equal(at::cat({batches[0].input, batches[1].input, batches[2].input}), all.input));
  EXPECT_TRUE(at::equal(at::cat({batches[0].target, batches[1].target, batches[2].target}), all.target));
}

TEST(Loader, LeavesOutALastBatchOfOneSampleOrEachSmallerOneIfAsked) {
  const auto sizes = [](int64_t samples, LastBatch last_batch) {
    LoaderOptions options = Options(3, false, 0);
    options.last_batch = last_batch;
    Loader loader(MakeInMemoryDataset(CountingImages(samples, 1, 1, 1)), NoTransforms(), options);
    std::vector<int64_t> sizes;
    for (const Example& batch : Epoch(loader, 0)) sizes.push_back(batch.input.size(0));
    EXPECT_EQ(loader.batches(), static_cast<int64_t>(sizes.size()));
    return sizes;
  };
  EXPECT_THAT(sizes(7, LastBatch::kServe), ElementsAre(3, 3, 1));
  EXPECT_THAT(sizes(7, LastBatch::kDropSingle), ElementsAre(3, 3));
  EXPECT_THAT(sizes(8, LastBatch::kDropSingle), ElementsAre(3, 3, 2));
  EXPECT_THAT(sizes(8, LastBatch::kDrop), ElementsAre(3, 3));
  EXPECT_THAT(sizes(6, LastBatch::kDrop), ElementsAre(3, 3));
  // The only batch.
  EXPECT_THAT(sizes(1, LastBatch::kDropSingle), ElementsAre(1));
  EXPECT_THAT(sizes(2, LastBatch::kDrop), ElementsAre(2));
}

TEST(Loader, APermutedOrderIsTheSameInAllEpochs) {
  const Example all = CountingImages(50, 1, 1, 1);
  LoaderOptions options = Options(50, false, 0);
  options.order = SampleOrder::kPermuted;
  Loader loader(MakeInMemoryDataset(all), NoTransforms(), options);
  const at::Tensor first = Epoch(loader, 0)[0].target;
  EXPECT_TRUE(at::equal(first, Epoch(loader, 1)[0].target));
  EXPECT_FALSE(at::equal(first, all.target));
  std::vector<int64_t> sorted(first.data_ptr<int64_t>(), first.data_ptr<int64_t>() + 50);
  std::sort(sorted.begin(), sorted.end());
  EXPECT_EQ(sorted.front(), 0);
  EXPECT_TRUE(std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end());
  options.order_seed = 12;
  Loader other(MakeInMemoryDataset(all), NoTransforms(), options);
  EXPECT_FALSE(at::equal(first, Epoch(other, 0)[0].target));
}

TEST(RandomPermutation, IsTheOneThatTheDocumentationGives) {
  EXPECT_EQ(StableHash("split"), 12912914139362736367u);
  EXPECT_EQ(MixSeed({42, StableHash("split")}), 10931495307630706802u);
  EXPECT_THAT(RandomPermutation(10, 10931495307630706802u), ElementsAre(7, 9, 8, 5, 6, 3, 2, 0, 1, 4));
}

TEST(Loader, ShufflesByOrderSeedAndEpochAsDocumented) {
  const Example all = CountingImages(50, 1, 1, 1);
  Loader loader(MakeInMemoryDataset(all), NoTransforms(), Options(50, true, 1));
  std::vector<int64_t> order(50);
  for (int64_t i = 0; i < 50; ++i) order[i] = i;
  std::mt19937_64 random(MixSeed({11, StableHash("shuffle"), 3}));
  for (int64_t i = 49; i > 0; --i) std::swap(order[i], order[random() % (i + 1)]);
  const Example batch = Epoch(loader, 3)[0];
  EXPECT_EQ(std::vector<int64_t>(batch.target.data_ptr<int64_t>(), batch.target.data_ptr<int64_t>() + 50), order);
  EXPECT_TRUE(at::equal(batch.input, at::index_select(all.input, 0, batch.target)));
  EXPECT_FALSE(at::equal(Epoch(loader, 4)[0].target, batch.target));
}

TEST(Loader, TheNumberOfThreadsChangesNoBit) {
  const DataSplits splits = SplitsOf(CountingImages(37, 3, 8, 8));
  const auto chain = MakeChain(
      {"random_crop { padding: 2 }", "random_flip {}", "random_rotation { degrees: 20 }", "normalize {}"}, splits);
  ASSERT_TRUE(chain.ok()) << chain.status();
  for (const bool shuffle : {false, true}) {
    Loader reference(splits.train, *chain, Options(5, shuffle, 0));
    const std::vector<Example> first = Epoch(reference, 0);
    const std::vector<Example> second = Epoch(reference, 1);
    EXPECT_FALSE(Same(first, second));
    for (const int threads : {1, 3}) {
      Loader loader(splits.train, *chain, Options(5, shuffle, threads));
      EXPECT_TRUE(Same(Epoch(loader, 1), second)) << threads;
      EXPECT_TRUE(Same(Epoch(loader, 0), first)) << threads;
    }
  }
}

TEST(Loader, TheAugmentationOfASampleDoesNotDependOnItsBatch) {
  const DataSplits splits = SplitsOf(CountingImages(8, 1, 6, 6));
  const auto chain = MakeChain({"random_crop { padding: 3 }"}, splits);
  Loader small(splits.train, *chain, Options(3, false, 1));
  Loader large(splits.train, *chain, Options(8, false, 1));
  const std::vector<Example> parts = Epoch(small, 2);
  EXPECT_TRUE(at::equal(at::cat({parts[0].input, parts[1].input, parts[2].input}), Epoch(large, 2)[0].input));
}

TEST(Loader, InMemoryAndOneByOneAreTheSameBitForBit) {
  const Example all = CountingImages(11, 2, 4, 4);
  const DataSplits splits = SplitsOf(all);
  for (const std::vector<std::string>& texts :
       {std::vector<std::string>{}, {"normalize {}", "resize { height: 3 width: 5 }"}, {"random_flip {}"}}) {
    const auto chain = MakeChain(texts, splits);
    Loader fast(splits.train, *chain, Options(4, true, 2));
    Loader slow(std::make_shared<OneByOne>(all), *chain, Options(4, true, 2));
    EXPECT_TRUE(Same(Epoch(fast, 0), Epoch(slow, 0)));
  }
}

TEST(Loader, StopsAtItsMaximumOfBatches) {
  LoaderOptions options = Options(2, false, 2);
  options.max_batches = 3;
  Loader loader(MakeInMemoryDataset(CountingImages(20, 1, 1, 1)), NoTransforms(), options);
  EXPECT_EQ(loader.batches(), 3);
  EXPECT_EQ(Epoch(loader, 0).size(), 3u);
  options.max_batches = 100;
  EXPECT_EQ(Loader(MakeInMemoryDataset(CountingImages(20, 1, 1, 1)), NoTransforms(), options).batches(), 10);
}

TEST(Loader, AnEpochCanBeLeftInTheMiddle) {
  Loader loader(MakeInMemoryDataset(CountingImages(20, 1, 1, 1)), NoTransforms(), Options(2, true, 3));
  const std::vector<Example> whole = Epoch(loader, 5);
  loader.StartEpoch(4);
  ASSERT_TRUE(loader.Next().ok());
  EXPECT_TRUE(Same(Epoch(loader, 5), whole));
  loader.StartEpoch(6);
}

TEST(Loader, AnEpochCanBeginInTheMiddle) {
  for (const int threads : {0, 2}) {
    Loader loader(MakeInMemoryDataset(CountingImages(19, 1, 1, 1)), NoTransforms(), Options(4, true, threads));
    std::vector<Example> rest = Epoch(loader, 3);
    for (int64_t first = 0; first <= 5; ++first) {
      loader.StartEpoch(3, first);
      std::vector<Example> batches;
      while (const auto batch = *loader.Next()) batches.push_back(*batch);
      EXPECT_EQ(batches.size(), static_cast<size_t>(5 - first));
      EXPECT_TRUE(Same(batches, rest)) << first;
      if (!rest.empty()) rest.erase(rest.begin());
    }
  }
}

TEST(Loader, HandsOnTheDatasetsErrors) {
  auto dataset = std::make_shared<OneByOne>(CountingImages(9, 1, 1, 1));
  dataset->bad_ = 7;
  for (const int threads : {0, 2}) {
    Loader loader(dataset, NoTransforms(), Options(3, false, threads));
    loader.StartEpoch(0);
    EXPECT_TRUE(loader.Next().ok());
    EXPECT_TRUE(loader.Next().ok());
    EXPECT_THAT(loader.Next(), IsInvalid("image 7 is corrupt"));
  }
}

// Notes how many threads operators would use where samples are made.
class Noting : public OneByOne {
 public:
  using OneByOne::OneByOne;
  absl::StatusOr<Example> Get(int64_t index) const override {
    operator_threads_ = at::get_num_threads();
    return OneByOne::Get(index);
  }
  mutable std::atomic<int> operator_threads_{0};
};

TEST(Loader, OperatorsInItsThreadsRunAloneAndTheTrainersKeepTheirThreads) {
  const int before = at::get_num_threads();
  at::set_num_threads(3);
  const auto dataset = std::make_shared<Noting>(CountingImages(4, 1, 1, 1));
  Loader loader(dataset, NoTransforms(), Options(2, false, 2));
  Epoch(loader, 0);
  EXPECT_EQ(dataset->operator_threads_, 1);
  EXPECT_EQ(at::get_num_threads(), 3);
  int elsewhere = 0;
  std::thread([&elsewhere] { elsewhere = at::get_num_threads(); }).join();
  EXPECT_EQ(elsewhere, 3);
  at::set_num_threads(before);
}

TEST(Loader, LeavesTheDefaultGeneratorAlone) {
  const DataSplits splits = SplitsOf(CountingImages(8, 1, 6, 6));
  const auto chain =
      MakeChain({"random_crop { padding: 1 }", "random_flip {}", "random_rotation { degrees: 9 }"}, splits);
  const at::Tensor before = at::detail::getDefaultCPUGenerator().get_state();
  Loader loader(splits.train, *chain, Options(2, true, 0));
  Epoch(loader, 0);
  EXPECT_TRUE(at::equal(before, at::detail::getDefaultCPUGenerator().get_state()));
}

// Gives each sample another shape.
class Ragged : public OneByOne {
 public:
  using OneByOne::OneByOne;
  absl::StatusOr<Example> Get(int64_t index) const override {
    return Example{at::full({index + 1}, 0.0f), at::full({}, 0, at::kLong)};
  }
};

TEST(Loader, RefusesSamplesOfDifferentShapes) {
  Loader loader(std::make_shared<Ragged>(CountingImages(4, 1, 1, 1)), NoTransforms(), Options(2, false, 1));
  loader.StartEpoch(0);
  EXPECT_THAT(loader.Next(), IsInvalid("sample 1: samples of one batch differ: [2] and [1]"));
}

// ---- data that processes share

// Changes its input, which transforms must not do.
class Spoil : public Transform {
 public:
  at::Tensor Apply(const at::Tensor& input, SampleRandom&) const override { return input.mul_(2); }
};

absl::StatusOr<std::unique_ptr<Transform>> MakeSpoil(const Params&, const DataSplits&) {
  return std::make_unique<Spoil>();
}
LANISTA_REGISTER(transform, "spoil", MakeSpoil);

class SharedDataTest : public ::testing::Test {
 protected:
  ~SharedDataTest() override { ShareDataIn(""); }

  // 1.2 MiB of images, transformed so.
  static Loader MakeLoader(const std::vector<std::string>& transforms) {
    const DataSplits splits = SplitsOf(CountingImages(400, 1, 28, 28));
    LoaderOptions options;
    options.batch_size = 50;
    options.order = SampleOrder::kShuffled;
    return Loader(splits.train, MakeChain(transforms, splits).value(), options);
  }

  int CountFiles() const {
    std::error_code error;
    const std::filesystem::directory_iterator files(folder_, error);
    return error ? 0 : static_cast<int>(std::distance(files, std::filesystem::directory_iterator()));
  }

 private:
  const TemporaryFolder temporary_ = TemporaryFolder::Make().value();

 protected:
  const std::string folder_ = temporary_.path() + "/shared";
};

TEST_F(SharedDataTest, LoadersServeTheSameBitsFromOneCopy) {
  const std::vector<std::vector<std::string>> chains = {
      {}, {"normalize { mean: [2] std: [3] }"}, {"custom { name: 'halve' }"}, {"random_flip {}"}};
  for (const auto& chain : chains) {
    ShareDataIn("");
    Loader alone = MakeLoader(chain);
    EXPECT_EQ(CountFiles(), 0);
    ShareDataIn(folder_);
    {
      Loader first = MakeLoader(chain);
      Loader second = MakeLoader(chain);
      EXPECT_EQ(CountFiles(), 1) << "the targets are too small";
      const std::vector<Example> expected = Epoch(alone, 1);
      EXPECT_TRUE(Same(Epoch(first, 1), expected));
      EXPECT_TRUE(Same(Epoch(second, 1), expected));
    }
    RemoveUnusedSharedBytes(folder_);
    EXPECT_EQ(CountFiles(), 0);
  }
}

TEST_F(SharedDataTest, WhatCannotBeSharedIsServedAsItIs) {
  Loader alone = MakeLoader({});
  ShareDataIn("/proc/no_such_folder");
  Loader loader = MakeLoader({});
  EXPECT_TRUE(Same(Epoch(loader, 1), Epoch(alone, 1)));
}

TEST_F(SharedDataTest, ATransformThatChangesItsInputChangesNoData) {
  for (const std::string& folder : {std::string(), folder_}) {
    ShareDataIn(folder);
    Loader loader = MakeLoader({"custom { name: 'spoil' }"});
    const std::vector<Example> first = Epoch(loader, 1);
    EXPECT_TRUE(Same(Epoch(loader, 1), first));
  }
}

}  // namespace
}  // namespace lanista::data

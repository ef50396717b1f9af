// Every dataset: what it serves from good files, and what it says about bad ones.
#include "src/data/dataset.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/data/custom.h"
#include "src/data/transform.h"
#include "tests/data/status_matchers.h"
#include "tests/data/test_files.h"

namespace lanista::data {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

absl::StatusOr<DataSplits> Open(const std::string& text, uint64_t order_seed = 1,
                                std::optional<Task> task = std::nullopt) {
  v1::DatasetConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config)) << text;
  return OpenDataset(config, order_seed, task);
}

auto IsMissing(const std::string& what) {
  return IsError(absl::StatusCode::kNotFound, AllOf(HasSubstr(what), HasSubstr("sought")));
}

Example Sample(const std::shared_ptr<const Dataset>& dataset, int64_t index) {
  absl::StatusOr<Example> example = dataset->Get(index);
  EXPECT_TRUE(example.ok()) << example.status();
  return *std::move(example);
}

std::vector<float> Values(const at::Tensor& tensor) {
  const at::Tensor flat = tensor.contiguous();
  return std::vector<float>(flat.data_ptr<float>(), flat.data_ptr<float>() + flat.numel());
}

std::vector<int64_t> Classes(const std::shared_ptr<const Dataset>& dataset) {
  std::vector<int64_t> classes;
  for (int64_t i = 0; i < dataset->size(); ++i) classes.push_back(Sample(dataset, i).target.item<int64_t>());
  return classes;
}

TEST(Registries, HoldAllThatIsBuiltIn) {
  EXPECT_THAT(DatasetRegistry::Get().Names(), ElementsAre("cifar10", "csv", "idx", "image_folder", "synthetic_digits",
                                                          "custom:blobs", "custom:broken", "custom:uneven"));
  EXPECT_THAT(TransformRegistry::Get().Names(),
              ElementsAre("normalize", "random_crop", "random_flip", "random_rotation", "resize", "custom:halve",
                          "custom:spoil"));
}

TEST(OpenDataset, WithNothingSetNamesWhatThereIs) { EXPECT_THAT(Open(""), IsInvalid("synthetic_digits")); }

// ---- idx

class Idx : public ::testing::Test {
 protected:
  // Four files, the labels of validation compressed.
  void WriteRoot() {
    folder_.Write("train-images-idx3-ubyte", IdxImages(3, 2, 2));
    folder_.Write("train-labels-idx1-ubyte", IdxLabels({0, 1, 2}));
    folder_.Write("t10k-images-idx3-ubyte", IdxImages(2, 2, 2));
    folder_.Write("t10k-labels-idx1-ubyte.gz", Gzip(IdxLabels({4, 3})));
  }
  absl::StatusOr<DataSplits> OpenRoot() { return Open(absl::StrCat("idx { root: '", folder_.path(), "' }")); }

  // One pair with the given contents.
  absl::StatusOr<DataSplits> OpenPair(const std::string& images, const std::string& labels, uint64_t order_seed = 1) {
    return Open(absl::StrCat("idx { images: '", folder_.Write("images", images), "' labels: '",
                             folder_.Write("labels", labels), "' split { train: 0.6 } }"),
                order_seed);
  }

  const TestFolder folder_;
};

TEST_F(Idx, ServesTheFourStandardFiles) {
  WriteRoot();
  const absl::StatusOr<DataSplits> splits = OpenRoot();
  ASSERT_TRUE(splits.ok()) << splits.status();
  EXPECT_EQ(splits->task, Task::kClassification);
  EXPECT_THAT(splits->input_shape, ElementsAre(1, 2, 2));
  EXPECT_EQ(splits->outputs, 5);
  EXPECT_THAT(Classes(splits->train), ElementsAre(0, 1, 2));
  EXPECT_THAT(Classes(splits->validation), ElementsAre(4, 3));
  EXPECT_THAT(Values(Sample(splits->train, 1).input), ElementsAre(4 / 255.0f, 5 / 255.0f, 6 / 255.0f, 7 / 255.0f));
}

TEST_F(Idx, ClassesMayBeMoreThanTheLabelsShow) {
  WriteRoot();
  const auto open = [&](int classes) {
    return Open(absl::StrCat("idx { root: '", folder_.path(), "' classes: ", classes, " }"));
  };
  ASSERT_TRUE(open(10).ok()) << open(10).status();
  EXPECT_EQ(open(10)->outputs, 10);
  EXPECT_THAT(open(4), IsInvalid("idx.classes is 4, but there is a label 4"));
}

TEST_F(Idx, DividesOnePairByItsSeed) {
  const std::vector<uint8_t> labels = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  const auto open = [&](uint64_t seed) { return OpenPair(Gzip(IdxImages(10, 1, 1)), IdxLabels(labels), seed); };
  const absl::StatusOr<DataSplits> splits = open(1);
  ASSERT_TRUE(splits.ok()) << splits.status();
  std::vector<int64_t> train = Classes(splits->train);
  std::vector<int64_t> all = Classes(splits->validation);
  EXPECT_EQ(train.size(), 6u);
  EXPECT_EQ(Classes(open(1)->train), train);
  EXPECT_NE(Classes(open(2)->train), train);
  // Images go with their labels, and nothing is lost.
  for (size_t i = 0; i < train.size(); ++i) EXPECT_EQ(Values(Sample(splits->train, i).input)[0], train[i] / 255.0f);
  all.insert(all.end(), train.begin(), train.end());
  std::sort(all.begin(), all.end());
  EXPECT_THAT(all, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9));
}

TEST_F(Idx, NamesWhatIsMissingWhereItWasSoughtAndTheSyntheticVariant) {
  const absl::StatusOr<DataSplits> none = OpenRoot();
  EXPECT_THAT(none, IsMissing("train-images-idx3-ubyte, train-labels-idx1-ubyte, t10k-images-idx3-ubyte"));
  EXPECT_THAT(none, IsMissing(folder_.path()));
  EXPECT_THAT(none, IsMissing("dataset { synthetic_digits {} }"));
  EXPECT_THAT(Open("idx { root: '/nowhere/at/all' }"), IsMissing("/nowhere/at/all (which does not exist)"));
  WriteRoot();
  std::filesystem::remove(folder_.Path("train-images-idx3-ubyte"));
  EXPECT_THAT(OpenRoot(), IsMissing("idx { images: ... labels: ..."));
  EXPECT_THAT(Open("idx { images: '/nowhere/i' labels: '/nowhere/l' }"), IsMissing("IDX file i "));
}

TEST_F(Idx, RefusesConfigsThatContradictThemselves) {
  EXPECT_THAT(Open("idx {}"), IsInvalid("idx: set 'root' (a folder"));
  EXPECT_THAT(Open("idx { images: 'a' }"), IsInvalid("or both 'images' and 'labels'"));
  EXPECT_THAT(Open("idx { root: 'a' images: 'a' labels: 'b' }"), IsInvalid("idx.root: set either"));
  EXPECT_THAT(Open("idx { root: 'a' split {} }"), IsInvalid("idx.split: a folder has its own validation files"));
}

TEST_F(Idx, RefusesCorruptFiles) {
  const std::string images = IdxImages(3, 2, 2);
  const std::string labels = IdxLabels({0, 1, 2});
  EXPECT_THAT(OpenPair("", labels), IsInvalid("/images: truncated: 4 bytes expected from byte 0 on, 0 are there"));
  EXPECT_THAT(OpenPair(images.substr(0, 15), labels),
              IsInvalid("/images: truncated: 4 bytes expected from byte 12 on, 3 are there"));
  EXPECT_THAT(OpenPair(images.substr(0, 20), labels), IsInvalid("truncated: 12 bytes expected from byte 16 on, 4 are"));
  EXPECT_THAT(OpenPair(images + "x", labels), IsInvalid("unexpected data from byte 28 on"));
  EXPECT_THAT(OpenPair(labels, labels), IsInvalid("not an IDX file of images: it begins with 00000801, not 00000803"));
  EXPECT_THAT(OpenPair(images, images), IsInvalid("/labels: not an IDX file of labels"));
  EXPECT_THAT(OpenPair(images, IdxLabels({0, 1})), IsInvalid("holds 3 images, but"));
  EXPECT_THAT(OpenPair(IdxImages(0, 2, 2), IdxLabels({})), IsInvalid("no samples"));
  EXPECT_THAT(OpenPair(IdxImages(3, 0, 2), labels), IsInvalid("images of 0 x 2 pixels"));
  const std::string gzip = Gzip(IdxImages(3, 20, 20));
  EXPECT_THAT(OpenPair(gzip.substr(0, gzip.size() - 9), labels), IsInvalid("/images: truncated"));
}

TEST_F(Idx, RefusesHugeClaimsWithoutTakingMemory) {
  std::string images = IdxImages(3, 2, 2);
  images.replace(4, 12, std::string("\x7f\xff\xff\xff\0\0\x40\0\0\0\x40\0", 12));
  EXPECT_THAT(OpenPair(images, IdxLabels({0, 1, 2})), IsInvalid("truncated: 576460752034988032 bytes expected"));
  EXPECT_THAT(OpenPair(Gzip(images), IdxLabels({0, 1, 2})), IsInvalid("truncated: 576460752034988032 bytes expected"));
  images.replace(8, 8, std::string(8, '\xff'));
  EXPECT_THAT(OpenPair(images, IdxLabels({0, 1, 2})), IsInvalid("images of 4294967295 x 4294967295 pixels"));
}

TEST_F(Idx, RefusesSplitsThatLeaveNothing) {
  EXPECT_THAT(OpenPair(IdxImages(1, 2, 2), IdxLabels({0})), IsInvalid("of 1 sample(s) leaves none for validation"));
  const std::string pair =
      absl::StrCat("images: '", folder_.Path("images"), "' labels: '", folder_.Path("labels"), "'");
  EXPECT_THAT(Open(absl::StrCat("idx { ", pair, " split { train: 0.1 } }")), IsInvalid("leaves none for training"));
  EXPECT_THAT(Open(absl::StrCat("idx { ", pair, " split { train: 1 } }")),
              IsInvalid("idx.split.train: must be in (0, 1), got 1"));
  EXPECT_THAT(Open(absl::StrCat("idx { ", pair, " split { train: nan } }")),
              IsInvalid("idx.split.train: must be in (0, 1), got nan"));
}

TEST(RealMnist, IsReadWhereThereIsData) {
  const char* data = std::getenv("LANISTA_TEST_DATA");
  if (data == nullptr) GTEST_SKIP() << "LANISTA_TEST_DATA is not set";
  const absl::StatusOr<DataSplits> splits =
      Open(absl::StrCat("idx { images: '", data, "/mnist/t10k-images-idx3-ubyte.gz' labels: '", data,
                        "/mnist/t10k-labels-idx1-ubyte.gz' split { train: 0.8 seed: 1 } }"));
  ASSERT_TRUE(splits.ok()) << splits.status();
  EXPECT_EQ(splits->train->size(), 8000);
  EXPECT_EQ(splits->validation->size(), 2000);
  EXPECT_EQ(splits->outputs, 10);
  EXPECT_THAT(splits->input_shape, ElementsAre(1, 28, 28));
  // MNIST's mean pixel, as everybody knows it.
  EXPECT_NEAR(splits->train->InMemory()->input.mean().item<double>(), 0.1307, 0.004);
}

// ---- cifar10

class Cifar10 : public ::testing::Test {
 protected:
  static std::string Record(uint8_t label, char pixel) {
    return std::string(1, static_cast<char>(label)) + std::string(3072, pixel);
  }
  void WriteAll() {
    for (int i = 1; i <= 5; ++i) {
      folder_.Write(absl::StrCat("data_batch_", i, ".bin"), Record(i, static_cast<char>(10 * i)) + Record(0, '\xff'));
    }
    folder_.Write("test_batch.bin", Record(9, 51));
  }
  absl::StatusOr<DataSplits> OpenRoot() { return Open(absl::StrCat("cifar10 { root: '", folder_.path(), "' }")); }

  const TestFolder folder_;
};

TEST_F(Cifar10, ServesItsSixFiles) {
  WriteAll();
  const absl::StatusOr<DataSplits> splits = OpenRoot();
  ASSERT_TRUE(splits.ok()) << splits.status();
  EXPECT_THAT(splits->input_shape, ElementsAre(3, 32, 32));
  EXPECT_EQ(splits->outputs, 10);
  EXPECT_EQ(splits->class_names[9], "truck");
  EXPECT_THAT(Classes(splits->train), ElementsAre(1, 0, 2, 0, 3, 0, 4, 0, 5, 0));
  EXPECT_EQ(Values(Sample(splits->train, 3).input), std::vector<float>(3072, 1.0f));
  EXPECT_EQ(Values(Sample(splits->validation, 0).input), std::vector<float>(3072, 0.2f));
}

TEST_F(Cifar10, RefusesMissingAndCorruptFiles) {
  EXPECT_THAT(OpenRoot(), IsMissing("data_batch_1.bin, data_batch_2.bin"));
  EXPECT_THAT(Open("cifar10 {}"), IsInvalid("cifar10.root: is required"));
  WriteAll();
  std::filesystem::remove(folder_.Path("data_batch_3.bin"));
  EXPECT_THAT(OpenRoot(), IsMissing("(binary version) data_batch_3.bin not found"));
  folder_.Write("data_batch_3.bin", Record(1, 1).substr(1));
  EXPECT_THAT(OpenRoot(), IsInvalid("data_batch_3.bin: truncated or not CIFAR-10"));
  folder_.Write("data_batch_3.bin", Record(1, 1) + Record(10, 1));
  EXPECT_THAT(OpenRoot(), IsInvalid("data_batch_3.bin: byte 3073: label 10; labels are 0 to 9"));
  folder_.Write("data_batch_3.bin", "");
  EXPECT_THAT(OpenRoot(), IsInvalid("data_batch_3.bin: truncated"));
}

// ---- image_folder

class ImageFolderTest : public ::testing::Test {
 protected:
  absl::StatusOr<DataSplits> OpenRoot(const std::string& rest = "") {
    return Open(absl::StrCat("image_folder { root: '", folder_.path(), "' ", rest, " }"));
  }
  const TestFolder folder_;
  const std::string red_ = EncodePng(2, 3, Plain(2, 3, 255, 0, 0));
  const std::string grey_ = EncodeJpeg(2, 3, Plain(2, 3, 51, 51, 51));
};

TEST_F(ImageFolderTest, ServesTrainAndValidationFolders) {
  folder_.Write("train/b/2.JPG", grey_);
  folder_.Write("train/b/10.jpeg", grey_);
  folder_.Write("train/a/1.png", red_);
  folder_.Write("train/a/notes.txt", "not an image");
  folder_.Write("train/.hidden/1.png", "junk");
  folder_.Write("validation/b/1.png", red_);
  const absl::StatusOr<DataSplits> splits = OpenRoot();
  ASSERT_TRUE(splits.ok()) << splits.status();
  EXPECT_THAT(splits->class_names, ElementsAre("a", "b"));
  EXPECT_EQ(splits->outputs, 2);
  EXPECT_THAT(splits->input_shape, ElementsAre(3, 2, 3));
  EXPECT_THAT(Classes(splits->train), ElementsAre(0, 1, 1));
  EXPECT_THAT(Classes(splits->validation), ElementsAre(1));
  const std::vector<float> red = {1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  EXPECT_EQ(Values(Sample(splits->train, 0).input), red);
  EXPECT_NEAR(Values(Sample(splits->train, 1).input)[0], 0.2, 0.01);
  EXPECT_EQ(splits->train->InMemory(), nullptr);
}

TEST_F(ImageFolderTest, RefusesAClassWhoseNameIsNotUtf8) {
  folder_.Write("gr\xf6n/1.png", red_);
  EXPECT_THAT(OpenRoot(), IsInvalid("gr\xef\xbf\xbdn: the class's name is not UTF-8"));
}

TEST_F(ImageFolderTest, DividesClassFoldersByTheSplit) {
  for (int i = 0; i < 10; ++i) folder_.Write(absl::StrCat(i % 2 == 0 ? "even/" : "odd/", i, ".png"), red_);
  const absl::StatusOr<DataSplits> splits = OpenRoot("split { train: 0.7 seed: 3 }");
  ASSERT_TRUE(splits.ok()) << splits.status();
  EXPECT_EQ(splits->train->size(), 7);
  EXPECT_EQ(splits->validation->size(), 3);
  EXPECT_THAT(splits->class_names, ElementsAre("even", "odd"));
}

TEST_F(ImageFolderTest, ResizesAndConvertsToGrey) {
  folder_.Write("train/a/1.png", red_);
  folder_.Write("val/a/1.png", EncodePng(5, 5, Plain(5, 5, 255, 255, 255)));
  const absl::StatusOr<DataSplits> splits = OpenRoot("height: 4 width: 2 channels: 1");
  ASSERT_TRUE(splits.ok()) << splits.status();
  EXPECT_THAT(splits->input_shape, ElementsAre(1, 4, 2));
  EXPECT_EQ(Values(Sample(splits->validation, 0).input), std::vector<float>(8, 1.0f));
  EXPECT_THAT(Values(Sample(splits->train, 0).input), ::testing::Each(::testing::FloatNear(0.299f, 0.002f)));
}

TEST_F(ImageFolderTest, RefusesImagesOfDifferentSizesAndCorruptOnesWhenTheyAreRead) {
  folder_.Write("train/a/1.png", red_);
  folder_.Write("train/a/2.png", EncodePng(5, 5, Plain(5, 5, 0, 0, 0)));
  folder_.Write("train/a/3.png", red_.substr(0, red_.size() / 2));
  folder_.Write("val/a/1.png", red_);
  const absl::StatusOr<DataSplits> splits = OpenRoot();
  ASSERT_TRUE(splits.ok()) << splits.status();
  EXPECT_THAT(splits->train->Get(1), IsInvalid("train/a/2.png: 5 x 5 pixels, but the first image has 2 x 3; name the"));
  EXPECT_THAT(splits->train->Get(2), IsInvalid("train/a/3.png: corrupt PNG"));
}

TEST_F(ImageFolderTest, RefusesFoldersThatDoNotFit) {
  EXPECT_THAT(Open("image_folder {}"), IsInvalid("image_folder.root: is required"));
  EXPECT_THAT(Open("image_folder { root: '/nowhere' }"), IsMissing("/nowhere"));
  EXPECT_THAT(OpenRoot(), IsInvalid("no images; one folder a class"));
  folder_.Write("train/a/1.png", red_);
  EXPECT_THAT(OpenRoot(), IsMissing("val/, validation/ or test/"));
  EXPECT_THAT(OpenRoot("split {}"), IsInvalid("leave `split` out"));
  folder_.Write("val/b/1.png", red_);
  EXPECT_THAT(OpenRoot(), IsInvalid("val/b: the training images have no such class; they have a"));
  std::filesystem::rename(folder_.Path("val/b"), folder_.Path("val/a"));
  EXPECT_TRUE(OpenRoot().ok());
  EXPECT_THAT(OpenRoot("height: 3"), IsInvalid("'height' and 'width' go together"));
  EXPECT_THAT(OpenRoot("height: 3 width: -1"), IsInvalid("image_folder.width: must be in [1, 8192], got -1"));
  EXPECT_THAT(OpenRoot("channels: 2"), IsInvalid("channels: must be 1 (grey) or 3 (RGB), got 2"));
  folder_.Write("train/a/1.png", "junk");
  EXPECT_THAT(OpenRoot(), IsInvalid("1.png: neither a JPEG nor a PNG"));
}

// ---- csv

class Csv : public ::testing::Test {
 protected:
  absl::StatusOr<DataSplits> OpenTable(const std::string& text, const std::string& rest = "",
                                       std::optional<Task> task = std::nullopt) {
    return Open(absl::StrCat("csv { path: '", folder_.Write("table.csv", text), "' ", rest, " }"), 1, task);
  }
  const TestFolder folder_;
};

TEST_F(Csv, RegressionLearnsNumbersFromStandardisedFeatures) {
  const std::string validation = folder_.Write("validation.csv", "a,b,y\n4,7,9\n");
  const absl::StatusOr<DataSplits> splits =
      OpenTable("a,b,y\n1,7,0.5\n3,7,-1\n", absl::StrCat("validation_path: '", validation, "'"));
  ASSERT_TRUE(splits.ok()) << splits.status();
  EXPECT_EQ(splits->task, Task::kRegression);
  EXPECT_EQ(splits->outputs, 1);
  EXPECT_THAT(splits->input_shape, ElementsAre(2));
  // Mean 2 and deviation 1 of the training rows; a constant column becomes 0.
  EXPECT_THAT(Values(splits->train->InMemory()->input), ElementsAre(-1, 0, 1, 0));
  EXPECT_THAT(Values(splits->validation->InMemory()->input), ElementsAre(2, 0));
  EXPECT_THAT(Values(Sample(splits->train, 1).target), ElementsAre(-1));
  // What users of a trained model have to know.
  EXPECT_THAT(splits->feature_names, ElementsAre("a", "b"));
  EXPECT_THAT(splits->target_names, ElementsAre("y"));
  ASSERT_EQ(splits->preprocessing.size(), 1u);
  EXPECT_EQ(splits->preprocessing[0].ShortDebugString(), "standardization { mean: 2 mean: 7 std: 1 std: 1 }");
}

TEST_F(Csv, AColumnThatIsConstantInTrainingIsNotScaled) {
  // The sum of 0.1s divided by their number is not 0.1.
  const std::string validation = folder_.Write("validation.csv", "a,y\n0.2,9\n");
  std::string table = "a,y\n";
  for (int row = 0; row < 200; ++row) table += "0.1,1\n";
  const absl::StatusOr<DataSplits> splits = OpenTable(table, absl::StrCat("validation_path: '", validation, "'"));
  ASSERT_TRUE(splits.ok()) << splits.status();
  EXPECT_EQ(splits->preprocessing[0].ShortDebugString(), "standardization { mean: 0.1 std: 1 }");
  EXPECT_THAT(Values(splits->validation->InMemory()->input), ElementsAre(0.1f));
}

TEST_F(Csv, ClassificationNumbersTheTextsOfTheTarget) {
  const std::string validation = folder_.Write("validation.csv", "k,x\ncat,3\n");
  const std::string columns = absl::StrCat("target_columns: 'k' validation_path: '", validation, "'");
  const absl::StatusOr<DataSplits> splits = OpenTable("k,x\ndog,1\n\"ape\",2\ncat,4\n", columns);
  ASSERT_TRUE(splits.ok()) << splits.status();
  EXPECT_EQ(splits->task, Task::kClassification);
  EXPECT_THAT(splits->class_names, ElementsAre("ape", "cat", "dog"));
  EXPECT_THAT(Classes(splits->train), ElementsAre(2, 0, 1));
  EXPECT_THAT(Classes(splits->validation), ElementsAre(1));
  EXPECT_THAT(OpenTable("k,x\ndog,1\n", columns),
              IsInvalid("validation.csv:2: column 'k': the class 'cat' is in no row of "));
}

TEST_F(Csv, IntegersThatNoDoubleTellsApartAreClassesOfTheirOwn) {
  const absl::StatusOr<DataSplits> splits =
      OpenTable("x,y\n1,9007199254740993\n2,9007199254740992\n", "split { train: 0.5 }", Task::kClassification);
  ASSERT_TRUE(splits.ok()) << splits.status();
  EXPECT_THAT(splits->class_names, ElementsAre("9007199254740992", "9007199254740993"));
}

TEST_F(Csv, ANumberIsOneClassHoweverItIsWritten) {
  const std::string validation = folder_.Write("validation.csv", "x,y\n1,0.0\n2,10.0\n3,2.0\n");
  const absl::StatusOr<DataSplits> splits = OpenTable(
      "x,y\n1,10\n2,0\n3,2\n4,2.0\n", absl::StrCat("validation_path: '", validation, "'"), Task::kClassification);
  ASSERT_TRUE(splits.ok()) << splits.status();
  EXPECT_THAT(splits->class_names, ElementsAre("0", "2", "10"));
  EXPECT_THAT(Classes(splits->train), ElementsAre(2, 0, 1, 1));
  EXPECT_THAT(Classes(splits->validation), ElementsAre(0, 2, 1));
}

TEST_F(Csv, TheEvaluatorsTaskDecidesAboutATargetOfNumbers) {
  const std::string table = "x,y\n1,10\n2,9\n3,10\n4,9\n5,10\n";
  EXPECT_EQ(OpenTable(table)->task, Task::kRegression);
  const absl::StatusOr<DataSplits> splits = OpenTable(table, "", Task::kClassification);
  ASSERT_TRUE(splits.ok()) << splits.status();
  EXPECT_THAT(splits->class_names, ElementsAre("9", "10"));
  EXPECT_THAT(OpenTable("x,y\n1,2\n3,2o\n", "", Task::kRegression),
              IsInvalid("table.csv:3: column 'y': '2o' is not a finite number"));
}

TEST_F(Csv, ChoosesColumnsByNameOrNumber) {
  const std::string rest =
      "header: false delimiter: ';' standardize: false feature_columns: ['2', '0'] "
      "target_columns: ['3', '1'] split { train: 0.5 }";
  const absl::StatusOr<DataSplits> splits = OpenTable("1;2;3;4\n1;2;3;4\n", rest);
  ASSERT_TRUE(splits.ok()) << splits.status();
  EXPECT_EQ(splits->outputs, 2);
  EXPECT_THAT(Values(Sample(splits->train, 0).input), ElementsAre(3, 1));
  EXPECT_THAT(Values(Sample(splits->train, 0).target), ElementsAre(4, 2));
}

TEST_F(Csv, RefusesRowsWithLineAndColumn) {
  EXPECT_THAT(OpenTable("a,y\n1,2\n\n3\n"), IsInvalid("table.csv:4: 1 fields, but the first line has 2"));
  EXPECT_THAT(OpenTable("a,y\n1,2\n1,2,3\n"), IsInvalid("table.csv:3: 3 fields"));
  EXPECT_THAT(OpenTable("a,y\nNaN,2\n"), IsInvalid("table.csv:2: column 'a': 'NaN' is not a finite number"));
  EXPECT_THAT(OpenTable("a,y\n-inf,2\n"), IsInvalid("'-inf' is not a finite number"));
  EXPECT_THAT(OpenTable("a,y\n1e60,2\n"), IsInvalid("'1e60' is not a finite number"));
  EXPECT_THAT(OpenTable("a,y\n,2\n"), IsInvalid("table.csv:2: column 'a': the field is empty"));
  EXPECT_THAT(OpenTable("a,y\none,2\n"), IsInvalid("table.csv:2: column 'a': 'one' is not"));
  EXPECT_THAT(OpenTable("a,y\n1, \n"), IsInvalid("table.csv:2: column 'y': the target is empty"));
  EXPECT_THAT(OpenTable("a,y\n1,nan\n2,3\n", "", Task::kRegression), IsInvalid("table.csv:2: column 'y': 'nan'"));
  EXPECT_THAT(OpenTable("a,y\n1,\"2\n"), IsInvalid("table.csv:2: a quote opens"));
  // As Latin-1, with a letter of one byte.
  EXPECT_THAT(OpenTable("gr\xf6\xdf"
                        "e,y\n1,2\n"),
              IsInvalid("table.csv:1: 'gr\xef\xbf\xbd"
                        "e' is not UTF-8"));
  EXPECT_THAT(OpenTable("a,y\n1,K\xf6ln\n"), IsInvalid("table.csv:2: 'K\xef\xbf\xbdln' is not UTF-8"));
}

TEST_F(Csv, RefusesTablesAndColumnsThatDoNotFit) {
  EXPECT_THAT(Open("csv {}"), IsInvalid("csv.path: is required"));
  EXPECT_THAT(Open("csv { path: '/nowhere/t.csv' }"), IsMissing("/nowhere/t.csv"));
  EXPECT_THAT(OpenTable(""), IsInvalid("no rows"));
  EXPECT_THAT(OpenTable("a,y\n"), IsInvalid("no rows"));
  EXPECT_THAT(OpenTable("a;y\n1;2\n"), IsInvalid("is the delimiter right? The columns are: a;y"));
  EXPECT_THAT(OpenTable("a,y\n1,2\n", "target_columns: 'z'"), IsInvalid("no column 'z'; there are a, y"));
  EXPECT_THAT(OpenTable("a,y\n1,2\n", "feature_columns: 'y'"), IsInvalid("'y' is a feature and a target"));
  EXPECT_THAT(OpenTable("a,a\n1,2\n"), IsInvalid("two columns are named 'a'"));
  EXPECT_THAT(OpenTable("a,y\n1,2\n", "delimiter: ''"), IsInvalid("delimiter: must be one character"));
  EXPECT_THAT(OpenTable("a,y\n1,2\n", "validation_path: 'v' split {}"), IsInvalid("csv.split: goes with one table"));
  EXPECT_THAT(OpenTable("a,b,y\n1,u,2\n", "target_columns: ['b', 'y']", Task::kClassification),
              IsInvalid("classification wants one target column, not 2"));
  const std::string other = folder_.Write("other.csv", "a,z\n1,2\n");
  EXPECT_THAT(OpenTable("a,y\n1,2\n", absl::StrCat("validation_path: '", other, "' target_columns: 'y'")),
              IsInvalid("other.csv: there is no column 'y'"));
}

// ---- synthetic_digits

TEST(SyntheticDigits, AreManyAndTheSameForTheSameSeed) {
  const std::string config = "synthetic_digits { train_samples: 30 validation_samples: 20 }";
  const absl::StatusOr<DataSplits> splits = Open(config, 5);
  ASSERT_TRUE(splits.ok()) << splits.status();
  EXPECT_EQ(splits->train->size(), 30);
  EXPECT_EQ(splits->validation->size(), 20);
  EXPECT_THAT(splits->input_shape, ElementsAre(1, 28, 28));
  EXPECT_EQ(splits->outputs, 10);
  const at::Tensor& train = splits->train->InMemory()->input;
  EXPECT_TRUE(at::equal(train, Open(config, 5)->train->InMemory()->input));
  EXPECT_FALSE(at::equal(train, Open(config, 6)->train->InMemory()->input));
  EXPECT_FALSE(at::equal(train.narrow(0, 0, 20), splits->validation->InMemory()->input));
  // A seed of their own comes before the experiment's; more samples begin with the same ones.
  const auto seeded = [](int samples, uint64_t order_seed) {
    return Open(absl::StrCat("synthetic_digits { seed: 9 train_samples: ", samples, " }"), order_seed);
  };
  EXPECT_TRUE(
      at::equal(seeded(10, 1)->train->InMemory()->input, seeded(15, 2)->train->InMemory()->input.narrow(0, 0, 10)));
}

TEST(SyntheticDigits, RefuseValuesOutOfRange) {
  EXPECT_THAT(Open("synthetic_digits { train_samples: 0 }"),
              IsInvalid("train_samples: must be in [1, 1000000], got 0"));
  EXPECT_THAT(Open("synthetic_digits { validation_samples: 2000000 }"), IsInvalid("validation_samples"));
  EXPECT_THAT(Open("synthetic_digits { noise: nan }"), IsInvalid("noise: must be in [0, 1], got nan"));
  EXPECT_THAT(Open("synthetic_digits {}", 1, Task::kRegression), IsInvalid("use it with the classification evaluator"));
}

// ---- custom

// Two samples of a table, with one target each, as the parameters say.
absl::StatusOr<DataSplits> MakeBlobs(const Params& params, const DatasetRequest& request) {
  DataSplits splits;
  splits.task = request.task.value_or(Task::kRegression);
  splits.outputs = 1;
  at::Tensor input = at::zeros({2, 3}, at::kFloat);
  if (params.Has("bad_input")) input[1][2] = std::numeric_limits<float>::quiet_NaN();
  at::Tensor target = splits.task == Task::kRegression ? at::zeros({2, 1}, at::kFloat) : at::zeros({2}, at::kLong);
  target.fill_(params.Get<double>("target", 0));
  splits.input_shape = {params.Get<int64_t>("width", 3)};
  splits.train = MakeInMemoryDataset({input, target});
  splits.validation = splits.train;
  if (params.Has("no_validation")) splits.validation = nullptr;
  return splits;
}
LANISTA_REGISTER(dataset, "blobs", MakeBlobs);

// Says that it has as many samples as targets, however many inputs there are.
class TargetsCount : public Dataset {
 public:
  explicit TargetsCount(Example all) : all_(std::move(all)) {}
  int64_t size() const override { return all_.target.size(0); }
  absl::StatusOr<Example> Get(int64_t index) const override {
    return Example{all_.input.select(0, index), all_.target.select(0, index)};
  }
  const Example* InMemory() const override { return &all_; }

 private:
  const Example all_;
};

absl::StatusOr<DataSplits> MakeUneven(const Params& params, const DatasetRequest&) {
  DataSplits splits;
  splits.task = Task::kRegression;
  splits.outputs = 1;
  splits.input_shape = {3};
  const at::Tensor inputs = at::zeros({params.Get<int64_t>("inputs", 2), 3}, at::kFloat);
  const at::Tensor targets = at::zeros({params.Get<int64_t>("targets", 2), 1}, at::kFloat);
  if (params.Has("no_inputs")) {
    splits.train = MakeInMemoryDataset({inputs, targets});
    splits.validation = std::make_shared<TargetsCount>(Example{at::Tensor(), targets});
  } else {
    splits.train = splits.validation = std::make_shared<TargetsCount>(Example{inputs, targets});
  }
  return splits;
}
LANISTA_REGISTER(dataset, "uneven", MakeUneven);

absl::StatusOr<DataSplits> MakeBroken(const Params&, const DatasetRequest&) {
  return absl::UnavailableError("the disk is away");
}
LANISTA_REGISTER(dataset, "broken", MakeBroken);

absl::StatusOr<DataSplits> OpenBlobs(const std::string& params, std::optional<Task> task = std::nullopt) {
  return Open(absl::StrCat("custom { name: 'blobs' ", params, " }"), 1, task);
}

TEST(CustomDataset, GetsItsParamsAndIsServed) {
  const absl::StatusOr<DataSplits> splits = OpenBlobs("params { key: 'target' value { f: 2.5 } }");
  ASSERT_TRUE(splits.ok()) << splits.status();
  EXPECT_THAT(Values(Sample(splits->train, 0).target), ElementsAre(2.5));
  EXPECT_THAT(OpenBlobs("params { key: 'traget' value { f: 2.5 } }"),
              IsInvalid("the dataset 'blobs' has no parameter 'traget'; did you mean 'target'?"));
  EXPECT_THAT(Open("custom { name: 'broken' }"), IsError(absl::StatusCode::kUnavailable, "the disk is away"));
  EXPECT_THAT(Open("custom { name: 'unknown' }"), IsError(absl::StatusCode::kNotFound, HasSubstr("custom:blobs")));
}

TEST(CustomDataset, IsCheckedBeforeAnyoneTrainsOnIt) {
  EXPECT_THAT(OpenBlobs("params { key: 'bad_input' value {} }"),
              IsInvalid("dataset 'blobs', training: the input of sample 1 holds a NaN"));
  EXPECT_THAT(OpenBlobs("params { key: 'target' value { f: nan } }"), IsInvalid("the target of sample 0 is NaN"));
  EXPECT_THAT(OpenBlobs("params { key: 'target' value { f: 1 } }", Task::kClassification),
              IsInvalid("sample 0 has class 1, but there are 1 classes"));
  EXPECT_THAT(OpenBlobs("params { key: 'width' value { i: 4 } }"), IsInvalid("inputs have shape [3], not [4]"));
  EXPECT_THAT(OpenBlobs("params { key: 'no_validation' value {} }"), IsInvalid("validation: there are no samples"));
}

TEST(CustomDataset, HasOneInputForEachSample) {
  EXPECT_TRUE(Open("custom { name: 'uneven' }").ok());
  EXPECT_THAT(Open("custom { name: 'uneven' params { key: 'targets' value { i: 5 } } }"),
              IsInvalid("training: inputs in memory are contiguous float32 on the CPU, one for each of 5 samples"));
  EXPECT_THAT(Open("custom { name: 'uneven' params { key: 'inputs' value { i: 5 } } }"),
              IsInvalid("one for each of 2 samples"));
  EXPECT_THAT(Open("custom { name: 'uneven' params { key: 'no_inputs' value {} } }"),
              IsInvalid("validation: inputs in memory are"));
}

}  // namespace
}  // namespace lanista::data

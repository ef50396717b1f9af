// The examples' configurations run as they stand, with fewer and smaller models. (Other tests run those of
// multi_objective, torchscript, python, project and quickstart_cpp.)
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/e2e/command.h"

namespace lanista {
namespace {

// Trains little, wherever the images come from.
const std::vector<std::string>& Quickly() {
  static const auto* const options =
      new std::vector<std::string>{"--set", "max_trial_number=3", "--set", "evaluator.classification.max_epochs=1"};
  return *options;
}

nlohmann::json RunExample(const std::string& program, const std::string& name, const std::string& dataset) {
  std::vector<std::string> arguments = {"--state-dir", FreshFolder(), "--json", "run",
                                        absl::StrCat("examples/", name, "/experiment.textproto")};
  arguments.insert(arguments.end(), Quickly().begin(), Quickly().end());
  arguments.insert(arguments.end(), {"--set", "evaluator.classification.dataset=" + dataset});
  const CommandResult result = RunCommand(program, arguments);
  EXPECT_EQ(result.exit_code, 0) << name << ": " << result.err;
  return result.Json();
}

constexpr char kDigits[] = "{ synthetic_digits { train_samples: 100 validation_samples: 50 } }";

TEST(ExamplesTest, SearchesOnDrawnDigits) {
  for (const char* const name : {"quickstart", "cgo", "early_stopping"}) {
    const nlohmann::json models = RunExample(kLanista, name, kDigits)["models"];
    EXPECT_EQ(models["succeeded"].get<int>() + models["stopped_early"].get<int>(), 3) << name;
  }
}

TEST(ExamplesTest, AProgramWithASpaceAndAMutatorOfItsOwn) {
  EXPECT_EQ(RunExample(std::getenv("MOBILENET"), "mobilenet", kDigits)["models"]["succeeded"], 3);
}

TEST(ExamplesTest, Mnist) {
  const char* const data = std::getenv("LANISTA_TEST_DATA");
  const std::string images = absl::StrCat(data == nullptr ? "" : data, "/mnist/t10k-images-idx3-ubyte.gz");
  const std::string labels = absl::StrCat(data == nullptr ? "" : data, "/mnist/t10k-labels-idx1-ubyte.gz");
  if (!std::filesystem::exists(images)) GTEST_SKIP() << "there is no " << images;
  // One pair of files in the place of the data set's four.
  const std::string dataset =
      absl::StrCat("{ idx { images: '", images, "' labels: '", labels, "' split { train: 0.1 seed: 1 } } }");
  EXPECT_EQ(RunExample(kLanista, "mnist", dataset)["models"]["succeeded"], 3);
}

}  // namespace
}  // namespace lanista

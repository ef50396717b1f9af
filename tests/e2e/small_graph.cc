#include "tests/e2e/small_graph.h"

#include <fstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tests/e2e/command.h"

namespace lanista {
namespace {

constexpr char kSearch[] = R"(
  name: "kept"
  space { SPACE }
  engine { graph {} }
  strategy { grid_search {} }
  evaluator {
    classification {
      dataset { synthetic_digits { train_samples: 60 validation_samples: SAMPLES } }
      batch_size: 20
      max_epochs: 1
    }
  }
  max_trial_number: MODELS
  keep_weights { best: BEST }
  seed: 5
)";

}  // namespace

std::string WriteSearchWithKeptWeights(int models, int best, int validation_samples) {
  const std::string folder = FreshFolder();
  std::ofstream(folder + "/net.textproto") << kSmallGraph;
  std::string path = folder + "/search.textproto";
  std::ofstream(path) << absl::StrReplaceAll(kSearch, {{"SPACE", kSmallGraphSpace},
                                                       {"SAMPLES", absl::StrCat(validation_samples)},
                                                       {"MODELS", absl::StrCat(models)},
                                                       {"BEST", absl::StrCat(best)}});
  return path;
}

}  // namespace lanista

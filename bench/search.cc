// What the strategies find on a table of networks that were all trained before, against random search; and how long
// they think. Plain objects in virtual time: eight models in flight, outcomes in any order.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "bench/harness.h"
#include "bench/table_search.h"
#include "google/protobuf/text_format.h"
#include "protos/experiment.pb.h"
#include "spdlog/spdlog.h"
#include "src/config/validate.h"
#include "src/space/draw.h"
#include "src/space/space.h"
#include "src/strategies/strategy.h"

namespace lanista::bench {
namespace {

struct Options {
  std::string table;
  std::vector<std::string> choices;
  std::string metric;
  std::string cost;
  // Besides those of the figures: what the user wrote, and what it means.
  std::vector<std::pair<std::string, v1::StrategyConfig>> strategies;
  // Besides that of the figures.
  std::vector<std::string> stoppers;
  int models = 200;
  int seeds = 50;
};

[[noreturn]] void Fail(const std::string& message) {
  std::fprintf(stderr, "benchmark: %s\n", message.c_str());
  std::exit(1);
}

int ParseCount(const std::string& flag, const std::string& text) {
  int number = 0;
  if (!absl::SimpleAtoi(text, &number) || number < 1)
    Fail(absl::StrCat(flag, " takes a number of at least 1, not ", text));
  return number;
}

// "tpe { candidates: 12 }", as in a configuration.
v1::StrategyConfig ParseStrategy(const std::string& text) {
  v1::StrategyConfig config;
  if (!google::protobuf::TextFormat::ParseFromString(text, &config)) Fail(absl::StrCat("no strategy: ", text));
  CheckOk(CheckConfig(config, "--strategy"));
  return config;
}

// "asha { reduction_factor: 3 }", as in a configuration.
v1::EarlyStoppingConfig ParseStopping(const std::string& text) {
  v1::EarlyStoppingConfig config;
  if (!google::protobuf::TextFormat::ParseFromString(text, &config)) Fail(absl::StrCat("no early stopping: ", text));
  CheckOk(CheckConfig(config, "--stopping"));
  return config;
}

Options ParseOptions(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string flag = argv[i];
    if (flag == "--quick") {
      options.models = 100;
      options.seeds = 5;
      continue;
    }
    if (i + 1 == argc) Fail(absl::StrCat(flag, " takes a value"));
    const std::string value = argv[++i];
    if (flag == "--table") {
      // `bazel run` starts programs elsewhere.
      const char* const folder = std::getenv("BUILD_WORKING_DIRECTORY");
      options.table = folder == nullptr ? value : (std::filesystem::path(folder) / value).string();
    } else if (flag == "--choices") {
      options.choices = absl::StrSplit(value, ',');
    } else if (flag == "--metric") {
      options.metric = value;
    } else if (flag == "--cost") {
      options.cost = value;
    } else if (flag == "--strategy") {
      options.strategies.emplace_back(value, ParseStrategy(value));
    } else if (flag == "--stopping") {
      ParseStopping(value);
      options.stoppers.push_back(value);
    } else if (flag == "--models") {
      options.models = ParseCount(flag, value);
    } else if (flag == "--seeds") {
      options.seeds = ParseCount(flag, value);
    } else {
      Fail(absl::StrCat(
          "unknown option ", flag,
          "; known: --table, --choices, --metric, --cost, --strategy, --stopping, --models, --seeds, --quick"));
    }
  }
  if (!options.table.empty() && (options.choices.empty() || options.metric.empty())) {
    Fail("--table needs --choices COLUMN,COLUMN,... and --metric COLUMN");
  }
  return options;
}

// Milliseconds of an Ask for one model, of 20 choices of 5, with `told` models told about: the median of some, each
// after another outcome.
double AskMilliseconds(const std::string& name, int told) {
  v1::SpaceSpec spec;
  spec.set_complete(true);
  for (int i = 0; i < 20; ++i) {
    v1::Choice choice = MakeChoice(absl::StrCat("choice_", i));
    for (int option = 0; option < 5; ++option) choice.add_candidates()->set_i(option);
    *spec.add_choices() = choice;
  }
  const Space space = ValueOrDie(Space::FromProto(spec));
  const std::unique_ptr<Strategy> strategy =
      ValueOrDie(StrategyRegistry::Get().Create(ParseStrategy(name + " {}"), StrategyContext(space, 1)));
  std::mt19937_64 random(2);
  const auto tell = [&](const v1::Sample& sample) {
    Observation observation;
    observation.outcome = v1::ModelEnded::SUCCEEDED;
    observation.value = UniformReal(random);
    for (const v1::Decision& decision : sample.decisions()) *observation.value += decision.index(0);
    strategy->Tell(sample, observation);
  };
  for (int i = 0; i < told; ++i) tell(space.Random(random));
  std::vector<double> milliseconds;
  for (int i = 0; i < 51; ++i) {
    const Stopwatch watch;
    const Strategy::Proposal proposal = ValueOrDie(strategy->Ask(1));
    milliseconds.push_back(watch.Seconds() * 1000);
    tell(proposal.samples[0]);
  }
  return Median(milliseconds);
}

// Figures by name, in their order.
using Figures = std::vector<std::pair<std::string, double>>;

Search SearchFor(const v1::StrategyConfig& strategy, int models) {
  Search search;
  search.strategy = strategy;
  search.models = models;
  return search;
}

// Hits and regrets of the strategies with their defaults, and of those that the user names.
void CompareRegrets(const Table& table, const Options& options, Figures* figures) {
  std::printf("%-40s %6s %14s %10s\n", "strategy", "hits", "median regret", "p");
  std::vector<double> random_regrets;
  // Prints a row; the figures are for `name`, unless it is empty.
  const auto compare = [&](const std::string& text, const v1::StrategyConfig& strategy, const std::string& name) {
    std::vector<double> regrets;
    for (int seed = 1; seed <= options.seeds; ++seed) {
      regrets.push_back(Regret(table, RunSearch(table, SearchFor(strategy, options.models), seed).rows));
    }
    if (name == "random") random_regrets = regrets;
    const auto hits = static_cast<double>(std::count(regrets.begin(), regrets.end(), 0));
    const double p = MannWhitney(regrets, random_regrets);
    std::printf("%-40s %6.0f %14.4f %10.2g\n", text.c_str(), hits, Median(regrets), p);
    if (name.empty()) return;
    figures->emplace_back(name + "_hits", hits);
    figures->emplace_back(name + "_median_regret", Median(regrets));
    figures->emplace_back(name + "_p", p);
  };
  for (const std::string name : {"random", "evolution", "tpe", "policy_rl"}) {
    compare(name + " {}", ParseStrategy(name + " {}"), name);
  }
  for (const auto& [text, strategy] : options.strategies) compare(text, strategy, "");
}

void CompareHypervolumes(const Table& table, const Options& options, Figures* figures) {
  const Hypervolume hypervolume(table);
  for (const std::string name : {"random", "nsga2"}) {
    Search search = SearchFor(ParseStrategy(name + " {}"), options.models);
    search.with_cost = true;
    std::vector<double> shares;
    for (int seed = 1; seed <= options.seeds; ++seed) {
      shares.push_back(hypervolume.Share(RunSearch(table, search, seed).rows));
    }
    std::printf("%s: hypervolume, median: %.4f of the table's\n", name.c_str(), Median(shares));
    figures->emplace_back(name + "_hypervolume", Median(shares));
  }
}

// How much of the metric is a point: a hundredth where it is a fraction, such as an accuracy of 0.93.
double PointOf(const Table& table) {
  const auto [worst, best] = std::minmax_element(table.values.begin(), table.values.end());
  return *worst >= 0 && *best <= 1 ? 0.01 : 1;
}

// Searches with each of the seeds.
struct Searches {
  // Parts of what all models take that run to their end.
  std::vector<double> epochs;
  // In points.
  std::vector<double> regrets;
};

// Runs searches and prints a row about them.
Searches RunSearches(const Table& table, const Search& search, const std::string& text, int seeds, int full_epochs) {
  Searches searches;
  for (int seed = 1; seed <= seeds; ++seed) {
    const SearchResult result = RunSearch(table, search, seed);
    searches.epochs.push_back(result.epochs / static_cast<double>(full_epochs));
    searches.regrets.push_back(Regret(table, result.rows) / PointOf(table));
  }
  const auto hits = std::count(searches.regrets.begin(), searches.regrets.end(), 0);
  std::printf("%-50s %7.1f%% %7.1f%% %6d %15.3f\n", text.c_str(), 100 * Median(searches.epochs),
              100 * *std::max_element(searches.epochs.begin(), searches.epochs.end()), static_cast<int>(hits),
              Median(searches.regrets));
  return searches;
}

// What early stopping saves of the epochs of full training, and what it costs, with as many models; then what tpe finds
// beyond random search with as many epochs. docs/early_stopping.md says what the figures mean.
void CompareStopping(const Table& table, const Options& options, Figures* figures) {
  const int models = std::min(options.models, static_cast<int>(table.values.size()));
  const int full_epochs = models * table.epochs();
  const auto run = [&](const std::string& strategy, const std::string& stopping, bool equal_epochs) {
    Search search;
    search.strategy = ParseStrategy(strategy + " {}");
    if (!stopping.empty()) search.stopping = ParseStopping(stopping);
    if (equal_epochs) {
      search.epochs = std::max(1, full_epochs / 4);
    } else {
      search.models = models;
    }
    const std::string text = absl::StrCat(strategy, " {}", stopping.empty() ? "" : ", ", stopping);
    return RunSearches(table, search, text, options.seeds, full_epochs);
  };
  const auto print_head = [](const std::string& what) {
    std::printf("%-50s %8s %8s %6s %15s\n", what.c_str(), "epochs", "at most", "hits", "regret (points)");
  };
  const std::string asha = "asha { reduction_factor: 3 }";
  print_head(absl::StrCat(models, " models"));
  const Searches whole = run("random", "", false);
  const Searches stopped = run("random", asha, false);
  run("random", "hyperband {}", false);
  run("random", "median {}", false);
  // The same seed draws the same models.
  int as_good = 0;
  for (int i = 0; i < options.seeds; ++i) as_good += stopped.regrets[i] == whole.regrets[i] ? 1 : 0;
  std::printf("random: with asha as good a model as without in %d of %d searches\n", as_good, options.seeds);

  print_head("a quarter of these models' epochs");
  const auto compare = [&](const std::string& stopping) {
    const Searches random = run("random", stopping, true);
    const double p = MannWhitney(run("tpe", stopping, true).regrets, random.regrets);
    std::printf("tpe against random, both so: p = %.2g\n", p);
    return p;
  };
  compare("");
  const double p = compare(asha);
  for (const std::string& stopping : options.stoppers) compare(stopping);
  figures->emplace_back("asha_epochs", Median(stopped.epochs));
  figures->emplace_back("asha_more_regret", Median(stopped.regrets) - Median(whole.regrets));
  figures->emplace_back("tpe_asha_p", p);
}

void MeasureAsks(Figures* figures) {
  const auto measure = [&](const std::string& name, int told, const std::string& figure) {
    const double milliseconds = AskMilliseconds(name, told);
    std::printf("%s: Ask, 20 choices of 5, %d models told: %.3f ms\n", name.c_str(), told, milliseconds);
    figures->emplace_back(figure, milliseconds);
  };
  measure("tpe", 1000, "tpe_ask_ms_1000");
  measure("tpe", 10000, "tpe_ask_ms_10000");
  measure("evolution", 10000, "evolution_ask_ms");
  measure("nsga2", 10000, "nsga2_ask_ms");
}

void RunBench(const Options& options) {
  const Table table = options.table.empty()
                          ? ValueOrDie(OwnTable())
                          : ValueOrDie(ReadTable(options.table, options.choices, options.metric, options.cost));
  std::printf("%s: %zu models, the best %.4f; %d models a search, %d in flight, %d seeds\n", table.name.c_str(),
              table.values.size(), table.best(), options.models, kInFlight, options.seeds);
  Figures figures;
  CompareRegrets(table, options, &figures);
  if (!table.costs.empty()) CompareHypervolumes(table, options, &figures);
  if (!table.curves.empty()) CompareStopping(table, options, &figures);
  MeasureAsks(&figures);
  std::vector<std::string> members;
  for (const auto& [name, figure] : figures) members.push_back(absl::StrCat("\"", name, "\": ", figure));
  std::printf("{\"bench\": \"search\", \"figures\": {%s}}\n", absl::StrJoin(members, ", ").c_str());
}

}  // namespace
}  // namespace lanista::bench

// bazel run -c opt //bench:search -- [--quick] [--table FILE.csv --choices A,B,... --metric COLUMN [--cost COLUMN]]
//     [--models N] [--seeds S] [--strategy TEXT]... [--stopping TEXT]...
int main(int argc, char** argv) {
  lanista::bench::UseOneCore(argv);
  // The warnings of small budgets would come once for each seed.
  spdlog::set_level(spdlog::level::err);
  lanista::bench::RunBench(lanista::bench::ParseOptions(argc, argv));
}

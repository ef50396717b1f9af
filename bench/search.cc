// What the strategies find on a table of networks that were all trained before, against random search; and how long
// they think. Plain objects in virtual time: eight models in flight, outcomes in any order.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
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
    } else if (flag == "--models") {
      options.models = ParseCount(flag, value);
    } else if (flag == "--seeds") {
      options.seeds = ParseCount(flag, value);
    } else {
      Fail(absl::StrCat("unknown option ", flag,
                        "; known: --table, --choices, --metric, --cost, --strategy, --models, --seeds, --quick"));
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
    observation.outcome = v1::SUCCEEDED;
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

// Hits and regrets of the strategies with their defaults, and of those that the user names.
void CompareRegrets(const Table& table, const Options& options, Figures* figures) {
  std::printf("%-40s %6s %14s %10s\n", "strategy", "hits", "median regret", "p");
  std::vector<double> random_regrets;
  // Prints a row; the figures are for `name`, unless it is empty.
  const auto compare = [&](const std::string& text, const v1::StrategyConfig& strategy, const std::string& name) {
    std::vector<double> regrets;
    for (int seed = 1; seed <= options.seeds; ++seed) {
      regrets.push_back(Regret(table, RunSearch(table, strategy, false, options.models, seed)));
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
    const v1::StrategyConfig strategy = ParseStrategy(name + " {}");
    std::vector<double> shares;
    for (int seed = 1; seed <= options.seeds; ++seed) {
      shares.push_back(hypervolume.Share(RunSearch(table, strategy, true, options.models, seed)));
    }
    std::printf("%s: hypervolume, median: %.4f of the table's\n", name.c_str(), Median(shares));
    figures->emplace_back(name + "_hypervolume", Median(shares));
  }
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
  MeasureAsks(&figures);
  std::vector<std::string> members;
  for (const auto& [name, figure] : figures) members.push_back(absl::StrCat("\"", name, "\": ", figure));
  std::printf("{\"bench\": \"search\", \"figures\": {%s}}\n", absl::StrJoin(members, ", ").c_str());
}

}  // namespace
}  // namespace lanista::bench

// bazel run -c opt //bench:search -- [--quick] [--table FILE.csv --choices A,B,... --metric COLUMN [--cost COLUMN]]
//     [--models N] [--seeds S] [--strategy TEXT]...
int main(int argc, char** argv) {
  lanista::bench::UseOneCore(argv);
  // The warnings of small budgets would come once for each seed.
  spdlog::set_level(spdlog::level::err);
  lanista::bench::RunBench(lanista::bench::ParseOptions(argc, argv));
}

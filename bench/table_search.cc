#include "bench/table_search.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <memory>
#include <queue>
#include <random>
#include <set>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "bench/harness.h"
#include "src/base/status.h"
#include "src/config/choices.h"
#include "src/config/config.h"
#include "src/config/table_columns.h"
#include "src/data/csv_file.h"
#include "src/evaluators/model_table.h"
#include "src/space/draw.h"
#include "src/stopping/stopper.h"
#include "src/strategies/strategy.h"

namespace lanista::bench {
namespace {

absl::StatusOr<size_t> FindColumn(const std::vector<std::string>& columns, const std::string& name) {
  const auto found = std::find(columns.begin(), columns.end(), name);
  if (found != columns.end()) return static_cast<size_t>(found - columns.begin());
  return absl::InvalidArgumentError(
      absl::StrCat("the table has no column '", name, "'; it has ", absl::StrJoin(columns, ", ")));
}

absl::StatusOr<double> ParseNumber(const std::string& text) {
  double number = 0;
  if (absl::SimpleAtod(text, &number) && std::isfinite(number)) return number;
  return absl::InvalidArgumentError(absl::StrCat("'", text, "' is no number"));
}

// Plain objects in virtual time.
class SimulatedSearch {
 public:
  SimulatedSearch(const Table& table, const Search& search, uint64_t seed)
      : table_(table), search_(search), clock_(seed) {
    StrategyContext context(table.space, seed);
    context.max_models = search.models;
    if (search.with_cost) context.objectives = 2;
    strategy_ = ValueOrDie(StrategyRegistry::Get().Create(search.strategy, context));
    if (!search.stopping.has_value()) return;
    StoppingContext stopping_context;
    stopping_context.max_steps = table.epochs();
    stopper_ = ValueOrDie(StopperRegistry::Get().Create(*search.stopping, stopping_context));
  }

  SearchResult Run() {
    StartModels();
    while (!running_.empty() && result_.epochs != search_.epochs) {
      EndEpoch();
      StartModels();
    }
    return result_;
  }

 private:
  struct Model {
    v1::Sample sample;
    int row = 0;
    double epoch_time = 0;
    int epochs = 0;
  };

  bool MayStart() const {
    if (exhausted_ || running_.size() == kInFlight) return false;
    return !search_.models.has_value() || static_cast<int>(models_.size()) < *search_.models;
  }

  void StartModels() {
    while (MayStart()) {
      Strategy::Proposal proposal = ValueOrDie(strategy_->Ask(1));
      exhausted_ = proposal.exhausted;
      for (v1::Sample& sample : proposal.samples) {
        Model model;
        model.row = table_.rows.at(Space::Key(sample));
        model.sample = std::move(sample);
        model.epoch_time = 0.5 + UniformReal(clock_);
        models_.push_back(std::move(model));
        running_.emplace(now_ + models_.back().epoch_time, static_cast<int>(models_.size()) - 1);
      }
    }
  }

  // Of the model whose epoch ends next.
  void EndEpoch() {
    const auto [end, number] = running_.top();
    running_.pop();
    now_ = end;
    ++result_.epochs;
    Model& model = models_[number];
    ++model.epochs;
    Observation observation;
    observation.steps = model.epochs;
    if (Stops(number, &observation)) {
      observation.outcome = v1::ModelEnded::STOPPED_EARLY;
    } else if (model.epochs < table_.epochs()) {
      running_.emplace(now_ + model.epoch_time, number);
      return;
    } else {
      observation.outcome = v1::ModelEnded::SUCCEEDED;
      observation.value = table_.values[model.row];
      result_.rows.push_back(model.row);
    }
    if (search_.with_cost) observation.objectives = {*observation.value, -table_.costs[model.row]};
    if (stopper_ != nullptr) stopper_->Ended(number + 1, observation);
    strategy_->Tell(model.sample, observation);
  }

  // Whether the model's last epoch is the end of it; `observation` then has what it reported.
  bool Stops(int number, Observation* observation) {
    if (stopper_ == nullptr || table_.curves.empty()) return false;
    const Model& model = models_[number];
    observation->value = table_.curves[model.row][model.epochs - 1];
    return stopper_->Report(number + 1, model.epochs, *observation->value).stop;
  }

  const Table& table_;
  const Search& search_;
  std::unique_ptr<Strategy> strategy_;
  std::unique_ptr<Stopper> stopper_;
  std::mt19937_64 clock_;
  double now_ = 0;
  bool exhausted_ = false;
  std::vector<Model> models_;
  // When each running model ends its next epoch, and its number in models_; the earliest first.
  std::priority_queue<std::pair<double, int>, std::vector<std::pair<double, int>>, std::greater<>> running_;
  SearchResult result_;
};

}  // namespace

double Table::best() const { return *std::max_element(values.begin(), values.end()); }

v1::Choice MakeChoice(const std::string& label) {
  v1::Choice choice;
  choice.set_label(label);
  choice.set_kind(v1::Choice::VALUE_CHOICE);
  choice.set_n_chosen(1);
  return choice;
}

absl::StatusOr<Table> ReadTable(const std::string& path, const std::vector<std::string>& choices,
                                const std::string& metric, const std::string& cost) {
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;
  LANISTA_RETURN_IF_ERROR(data::ReadCsv(path, ',', [&](int64_t line, std::vector<std::string>& fields) {
    if (columns.empty()) {
      columns = fields;
    } else if (fields.size() != columns.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ":", line, ": ", fields.size(), " fields, not ", columns.size()));
    } else {
      rows.push_back(fields);
    }
    return absl::OkStatus();
  }));
  v1::SpaceSpec spec;
  spec.set_complete(true);
  std::vector<size_t> places;
  for (const std::string& label : choices) {
    LANISTA_ASSIGN_OR_RETURN(const size_t place, FindColumn(columns, label));
    places.push_back(place);
    std::set<std::string> candidates;
    for (const auto& row : rows) candidates.insert(row[place]);
    v1::Choice* const choice = spec.add_choices();
    *choice = MakeChoice(label);
    for (const std::string& candidate : candidates) choice->add_candidates()->set_s(candidate);
  }
  LANISTA_ASSIGN_OR_RETURN(const size_t metric_place, FindColumn(columns, metric));
  LANISTA_ASSIGN_OR_RETURN(const size_t cost_place, FindColumn(columns, cost.empty() ? metric : cost));
  std::vector<size_t> curve_places;
  for (auto found = columns.begin(); found != columns.end();) {
    found = std::find(columns.begin(), columns.end(), absl::StrCat(metric, "@", curve_places.size() + 1));
    if (found != columns.end()) curve_places.push_back(static_cast<size_t>(found - columns.begin()));
  }
  LANISTA_ASSIGN_OR_RETURN(Space space, Space::FromProto(spec));
  Table table{path, std::move(space), {}, {}, {}, {}};
  for (const auto& row : rows) {
    v1::Sample sample;
    for (size_t i = 0; i < places.size(); ++i) {
      v1::Decision* const decision = sample.add_decisions();
      decision->set_label(choices[i]);
      decision->add_value()->set_s(row[places[i]]);
    }
    LANISTA_ASSIGN_OR_RETURN(const Space::Options model, table.space.OptionsOf(sample));
    if (!table.rows.emplace(Space::Key(table.space.ToSample(model)), table.values.size()).second) {
      return absl::InvalidArgumentError(absl::StrCat("a model has two rows: ", absl::StrJoin(row, ",")));
    }
    LANISTA_ASSIGN_OR_RETURN(const double value, ParseNumber(row[metric_place]));
    table.values.push_back(value);
    if (!curve_places.empty()) table.curves.emplace_back();
    for (const size_t place : curve_places) {
      LANISTA_ASSIGN_OR_RETURN(const double reported, ParseNumber(row[place]));
      table.curves.back().push_back(reported);
    }
    if (cost.empty()) continue;
    LANISTA_ASSIGN_OR_RETURN(const double its_cost, ParseNumber(row[cost_place]));
    table.costs.push_back(its_cost);
  }
  if (*table.space.size() != table.values.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, " has ", table.values.size(), " of ", table.space.size()->get_str(), " models"));
  }
  return table;
}

absl::StatusOr<Table> OwnTable() {
  // The configuration's paths start where the user stands, which `bazel run` is not.
  const std::string path = std::filesystem::absolute("bench/tables/digits_search.textproto").string();
  LANISTA_ASSIGN_OR_RETURN(const v1::ExperimentConfig config, LoadConfig(path, {}));
  LANISTA_ASSIGN_OR_RETURN(v1::SpaceSpec spec, SpaceOfChoices(config.space().choices()));
  v1::TableConfig table_config = config.evaluator().table();
  AddTableColumns(spec, &table_config);
  LANISTA_ASSIGN_OR_RETURN(const TableFile file, ReadTableFile(table_config.path()));
  LANISTA_ASSIGN_OR_RETURN(const ModelTable models, ModelTable::Create(file, table_config));
  LANISTA_RETURN_IF_ERROR(models.Check(spec));
  LANISTA_ASSIGN_OR_RETURN(Space space, Space::FromProto(std::move(spec)));
  Table table{"networks for drawn digits", std::move(space), {}, {}, {}, {}};
  Space::Options model = table.space.FirstOptions();
  do {
    const v1::Sample sample = table.space.ToSample(model);
    LANISTA_ASSIGN_OR_RETURN(const ModelTable::Results results, models.Find(sample, /*seed=*/0));
    table.rows.emplace(Space::Key(sample), table.values.size());
    table.values.push_back(results.final.at("default"));
    table.costs.push_back(results.final.at("flops"));
    std::vector<double>& curve = table.curves.emplace_back();
    for (const auto& step : results.steps) curve.push_back(step.at("default"));
  } while (table.space.Advance(&model));
  return table;
}

Table DrawTable() {
  constexpr int kOperators = 4;
  v1::SpaceSpec spec;
  spec.set_complete(true);
  *spec.add_choices() = MakeChoice("layers");
  for (const int layers : {2, 4, 6}) spec.mutable_choices(0)->add_candidates()->set_i(layers);
  *spec.add_choices() = MakeChoice("width");
  for (const int width : {16, 32, 64, 128}) spec.mutable_choices(1)->add_candidates()->set_i(width);
  for (int layer = 0; layer < 6; ++layer) {
    v1::Choice choice = MakeChoice(absl::StrCat("op_", layer));
    for (int op = 0; op < kOperators; ++op) choice.add_candidates()->set_i(op);
    if (layer >= 2) {
      v1::Term* const term = choice.add_active_if()->add_all_of();
      term->set_label("layers");
      for (int option = layer / 2; option < 3; ++option) term->add_chosen(option);
    }
    *spec.add_choices() = choice;
  }
  Table table{"a drawn table with conditions", ValueOrDie(Space::FromProto(spec)), {}, {}, {}, {}};
  std::mt19937_64 random(20);
  double alone[6][kOperators];
  double together[6][kOperators][kOperators];
  for (auto& layer : alone) {
    for (double& effect : layer) effect = UniformReal(random);
  }
  for (auto& layer : together) {
    for (auto& before : layer) {
      for (double& effect : before) effect = UniformReal(random);
    }
  }
  Space::Options model = table.space.FirstOptions();
  do {
    const int layers = 2 + 2 * model[0];
    const int width = 16 << model[1];
    // Each layer adds less than the one before it, and so does each doubling of the width.
    double value = 80 + 2 * (1 - std::pow(0.5, model[1] + 1));
    double cost = 1000;
    for (int layer = 0; layer < layers; ++layer) {
      const int op = model[2 + layer];
      value += 3 * std::pow(0.8, layer) *
               (alone[layer][op] + (layer == 0 ? 0 : together[layer][model[1 + layer]][op]) - 0.5);
      cost += width * width * (1 + op);
    }
    table.rows.emplace(Space::Key(table.space.ToSample(model)), table.values.size());
    table.values.push_back(value);
    table.costs.push_back(cost);
  } while (table.space.Advance(&model));
  return table;
}

SearchResult RunSearch(const Table& table, const Search& search, uint64_t seed) {
  return SimulatedSearch(table, search, seed).Run();
}

double Regret(const Table& table, const std::vector<int>& rows) {
  double best = *std::min_element(table.values.begin(), table.values.end());
  for (const int row : rows) best = std::max(best, table.values[row]);
  return table.best() - best;
}

double MannWhitney(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<std::pair<double, bool>> all;
  for (const double x : a) all.emplace_back(x, true);
  for (const double x : b) all.emplace_back(x, false);
  std::sort(all.begin(), all.end());
  double rank_sum = 0;
  double ties = 0;
  for (size_t first = 0, end = 0; first < all.size(); first = end) {
    while (end < all.size() && all[end].first == all[first].first) ++end;
    const double count = static_cast<double>(end - first);
    ties += count * count * count - count;
    for (size_t i = first; i < end; ++i) rank_sum += all[i].second ? static_cast<double>(first + end + 1) / 2 : 0;
  }
  const auto n = static_cast<double>(a.size());
  const auto m = static_cast<double>(b.size());
  const double u = rank_sum - n * (n + 1) / 2;
  const double variance = n * m / 12 * (n + m + 1 - ties / ((n + m) * (n + m - 1)));
  if (variance <= 0) return 0.5;
  // Phi(z), by its complement so that small values keep their digits.
  return 0.5 * std::erfc(-(u + 0.5 - n * m / 2) / std::sqrt(2 * variance));
}

Hypervolume::Hypervolume(const Table& table) : table_(table) {
  std::vector<double> sorted = table.values;
  std::sort(sorted.begin(), sorted.end());
  least_value_ = sorted[sorted.size() / 10];
  best_value_ = sorted.back();
  const auto [cheapest, dearest] = std::minmax_element(table.costs.begin(), table.costs.end());
  least_cost_ = *cheapest;
  most_cost_ = *dearest;
  std::vector<int> all(table.values.size());
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int>(i);
  whole_ = Area(all);
}

double Hypervolume::Area(const std::vector<int>& rows) const {
  std::vector<std::pair<double, double>> points;
  for (const int row : rows) {
    const double value = (table_.values[row] - least_value_) / (best_value_ - least_value_);
    const double saved = (most_cost_ - table_.costs[row]) / (most_cost_ - least_cost_);
    if (value > 0) points.emplace_back(value, saved);
  }
  // From the best value down, each point adds what lies above those before it.
  std::sort(points.rbegin(), points.rend());
  double area = 0;
  double height = 0;
  for (const auto& [value, saved] : points) {
    if (saved <= height) continue;
    area += value * (saved - height);
    height = saved;
  }
  return area;
}

}  // namespace lanista::bench

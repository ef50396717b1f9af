#include "src/strategies/parzen.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "src/space/draw.h"

namespace lanista {
namespace {

// The kernel of one choice: see Density.
struct Kernel {
  Kernel(double prior_weight, size_t models, int32_t option_count)
      : b(prior_weight / static_cast<double>(models + 1)), scale(1 / (1 + option_count * b)) {}

  double hit() const { return (1 + b) * scale; }
  double miss() const { return b * scale; }

  // Draws from the kernel of `option`.
  int32_t Draw(int32_t option, int32_t option_count, std::mt19937_64& random) const {
    // The same density as a mixture: the option itself, and the uniform one for the rest.
    if (UniformReal(random) < scale) return option;
    return static_cast<int32_t>(Uniform(random, option_count));
  }

  const double b;
  const double scale;
};

double LogSum(double a, double b) {
  const double larger = std::max(a, b);
  return larger + std::log(std::exp(a - larger) + std::exp(b - larger));
}

// base^0 .. base^count.
std::vector<double> Powers(double base, size_t count) {
  std::vector<double> powers(count + 1, 1);
  for (size_t i = 1; i < powers.size(); ++i) powers[i] = powers[i - 1] * base;
  return powers;
}

// Adds 1 to the count of each of the `size` cells that differs from `cell`. The size is a template parameter because
// the compiler then makes faster code.
template <int size, typename Cell>
void AddDifferent(const Cell* __restrict cells, Cell cell, uint8_t* __restrict counts) {
  for (int i = 0; i < size; ++i) counts[i] += cells[i] != cell;
}

template <int size, typename Cell>
void AddEqual(const Cell* __restrict cells, Cell cell, uint8_t* __restrict counts) {
  for (int i = 0; i < size; ++i) counts[i] += cells[i] == cell;
}

// The value that marks a choice as not active.
template <typename Cell>
constexpr Cell kInactive = static_cast<Cell>(-1);

}  // namespace

JointDensity::JointDensity(const Space& space, double prior_weight)
    : space_(space), prior_weight_(prior_weight), columns_(space.choice_count()) {
  constexpr size_t kMost = std::numeric_limits<uint8_t>::max();
  for (int choice = 0; choice < space.choice_count(); ++choice) {
    const int32_t option_count = space.option_count(choice);
    columns_[choice].in_bytes = option_count <= kInactive<uint8_t>;
    auto group = std::find_if(groups_.begin(), groups_.end(), [&](const Group& other) {
      return other.option_count == option_count && other.choices.size() < kMost;
    });
    if (group == groups_.end()) {
      group = groups_.emplace(groups_.end());
      group->option_count = option_count;
      group->log_option_count = std::log(option_count);
    }
    group->choices.push_back(choice);
    if (!space.spec().choices(choice).active_if().empty()) group->conditional = true;
  }
}

void JointDensity::Add(const Space::Options& model) {
  const bool is_full = models_ == weights_.size();
  if (is_full) weights_.resize(models_ + kBlock);
  for (size_t choice = 0; choice < model.size(); ++choice) {
    Column& column = columns_[choice];
    if (column.in_bytes) {
      if (is_full) column.bytes.resize(models_ + kBlock);
      column.bytes[models_] = static_cast<uint8_t>(model[choice]);
    } else {
      if (is_full) column.numbers.resize(models_ + kBlock);
      column.numbers[models_] = model[choice];
    }
  }
  ++models_;
  SetCounts(models_ - 1, true);
}

void JointDensity::Truncate(size_t models) {
  for (; models_ > models; --models_) SetCounts(models_ - 1, false);
}

void JointDensity::SetCounts(size_t number, bool counts) {
  const double weight = counts ? 1 : 0;
  if (weights_[number] == weight) return;
  weights_[number] = weight;
  count_ += counts ? 1 : -1;
}

Space::Options JointDensity::Draw(std::mt19937_64& random) const {
  const double component = UniformReal(random) * (prior_weight_ + static_cast<double>(count_));
  if (component < prior_weight_ || count_ == 0) return space_.RandomOptions(random);
  auto left = std::min(static_cast<size_t>(component - prior_weight_), count_ - 1);
  size_t number = 0;
  while (weights_[number] == 0 || left-- > 0) ++number;
  Space::Options model(space_.choice_count(), -1);
  for (int choice = 0; choice < space_.choice_count(); ++choice) {
    if (!space_.IsActive(choice, model)) continue;
    const int32_t option_count = space_.option_count(choice);
    const Column& column = columns_[choice];
    int32_t option = -1;
    if (!column.in_bytes) {
      option = column.numbers[number];
    } else if (column.bytes[number] != kInactive<uint8_t>) {
      option = column.bytes[number];
    }
    model[choice] = option < 0 ? static_cast<int32_t>(Uniform(random, option_count))
                               : Kernel(prior_weight_, count_, option_count).Draw(option, option_count, random);
  }
  return model;
}

void JointDensity::Count(size_t first, const Group& group, const Space::Options& model, uint8_t* different,
                         uint8_t* absent) const {
  std::fill_n(different, kBlock, 0);
  std::fill_n(absent, kBlock, 0);
  const auto count = [&](const auto* cells, auto option) {
    AddDifferent<kBlock>(cells, option, different);
    if (group.conditional) AddEqual<kBlock>(cells, kInactive<decltype(option)>, absent);
  };
  for (const int choice : group.choices) {
    if (model[choice] < 0) continue;
    const Column& column = columns_[choice];
    if (column.in_bytes) {
      count(&column.bytes[first], static_cast<uint8_t>(model[choice]));
    } else {
      count(&column.numbers[first], model[choice]);
    }
  }
}

std::vector<double> JointDensity::Log(const std::vector<Space::Options>& models) const {
  // A kernel's value is that of a model that matches in all choices, times a power for the choices that do not match,
  // times another for those that are not active in the seen model: all at most 1, so that nothing overflows.
  struct Table {
    double log_hit = 0;
    std::vector<double> miss_powers;
    std::vector<double> absent_powers;
  };
  std::vector<Table> tables;
  for (const Group& group : groups_) {
    const Kernel kernel(prior_weight_, count_, group.option_count);
    tables.push_back({std::log(kernel.hit()), Powers(kernel.miss() / kernel.hit(), group.choices.size()),
                      Powers(1 / (group.option_count * kernel.hit()), group.choices.size())});
  }
  std::vector<double> logs;
  uint8_t different[kBlock];
  uint8_t absent[kBlock];
  // The kernel values of one block of models, and their sums over all blocks.
  double values[kBlock];
  double sums[kBlock];
  for (const Space::Options& model : models) {
    double log_uniform = 0;
    double log_hits = 0;
    for (size_t g = 0; g < groups_.size(); ++g) {
      for (const int choice : groups_[g].choices) {
        if (model[choice] < 0) continue;
        log_uniform -= groups_[g].log_option_count;
        log_hits += tables[g].log_hit;
      }
    }
    std::fill_n(sums, kBlock, 0);
    for (size_t first = 0; first < models_; first += kBlock) {
      std::copy_n(&weights_[first], kBlock, values);
      for (size_t g = 0; g < groups_.size(); ++g) {
        Count(first, groups_[g], model, different, absent);
        const double* const miss_powers = tables[g].miss_powers.data();
        const double* const absent_powers = tables[g].absent_powers.data();
        if (groups_[g].conditional) {
          for (int i = 0; i < kBlock; ++i) {
            values[i] *= miss_powers[different[i] - absent[i]] * absent_powers[absent[i]];
          }
        } else {
          for (int i = 0; i < kBlock; ++i) values[i] *= miss_powers[different[i]];
        }
      }
      for (int i = 0; i < kBlock; ++i) sums[i] += values[i];
    }
    const double sum = std::accumulate(sums, sums + kBlock, 0.0);
    const double log_prior = std::log(prior_weight_) + log_uniform;
    const double log_mixture = sum > 0 ? LogSum(log_prior, log_hits + std::log(sum)) : log_prior;
    logs.push_back(log_mixture - std::log(prior_weight_ + static_cast<double>(count_)));
  }
  return logs;
}

IndependentDensity::IndependentDensity(const Space& space, double prior_weight)
    : space_(space), prior_weight_(prior_weight), marginals_(space.choice_count()) {}

void IndependentDensity::Add(const Space::Options& model) {
  seen_.push_back({model, false});
  SetCounts(seen_.size() - 1, true);
}

void IndependentDensity::Truncate(size_t models) {
  while (seen_.size() > models) {
    SetCounts(seen_.size() - 1, false);
    seen_.pop_back();
  }
}

void IndependentDensity::SetCounts(size_t number, bool counts) {
  Seen& seen = seen_[number];
  if (seen.counts == counts) return;
  seen.counts = counts;
  const int change = counts ? 1 : -1;
  for (size_t choice = 0; choice < seen.model.size(); ++choice) {
    if (seen.model[choice] < 0) continue;
    marginals_[choice].options[seen.model[choice]] += change;
    marginals_[choice].models += change;
  }
}

Space::Options IndependentDensity::Draw(std::mt19937_64& random) const {
  Space::Options model(space_.choice_count(), -1);
  for (int choice = 0; choice < space_.choice_count(); ++choice) {
    if (!space_.IsActive(choice, model)) continue;
    const int32_t option_count = space_.option_count(choice);
    const size_t models = marginals_[choice].models;
    const double component = UniformReal(random) * (prior_weight_ + static_cast<double>(models));
    if (component < prior_weight_ || models == 0) {
      model[choice] = static_cast<int32_t>(Uniform(random, option_count));
      continue;
    }
    auto left = std::min(static_cast<size_t>(component - prior_weight_), models - 1);
    auto seen = seen_.begin();
    while (!seen->counts || seen->model[choice] < 0 || left-- > 0) ++seen;
    model[choice] = Kernel(prior_weight_, models, option_count).Draw(seen->model[choice], option_count, random);
  }
  return model;
}

std::vector<double> IndependentDensity::Log(const std::vector<Space::Options>& models) const {
  std::vector<double> logs;
  for (const Space::Options& model : models) {
    double log = 0;
    for (int choice = 0; choice < space_.choice_count(); ++choice) {
      if (model[choice] < 0) continue;
      const Marginal& marginal = marginals_[choice];
      const int32_t option_count = space_.option_count(choice);
      const auto seen = static_cast<double>(marginal.models);
      const Kernel kernel(prior_weight_, marginal.models, option_count);
      const auto found = marginal.options.find(model[choice]);
      const double equal = found == marginal.options.end() ? 0 : found->second;
      const double mixture = equal * kernel.hit() + (seen - equal) * kernel.miss() + prior_weight_ / option_count;
      log += std::log(mixture / (seen + prior_weight_));
    }
    logs.push_back(log);
  }
  return logs;
}

}  // namespace lanista

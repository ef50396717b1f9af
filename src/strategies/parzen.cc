#include "src/strategies/parzen.h"

#include <algorithm>
#include <cmath>

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

}  // namespace

JointDensity::JointDensity(const Space& space, double prior_weight) : space_(space), prior_weight_(prior_weight) {
  for (int choice = 0; choice < space.choice_count(); ++choice) {
    const int32_t option_count = space.option_count(choice);
    auto group = std::find_if(groups_.begin(), groups_.end(),
                              [&](const Group& other) { return other.option_count == option_count; });
    if (group == groups_.end()) {
      groups_.emplace_back().option_count = option_count;
      group = groups_.end() - 1;
    }
    group->choices.push_back(choice);
    if (!space.spec().choices(choice).active_if().empty()) group->conditional = true;
  }
}

void JointDensity::Add(const Space::Options& model) {
  const size_t place = count_ % kBlock;
  if (place == 0) blocks_.emplace_back(kBlock * model.size(), -1);
  for (size_t choice = 0; choice < model.size(); ++choice) blocks_.back()[choice * kBlock + place] = model[choice];
  ++count_;
}

Space::Options JointDensity::Draw(std::mt19937_64& random) const {
  const double component = UniformReal(random) * (prior_weight_ + static_cast<double>(count_));
  if (component < prior_weight_ || count_ == 0) return space_.RandomOptions(random);
  const auto number = std::min(static_cast<size_t>(component - prior_weight_), count_ - 1);
  const int32_t* const seen = blocks_[number / kBlock].data() + number % kBlock;
  Space::Options model(space_.choice_count(), -1);
  for (int choice = 0; choice < space_.choice_count(); ++choice) {
    if (!space_.IsActive(choice, model)) continue;
    const int32_t option_count = space_.option_count(choice);
    const int32_t option = seen[choice * kBlock];
    model[choice] = option < 0 ? static_cast<int32_t>(Uniform(random, option_count))
                               : Kernel(prior_weight_, count_, option_count).Draw(option, option_count, random);
  }
  return model;
}

void JointDensity::Count(size_t block, const Group& group, const Space::Options& model, int32_t* __restrict different,
                         int32_t* __restrict absent) const {
  std::fill_n(different, kBlock, 0);
  std::fill_n(absent, kBlock, 0);
  for (const int choice : group.choices) {
    const int32_t option = model[choice];
    if (option < 0) continue;
    const int32_t* __restrict const seen = &blocks_[block][choice * kBlock];
    for (int i = 0; i < kBlock; ++i) different[i] += seen[i] != option;
    if (!group.conditional) continue;
    for (int i = 0; i < kBlock; ++i) absent[i] += seen[i] < 0;
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
  int32_t different[kBlock];
  int32_t absent[kBlock];
  double values[kBlock];
  for (const Space::Options& model : models) {
    double log_uniform = 0;
    double log_hits = 0;
    for (size_t g = 0; g < groups_.size(); ++g) {
      for (const int choice : groups_[g].choices) {
        if (model[choice] < 0) continue;
        log_uniform -= std::log(groups_[g].option_count);
        log_hits += tables[g].log_hit;
      }
    }
    double sum = 0;
    for (size_t block = 0; block < blocks_.size(); ++block) {
      const size_t count = std::min<size_t>(kBlock, count_ - block * kBlock);
      std::fill_n(values, kBlock, 1);
      for (size_t g = 0; g < groups_.size(); ++g) {
        Count(block, groups_[g], model, different, absent);
        const Table& table = tables[g];
        if (groups_[g].conditional) {
          for (size_t i = 0; i < count; ++i) {
            values[i] *= table.miss_powers[different[i] - absent[i]] * table.absent_powers[absent[i]];
          }
        } else {
          for (size_t i = 0; i < count; ++i) values[i] *= table.miss_powers[different[i]];
        }
      }
      for (size_t i = 0; i < count; ++i) sum += values[i];
    }
    const double log_prior = std::log(prior_weight_) + log_uniform;
    const double log_mixture = sum > 0 ? LogSum(log_prior, log_hits + std::log(sum)) : log_prior;
    logs.push_back(log_mixture - std::log(prior_weight_ + static_cast<double>(count_)));
  }
  return logs;
}

IndependentDensity::IndependentDensity(const Space& space, double prior_weight)
    : space_(space), prior_weight_(prior_weight), marginals_(space.choice_count()) {}

void IndependentDensity::Add(const Space::Options& model) {
  for (size_t choice = 0; choice < model.size(); ++choice) {
    if (model[choice] < 0) continue;
    marginals_[choice].options.push_back(model[choice]);
    ++marginals_[choice].counts[model[choice]];
  }
}

Space::Options IndependentDensity::Draw(std::mt19937_64& random) const {
  Space::Options model(space_.choice_count(), -1);
  for (int choice = 0; choice < space_.choice_count(); ++choice) {
    if (!space_.IsActive(choice, model)) continue;
    const int32_t option_count = space_.option_count(choice);
    const std::vector<int32_t>& options = marginals_[choice].options;
    const double component = UniformReal(random) * (prior_weight_ + static_cast<double>(options.size()));
    if (component < prior_weight_ || options.empty()) {
      model[choice] = static_cast<int32_t>(Uniform(random, option_count));
    } else {
      const auto number = std::min(static_cast<size_t>(component - prior_weight_), options.size() - 1);
      model[choice] = Kernel(prior_weight_, options.size(), option_count).Draw(options[number], option_count, random);
    }
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
      const auto seen = static_cast<double>(marginal.options.size());
      const Kernel kernel(prior_weight_, marginal.options.size(), option_count);
      const auto found = marginal.counts.find(model[choice]);
      const double equal = found == marginal.counts.end() ? 0 : found->second;
      const double mixture = equal * kernel.hit() + (seen - equal) * kernel.miss() + prior_weight_ / option_count;
      log += std::log(mixture / (seen + prior_weight_));
    }
    logs.push_back(log);
  }
  return logs;
}

}  // namespace lanista

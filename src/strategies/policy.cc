#include "src/strategies/policy.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "src/space/draw.h"

namespace lanista {

Policy::Policy(const Space& space) : space_(space), logits_(CountLogits(space), 0) {
  size_t next = 0;
  for (int choice = 0; choice < space.choice_count(); ++choice) {
    first_.push_back(next);
    next += static_cast<size_t>(space.option_count(choice));
  }
}

size_t Policy::CountLogits(const Space& space) {
  size_t count = 0;
  for (int choice = 0; choice < space.choice_count(); ++choice)
    count += static_cast<size_t>(space.option_count(choice));
  return count;
}

std::vector<double> Policy::Probabilities(int choice) const {
  const auto first = logits_.begin() + static_cast<ptrdiff_t>(first_[choice]);
  std::vector<double> probabilities(first, first + space_.option_count(choice));
  const double largest = *std::max_element(probabilities.begin(), probabilities.end());
  double sum = 0;
  for (double& probability : probabilities) sum += probability = std::exp(probability - largest);
  for (double& probability : probabilities) probability /= sum;
  return probabilities;
}

Space::Options Policy::Draw(std::mt19937_64& random) const {
  Space::Options model(space_.choice_count(), -1);
  for (int choice = 0; choice < space_.choice_count(); ++choice) {
    if (!space_.IsActive(choice, model)) continue;
    const std::vector<double> probabilities = Probabilities(choice);
    double left = UniformReal(random);
    int32_t option = 0;
    // The last option takes what rounding leaves.
    while (option + 1 < space_.option_count(choice) && left >= probabilities[option]) left -= probabilities[option++];
    model[choice] = option;
  }
  return model;
}

double Policy::LogProbability(const Space::Options& model) const {
  double log = 0;
  for (int choice = 0; choice < space_.choice_count(); ++choice) {
    if (model[choice] >= 0) log += std::log(Probabilities(choice)[model[choice]]);
  }
  return log;
}

double Policy::Objective(const std::vector<Lesson>& lessons, double clip, double entropy_weight,
                         std::vector<double>* gradient) const {
  gradient->assign(logits_.size(), 0);
  std::vector<std::vector<double>> probabilities;
  std::vector<double> entropies;
  for (int choice = 0; choice < space_.choice_count(); ++choice) {
    probabilities.push_back(Probabilities(choice));
    double entropy = 0;
    for (const double p : probabilities.back()) entropy -= p > 0 ? p * std::log(p) : 0;
    entropies.push_back(entropy);
  }
  const double share = 1 / static_cast<double>(lessons.size());
  double objective = 0;
  for (const Lesson& lesson : lessons) {
    double log_probability = 0;
    for (int choice = 0; choice < space_.choice_count(); ++choice) {
      if (lesson.model[choice] >= 0) log_probability += std::log(probabilities[choice][lesson.model[choice]]);
    }
    const double ratio = std::exp(log_probability - lesson.log_probability);
    const double clipped = std::clamp(ratio, 1 - clip, 1 + clip);
    objective += share * std::min(ratio * lesson.advantage, clipped * lesson.advantage);
    // Flat where the clipped ratio is the smaller: the model's probability has moved far enough.
    const bool flat = ratio * lesson.advantage > clipped * lesson.advantage;
    const double pull = flat ? 0 : share * ratio * lesson.advantage;
    for (int choice = 0; choice < space_.choice_count(); ++choice) {
      if (lesson.model[choice] < 0) continue;
      objective += share * entropy_weight * entropies[choice];
      for (int32_t option = 0; option < space_.option_count(choice); ++option) {
        const double p = probabilities[choice][option];
        double& slope = (*gradient)[first_[choice] + static_cast<size_t>(option)];
        slope += pull * ((option == lesson.model[choice] ? 1 : 0) - p);
        if (p > 0) slope -= share * entropy_weight * p * (std::log(p) + entropies[choice]);
      }
    }
  }
  return objective;
}

void AdamAscent::Step(const std::vector<double>& gradient, std::vector<double>* values) {
  constexpr double kMean = 0.9;
  constexpr double kSquare = 0.999;
  constexpr double kEpsilon = 1e-8;
  mean_decay_ *= kMean;
  square_decay_ *= kSquare;
  for (size_t i = 0; i < values->size(); ++i) {
    mean_[i] += (1 - kMean) * (gradient[i] - mean_[i]);
    square_[i] += (1 - kSquare) * (gradient[i] * gradient[i] - square_[i]);
    const double mean = mean_[i] / (1 - mean_decay_);
    const double square = square_[i] / (1 - square_decay_);
    (*values)[i] += rate_ * mean / (std::sqrt(square) + kEpsilon);
  }
}

}  // namespace lanista

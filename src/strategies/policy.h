// A policy over the models of a space, and how proximal policy optimization improves it: plain arithmetic, no LibTorch.
#ifndef LANISTA_SRC_STRATEGIES_POLICY_H_
#define LANISTA_SRC_STRATEGIES_POLICY_H_

#include <cstddef>
#include <random>
#include <vector>

#include "src/space/space.h"

namespace lanista {

// A logit for each option of each choice. A model is drawn choice by choice, in the order of the space, each active
// choice from the softmax of its logits. Used by one thread.
class Policy {
 public:
  // One model and its result, from which the policy learns.
  struct Lesson {
    Space::Options model;
    // LogProbability(model) of the policy that drew it.
    double log_probability = 0;
    // How much better the model was than expected.
    double advantage = 0;
  };

  // Uniform at first. `space` must outlive it.
  explicit Policy(const Space& space);

  // The number of logits of a policy for `space`.
  static size_t CountLogits(const Space& space);

  Space::Options Draw(std::mt19937_64& random) const;
  double LogProbability(const Space::Options& model) const;

  // The mean over the lessons of PPO's clipped objective (Schulman et al., 2017, equation 7) and, times entropy_weight,
  // of the entropies of the model's active choices. Adds nothing to the logits; `gradient` becomes the objective's with
  // respect to them. REQUIRES: there are lessons.
  double Objective(const std::vector<Lesson>& lessons, double clip, double entropy_weight,
                   std::vector<double>* gradient) const;

  // All logits: those of the first choice, those of the second, and so on.
  std::vector<double>& logits() { return logits_; }
  const std::vector<double>& logits() const { return logits_; }

 private:
  // The probabilities of a choice's options.
  std::vector<double> Probabilities(int choice) const;

  const Space& space_;
  std::vector<double> logits_;
  // For each choice, the index of its first logit.
  std::vector<size_t> first_;
};

// Adam (Kingma and Ba, 2015) with its usual constants, uphill.
class AdamAscent {
 public:
  AdamAscent(size_t size, double learning_rate) : rate_(learning_rate), mean_(size, 0), square_(size, 0) {}

  void Step(const std::vector<double>& gradient, std::vector<double>* values);

 private:
  const double rate_;
  std::vector<double> mean_;
  std::vector<double> square_;
  // beta^steps.
  double mean_decay_ = 1;
  double square_decay_ = 1;
};

}  // namespace lanista

#endif  // LANISTA_SRC_STRATEGIES_POLICY_H_

// Densities over the models of a space, from models that were seen: what TPE compares.
#ifndef LANISTA_SRC_STRATEGIES_PARZEN_H_
#define LANISTA_SRC_STRATEGIES_PARZEN_H_

#include <cstdint>
#include <random>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "src/space/space.h"

namespace lanista {

// A density over models. Used by one thread. With b = prior_weight / (n + 1), of n models seen, the kernel of an option
// o of a choice with k options gives (1 + b) / (1 + k b) to o and b / (1 + k b) to each other option.
class Density {
 public:
  virtual ~Density() = default;

  // One more model was seen.
  virtual void Add(const Space::Options& model) = 0;
  // A model drawn from the density.
  virtual Space::Options Draw(std::mt19937_64& random) const = 0;
  // The logarithm of the density at each of `models`.
  virtual std::vector<double> Log(const std::vector<Space::Options>& models) const = 0;
};

// The joint density of whole models: a mixture of a kernel for each model seen, of weight 1, and the uniform draw of
// each active choice, of weight prior_weight. A kernel walks through the choices in the order of the space: an active
// one has the kernel of its model's option, or is uniform where it is not active in that model. So conditions are no
// special case, and what goes together in good models stays together.
class JointDensity : public Density {
 public:
  // `space` must outlive it.
  JointDensity(const Space& space, double prior_weight);

  void Add(const Space::Options& model) override;
  Space::Options Draw(std::mt19937_64& random) const override;
  std::vector<double> Log(const std::vector<Space::Options>& models) const override;

 private:
  // Models are compared choice by choice in blocks of so many, which stay in the nearest cache.
  static constexpr int kBlock = 256;

  // Choices with equally many options: their kernels are equal, so that it only counts how many of them match.
  struct Group {
    int32_t option_count = 0;
    std::vector<int> choices;
    // Whether any of them may be inactive.
    bool conditional = false;
  };

  // For each model seen in the block: choices of `group` that differ from `model`, and how many of these are not active
  // in the model seen.
  void Count(size_t block, const Group& group, const Space::Options& model, int32_t* different, int32_t* absent) const;

  const Space& space_;
  const double prior_weight_;
  std::vector<Group> groups_;
  // Models seen.
  size_t count_ = 0;
  // Their options: in each block kBlock of the first choice, kBlock of the second, and so on, as Count reads them.
  std::vector<std::vector<int32_t>> blocks_;
};

// The product of a density for each active choice, each of them a mixture of the kernels of the models in which the
// choice is active, and the uniform one.
class IndependentDensity : public Density {
 public:
  // `space` must outlive it.
  IndependentDensity(const Space& space, double prior_weight);

  void Add(const Space::Options& model) override;
  Space::Options Draw(std::mt19937_64& random) const override;
  std::vector<double> Log(const std::vector<Space::Options>& models) const override;

 private:
  struct Marginal {
    // The options of the models in which the choice is active, and how often each is there.
    std::vector<int32_t> options;
    absl::flat_hash_map<int32_t, int> counts;
  };

  const Space& space_;
  const double prior_weight_;
  std::vector<Marginal> marginals_;
};

}  // namespace lanista

#endif  // LANISTA_SRC_STRATEGIES_PARZEN_H_

// Densities over the models of a space, estimated from models that were seen. TPE compares two of them.
#ifndef LANISTA_SRC_STRATEGIES_PARZEN_H_
#define LANISTA_SRC_STRATEGIES_PARZEN_H_

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "src/space/space.h"

namespace lanista {

// A density over models. Used by one thread. With b = prior_weight / (n + 1), of n models that count, the kernel of an
// option o of a choice with k options gives (1 + b) / (1 + k b) to o and b / (1 + k b) to each other option.
class Density {
 public:
  virtual ~Density() = default;

  // Adds a model that was seen; it counts. The first model has number 0, the next one number 1, and so on.
  virtual void Add(const Space::Options& model) = 0;
  // Removes the last models, so that the first `models` are left. REQUIRES: at least `models` were added.
  virtual void Truncate(size_t models) = 0;
  // Sets whether the model with this number counts.
  virtual void SetCounts(size_t number, bool counts) = 0;
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
  void Truncate(size_t models) override;
  void SetCounts(size_t number, bool counts) override;
  Space::Options Draw(std::mt19937_64& random) const override;
  std::vector<double> Log(const std::vector<Space::Options>& models) const override;

 private:
  // Models are compared choice by choice in blocks of this size, which fit into the processor's nearest cache.
  static constexpr int kBlock = 64;

  // Choices with the same number of options. Their kernels are equal, so only the number of matching choices is needed.
  // There are at most 255 of them, so that a byte can count them.
  struct Group {
    int32_t option_count = 0;
    double log_option_count = 0;
    std::vector<int> choices;
    // Whether any of them may be inactive.
    bool conditional = false;
  };

  // The options of one choice in all models seen, padded to the end of a block with any values. -1, or the largest
  // byte, means that the choice is not active. Options that fit into bytes are stored as bytes, which compare fastest.
  struct Column {
    bool in_bytes = false;
    std::vector<uint8_t> bytes;
    std::vector<int32_t> numbers;
  };

  // For each model seen from `first` on, a block of them: choices of `group` that differ from `model`, and how many of
  // these are not active in the model seen.
  void Count(size_t first, const Group& group, const Space::Options& model, uint8_t* different, uint8_t* absent) const;

  const Space& space_;
  const double prior_weight_;
  std::vector<Group> groups_;
  // Models seen.
  size_t models_ = 0;
  // For each model seen, 1 if it counts, else 0; padded with 0 to the end of a block. count_ is their sum.
  std::vector<double> weights_;
  size_t count_ = 0;
  // By choice.
  std::vector<Column> columns_;
};

// The product of a density for each active choice, each of them a mixture of the kernels of the models in which the
// choice is active, and the uniform one.
class IndependentDensity : public Density {
 public:
  // `space` must outlive it.
  IndependentDensity(const Space& space, double prior_weight);

  void Add(const Space::Options& model) override;
  void Truncate(size_t models) override;
  void SetCounts(size_t number, bool counts) override;
  Space::Options Draw(std::mt19937_64& random) const override;
  std::vector<double> Log(const std::vector<Space::Options>& models) const override;

 private:
  struct Marginal {
    // How many of the models that count have each option, and how many have any.
    absl::flat_hash_map<int32_t, int> options;
    size_t models = 0;
  };
  struct Seen {
    Space::Options model;
    bool counts = true;
  };

  const Space& space_;
  const double prior_weight_;
  std::vector<Seen> seen_;
  // By choice.
  std::vector<Marginal> marginals_;
};

}  // namespace lanista

#endif  // LANISTA_SRC_STRATEGIES_PARZEN_H_

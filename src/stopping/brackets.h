// The brackets of Hyperband: how early each bracket begins to stop models, and which models it has.
#ifndef LANISTA_SRC_STOPPING_BRACKETS_H_
#define LANISTA_SRC_STOPPING_BRACKETS_H_

#include <cstdint>
#include <optional>
#include <vector>

namespace lanista {

// One bracket of Hyperband.
struct Bracket {
  // The step of its first rung; nullopt: it stops no model.
  std::optional<int> first_rung;
  // The number of its models in one round over all brackets, as in the paper: ceil((s_max + 1) / (s + 1) * factor^s).
  int64_t models = 0;
};

// Brackets s_max to 0, the one that stops earliest first: bracket s has s rungs, the last of them one factor before the
// end; s_max is floor(log_factor(max_steps / min_steps)).
// REQUIRES: 1 <= min_steps <= max_steps, factor >= 2.
std::vector<Bracket> MakeBrackets(int min_steps, int max_steps, int factor);

// Assigns models to brackets in the proportion of Bracket::models by a smooth weighted round-robin, so that the
// proportion is nearly right even for the first few models.
class BracketDealer {
 public:
  explicit BracketDealer(const std::vector<Bracket>& brackets);

  // The number of the bracket of a model (from 1). It depends on that number alone.
  int BracketOf(int model);

 private:
  int Deal();

  std::vector<int64_t> weights_;
  int64_t total_ = 0;
  // How many models each bracket has too few, compared with its share.
  std::vector<int64_t> behind_;
  // The brackets of models 1, 2, ..., computed as far as anybody has asked. There are at most 31 brackets.
  std::vector<int8_t> dealt_;
};

}  // namespace lanista

#endif  // LANISTA_SRC_STOPPING_BRACKETS_H_

// The brackets of Hyperband: how early each of them begins to stop models, and which model is in which.
#ifndef LANISTA_SRC_STOPPING_BRACKETS_H_
#define LANISTA_SRC_STOPPING_BRACKETS_H_

#include <cstdint>
#include <optional>
#include <vector>

namespace lanista {

// One bracket.
struct Bracket {
  // The step of its first rung; nullopt: it stops nobody.
  std::optional<int> first_rung;
  // Its models in a round of Hyperband over all brackets, as in the paper: ceil((s_max + 1) / (s + 1) * factor^s).
  int64_t models = 0;
};

// Brackets s_max to 0, the one that stops earliest first: bracket s has s rungs, the last of them one factor before the
// end; s_max is floor(log_factor(max_steps / min_steps)).
// REQUIRES: 1 <= min_steps <= max_steps, factor >= 2.
std::vector<Bracket> MakeBrackets(int min_steps, int max_steps, int factor);

// Deals models to brackets in the proportion of Bracket::models, spread evenly (smooth weighted round-robin): of the
// first few models, too, about as many are in each bracket as should be.
class BracketDealer {
 public:
  explicit BracketDealer(const std::vector<Bracket>& brackets);

  // The number of the bracket of a model (from 1). It depends on that number alone.
  int BracketOf(int model);

 private:
  int Deal();

  std::vector<int64_t> weights_;
  int64_t total_ = 0;
  // How much each bracket is behind its share.
  std::vector<int64_t> behind_;
  // Of models 1, 2, ... as far as anybody has asked: 31 brackets at most.
  std::vector<int8_t> dealt_;
};

}  // namespace lanista

#endif  // LANISTA_SRC_STOPPING_BRACKETS_H_

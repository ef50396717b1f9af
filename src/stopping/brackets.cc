#include "src/stopping/brackets.h"

#include <algorithm>

namespace lanista {

std::vector<Bracket> MakeBrackets(int min_steps, int max_steps, int factor) {
  // The rungs of the bracket that stops earliest, and the factor's powers.
  std::vector<int> rungs;
  std::vector<int64_t> powers = {1};
  for (int64_t step = min_steps; step * factor <= max_steps; step *= factor) {
    rungs.push_back(static_cast<int>(step));
    powers.push_back(powers.back() * factor);
  }
  const auto count = static_cast<int64_t>(powers.size());
  std::vector<Bracket> brackets;
  for (int64_t s = count - 1; s >= 0; --s) {
    Bracket bracket;
    if (s > 0) bracket.first_rung = rungs[static_cast<size_t>(count - 1 - s)];
    bracket.models = (count * powers[static_cast<size_t>(s)] + s) / (s + 1);
    brackets.push_back(bracket);
  }
  return brackets;
}

BracketDealer::BracketDealer(const std::vector<Bracket>& brackets) : behind_(brackets.size()) {
  for (const Bracket& bracket : brackets) {
    weights_.push_back(bracket.models);
    total_ += bracket.models;
  }
}

int BracketDealer::BracketOf(int model) {
  while (dealt_.size() < static_cast<size_t>(model)) dealt_.push_back(static_cast<int8_t>(Deal()));
  return dealt_[static_cast<size_t>(model) - 1];
}

int BracketDealer::Deal() {
  for (size_t i = 0; i < weights_.size(); ++i) behind_[i] += weights_[i];
  const auto most = std::max_element(behind_.begin(), behind_.end());
  *most -= total_;
  return static_cast<int>(most - behind_.begin());
}

}  // namespace lanista

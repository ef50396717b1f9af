// Counts and numbers the models of a space without enumerating them.
#ifndef LANISTA_SRC_SPACE_DECISION_GRAPH_H_
#define LANISTA_SRC_SPACE_DECISION_GRAPH_H_

#include <gmpxx.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace lanista {

// Choices and their conditions as numbers: a SpaceSpec without labels and candidates.
struct ChoiceTable {
  // Holds if `choice` is active and has one of the options `chosen` (ascending).
  struct Term {
    int choice = 0;
    std::vector<int32_t> chosen;
  };
  // Ascending indices of terms, all of which must hold.
  using Conjunction = std::vector<int>;
  struct Choice {
    int32_t options = 0;
    // At least one must hold; empty: always active. Terms name earlier choices only.
    std::vector<Conjunction> active_if;
  };

  // Equal terms are listed once.
  std::vector<Term> terms;
  std::vector<Choice> choices;
  // A model in which any of these holds is excluded: it is neither counted nor numbered.
  std::vector<Conjunction> excluded;

  // Whether `choice` is active, given the options of all earlier choices (-1: not active).
  bool IsActive(int choice, const std::vector<int32_t>& options) const;
  // Whether the model with these options is excluded.
  bool IsExcluded(const std::vector<int32_t>& options) const;
  // Whether all terms hold.
  bool Holds(const Conjunction& conjunction, const std::vector<int32_t>& options) const;
};

// An AND/OR graph (Dechter and Mateescu, "AND/OR search spaces for graphical models", 2007). A node decides one choice;
// each branch leads to the nodes that decide the remaining choices, one node for each group of choices that are
// connected by conditions. Options that no condition distinguishes share a branch, equal groups share a node, and a
// choice without dependents is a leaf. So the cost of counting grows with the conditions, not with the models. An
// excluded conjunction is treated as one more choice, which is active where the conjunction holds and has no option:
// the branches where it is active have no models. Immutable.
class DecisionGraph {
 public:
  // nullopt if the conditions are so entangled that the graph would be too large.
  static std::optional<DecisionGraph> Build(const ChoiceTable& table);

  // Number of models that are not excluded.
  const mpz_class& size() const { return size_; }

  // The options of model `number` in lexicographic order, -1 for choices that are not active.
  // REQUIRES: 0 <= number < size().
  std::vector<int32_t> Unrank(mpz_class number) const;

  // The number of the model with these options: Unrank's inverse. REQUIRES: it is a model, and it is not excluded.
  mpz_class Rank(const std::vector<int32_t>& options) const;

 private:
  friend class DecisionGraphBuilder;

  struct Branch {
    // Nodes below this branch that are decided independently of each other.
    std::vector<int> nodes;
    // Number of models below: the product over `nodes`.
    mpz_class size;
  };
  // Options [first, end) lead to the same branch.
  struct Range {
    int32_t first = 0;
    int32_t end = 0;
    int branch = 0;
  };
  struct Node {
    int choice = 0;
    std::vector<Range> ranges;
    std::vector<Branch> branches;
    mpz_class size;
  };

  std::vector<Node> nodes_;
  std::vector<int> roots_;
  mpz_class size_ = 1;
  int choices_ = 0;
};

}  // namespace lanista

#endif  // LANISTA_SRC_SPACE_DECISION_GRAPH_H_

#include "src/space/decision_graph.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <queue>
#include <utility>

#include "absl/container/flat_hash_map.h"

namespace lanista {

bool ChoiceTable::Holds(const Conjunction& conjunction, const std::vector<int32_t>& options) const {
  return std::all_of(conjunction.begin(), conjunction.end(), [&](int number) {
    const Term& term = terms[number];
    return std::binary_search(term.chosen.begin(), term.chosen.end(), options[term.choice]);
  });
}

bool ChoiceTable::IsActive(int choice, const std::vector<int32_t>& options) const {
  const std::vector<Conjunction>& active_if = choices[choice].active_if;
  return active_if.empty() || std::any_of(active_if.begin(), active_if.end(),
                                          [&](const Conjunction& conjunction) { return Holds(conjunction, options); });
}

bool ChoiceTable::IsExcluded(const std::vector<int32_t>& options) const {
  return std::any_of(excluded.begin(), excluded.end(),
                     [&](const Conjunction& conjunction) { return Holds(conjunction, options); });
}

class DecisionGraphBuilder {
 public:
  explicit DecisionGraphBuilder(const ChoiceTable& table) : table_(table) {}

  std::optional<DecisionGraph> Build() {
    std::vector<Pending> all;
    for (int choice = 0; choice < static_cast<int>(table_.choices.size()); ++choice) {
      all.push_back({choice, table_.choices[choice].active_if});
    }
    graph_.choices_ = static_cast<int>(all.size());
    for (const ChoiceTable::Conjunction& conjunction : table_.excluded) {
      all.push_back({static_cast<int>(all.size()), {conjunction}});
    }
    std::optional<DecisionGraph::Branch> roots = Divide(std::move(all));
    if (!roots.has_value()) return std::nullopt;
    graph_.roots_ = std::move(roots->nodes);
    graph_.size_ = std::move(roots->size);
    return std::move(graph_);
  }

 private:
  // A choice to be decided, with the conditions that earlier decisions left open (none: it is active). Excluded
  // conjunctions have the numbers after the last choice.
  struct Pending {
    int choice;
    std::vector<ChoiceTable::Conjunction> active_if;
  };

  // Counting gives up after looking at this many terms: well under a second and about 20 MB.
  static constexpr int64_t kBudget = 4'000'000;

  // Divides `pending` (ascending) into groups that no condition connects, and makes a node for each.
  std::optional<DecisionGraph::Branch> Divide(std::vector<Pending> pending) {
    std::vector<int> leader(pending.size());
    std::iota(leader.begin(), leader.end(), 0);
    const auto find = [&](int i) {
      while (leader[i] != i) i = leader[i] = leader[leader[i]];
      return i;
    };
    for (size_t i = 0; i < pending.size(); ++i) {
      for (const ChoiceTable::Conjunction& conjunction : pending[i].active_if) {
        for (const int term : conjunction) {
          const auto parent = std::lower_bound(pending.begin(), pending.end(), table_.terms[term].choice,
                                               [](const Pending& p, int choice) { return p.choice < choice; });
          // The leader of a group is its earliest choice.
          const auto [low, high] =
              std::minmax({find(static_cast<int>(i)), find(static_cast<int>(parent - pending.begin()))});
          leader[high] = low;
        }
      }
    }
    std::map<int, std::vector<Pending>> groups;
    for (size_t i = 0; i < pending.size(); ++i) {
      groups[find(static_cast<int>(i))].push_back(std::move(pending[i]));
    }
    DecisionGraph::Branch branch;
    branch.size = 1;
    for (auto& entry : groups) {
      const std::optional<int> node = MakeNode(std::move(entry.second));
      if (!node.has_value()) return std::nullopt;
      branch.nodes.push_back(*node);
      branch.size *= graph_.nodes_[*node].size;
    }
    return branch;
  }

  // The node that decides the first choice of a connected group. That choice is active, because everything it depends
  // on is decided.
  std::optional<int> MakeNode(std::vector<Pending> group) {
    std::vector<int32_t> key;
    for (const Pending& pending : group) {
      key.insert(key.end(), {pending.choice, static_cast<int32_t>(pending.active_if.size())});
      for (const ChoiceTable::Conjunction& conjunction : pending.active_if) {
        key.push_back(static_cast<int32_t>(conjunction.size()));
        key.insert(key.end(), conjunction.begin(), conjunction.end());
      }
    }
    if (const auto found = known_.find(key); found != known_.end()) return found->second;
    if (!Spend(key.size())) return std::nullopt;

    DecisionGraph::Node node;
    node.choice = group[0].choice;
    node.size = 0;
    // Keyed by option: the terms that hold with it. Options that no term names are equivalent.
    std::map<int32_t, std::vector<int>> holding;
    for (const int term : TermsOn(node.choice, group)) {
      for (const int32_t option : table_.terms[term].chosen) holding[option].push_back(term);
    }
    std::map<std::vector<int>, int> branch_of;
    const auto add_range = [&](int32_t first, int32_t end, const std::vector<int>& terms) {
      if (first == end) return true;
      const auto [entry, is_new] = branch_of.emplace(terms, static_cast<int>(node.branches.size()));
      if (is_new) {
        std::optional<std::vector<Pending>> rest = Decide(group, terms);
        std::optional<DecisionGraph::Branch> branch = rest.has_value() ? Divide(*std::move(rest)) : std::nullopt;
        if (!branch.has_value()) return false;
        node.branches.push_back(*std::move(branch));
      }
      if (!node.ranges.empty() && node.ranges.back().branch == entry->second) {
        node.ranges.back().end = end;
      } else {
        node.ranges.push_back({first, end, entry->second});
      }
      node.size += node.branches[entry->second].size * (end - first);
      return true;
    };
    int32_t next = 0;
    for (const auto& [option, terms] : holding) {
      if (!add_range(next, option, {}) || !add_range(option, option + 1, terms)) return std::nullopt;
      next = option + 1;
    }
    if (!add_range(next, OptionCount(node.choice), {})) return std::nullopt;

    const int number = static_cast<int>(graph_.nodes_.size());
    graph_.nodes_.push_back(std::move(node));
    known_.emplace(std::move(key), number);
    return number;
  }

  int32_t OptionCount(int choice) const { return choice < graph_.choices_ ? table_.choices[choice].options : 0; }

  std::vector<int> TermsOn(int choice, const std::vector<Pending>& group) const {
    std::vector<int> terms;
    for (const Pending& pending : group) {
      for (const ChoiceTable::Conjunction& conjunction : pending.active_if) {
        std::copy_if(conjunction.begin(), conjunction.end(), std::back_inserter(terms),
                     [&](int term) { return table_.terms[term].choice == choice; });
      }
    }
    std::sort(terms.begin(), terms.end());
    terms.erase(std::unique(terms.begin(), terms.end()), terms.end());
    return terms;
  }

  // The rest of `group` when its first choice has been decided such that, of the terms on it, `holding` (ascending)
  // hold. nullopt: the budget is spent.
  std::optional<std::vector<Pending>> Decide(const std::vector<Pending>& group, const std::vector<int>& holding) {
    std::vector<Pending> rest;
    // Choices that are decided or can no longer become active; ascending.
    std::vector<int> gone = {group[0].choice};
    for (size_t i = 1; i < group.size(); ++i) {
      Pending pending{group[i].choice, {}};
      bool active = group[i].active_if.empty();
      for (const ChoiceTable::Conjunction& conjunction : group[i].active_if) {
        if (!Spend(conjunction.size())) return std::nullopt;
        ChoiceTable::Conjunction left;
        bool possible = true;
        for (const int term : conjunction) {
          if (std::binary_search(holding.begin(), holding.end(), term)) continue;
          possible = possible && !std::binary_search(gone.begin(), gone.end(), table_.terms[term].choice);
          left.push_back(term);
        }
        if (!possible) continue;
        active = active || left.empty();
        pending.active_if.push_back(std::move(left));
      }
      if (active) {
        pending.active_if.clear();
      } else if (pending.active_if.empty()) {
        gone.push_back(pending.choice);
        continue;
      }
      std::sort(pending.active_if.begin(), pending.active_if.end());
      pending.active_if.erase(std::unique(pending.active_if.begin(), pending.active_if.end()), pending.active_if.end());
      rest.push_back(std::move(pending));
    }
    return rest;
  }

  bool Spend(int64_t amount) {
    spent_ += amount + 1;
    return spent_ <= kBudget;
  }

  const ChoiceTable& table_;
  DecisionGraph graph_;
  absl::flat_hash_map<std::vector<int32_t>, int> known_;
  int64_t spent_ = 0;
};

std::optional<DecisionGraph> DecisionGraph::Build(const ChoiceTable& table) {
  return DecisionGraphBuilder(table).Build();
}

std::vector<int32_t> DecisionGraph::Unrank(mpz_class number) const {
  std::vector<int32_t> options(choices_, -1);
  // Nodes to be decided, the earliest choice first: lexicographic order goes by choice number, not by group.
  using Item = std::pair<int, int>;
  std::priority_queue<Item, std::vector<Item>, std::greater<Item>> open;
  for (const int node : roots_) open.emplace(nodes_[node].choice, node);
  // Number of models that the open nodes still allow together.
  mpz_class allowed = size_;
  while (!open.empty()) {
    const Node& node = nodes_[open.top().second];
    open.pop();
    const mpz_class others = allowed / node.size;
    for (const Range& range : node.ranges) {
      const Branch& branch = node.branches[range.branch];
      const mpz_class each = branch.size * others;
      const mpz_class together = each * (range.end - range.first);
      if (number >= together) {
        number -= together;
        continue;
      }
      const mpz_class step = number / each;
      options[node.choice] = range.first + static_cast<int32_t>(step.get_si());
      number -= step * each;
      for (const int below : branch.nodes) open.emplace(nodes_[below].choice, below);
      allowed = each;
      break;
    }
  }
  return options;
}

mpz_class DecisionGraph::Rank(const std::vector<int32_t>& options) const {
  mpz_class number = 0;
  // As in Unrank: nodes to be decided, and the number of models that they still allow together.
  using Item = std::pair<int, int>;
  std::priority_queue<Item, std::vector<Item>, std::greater<Item>> open;
  for (const int node : roots_) open.emplace(nodes_[node].choice, node);
  mpz_class allowed = size_;
  while (!open.empty()) {
    const Node& node = nodes_[open.top().second];
    open.pop();
    const mpz_class others = allowed / node.size;
    const int32_t option = options[node.choice];
    for (const Range& range : node.ranges) {
      const Branch& branch = node.branches[range.branch];
      const mpz_class each = branch.size * others;
      if (option >= range.end) {
        number += each * (range.end - range.first);
        continue;
      }
      number += each * (option - range.first);
      for (const int below : branch.nodes) open.emplace(nodes_[below].choice, below);
      allowed = each;
      break;
    }
  }
  return number;
}

}  // namespace lanista

#include "engines/cgo/explain.h"

#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace lanista {
namespace {

using Work = LogicalPlan::Work;

std::string Describe(const graph::ScheduledStep& step) {
  const v1::Node& node = *step.node;
  const std::string& type = node.has_op()       ? node.op().type()
                            : node.has_opaque() ? node.opaque().type()
                                                : "training switch";
  return absl::StrCat(step.path, " (", type, ")");
}

}  // namespace

std::vector<v1::ExplainedWork> ExplainWork(const LogicalPlan& plan) {
  std::vector<v1::ExplainedWork> rows;
  // The first works of the rows that are there already.
  std::set<int> known;
  for (const auto& [model, chain] : plan.chains()) {
    const auto work_at = [&plan, &chain](size_t position) -> const Work& {
      return plan.works()[static_cast<size_t>(chain[position])];
    };
    for (size_t begin = 0, end = 0; begin < chain.size(); begin = end) {
      const Work& first = work_at(begin);
      // The batch always has its own row.
      for (end = begin + 1; end < chain.size() && begin > 0 && work_at(end).models == first.models;) ++end;
      if (!known.insert(chain[begin]).second) continue;
      v1::ExplainedWork& row = rows.emplace_back();
      row.mutable_models()->Add(first.models.begin(), first.models.end());
      if (begin > 0 && first.models.size() < work_at(begin - 1).models.size()) {
        row.set_own_because(first.own_because.empty() ? "the other models do something else here" : first.own_because);
      }
      if (begin == 0) continue;
      row.set_steps(static_cast<int>(end - begin));
      if (first.step == nullptr) continue;
      row.set_first(Describe(*first.step));
      row.set_last(Describe(*work_at(end - 1).step));
    }
  }
  return rows;
}

}  // namespace lanista

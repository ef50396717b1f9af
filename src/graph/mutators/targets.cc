#include "src/graph/mutators/targets.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace lanista::graph {

absl::StatusOr<std::vector<NodeHandle>> FindTargets(MutableModel& model, const std::string& target,
                                                    const v1::NodeFilter* filter) {
  if (target.empty() == (filter == nullptr)) {
    return absl::InvalidArgumentError("set either `target`, the path of a node, or `filter`");
  }
  if (filter == nullptr) return model.Find(target);
  std::vector<NodeHandle> found;
  if (filter->has_type()) {
    found = model.FindType(filter->type());
  } else if (auto all = model.Find("**"); all.ok()) {
    found = *std::move(all);
  }
  const auto fits = [&](const NodeHandle& at) {
    if (filter->has_below() && !absl::StartsWith(at.path, filter->below() + ".")) return false;
    return std::all_of(filter->attr().begin(), filter->attr().end(), [&](const v1::Attribute& wanted) {
      const auto value = model.GetAttribute(at, wanted.key());
      return value.ok() && value->SerializeAsString() == wanted.value().SerializeAsString();
    });
  };
  found.erase(std::remove_if(found.begin(), found.end(), [&](const NodeHandle& at) { return !fits(at); }), found.end());
  if (found.empty()) {
    return absl::NotFoundError(absl::StrCat("no node fits the filter { ", filter->ShortDebugString(),
                                            " }; `lanista show-graph` lists them all"));
  }
  return found;
}

}  // namespace lanista::graph

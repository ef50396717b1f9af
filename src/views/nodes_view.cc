#include "src/views/nodes_view.h"

#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "nlohmann/json.hpp"
#include "src/views/document_parts.h"

namespace lanista {
namespace {

using Json = nlohmann::ordered_json;
using Align = TextTable::Align;

// Enough to tell builds apart.
constexpr size_t kShortProgram = 12;
// Of a table's cell.
constexpr size_t kMaxTrials = 4;

std::string TrialsText(const Json& trials) {
  std::string text;
  for (size_t i = 0; i < trials.size() && i < kMaxTrials; ++i) {
    absl::StrAppend(&text, i == 0 ? "" : ", ", trials[i]["experiment"].get<std::string>(), " #",
                    trials[i]["trial"].get<int>());
  }
  if (trials.size() > kMaxTrials) absl::StrAppend(&text, " and ", trials.size() - kMaxTrials, " more");
  return text.empty() ? "-" : text;
}

}  // namespace

Json NodesDocument(const v1::NodeList& list, const std::string& program) {
  Json nodes = Json::array();
  for (const v1::NodeStatus& node : list.nodes()) {
    Json trials = Json::array();
    for (const v1::AssignedTrial& trial : node.trials()) {
      Json models = Json::array();
      for (const int model : trial.models()) models.push_back(model);
      trials.push_back({{"experiment", trial.experiment()}, {"trial", trial.trial()}, {"models", models}});
    }
    nodes.push_back(
        {{"name", node.name()},
         {"state", v1::NodeStatus::Condition_Name(node.condition())},
         {"devices", node.devices()},
         {"busy", node.busy()},
         {"trials", trials},
         {"program", node.program()},
         {"other_program", program.empty() || node.program().empty() ? Json() : Json(node.program() != program)},
         {"since", node.has_since() ? TimeJson(absl::FromUnixSeconds(node.since().seconds()) +
                                               absl::Nanoseconds(node.since().nanos()))
                                    : Json()},
         {"version", node.version()},
         {"because", node.because()},
         {"data", Json(std::vector<std::string>(node.data().begin(), node.data().end()))},
         // By key.
         {"labels", Json(std::map<std::string, std::string>(node.labels().begin(), node.labels().end()))}});
  }
  return {{"nodes", nodes}};
}

std::string NodesText(const Json& document, int width) {
  TextTable table({{"node", Align::kLeft},
                   {"state", Align::kLeft},
                   {"devices", Align::kRight},
                   {"busy", Align::kRight},
                   {"trials", Align::kLeft},
                   {"program", Align::kLeft},
                   {"since", Align::kLeft},
                   {"version", Align::kLeft},
                   {"data", Align::kLeft, /*optional=*/true},
                   {"labels", Align::kLeft, /*optional=*/true}});
  for (const Json& node : document["nodes"]) {
    const std::string program = node["program"].get<std::string>().substr(0, kShortProgram);
    table.AddRow(
        {node["name"].get<std::string>(), node["state"].get<std::string>(), absl::StrCat(node["devices"].get<int>()),
         absl::StrCat(node["busy"].get<int>()),
         node["state"] == "COMING" ? node["because"].get<std::string>() : TrialsText(node["trials"]),
         program + (node["other_program"] == true ? " (other program)" : ""),
         node["since"].is_null() ? "" : node["since"].get<std::string>(), node["version"].get<std::string>(),
         absl::StrJoin(node["data"].get<std::vector<std::string>>(), ", "),
         absl::StrJoin(node["labels"].get<std::map<std::string, std::string>>(), ", ", absl::PairFormatter("="))});
  }
  table.Fit(width);
  return table.ToText();
}

}  // namespace lanista

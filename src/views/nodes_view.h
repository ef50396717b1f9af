// The nodes of a head, as scripts and people see them.
#ifndef LANISTA_SRC_VIEWS_NODES_VIEW_H_
#define LANISTA_SRC_VIEWS_NODES_VIEW_H_

#include <string>

#include "nlohmann/json_fwd.hpp"
#include "protos/node.pb.h"
#include "src/views/text_table.h"

namespace lanista {

// `nodes`: {"nodes": [{
//   "name", "state": JOINED SILENT DRAINING, or COMING: it was asked for and has not joined,
//   "devices": how many it has, "busy": how many of them have work,
//   "trials": [{"experiment", "trial", "models": [numbers]}]: what it runs,
//   "program": of its trial processes (a build ID),
//   "other_program": whether that is another one than the head's own; null: the head has none,
//   "since": when it joined (COMING: was asked for), "version": Lanista's there,
//   "because": COMING: why it is not there; else empty,
//   "data": [names]: the data that it has (data://NAME),
//   "labels": {key: value}
// }]}, by name.
// `program`: the head's own; empty: it has none.
nlohmann::ordered_json NodesDocument(const v1::NodeList& list, const std::string& program);

// From NodesDocument: one line a node.
std::string NodesText(const nlohmann::ordered_json& document, int width = kAnyWidth);

}  // namespace lanista

#endif  // LANISTA_SRC_VIEWS_NODES_VIEW_H_

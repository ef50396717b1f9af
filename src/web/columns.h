// The documents of the API that are made from an ExperimentTable (docs/web.md has their keys).
#ifndef LANISTA_SRC_WEB_COLUMNS_H_
#define LANISTA_SRC_WEB_COLUMNS_H_

#include "nlohmann/json_fwd.hpp"
#include "src/web/experiment_table.h"

namespace lanista {

// `columns`: the table of models by column. Every number is the one of `trials`; null is what is not there. NaN and
// infinities are the strings "NaN", "Infinity" and "-Infinity". Browsers load all of it at once, so it is short: times
// are those since the experiment's or the attempt's start, and what all models have in common is said once. Of a table
// of some models it has no `front`, which takes all of them.
nlohmann::ordered_json ColumnsDocument(const ExperimentTable& table);

// `attempts`: which device was busy with what, and when.
nlohmann::ordered_json AttemptsDocument(const ExperimentTable& table);

}  // namespace lanista

#endif  // LANISTA_SRC_WEB_COLUMNS_H_

// Which column of a table has which choice: evaluator { table { column { ... } } }.
#ifndef LANISTA_SRC_CONFIG_TABLE_COLUMNS_H_
#define LANISTA_SRC_CONFIG_TABLE_COLUMNS_H_

#include "protos/experiment.pb.h"
#include "protos/space.pb.h"

namespace lanista {

// Adds a `column` for each choice of `space` that has none: the one of the choice's own name. Trials need them all,
// because they do not know the space.
void AddTableColumns(const v1::SpaceSpec& space, v1::TableConfig* table);

}  // namespace lanista

#endif  // LANISTA_SRC_CONFIG_TABLE_COLUMNS_H_

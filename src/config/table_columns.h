// Assigns columns of a table to choices: evaluator { table { column { ... } } }.
#ifndef LANISTA_SRC_CONFIG_TABLE_COLUMNS_H_
#define LANISTA_SRC_CONFIG_TABLE_COLUMNS_H_

#include "protos/experiment.pb.h"
#include "protos/space.pb.h"

namespace lanista {

// Adds a `column` with the choice's name for each choice of `space` that has no column yet. Trials need all of them,
// because they do not know the space.
void AddTableColumns(const v1::SpaceSpec& space, v1::TableConfig* table);

}  // namespace lanista

#endif  // LANISTA_SRC_CONFIG_TABLE_COLUMNS_H_

#include "src/config/table_columns.h"

#include <set>
#include <string>

namespace lanista {

void AddTableColumns(const v1::SpaceSpec& space, v1::TableConfig* table) {
  std::set<std::string> named;
  for (const v1::TableColumnConfig& column : table->column()) named.insert(column.label());
  for (const v1::Choice& choice : space.choices()) {
    if (named.count(choice.label()) > 0) continue;
    v1::TableColumnConfig& column = *table->add_column();
    column.set_label(choice.label());
    column.set_column(choice.label());
  }
}

}  // namespace lanista

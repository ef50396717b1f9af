// Names of data (data://NAME/sub): what a node has, or what work reads.
#ifndef LANISTA_ACTORS_DATA_NAMES_H_
#define LANISTA_ACTORS_DATA_NAMES_H_

#include <algorithm>
#include <set>
#include <string>

namespace lanista {

using DataNames = std::set<std::string>;

// Whether `names` has all of `data`.
inline bool Includes(const DataNames& names, const DataNames& data) {
  return std::includes(names.begin(), names.end(), data.begin(), data.end());
}

}  // namespace lanista

#endif  // LANISTA_ACTORS_DATA_NAMES_H_

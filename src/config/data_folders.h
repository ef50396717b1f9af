// Which data this machine has, and where.
#ifndef LANISTA_SRC_CONFIG_DATA_FOLDERS_H_
#define LANISTA_SRC_CONFIG_DATA_FOLDERS_H_

#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "google/protobuf/message.h"

namespace lanista {

// Constant once it is made.
class DataFolders {
 public:
  // The most that one machine may have.
  static constexpr int kMaxFolders = 1000;

  // This machine has none.
  DataFolders() = default;
  // Of `NAME=DIR` each; a relative DIR starts at `folder`. INVALID_ARGUMENT: one is malformed or named twice, or DIR is
  // no folder.
  static absl::StatusOr<DataFolders> Parse(const std::vector<std::string>& options, const std::string& folder);

  bool empty() const { return folders_.empty(); }
  std::set<std::string> names() const;

  // The path on this machine; one that is no data://, or has a name that is not here, stays as it is.
  std::string Here(const std::string& path) const;

  // `text`, with data://NAME in the place of these folders, of `names` alone.
  std::string Named(const std::string& text, const std::set<std::string>& names) const;

  // INVALID_ARGUMENT names the first field of `config` with data that is not here.
  absl::Status CheckHas(const google::protobuf::Message& config) const;

 private:
  // By name; absolute, without a slash at the end.
  std::map<std::string, std::string> folders_;
};

}  // namespace lanista

#endif  // LANISTA_SRC_CONFIG_DATA_FOLDERS_H_

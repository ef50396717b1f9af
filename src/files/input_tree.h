// Copies of the head's files on a node, under the paths that they have at the head, below a folder of the node's:
// FOLDER/home/me/net.graph is a link to a file of the cache. So relative paths in files lead to the right files, and
// suffixes stay. Graphs that name archives by absolute paths are written anew, with the paths of the copies.
#ifndef LANISTA_SRC_FILES_INPUT_TREE_H_
#define LANISTA_SRC_FILES_INPUT_TREE_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "protos/node.pb.h"
#include "src/files/file_cache.h"

namespace lanista {

// Constant. Its files stay as long as it lives; the destructor removes it.
class InputTree {
 public:
  // Finds each file of the list, by `get`, and links it below `root`, a folder that is not there yet. INVALID_ARGUMENT:
  // the list has a path that leads elsewhere, or a file that is to be a folder, too. UNAVAILABLE: this machine cannot
  // write it. Else what `get` returned.
  static absl::StatusOr<std::shared_ptr<const InputTree>> Make(
      const v1::InputList& list, std::string root,
      const std::function<absl::StatusOr<FileCache::Pin>(const v1::InputFile&)>& get);
  ~InputTree();
  InputTree(const InputTree&) = delete;
  InputTree& operator=(const InputTree&) = delete;

  const std::string& root() const { return root_; }
  // The digest of the copy of the file that is at `path` at the head and has this digest there; and the way back. They
  // differ for graphs that were written anew.
  std::string DigestHere(const std::string& path, const std::string& at_head) const;
  std::string DigestAtHead(const std::string& path, const std::string& here) const;

 private:
  explicit InputTree(std::string root) : root_(std::move(root)) {}

  absl::Status MakeFolder(const std::string& path) const;
  absl::Status Link(const v1::InputFile& file, const FileCache::Pin& pin);

  const std::string root_;
  std::vector<FileCache::Pin> pins_;
  // Of graphs that were written anew, by path: at the head, and here.
  std::map<std::string, std::pair<std::string, std::string>> digests_;
};

}  // namespace lanista

#endif  // LANISTA_SRC_FILES_INPUT_TREE_H_

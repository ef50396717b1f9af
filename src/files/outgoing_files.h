// The files that a client's configuration names, for a head that does not see them.
#ifndef LANISTA_SRC_FILES_OUTGOING_FILES_H_
#define LANISTA_SRC_FILES_OUTGOING_FILES_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "protos/service.pb.h"
#include "src/files/input_set.h"

namespace lanista {

// Files, and folders with all that is in them, each under a number of its own: 0/train.csv, 1/images/cat/1.png. A graph
// comes with the archives that it names: it is written anew, with their paths there.
class OutgoingFiles {
 public:
  // Lists them and reads all of them, for their digests. `paths`: absolute. `graphs`: those of them that are graphs.
  // Errors name what cannot be read, and say if there are too many.
  static absl::StatusOr<OutgoingFiles> Make(const std::vector<std::string>& paths,
                                            const std::vector<std::string>& graphs);

  const v1::UploadList& list() const { return list_; }
  int64_t bytes() const;
  // Where it is below the folder with everything: "0/train.csv". REQUIRES: it is one of `paths`.
  const std::string& PlaceOf(const std::string& path) const { return places_.at(path); }

  // All bytes of a file, by its position in the list, up to where `take` returns false. Errors name it.
  absl::Status Read(int file, const std::function<bool(absl::string_view)>& take) const;

 private:
  struct Source {
    std::string path;
    // Of a graph that was written anew; then `path` is for people.
    std::string content;
  };

  absl::Status AddPath(int number, const std::string& path, FileDigests* digests);
  absl::Status AddGraph(int number, const std::string& path, FileDigests* digests);
  void Add(const std::string& place, const std::string& sha256, int64_t size, Source source);

  v1::UploadList list_;
  // By position in list_.
  std::vector<Source> sources_;
  std::map<std::string, std::string> places_;
};

}  // namespace lanista

#endif  // LANISTA_SRC_FILES_OUTGOING_FILES_H_

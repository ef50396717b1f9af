// Tokens: who knows one may call.
#ifndef LANISTA_SRC_RPC_TOKEN_FILE_H_
#define LANISTA_SRC_RPC_TOKEN_FILE_H_

#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "src/base/changed_files.h"

namespace lanista {

// The tokens of a file, one a line; empty lines and those that begin with # count for nothing. Several are valid at a
// time, so that they can be replaced one after the other. The file is read again when it has changed, at most once
// every `interval`; one that is wrong then changes nothing, which the log says. Thread-safe.
class TokenFile {
 public:
  // INVALID_ARGUMENT: no token, or no good one; see also ReadSecretFile. Messages have the file's name and no token.
  static absl::StatusOr<std::unique_ptr<TokenFile>> Open(const std::string& path,
                                                         std::chrono::milliseconds interval = std::chrono::seconds(1));

  // Whether it is one of the file's. Takes as long for a wrong one as for a right one.
  bool Holds(absl::string_view token);
  // The first of the file's.
  std::string First();

 private:
  struct Tokens {
    std::string first;
    // Of all.
    std::vector<std::string> digests;
  };

  TokenFile(std::string path, std::chrono::milliseconds interval)
      : path_(std::move(path)), changed_({path_}, interval) {}

  static absl::StatusOr<Tokens> Read(const std::string& path);
  // REQUIRES: holding mutex_.
  void Refresh();

  const std::string path_;

  std::mutex mutex_;
  // Protected by mutex_.
  ChangedFiles changed_;
  Tokens tokens_;
};

}  // namespace lanista

#endif  // LANISTA_SRC_RPC_TOKEN_FILE_H_

#include "src/rpc/token_file.h"

#include <openssl/crypto.h>

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "src/base/logging.h"
#include "src/base/secret_file.h"
#include "src/base/sha256.h"
#include "src/base/status.h"

namespace lanista {
namespace {

constexpr size_t kMinBytes = 16;
// A token travels in a header: those of a call have 8 KiB together.
constexpr size_t kMaxBytes = 1000;
constexpr size_t kMaxTokens = 1000;

}  // namespace

absl::StatusOr<std::unique_ptr<TokenFile>> TokenFile::Open(const std::string& path,
                                                           std::chrono::milliseconds interval) {
  std::unique_ptr<TokenFile> file(new TokenFile(path, interval));
  LANISTA_ASSIGN_OR_RETURN(file->tokens_, Read(path));
  return file;
}

bool TokenFile::Holds(absl::string_view token) {
  const std::string digest = Sha256(token);
  const std::lock_guard<std::mutex> lock(mutex_);
  Refresh();
  int found = 0;
  // All of them: where it stands in the file is nobody's business.
  for (const std::string& known : tokens_.digests) {
    found |= CRYPTO_memcmp(known.data(), digest.data(), digest.size()) == 0 ? 1 : 0;
  }
  return found != 0;
}

std::string TokenFile::First() {
  const std::lock_guard<std::mutex> lock(mutex_);
  Refresh();
  return tokens_.first;
}

absl::StatusOr<TokenFile::Tokens> TokenFile::Read(const std::string& path) {
  LANISTA_ASSIGN_OR_RETURN(const std::string text, ReadSecretFile(path));
  Tokens tokens;
  int number = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    line = absl::StripAsciiWhitespace(line);
    if (line.empty() || line[0] == '#') continue;
    const std::string where = absl::StrCat(path, ":", number);
    if (line.size() < kMinBytes || line.size() > kMaxBytes) {
      return absl::InvalidArgumentError(absl::StrCat(where, ": a token has from ", kMinBytes, " to ", kMaxBytes,
                                                     " characters; `openssl rand -hex 32` makes one"));
    }
    if (!std::all_of(line.begin(), line.end(), absl::ascii_isgraph)) {
      return absl::InvalidArgumentError(
          absl::StrCat(where, ": a token has ASCII characters without spaces; `openssl rand -hex 32` makes one"));
    }
    if (tokens.digests.size() == kMaxTokens) {
      return absl::InvalidArgumentError(absl::StrCat(path, ": has more than ", kMaxTokens, " tokens"));
    }
    if (tokens.first.empty()) tokens.first = std::string(line);
    tokens.digests.push_back(Sha256(line));
  }
  if (tokens.digests.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": holds no token; `openssl rand -hex 32` makes one, one a line"));
  }
  return tokens;
}

void TokenFile::Refresh() {
  if (!changed_.Changed()) return;
  absl::StatusOr<Tokens> tokens = Read(path_);
  if (!tokens.ok()) {
    return LogWarning("{}; the tokens that it held before stay valid", std::string(tokens.status().message()));
  }
  tokens_ = *std::move(tokens);
  LogInfo("{}: read again, {} tokens", path_, tokens_.digests.size());
}

}  // namespace lanista

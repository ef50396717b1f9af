// The secret by which a browser shows that its user may see the page.
#ifndef LANISTA_SRC_WEB_TOKEN_H_
#define LANISTA_SRC_WEB_TOKEN_H_

#include <string>

#include "absl/status/statusor.h"

namespace lanista {

// The token of a state folder: drawn when it is first asked for, and kept in STATE/web_token, which nobody but the user
// may read; so links stay good. Where the folder cannot be written, it is drawn anew each time.
//
// FAILED_PRECONDITION: others may read the file, or it holds no token. NOT_FOUND: there is no such folder. Else the
// system's error.
absl::StatusOr<std::string> StateToken(const std::string& state_dir);

}  // namespace lanista

#endif  // LANISTA_SRC_WEB_TOKEN_H_

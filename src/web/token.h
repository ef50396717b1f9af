// The secrets by which a browser shows that its user may see the page, and a monitoring system that it may read
// /metrics.
#ifndef LANISTA_SRC_WEB_TOKEN_H_
#define LANISTA_SRC_WEB_TOKEN_H_

#include <string>

#include "absl/status/statusor.h"

namespace lanista {

// The file of the page's token: whoever has it may see and do everything.
inline constexpr char kPageToken[] = "web_token";
// The file of the token with which a monitoring system may read /metrics, and nothing else.
inline constexpr char kMetricsToken[] = "metrics_token";

// A token of a state folder: drawn when it is first asked for, and kept in STATE/FILE, which nobody but the user may
// read; so links stay good. Where the folder cannot be written, it is drawn anew each time.
//
// FAILED_PRECONDITION: others may read the file, or it holds no token. NOT_FOUND: there is no such folder. Else the
// system's error.
absl::StatusOr<std::string> StateToken(const std::string& state_dir, const std::string& file_name = kPageToken);

}  // namespace lanista

#endif  // LANISTA_SRC_WEB_TOKEN_H_

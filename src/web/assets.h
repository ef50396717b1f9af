// The page's files as answers.
#ifndef LANISTA_SRC_WEB_ASSETS_H_
#define LANISTA_SRC_WEB_ASSETS_H_

#include "src/web/http.h"

namespace lanista {

// The answer to a request outside of api/: a file of the page by its name ("/" is index.html), compressed where the
// client takes that, 304 where it has it already. 404 and 405 otherwise. Reads no disk. Thread-safe.
HttpResponse ServeAsset(const HttpRequest& request);

}  // namespace lanista

#endif  // LANISTA_SRC_WEB_ASSETS_H_

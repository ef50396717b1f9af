// What several answers of the API have in common.
#ifndef LANISTA_SRC_WEB_API_ANSWERS_H_
#define LANISTA_SRC_WEB_API_ANSWERS_H_

#include <string>

#include "absl/status/statusor.h"
#include "src/base/unique_fd.h"
#include "src/service/experiments.h"
#include "src/web/http.h"

namespace lanista {

// What a call of Experiments returned, as an answer.
template <typename Reply, typename ToJson>
HttpResponse Answer(const absl::StatusOr<Reply>& reply, const ToJson& to_json) {
  return reply.ok() ? JsonResponse(to_json(*reply)) : ErrorResponse(reply.status());
}

// A file to be saved under this name.
HttpResponse Attachment(UniqueFd file, const std::string& name);

// For a header: what is no letter, digit or one of a few signs as %XX.
std::string PercentEncoded(const std::string& text);

// 0: no model's number.
int ModelNumber(const std::string& text);

HttpResponse NoModel(const ExperimentPlace& place, const std::string& model);

}  // namespace lanista

#endif  // LANISTA_SRC_WEB_API_ANSWERS_H_

// A client that says exactly what a test wants said, well-formed or not.
#ifndef LANISTA_TESTS_WEB_HTTP_CLIENT_H_
#define LANISTA_TESTS_WEB_HTTP_CLIENT_H_

#include <map>
#include <optional>
#include <string>

#include "src/base/unique_fd.h"

namespace lanista {

struct ClientResponse {
  // 0: there was no answer.
  int status = 0;
  // By names in lower case.
  std::map<std::string, std::string> headers;
  std::string body;
};

// One connection. Whatever does not come within a minute does not come.
class HttpClient {
 public:
  // Nobody may listen there only where the test says so.
  explicit HttpClient(int port, bool may_fail = false);

  // False: the other side has closed the connection.
  bool Send(const std::string& bytes);
  // The next answer, with its body. `head`: it has none, whatever its length.
  ClientResponse Receive(bool head = false);
  // Only its beginning; the body, which has no end, is read by ReceiveChunk.
  ClientResponse ReceiveHeaders();
  // The next part of a body in chunks; empty: its end; nullopt: the connection ended before.
  std::optional<std::string> ReceiveChunk();
  // Whether the other side closes the connection, after whatever it sends.
  bool WaitForClose();

 private:
  // False: nothing more comes.
  bool ReadMore();

  UniqueFd socket_;
  std::string unread_;
};

}  // namespace lanista

#endif  // LANISTA_TESTS_WEB_HTTP_CLIENT_H_

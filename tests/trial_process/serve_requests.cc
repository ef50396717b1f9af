#include "tests/trial_process/serve_requests.h"

#include <sys/socket.h>
#include <unistd.h>

#include "absl/strings/string_view.h"
#include "src/base/framing.h"
#include "src/trial_process/parent.h"

namespace lanista {

int ServeRequests(const std::function<void(const v1::TrialRequest&)>& answer) {
  FrameDecoder decoder;
  char buffer[4096];
  ssize_t got;
  while ((got = recv(kTrialProcessSocket, buffer, sizeof(buffer), 0)) > 0) {
    decoder.Append(absl::string_view(buffer, static_cast<size_t>(got)));
    for (auto frame = decoder.Next(); frame.ok() && frame->has_value(); frame = decoder.Next()) {
      v1::TrialRequest request;
      if (!request.ParseFromString(**frame)) return 1;
      answer(request);
    }
  }
  return 0;
}

void SendEvent(const v1::TrialEvent& event) {
  std::string frame;
  if (!AppendFrame(event, &frame).ok()) _exit(1);
  SendBytes(frame);
}

void SendBytes(const std::string& bytes) {
  if (send(kTrialProcessSocket, bytes.data(), bytes.size(), MSG_NOSIGNAL) < 0) _exit(1);
}

}  // namespace lanista

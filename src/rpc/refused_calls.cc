#include "src/rpc/refused_calls.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <iterator>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "src/base/display_text.h"
#include "src/base/logging.h"
#include "src/base/utf8.h"

namespace lanista {
namespace {

// Connections over which something came so recently may all be the caller's.
constexpr uint32_t kSameMomentMs = 20;
constexpr size_t kMaxNamed = 3;
constexpr size_t kMaxMethodBytes = 200;

// Who is at the other end; empty: nobody (any more).
std::string PeerOf(int connection) {
  sockaddr_storage address = {};
  socklen_t size = sizeof(address);
  if (getpeername(connection, reinterpret_cast<sockaddr*>(&address), &size) != 0) return "";
  char host[NI_MAXHOST], port[NI_MAXSERV];
  if (getnameinfo(reinterpret_cast<const sockaddr*>(&address), size, host, sizeof(host), port, sizeof(port),
                  NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
    return "";
  }
  return address.ss_family == AF_INET6 ? absl::StrCat("[", host, "]:", port) : absl::StrCat(host, ":", port);
}

}  // namespace

void RefusedCalls::OnConnection(int connection) {
  std::string peer = PeerOf(connection);
  const std::lock_guard<std::mutex> lock(mutex_);
  peers_[connection] = std::move(peer);
}

void RefusedCalls::OnRefused(absl::string_view method, const absl::Status& why) {
  const bool denied = absl::IsPermissionDenied(why);
  telemetry_->calls_refused[denied ? Refusal::kPermissionDenied : Refusal::kUnauthenticated].Add();
  const auto now = std::chrono::steady_clock::now();
  const std::lock_guard<std::mutex> lock(mutex_);
  Notice& notice = notices_[why.code()];
  if (now < notice.next) {
    ++notice.unsaid;
    return;
  }
  notice.next = now + log_interval_;
  const int64_t others = std::exchange(notice.unsaid, 0);
  LogWarning("a call was refused: {} of {}: {}{}", OneLine(ToUtf8(std::string(method.substr(0, kMaxMethodBytes)))),
             Callers(), OneLine(std::string(why.message())),
             others == 0 ? "" : absl::StrCat(" (and ", others, " more since the last such line)"));
}

std::string RefusedCalls::Callers() {
  std::vector<std::pair<uint32_t, std::string>> heard;
  for (auto peer = peers_.begin(); peer != peers_.end();) {
    tcp_info info = {};
    socklen_t size = sizeof(info);
    const bool there = !peer->second.empty() && PeerOf(peer->first) == peer->second &&
                       getsockopt(peer->first, IPPROTO_TCP, TCP_INFO, &info, &size) == 0;
    if (there) heard.emplace_back(info.tcpi_last_data_recv, peer->second);
    peer = there ? std::next(peer) : peers_.erase(peer);
  }
  if (heard.empty()) return "a connection that has gone";
  std::sort(heard.begin(), heard.end());
  const uint32_t last = std::max(heard.front().first, kSameMomentMs);
  std::vector<std::string> names;
  for (const auto& [age, name] : heard) {
    if (age <= last) names.push_back(name);
  }
  const size_t more = names.size() - std::min(names.size(), kMaxNamed);
  names.resize(names.size() - more);
  return absl::StrCat(absl::StrJoin(names, " or "), more == 0 ? "" : absl::StrCat(" or one of ", more, " others"));
}

}  // namespace lanista

#include "src/web/http_server.h"

#include <fcntl.h>
#include <microhttpd.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "src/base/logging.h"
#include "src/base/pem_files.h"
#include "src/base/status.h"
#include "src/base/unique_fd.h"
#include "src/base/work_queue.h"
#include "src/web/http_stream.h"
#include "src/web/tls_certificate.h"

namespace lanista {
namespace {

// Of a request line with its headers; and of an answer's headers.
constexpr size_t kConnectionMemory = 32 << 10;
// A body that is too large is read on, so that its sender sees the answer, but not for ever.
constexpr size_t kMaxDiscarded = 1 << 20;
constexpr size_t kStreamBlock = 16 << 10;
constexpr int kBacklog = 511;
constexpr int kReaders = 3;
constexpr int kWriters = 4;
// More than may wait for a trial process: each of them waits on a thread.
constexpr int kSlow = 12;
constexpr size_t kMaxWaiting = 1000;

// GnuTLS: what is called normal, without the versions that browsers speak no more.
constexpr char kTlsPriorities[] = "NORMAL:-VERS-TLS1.0:-VERS-TLS1.1:-VERS-DTLS-ALL";

constexpr char kNotOpen[] = "this server ends, or has not begun yet; try again";

// A socket that listens.
absl::StatusOr<UniqueFd> Listen(const std::string& host, int port) {
  std::string name = host;
  if (name.size() > 2 && name.front() == '[' && name.back() == ']') name = name.substr(1, name.size() - 2);
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(name.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (error != 0) return absl::InvalidArgumentError(absl::StrCat("cannot listen on ", host, ": ", gai_strerror(error)));
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> addresses(found, &freeaddrinfo);
  int why = 0;
  for (const addrinfo* address = found; address != nullptr; address = address->ai_next) {
    UniqueFd listener(socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, address->ai_protocol));
    const int on = 1;
    if (listener.get() >= 0 && setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0 &&
        bind(listener.get(), address->ai_addr, address->ai_addrlen) == 0 && listen(listener.get(), kBacklog) == 0) {
      return listener;
    }
    why = errno;
  }
  return absl::UnavailableError(
      absl::StrCat(lanista::ErrnoToStatus(why, absl::StrCat("cannot listen on ", host, ":", port)).message(),
                   why == EADDRINUSE ? ": another program is there; port 0 takes any free one" : ""));
}

// Whether the other side has closed its half of the connection: clients that still wait for an answer do not.
bool HasGone(int connection) {
  pollfd look = {connection, POLLRDHUP, 0};
  return poll(&look, 1, /*milliseconds*/ 0) > 0 && (look.revents & (POLLRDHUP | POLLHUP | POLLERR | POLLNVAL)) != 0;
}

int PortOf(int listener) {
  sockaddr_storage address = {};
  socklen_t size = sizeof(address);
  if (getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
  // The port lies at the same place in both families.
  return ntohs(reinterpret_cast<const sockaddr_in*>(&address)->sin_port);
}

unsigned int ConnectionLimit(int wanted) {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return static_cast<unsigned int>(wanted);
  return static_cast<unsigned int>(
      std::max<rlim_t>(8, std::min<rlim_t>(static_cast<rlim_t>(wanted), limit.rlim_cur / 2)));
}

}  // namespace

//                        check                body             Handle
//   (headers) --> Begin ------> Reading -------------> Posted -------> Answering
//                   |                        (suspended)                  ^
//                   +-----------------------------------------------------+
//                     it can be answered at once
class HttpServer::Impl {
 public:
  Impl(const Options& options, Check check, Handle handle)
      : headers_(options.headers),
        is_slow_(options.is_slow),
        check_(std::move(check)),
        handle_(std::move(handle)),
        open_(options.open) {}

  ~Impl() {
    SetOpen(false);
    // Each job resumes its connection.
    slow_.reset();
    readers_.reset();
    writers_.reset();
    EndStreams();
    // The library wants no connection to be suspended now.
    if (daemon_ != nullptr) MHD_stop_daemon(daemon_);
  }

  absl::Status Start(const Options& options) {
    LANISTA_ASSIGN_OR_RETURN(UniqueFd listener, Listen(options.host, options.port));
    port_ = PortOf(listener.get());
    unsigned int flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME;
    std::vector<MHD_OptionItem> tls_options;
    TlsIdentity first;
    if (!options.tls_certificate_file.empty()) {
      LANISTA_ASSIGN_OR_RETURN(certificate_, TlsCertificate::Open(options.tls_certificate_file, options.tls_key_file));
      // The library wants one of its own, although OnConnection gives each connection ours.
      LANISTA_ASSIGN_OR_RETURN(first, ReadTlsIdentity(options.tls_certificate_file, options.tls_key_file));
      flags |= MHD_USE_TLS;
      tls_options.push_back({MHD_OPTION_HTTPS_MEM_CERT, 0, first.certificates.data()});
      tls_options.push_back({MHD_OPTION_HTTPS_MEM_KEY, 0, first.key.data()});
      tls_options.push_back({MHD_OPTION_HTTPS_PRIORITIES, 0, const_cast<char*>(kTlsPriorities)});
    }
    tls_options.push_back({MHD_OPTION_END, 0, nullptr});
    // The library closes it, whether it starts or not.
    const int owned = fcntl(listener.get(), F_DUPFD_CLOEXEC, 0);
    daemon_ = MHD_start_daemon(flags, 0, nullptr, nullptr, &Impl::OnAccess, this, MHD_OPTION_LISTEN_SOCKET, owned,
                               MHD_OPTION_CONNECTION_MEMORY_LIMIT, kConnectionMemory, MHD_OPTION_CONNECTION_LIMIT,
                               ConnectionLimit(options.max_connections), MHD_OPTION_CONNECTION_TIMEOUT,
                               static_cast<unsigned int>(options.timeout_seconds), MHD_OPTION_URI_LOG_CALLBACK,
                               &Impl::OnTarget, this, MHD_OPTION_UNESCAPE_CALLBACK, &Impl::KeepEscapes, nullptr,
                               MHD_OPTION_NOTIFY_COMPLETED, &Impl::OnCompleted, this, MHD_OPTION_NOTIFY_CONNECTION,
                               &Impl::OnConnection, this, MHD_OPTION_ARRAY, tls_options.data(), MHD_OPTION_END);
    if (daemon_ != nullptr) return absl::OkStatus();
    return absl::UnavailableError(absl::StrCat("cannot serve on ", options.host, ":", port_));
  }

  void SetOpen(bool open) {
    const std::lock_guard<std::mutex> lock(mutex_);
    open_ = open;
  }

  bool IsOpen() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return open_;
  }

  int port() const { return port_; }

 private:
  // A request and its answer.
  struct Exchange {
    std::string target;
    HttpRequest request;
    bool begun = false;
    size_t body_bytes = 0;
    std::optional<HttpResponse> response;
    std::shared_ptr<HttpStream> stream;
  };

  static Impl& Self(void* self) { return *static_cast<Impl*>(self); }

  // Makes the Exchange: `*exchange` of OnAccess.
  static void* OnTarget(void*, const char* target, MHD_Connection*) {
    auto* const exchange = new Exchange;
    exchange->target = target;
    return exchange;
  }

  // Targets are decoded by ParseTarget: what a slash was, and what an encoded one, must stay known.
  static size_t KeepEscapes(void*, MHD_Connection*, char* text) { return std::char_traits<char>::length(text); }

  static MHD_Result OnAccess(void* self, MHD_Connection* connection, const char*, const char* method, const char*,
                             const char* body, size_t* body_size, void** exchange) {
    return Self(self).Advance(connection, method, body, body_size, static_cast<Exchange*>(*exchange));
  }

  static void OnCompleted(void* self, MHD_Connection*, void** exchange, MHD_RequestTerminationCode) {
    auto* const done = static_cast<Exchange*>(*exchange);
    if (done == nullptr) return;
    if (done->stream != nullptr) {
      done->stream->Detach();
      const std::lock_guard<std::mutex> lock(Self(self).mutex_);
      Self(self).streams_.erase(done->stream);
    }
    delete done;
    *exchange = nullptr;
  }

  // With TLS: the connection holds what it shows of the server, `*held`, until it is closed.
  static void OnConnection(void* self, MHD_Connection* connection, void** held, MHD_ConnectionNotificationCode code) {
    TlsCertificate* const certificate = Self(self).certificate_.get();
    if (certificate == nullptr) return;
    using Credentials = TlsCertificate::Credentials;
    if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
      delete static_cast<Credentials*>(*held);
      *held = nullptr;
      return;
    }
    const MHD_ConnectionInfo* const info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
    if (info == nullptr || info->tls_session == nullptr) return;
    auto* const shown = new Credentials(certificate->Current());
    *held = shown;
    gnutls_credentials_set(static_cast<gnutls_session_t>(info->tls_session), GNUTLS_CRD_CERTIFICATE, shown->get());
  }

  static MHD_Result AddHeader(void* request, MHD_ValueKind, const char* name, const char* value) {
    std::string& header = static_cast<HttpRequest*>(request)->headers[absl::AsciiStrToLower(name)];
    absl::StrAppend(&header, header.empty() ? "" : ", ", value == nullptr ? "" : value);
    return MHD_YES;
  }

  MHD_Result Advance(MHD_Connection* connection, const char* method, const char* body, size_t* body_size,
                     Exchange* exchange) {
    if (!exchange->begun) {
      exchange->begun = true;
      // The library closes a connection that is answered here, and one that is closed with unread bytes takes its
      // answer with it: the body is read first, unless it is too large to wait for.
      const bool read_on = Begin(connection, method, exchange);
      return exchange->response.has_value() && !read_on ? Answer(connection, exchange) : MHD_YES;
    }
    if (*body_size > 0) {
      exchange->body_bytes += *body_size;
      if (exchange->body_bytes > kMaxDiscarded) return MHD_NO;
      if (exchange->body_bytes > kMaxBody && !exchange->response.has_value()) exchange->response = TooLarge();
      if (!exchange->response.has_value()) exchange->request.body.append(body, *body_size);
      *body_size = 0;
      return MHD_YES;
    }
    return exchange->response.has_value() ? Answer(connection, exchange) : Post(connection, exchange);
  }

  // Sets the answer, where there is one before the body has come. Whether that is to be read all the same.
  bool Begin(MHD_Connection* connection, const char* method, Exchange* exchange) {
    HttpRequest& request = exchange->request;
    request.method = method;
    MHD_get_connection_values(connection, MHD_HEADER_KIND, &Impl::AddHeader, &request);
    const absl::Status parsed = ParseTarget(exchange->target, &request);
    exchange->response = parsed.ok() ? check_(request) : ErrorResponse(parsed);
    uint64_t length = 0;
    if (!absl::SimpleAtoi(request.Header("content-length"), &length)) length = 0;
    if (!exchange->response.has_value() && length > kMaxBody) exchange->response = TooLarge();
    return length <= kMaxDiscarded;
  }

  static HttpResponse TooLarge() {
    return ErrorResponse(413, absl::StrCat("the body has more than ", kMaxBody, " bytes"));
  }

  // Has the request handled on another thread.
  MHD_Result Post(MHD_Connection* connection, Exchange* exchange) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!open_) {
      exchange->response = ErrorResponse(503, kNotOpen);
      return Answer(connection, exchange);
    }
    const int socket = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
    exchange->request.abandoned = [this, socket] { return HasGone(socket) || !IsOpen(); };
    // First, so that the job finds it suspended. Nothing else touches the exchange until it is resumed.
    MHD_suspend_connection(connection);
    const bool taken = QueueOf(exchange->request).TryPost([this, connection, exchange] {
      exchange->response = HandleSafely(exchange->request);
      MHD_resume_connection(connection);
    });
    if (!taken) {
      exchange->response = ErrorResponse(503, "too many requests wait for this server; try again");
      MHD_resume_connection(connection);
    }
    return MHD_YES;
  }

  WorkQueue& QueueOf(const HttpRequest& request) {
    if (is_slow_ && is_slow_(request)) return *slow_;
    return request.method == "GET" || request.method == "HEAD" ? *readers_ : *writers_;
  }

  HttpResponse HandleSafely(const HttpRequest& request) {
    try {
      return handle_(request);
    } catch (const std::exception& error) {
      LogError("{} {}: {}", request.method, request.path.empty() ? "" : request.path.back(), error.what());
      return ErrorResponse(500, absl::StrCat("the server made a mistake: ", error.what()));
    }
  }

  MHD_Result Answer(MHD_Connection* connection, Exchange* exchange) {
    HttpResponse& response = *exchange->response;
    MHD_Response* const made = MakeResponse(connection, &response, exchange);
    if (made == nullptr) return MHD_NO;
    for (const auto& [name, value] : response.headers) MHD_add_response_header(made, name.c_str(), value.c_str());
    for (const auto& [name, value] : headers_) {
      if (MHD_get_response_header(made, name.c_str()) == nullptr) {
        MHD_add_response_header(made, name.c_str(), value.c_str());
      }
    }
    const MHD_Result queued = MHD_queue_response(connection, static_cast<unsigned int>(response.status), made);
    MHD_destroy_response(made);
    return queued;
  }

  MHD_Response* MakeResponse(MHD_Connection* connection, HttpResponse* response, Exchange* exchange) {
    if (response->stream != nullptr) {
      exchange->stream = response->stream;
      response->stream->Attach(connection);
      AddStream(response->stream);
      return MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, kStreamBlock, &Impl::TakeFromStream,
                                               response->stream.get(), nullptr);
    }
    if (response->file.get() >= 0) {
      // The library closes it.
      const int owned = fcntl(response->file.get(), F_DUPFD_CLOEXEC, 0);
      return owned < 0 ? nullptr : MHD_create_response_from_fd64(response->file_size, owned);
    }
    if (response->body == nullptr) return MHD_create_response_from_buffer(0, nullptr, MHD_RESPMEM_PERSISTENT);
    using Body = std::shared_ptr<const std::string>;
    auto* const body = new Body(response->body);
    return MHD_create_response_from_buffer_with_free_callback_cls(
        (*body)->size(), const_cast<char*>((*body)->data()), [](void* held) { delete static_cast<Body*>(held); }, body);
  }

  // The exchange holds the stream until the request is completed.
  static ssize_t TakeFromStream(void* stream, uint64_t, char* buffer, size_t size) {
    return static_cast<HttpStream*>(stream)->Take(buffer, size);
  }

  void AddStream(const std::shared_ptr<HttpStream>& stream) {
    const std::lock_guard<std::mutex> lock(mutex_);
    streams_.insert(stream);
    if (streams_ended_) stream->End();
  }

  void EndStreams() {
    const std::lock_guard<std::mutex> lock(mutex_);
    streams_ended_ = true;
    for (const std::shared_ptr<HttpStream>& stream : streams_) stream->End();
  }

  const std::vector<std::pair<std::string, std::string>> headers_;
  const std::function<bool(const HttpRequest&)> is_slow_;
  const Check check_;
  const Handle handle_;
  int port_ = 0;

  std::mutex mutex_;
  // Protected by mutex_.
  bool open_;
  bool streams_ended_ = false;
  std::set<std::shared_ptr<HttpStream>> streams_;

  std::unique_ptr<WorkQueue> slow_ = std::make_unique<WorkQueue>(kSlow, kMaxWaiting);
  std::unique_ptr<WorkQueue> readers_ = std::make_unique<WorkQueue>(kReaders, kMaxWaiting);
  std::unique_ptr<WorkQueue> writers_ = std::make_unique<WorkQueue>(kWriters, kMaxWaiting);
  // Null: without TLS. Of the connections' thread, once that runs.
  std::unique_ptr<TlsCertificate> certificate_;
  MHD_Daemon* daemon_ = nullptr;
};

HttpServer::HttpServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HttpServer::~HttpServer() = default;

void HttpServer::Open() { impl_->SetOpen(true); }
void HttpServer::Close() { impl_->SetOpen(false); }
int HttpServer::port() const { return impl_->port(); }

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(const Options& options, Check check, Handle handle) {
  auto impl = std::make_unique<Impl>(options, std::move(check), std::move(handle));
  LANISTA_RETURN_IF_ERROR(impl->Start(options));
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(impl)));
}

}  // namespace lanista

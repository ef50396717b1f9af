#include "src/rpc/unreachable.h"

#include <netdb.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "src/base/unique_fd.h"

namespace lanista {
namespace {

// Of each wait for the other side.
constexpr timeval kPatience = {3, 0};
// HTTP/2, as TLS names it.
constexpr unsigned char kProtocols[] = {2, 'h', '2'};

// A TCP connection; invalid: there is none to be had.
UniqueFd Dial(const Address& address) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(address.bare_host().c_str(), std::to_string(address.port).c_str(), &hints, &found) != 0) return {};
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> addresses(found, &freeaddrinfo);
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
    UniqueFd connection(socket(each->ai_family, each->ai_socktype | SOCK_CLOEXEC, each->ai_protocol));
    setsockopt(connection.get(), SOL_SOCKET, SO_SNDTIMEO, &kPatience, sizeof(kPatience));
    setsockopt(connection.get(), SOL_SOCKET, SO_RCVTIMEO, &kPatience, sizeof(kPatience));
    if (connect(connection.get(), each->ai_addr, each->ai_addrlen) == 0) return connection;
  }
  return {};
}

// TLS over a connection, by hand, because a write of OpenSSL's to a closed one would end the process (SIGPIPE).
class TlsConnection {
 public:
  TlsConnection(const HeadAccess& access, int connection)
      : connection_(connection), context_(SSL_CTX_new(TLS_client_method()), &SSL_CTX_free), ssl_(nullptr, &SSL_free) {
    if (access.authorities_file.empty()) {
      SSL_CTX_set_default_verify_paths(context_.get());
    } else {
      SSL_CTX_load_verify_file(context_.get(), access.authorities_file.c_str());
    }
    ssl_.reset(SSL_new(context_.get()));
    // The verdict is asked for.
    SSL_set_verify(ssl_.get(), SSL_VERIFY_NONE, nullptr);
    // Called where a certificate is asked for; it gets none, because the greeting shows all that is to be known.
    SSL_set_cert_cb(
        ssl_.get(),
        [](SSL*, void* self) {
          static_cast<TlsConnection*>(self)->wants_certificate_ = true;
          return 1;
        },
        this);
    SSL_set_alpn_protos(ssl_.get(), kProtocols, sizeof(kProtocols));
    const std::string host = access.address.bare_host();
    X509_VERIFY_PARAM* const wanted = SSL_get0_param(ssl_.get());
    if (X509_VERIFY_PARAM_set1_ip_asc(wanted, host.c_str()) != 1) {
      X509_VERIFY_PARAM_set1_host(wanted, host.c_str(), host.size());
      SSL_set_tlsext_host_name(ssl_.get(), host.c_str());
    }
    // The connection takes both.
    in_ = BIO_new(BIO_s_mem());
    out_ = BIO_new(BIO_s_mem());
    SSL_set_bio(ssl_.get(), in_, out_);
    ERR_clear_error();
  }

  // Whether the other side speaks TLS: it showed its certificate. False also where it has gone, or says nothing.
  bool Greet() {
    while (true) {
      const int want = SSL_get_error(ssl_.get(), SSL_connect(ssl_.get()));
      ERR_clear_error();
      char* bytes = nullptr;
      const long count = BIO_get_mem_data(out_, &bytes);
      const bool sent = count == 0 || send(connection_, bytes, static_cast<size_t>(count), MSG_NOSIGNAL) == count;
      BIO_reset(out_);
      char buffer[4096];
      const ssize_t got = sent && want == SSL_ERROR_WANT_READ ? recv(connection_, buffer, sizeof(buffer), 0) : 0;
      if (got <= 0) return SSL_get0_peer_certificate(ssl_.get()) != nullptr;
      BIO_write(in_, buffer, static_cast<int>(got));
    }
  }

  long verdict() const { return SSL_get_verify_result(ssl_.get()); }
  // The other side wants to see a certificate of ours.
  bool wants_certificate() const { return wants_certificate_; }

 private:
  const int connection_;
  const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context_;
  std::unique_ptr<SSL, decltype(&SSL_free)> ssl_;
  // Of ssl_.
  BIO* in_ = nullptr;
  BIO* out_ = nullptr;
  bool wants_certificate_ = false;
};

// What is wrong with the certificate of the other side; empty: nothing.
std::string WhatIsWrong(long verdict, const HeadAccess& access) {
  const std::string authorities =
      access.authorities_file.empty() ? "the system's authorities" : "those in " + access.authorities_file;
  switch (verdict) {
    case X509_V_OK:
      return "";
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
      return absl::StrCat("its certificate is for another name than ", access.address.bare_host(),
                          ": use a name that is in it (subjectAltName), or make one with this name");
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return "its certificate has expired: replace the files of `serve --tls-cert` and `--tls-key`";
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return "its certificate is not valid yet: compare the clocks of both machines";
    default:
      return absl::StrCat("its certificate is of none of ", authorities, " (", X509_verify_cert_error_string(verdict),
                          "): name the right one with --tls-ca FILE");
  }
}

// Behind "no head can be reached at H:P".
std::string Reason(const HeadAccess& access) {
  const UniqueFd connection = Dial(access.address);
  if (connection.get() < 0) return "; `lanista serve` starts one";
  TlsConnection tls(access, connection.get());
  const bool speaks_tls = tls.Greet();
  if (!access.tls) {
    return speaks_tls ? ": what listens there speaks TLS: add --tls-ca FILE with the authority of its certificate, or "
                        "--tls where the system knows that"
                      : ": a program listens there, but it does not answer as a head";
  }
  if (!speaks_tls) return ": what listens there does not speak TLS: leave --tls and --tls-ca out, or check the port";
  const std::string wrong = WhatIsWrong(tls.verdict(), access);
  if (!wrong.empty()) return absl::StrCat(": ", wrong);
  if (!tls.wants_certificate()) return ": it speaks TLS, but does not answer as a head";
  if (access.certificate_file.empty()) {
    return ": it wants a client's certificate: add --tls-cert FILE and --tls-key FILE";
  }
  return absl::StrCat(": it does not take ", access.certificate_file,
                      ": is it of an authority in `serve --tls-client-ca`, and still valid?");
}

}  // namespace

absl::Status WhyUnreachable(const HeadAccess& access) {
  return absl::UnavailableError(absl::StrCat("no head can be reached at ", access.address.ToText(), Reason(access)));
}

}  // namespace lanista

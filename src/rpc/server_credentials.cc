#include "src/rpc/server_credentials.h"

#include <grpc/grpc.h>
#include <grpc/grpc_security.h>

#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "src/base/changed_files.h"
#include "src/base/logging.h"
#include "src/base/pem_files.h"
#include "src/base/status.h"
#include "src/rpc/call_check.h"

namespace lanista {
namespace {

absl::string_view View(const grpc_slice& slice) {
  return {reinterpret_cast<const char*>(GRPC_SLICE_START_PTR(slice)), GRPC_SLICE_LENGTH(slice)};
}

// What the head shows in TLS, and whom it trusts.
struct TlsFiles {
  TlsIdentity identity;
  // Empty: clients need no certificate.
  std::string client_authorities;
};

absl::StatusOr<TlsFiles> ReadTlsFiles(const PortProtection& protection) {
  TlsFiles files;
  LANISTA_ASSIGN_OR_RETURN(files.identity, ReadTlsIdentity(protection.tls_certificate_file, protection.tls_key_file));
  if (!protection.tls_client_authorities_file.empty()) {
    LANISTA_ASSIGN_OR_RETURN(files.client_authorities, ReadAuthorities(protection.tls_client_authorities_file));
  }
  if (files.identity.expired) {
    LogWarning("{}: the certificate has expired: clients refuse it", protection.tls_certificate_file);
  }
  return files;
}

// What the callbacks of gRPC's C interface use. That interface checks the calls of ports with and without TLS alike
// (the one for C++ only those with), and asks for the certificate with each connection.
class Guard {
 public:
  Guard(PortProtection protection, std::unique_ptr<CallCheck> check, std::shared_ptr<RefusedCalls> refused)
      : protection_(std::move(protection)),
        check_(std::move(check)),
        refused_(std::move(refused)),
        changed_(
            {protection_.tls_certificate_file, protection_.tls_key_file, protection_.tls_client_authorities_file}) {}

  // REQUIRES: before the port is opened, where it has TLS.
  absl::Status Begin() {
    LANISTA_ASSIGN_OR_RETURN(tls_, ReadTlsFiles(protection_));
    return absl::OkStatus();
  }

  // grpc_auth_metadata_processor.
  static void Process(void* self, grpc_auth_context*, const grpc_metadata* metadata, size_t count,
                      grpc_process_auth_metadata_done_cb done, void* user_data) {
    absl::string_view method, authorization;
    const grpc_metadata* consumed = nullptr;
    for (const grpc_metadata* each = metadata; each < metadata + count; ++each) {
      if (View(each->key) == ":path") method = View(each->value);
      if (View(each->key) != "authorization") continue;
      authorization = View(each->value);
      // No service needs to know it.
      consumed = each;
    }
    auto* const guard = static_cast<Guard*>(self);
    const absl::Status status = guard->check_->Check(method, authorization);
    if (!status.ok()) guard->refused_->OnRefused(method, status);
    done(user_data, consumed, consumed == nullptr ? 0 : 1, nullptr, 0, static_cast<grpc_status_code>(status.code()),
         status.ok() ? nullptr : std::string(status.message()).c_str());
  }
  static void Destroy(void* self) { delete static_cast<Guard*>(self); }

  // grpc_ssl_server_certificate_config_callback.
  static grpc_ssl_certificate_config_reload_status Fetch(void* self, grpc_ssl_server_certificate_config** config) {
    return static_cast<Guard*>(self)->FetchCertificate(config);
  }

  bool wants_client_certificates() const { return !protection_.tls_client_authorities_file.empty(); }

 private:
  grpc_ssl_certificate_config_reload_status FetchCertificate(grpc_ssl_server_certificate_config** config) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (changed_.Changed()) {
      absl::StatusOr<TlsFiles> files = ReadTlsFiles(protection_);
      if (files.ok()) {
        tls_ = *std::move(files);
        is_new_ = true;
        LogInfo("{}: read again", protection_.tls_certificate_file);
      } else {
        LogWarning("{}; the certificate that was there before stays", std::string(files.status().message()));
      }
    }
    if (!std::exchange(is_new_, false)) return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_UNCHANGED;
    const grpc_ssl_pem_key_cert_pair pair = {tls_.identity.key.c_str(), tls_.identity.certificates.c_str()};
    // gRPC 1.51 wants authorities also where it is told to ask for no certificate: any will do.
    const std::string& authorities = wants_client_certificates() ? tls_.client_authorities : tls_.identity.certificates;
    *config = grpc_ssl_server_certificate_config_create(authorities.c_str(), &pair, 1);
    return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_NEW;
  }

  const PortProtection protection_;
  const std::unique_ptr<CallCheck> check_;
  const std::shared_ptr<RefusedCalls> refused_;

  std::mutex mutex_;
  // Protected by mutex_.
  ChangedFiles changed_;
  TlsFiles tls_;
  // gRPC does not have tls_ yet.
  bool is_new_ = true;
};

class GuardedCredentials : public grpc::ServerCredentials {
 public:
  GuardedCredentials(std::unique_ptr<Guard> guard, bool has_tls) {
    if (has_tls) {
      grpc_ssl_server_credentials_options* const options =
          grpc_ssl_server_credentials_create_options_using_config_fetcher(
              guard->wants_client_certificates() ? GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY
                                                 : GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE,
              Guard::Fetch, guard.get());
      credentials_ = grpc_ssl_server_credentials_create_with_options(options);
    } else {
      credentials_ = grpc_insecure_server_credentials_create();
    }
    // It lives as long as any connection may need it.
    grpc_server_credentials_set_auth_metadata_processor(credentials_,
                                                        {Guard::Process, Guard::Destroy, guard.release()});
  }
  ~GuardedCredentials() override { grpc_server_credentials_release(credentials_); }

  // There is one already.
  void SetAuthMetadataProcessor(const std::shared_ptr<grpc::AuthMetadataProcessor>&) override {}

 private:
  int AddPortToServer(const std::string& address, grpc_server* server) override {
    return grpc_server_add_http2_port(server, address.c_str(), credentials_);
  }

  grpc_server_credentials* credentials_;
};

absl::StatusOr<std::unique_ptr<TokenFile>> OpenIfNamed(const std::string& path) {
  if (path.empty()) return nullptr;
  return TokenFile::Open(path);
}

}  // namespace

absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> MakeServerCredentials(const PortProtection& protection,
                                                                               std::shared_ptr<RefusedCalls> refused) {
  LANISTA_ASSIGN_OR_RETURN(std::unique_ptr<TokenFile> client_tokens, OpenIfNamed(protection.client_token_file));
  LANISTA_ASSIGN_OR_RETURN(std::unique_ptr<TokenFile> node_tokens, OpenIfNamed(protection.node_token_file));
  auto guard = std::make_unique<Guard>(
      protection, std::make_unique<CallCheck>(std::move(client_tokens), std::move(node_tokens), protection.nodes_only),
      std::move(refused));
  if (protection.has_tls()) LANISTA_RETURN_IF_ERROR(guard->Begin());
  return std::make_shared<GuardedCredentials>(std::move(guard), protection.has_tls());
}

}  // namespace lanista

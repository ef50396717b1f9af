#include "src/rpc/channel.h"

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/security/credentials.h"
#include "grpcpp/support/client_interceptor.h"
#include "src/base/pem_files.h"
#include "src/base/status.h"
#include "src/rpc/grpc_setup.h"
#include "src/rpc/token_file.h"

namespace lanista {
namespace {

constexpr int kMaxReplyBytes = 64 << 20;
constexpr int kKeepaliveMs = 20000;
constexpr int kKeepaliveTimeoutMs = 10000;
constexpr int kMinReconnectMs = 100;
constexpr int kMaxReconnectMs = 1000;

// Adds the token to a call. gRPC's call credentials would do so with TLS only.
class SendToken : public grpc::experimental::Interceptor {
 public:
  explicit SendToken(TokenFile* tokens) : tokens_(*tokens) {}

  void Intercept(grpc::experimental::InterceptorBatchMethods* methods) override {
    if (methods->QueryInterceptionHookPoint(grpc::experimental::InterceptionHookPoints::PRE_SEND_INITIAL_METADATA)) {
      methods->GetSendInitialMetadata()->emplace("authorization", absl::StrCat("Bearer ", tokens_.First()));
    }
    methods->Proceed();
  }

 private:
  TokenFile& tokens_;
};

class SendTokens : public grpc::experimental::ClientInterceptorFactoryInterface {
 public:
  explicit SendTokens(std::unique_ptr<TokenFile> tokens) : tokens_(std::move(tokens)) {}

  grpc::experimental::Interceptor* CreateClientInterceptor(grpc::experimental::ClientRpcInfo*) override {
    return new SendToken(tokens_.get());
  }

 private:
  const std::unique_ptr<TokenFile> tokens_;
};

absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> MakeCredentials(const HeadAccess& access) {
  if (!access.tls) return grpc::InsecureChannelCredentials();
  grpc::SslCredentialsOptions options;
  if (!access.authorities_file.empty()) {
    LANISTA_ASSIGN_OR_RETURN(options.pem_root_certs, ReadAuthorities(access.authorities_file));
  }
  if (!access.certificate_file.empty()) {
    LANISTA_ASSIGN_OR_RETURN(TlsIdentity identity, ReadTlsIdentity(access.certificate_file, access.key_file));
    options.pem_cert_chain = std::move(identity.certificates);
    options.pem_private_key = std::move(identity.key);
  }
  return grpc::SslCredentials(options);
}

}  // namespace

absl::StatusOr<std::shared_ptr<grpc::Channel>> MakeChannel(const HeadAccess& access) {
  SetUpGrpc();
  std::vector<std::unique_ptr<grpc::experimental::ClientInterceptorFactoryInterface>> interceptors;
  if (!access.token_file.empty()) {
    if (!access.tls && !access.address.is_loopback() && !access.insecure) {
      return absl::FailedPreconditionError(absl::StrCat(
          "the token of ", access.token_file, " would travel to ", access.address.ToText(),
          " unencrypted: add --tls-ca FILE (or --tls, where the system knows the authority of the head's certificate), "
          "or --insecure where you trust the whole network"));
    }
    LANISTA_ASSIGN_OR_RETURN(std::unique_ptr<TokenFile> tokens, TokenFile::Open(access.token_file));
    interceptors.push_back(std::make_unique<SendTokens>(std::move(tokens)));
  }
  LANISTA_ASSIGN_OR_RETURN(const std::shared_ptr<grpc::ChannelCredentials> credentials, MakeCredentials(access));
  grpc::ChannelArguments arguments;
  // A proxy for web pages is none for heads.
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMs);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveTimeoutMs);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, kPingsWithoutData);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, kMinReconnectMs);
  // The option is named after what it was for once.
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS,
                   static_cast<int>(std::chrono::milliseconds(kConnectTimeout).count()));
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, kMaxReconnectMs);
  // A connection of its own, which nobody else's token or certificate has opened, and which resolves the address anew.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetMaxReceiveMessageSize(kMaxReplyBytes);
  return grpc::experimental::CreateCustomChannelWithInterceptors(access.address.ToText(), credentials, arguments,
                                                                 std::move(interceptors));
}

}  // namespace lanista

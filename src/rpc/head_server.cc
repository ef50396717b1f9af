#include "src/rpc/head_server.h"

#include <chrono>
#include <utility>

#include "grpcpp/ext/proto_server_reflection_plugin.h"
#include "grpcpp/grpcpp.h"
#include "grpcpp/health_check_service_interface.h"
#include "grpcpp/resource_quota.h"
#include "src/base/status.h"
#include "src/rpc/experiment_service.h"
#include "src/rpc/grpc_setup.h"
#include "src/rpc/listener.h"
#include "src/rpc/node_service.h"
#include "src/rpc/refused_calls.h"
#include "src/rpc/server_credentials.h"

namespace lanista {
namespace {

constexpr int kMaxStreamsPerConnection = 100;
// For all connections together.
constexpr size_t kMaxBufferBytes = 512 << 20;
// A connection that is not HTTP/2 by then is closed.
constexpr int kHandshakeTimeoutMs = 20000;
// A connection without calls is closed after these: a client that comes again gets another one.
constexpr int kMaxIdleMs = 5 * 60 * 1000;
// A client that has gone without a word is noticed after these.
constexpr int kKeepaliveMs = 60000;
constexpr int kKeepaliveTimeoutMs = 20000;
// Clients may ask as often whether this one is there.
constexpr int kMinPingMs = 5000;
// Calls that end by themselves may do so.
constexpr std::chrono::seconds kGrace(1);

}  // namespace

class HeadServer::Impl {
 public:
  Impl(Experiments* experiments, TelemetryPtr telemetry)
      : refused_(std::make_shared<RefusedCalls>(std::move(telemetry))), service_(experiments) {}

  ~Impl() {
    listener_.reset();
    tunnel_listener_.reset();
    if (server_ != nullptr) server_->Shutdown(std::chrono::system_clock::now() + kGrace);
  }

  absl::Status Start(const Address& address, const PortProtection& protection, const std::string& tunnel_token_file) {
    SetUpGrpc();
    LANISTA_ASSIGN_OR_RETURN(const std::shared_ptr<grpc::ServerCredentials> credentials,
                             MakeServerCredentials(protection, refused_));
    LANISTA_ASSIGN_OR_RETURN(listener_, Listener::Open(address));
    grpc::EnableDefaultHealthCheckService(true);
    grpc::reflection::InitProtoReflectionServerBuilderPlugin();
    grpc::ServerBuilder builder;
    acceptor_ = AddAcceptor(credentials, &builder);
    if (!tunnel_token_file.empty()) {
      PortProtection tunnels;
      tunnels.node_token_file = tunnel_token_file;
      tunnels.nodes_only = true;
      LANISTA_ASSIGN_OR_RETURN(const std::shared_ptr<grpc::ServerCredentials> tunnel_credentials,
                               MakeServerCredentials(tunnels, refused_));
      LANISTA_ASSIGN_OR_RETURN(tunnel_listener_, Listener::Open({"127.0.0.1", 0}));
      tunnel_acceptor_ = AddAcceptor(tunnel_credentials, &builder);
    }
    builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMaxStreamsPerConnection);
    builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, kHandshakeTimeoutMs);
    builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, kMaxIdleMs);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMs);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveTimeoutMs);
    builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, kMinPingMs);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
    builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, kPingsWithoutData);
    // What a client's request may have is the service's to say.
    builder.SetMaxReceiveMessageSize(kMaxNodeMessageBytes);
    grpc::ResourceQuota quota("lanista");
    quota.Resize(kMaxBufferBytes);
    builder.SetResourceQuota(quota);
    builder.RegisterService(&service_);
    builder.RegisterService(&nodes_);
    server_ = builder.BuildAndStart();
    if (server_ == nullptr) return absl::InternalError("gRPC's server does not start: see GRPC_VERBOSITY=ERROR");
    SetServing(false);
    AcceptAt(*listener_, *acceptor_);
    if (tunnel_listener_ != nullptr) AcceptAt(*tunnel_listener_, *tunnel_acceptor_);
    return absl::OkStatus();
  }

  void AcceptNodes(NodeGateway* nodes, const std::string& program, const NodeLimits& limits) {
    nodes_.Accept(nodes, program, limits);
  }

  void Open() {
    service_.Open();
    nodes_.Open();
    SetServing(true);
  }
  void Close() {
    SetServing(false);
    nodes_.Close();
    service_.Close();
  }

  const Address& address() const { return listener_->address(); }
  const Address& tunnel_address() const { return tunnel_listener_->address(); }

 private:
  using Acceptor = grpc::experimental::ExternalConnectionAcceptor;

  static std::unique_ptr<Acceptor> AddAcceptor(const std::shared_ptr<grpc::ServerCredentials>& credentials,
                                               grpc::ServerBuilder* builder) {
    return builder->experimental().AddExternalConnectionAcceptor(
        grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD, credentials);
  }

  // Hands what comes to gRPC.
  void AcceptAt(Listener& listener, Acceptor& acceptor) {
    listener.Start([this, &acceptor](int connection) {
      refused_->OnConnection(connection);
      Acceptor::NewConnectionParameters parameters;
      parameters.fd = connection;
      acceptor.HandleNewConnection(&parameters);
    });
  }

  void SetServing(bool serving) {
    server_->GetHealthCheckService()->SetServingStatus(v1::ExperimentService::service_full_name(), serving);
  }

  const std::shared_ptr<RefusedCalls> refused_;
  ExperimentServiceImpl service_;
  NodeServiceImpl nodes_;
  std::unique_ptr<Acceptor> acceptor_;
  // Null, as its listener: there is no port for tunnels.
  std::unique_ptr<Acceptor> tunnel_acceptor_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<Listener> listener_;
  std::unique_ptr<Listener> tunnel_listener_;
};

HeadServer::HeadServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HeadServer::~HeadServer() = default;

void HeadServer::AcceptNodes(NodeGateway* nodes, const std::string& program, const NodeLimits& limits) {
  impl_->AcceptNodes(nodes, program, limits);
}
void HeadServer::Open() { impl_->Open(); }
void HeadServer::Close() { impl_->Close(); }

const Address& HeadServer::address() const { return impl_->address(); }
const Address& HeadServer::tunnel_address() const { return impl_->tunnel_address(); }

absl::StatusOr<std::unique_ptr<HeadServer>> HeadServer::Start(const Address& address, Experiments* experiments,
                                                              const PortProtection& protection, TelemetryPtr telemetry,
                                                              const std::string& tunnel_token_file) {
  auto impl = std::make_unique<Impl>(experiments, std::move(telemetry));
  LANISTA_RETURN_IF_ERROR(impl->Start(address, protection, tunnel_token_file));
  return std::unique_ptr<HeadServer>(new HeadServer(std::move(impl)));
}

}  // namespace lanista

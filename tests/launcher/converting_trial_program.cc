// A trial program that converts models, for tests of what asks it to: the space's name says what it does.
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <string>

#include "protos/trial.pb.h"
#include "src/graph/io.h"
#include "tests/trial_process/serve_requests.h"

namespace lanista {
namespace {

// A graph of one layer.
v1::ModelGraph SmallGraph() {
  v1::ModelGraph model;
  model.set_name("net");
  v1::Graph& graph = *model.add_graphs();
  graph.set_name("net");
  graph.add_inputs()->set_name("x");
  v1::Node& node = *graph.add_nodes();
  node.set_name("relu");
  node.mutable_op()->set_type("ReLU");
  node.add_inputs()->set_node("x");
  graph.add_outputs()->set_node("relu");
  return model;
}

void Convert(const v1::Convert& request) {
  const std::string& order = request.model().space().registered();
  if (order == "die") std::raise(SIGKILL);
  if (order == "hang") pause();
  if (order.rfind("/", 0) == 0) {
    // Says which processes were started, and goes on when it may.
    std::ofstream(order, std::ios::app) << getpid() << "\n";
    while (access((order + ".hold").c_str(), F_OK) == 0) usleep(1000);
  }
  v1::TrialEvent event;
  v1::Converted& converted = *event.mutable_converted();
  if (order == "refuse") {
    converted.mutable_error()->set_code(9);
    converted.mutable_error()->set_message("the files have changed");
    return SendEvent(event);
  }
  converted.add_files(request.out() + "." + request.format());
  converted.add_warnings("of " + request.format());
  if (request.format() != "graph") {
    std::ofstream(converted.files(0)) << "a model";
  } else if (!graph::WriteFile(converted.files(0), SmallGraph()).ok()) {
    _exit(1);
  }
  SendEvent(event);
}

}  // namespace
}  // namespace lanista

int main() {
  return lanista::ServeRequests([](const lanista::v1::TrialRequest& request) {
    lanista::v1::TrialEvent ready;
    ready.mutable_ready()->set_pid(getpid());
    if (request.has_setup()) lanista::SendEvent(ready);
    if (request.has_convert()) lanista::Convert(request.convert());
  });
}

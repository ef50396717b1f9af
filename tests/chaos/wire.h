// Network namespaces: a machine of its own for each node, as far as the network goes.
#ifndef LANISTA_TESTS_CHAOS_WIRE_H_
#define LANISTA_TESTS_CHAOS_WIRE_H_

#include <functional>
#include <memory>
#include <string>

namespace lanista {

// The calling thread, and what it starts from now on, has a network of its own with nothing but a loopback device.
// False where the machine forbids that, or lacks `ip`: nothing has changed then.
bool EnterOwnNetwork();

// A network namespace, and a wire (a pair of veth devices) between it and the calling thread's. Both end with the
// object and the processes inside. Used by one thread.
class Wire {
 public:
  // `number`, from 1 to 250: no other wire has it. Null where the machine forbids it. REQUIRES: EnterOwnNetwork().
  static std::unique_ptr<Wire> Make(int number);
  ~Wire();
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;

  // The address of this end.
  const std::string& ip() const { return ip_; }
  // Pulls the plug, or puts it in. Connections live on, as they do on a real wire.
  void Plug(bool in) const;
  // Calls `start`; processes that it starts are inside.
  void Inside(const std::function<void()>& start) const;

 private:
  Wire(int number, int inside, int outside);

  const std::string device_;
  const std::string ip_;
  // The namespaces.
  const int inside_;
  const int outside_;
};

}  // namespace lanista

#endif  // LANISTA_TESTS_CHAOS_WIRE_H_

// A TCP proxy that is a bad network: between a node and its head, slow, deaf in one direction or in both, or cut off.
#ifndef LANISTA_TESTS_CHAOS_PROXY_H_
#define LANISTA_TESTS_CHAOS_PROXY_H_

#include <chrono>
#include <cstdint>
#include <deque>
#include <list>
#include <mutex>
#include <string>
#include <thread>

namespace lanista {

// Listens, and hands what comes to a port of this machine. It has a thread of its own; its calls may come from any.
class Proxy {
 public:
  // Which bytes pass. The others are not lost but wait, as they do in TCP when packets are lost.
  struct Link {
    bool to_target = true;
    bool from_target = true;
    // The limit of each connection, in each direction; 0: no limit.
    int bytes_per_second = 0;
    std::chrono::milliseconds delay{0};
  };

  // `ip`: an address of this machine.
  explicit Proxy(const std::string& ip);
  ~Proxy();
  Proxy(const Proxy&) = delete;
  Proxy& operator=(const Proxy&) = delete;

  // "127.0.0.1:40000".
  const std::string& address() const { return address_; }
  // Sets the target of later connections; without a target they wait.
  void SetTarget(uint16_t port);
  void SetLink(const Link& link);
  // Ends all connections at once (RST), as a router that restarts does.
  void Reset();

 private:
  using Clock = std::chrono::steady_clock;

  struct Chunk {
    Clock::time_point due;
    std::string bytes;
  };
  struct Direction {
    int from = -1;
    int to = -1;
    std::deque<Chunk> chunks;
    size_t bytes = 0;
    // Bytes that may pass now, where there is a limit.
    double allowance = 0;
    // `from` has said all; `to` has heard so.
    bool ended = false;
    bool told = false;
  };
  struct Connection {
    Direction to_target;
    Direction from_target;
    bool broken = false;
  };

  void Run();
  void Accept(uint16_t target);
  // Moves what can be moved without waiting.
  void Move(Connection& connection, const Link& link, Clock::time_point now, double seconds);
  static bool Read(Direction& direction, Clock::time_point due);
  static bool Write(Direction& direction, bool limited, Clock::time_point now);
  static void Close(const Connection& connection);
  void Wake() const;

  std::string address_;
  int listener_ = -1;
  int wake_ = -1;

  std::mutex mutex_;
  // Protected by mutex_.
  Link link_;
  uint16_t target_ = 0;
  bool reset_ = false;
  bool ended_ = false;

  // Used by the thread alone.
  std::list<Connection> connections_;
  std::thread thread_;
};

}  // namespace lanista

#endif  // LANISTA_TESTS_CHAOS_PROXY_H_

// Devices that are not there and may come: what the sources of nodes say of them.
#ifndef LANISTA_ACTORS_EXPECTED_DEVICES_H_
#define LANISTA_ACTORS_EXPECTED_DEVICES_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "actors/data_names.h"
#include "protos/messages.pb.h"
#include "src/config/labels.h"

namespace lanista {

// A plain class for one thread.
class ExpectedDevices {
 public:
  // A device of a node has joined: those of its kind and labels that come are likely to have as much memory.
  void Joined(const v1::Device& device, const Labels& labels);
  // A source says so. Returns whether it says something new.
  bool Set(v1::ExpectDevices expected);

  // Whether devices that may come would have the data.
  static bool HasData(const v1::ExpectDevices& expected, const DataNames& data);
  // Whether they would meet the requirements, as far as is known.
  bool MayMeet(const v1::ExpectDevices& expected, const v1::RequirementsConfig& requirements) const;
  // How many devices more, for such trials, may be counted on.
  int Count(const std::string& program, const DataNames& data, const v1::RequirementsConfig& requirements) const;
  // Why nodes that may come are not there; empty: nobody says so.
  std::string WhyNotThere() const;

 private:
  // By source.
  std::map<std::string, v1::ExpectDevices> expected_;
  // The most memory that devices of nodes had so far, by their kind and labels.
  std::map<std::pair<v1::DeviceKind::Kind, Labels>, int64_t> seen_memory_;
};

}  // namespace lanista

#endif  // LANISTA_ACTORS_EXPECTED_DEVICES_H_

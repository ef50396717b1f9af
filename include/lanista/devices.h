// Devices of a kind of one's own on which trials run: of this machine (DeviceSource), or of machines that are made to
// join a head, as Slurm's are (NodeSource). docs/cluster.md says what nodes are.
//
//   // A CPU slot for every second processor.
//   class HalfOfAll : public lanista::DeviceSource {
//    public:
//     absl::StatusOr<std::vector<lanista::v1::Device>> Devices() const override {
//       lanista::v1::Device slot;
//       slot.set_kind(lanista::v1::DeviceKind::CPU);
//       slot.set_threads(1);
//       slot.set_isolation(lanista::v1::LocalConfig::PROCESS);
//       return std::vector<lanista::v1::Device>(std::thread::hardware_concurrency() / 2, slot);
//     }
//   };
//
//   lanista::RegisterDeviceSource("half", [](const lanista::Params&) {
//     return std::make_unique<HalfOfAll>();
//   });                                                        // in main, before lanista::Init
//
// and in the configuration: training_service { custom { name: "half" } }. The same at namespace scope:
// LANISTA_REGISTER(device_source, "half", MakeHalf). Parameters come as for all components (lanista/params.h).
//
// A source is made in the process of the head, which owns it. A DeviceSource is asked once, by one thread, when the
// devices are selected: INVALID_ARGUMENT names the field and what the machine has, and nothing starts. A NodeSource has
// a thread of its own, whose calls may block; what goes wrong there is told by Prospect::because, and the head goes on.
#ifndef LANISTA_INCLUDE_LANISTA_DEVICES_H_
#define LANISTA_INCLUDE_LANISTA_DEVICES_H_

#include <string>
#include <utility>

#include "src/api/register.h"
#include "src/devices/device_source.h"
#include "src/devices/node_source.h"

namespace lanista {

// Registers `make`, which returns a std::unique_ptr of a DeviceSource, or an absl::StatusOr of one, and takes (const
// Params&), for `training_service { custom { name: NAME } }`. REQUIRES: before lanista::Init.
template <typename Make>
void RegisterDeviceSource(const std::string& name, Make make) {
  api::Register<DeviceSourceRegistry>("device source", name, std::move(make));
}

// Registers `make`, which returns a std::unique_ptr of a NodeSource, or an absl::StatusOr of one, and takes (const
// Params&, const NodeSourceContext&), for `training_service { custom { name: NAME } }`. REQUIRES: before lanista::Init.
template <typename Make>
void RegisterNodeSource(const std::string& name, Make make) {
  api::Register<NodeSourceRegistry>("node source", name, std::move(make));
}

}  // namespace lanista

#endif  // LANISTA_INCLUDE_LANISTA_DEVICES_H_

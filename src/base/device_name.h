// The one name of a device, in messages, documents and the journal.
#ifndef LANISTA_SRC_BASE_DEVICE_NAME_H_
#define LANISTA_SRC_BASE_DEVICE_NAME_H_

#include <string>

#include "protos/trial.pb.h"

namespace lanista {

// A device as LibTorch names it, "cpu:0" or "cuda:1"; the one for preparing work alone (Device.prepares) in words.
std::string DeviceName(const v1::Device& device);

}  // namespace lanista

#endif  // LANISTA_SRC_BASE_DEVICE_NAME_H_

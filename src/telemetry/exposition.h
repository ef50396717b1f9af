// Telemetry in Prometheus' text format.
#ifndef LANISTA_SRC_TELEMETRY_EXPOSITION_H_
#define LANISTA_SRC_TELEMETRY_EXPOSITION_H_

#include <string>

#include "src/telemetry/telemetry.h"

namespace lanista {

// The header Content-Type of such a text.
inline constexpr char kPrometheusContentType[] = "text/plain; version=0.0.4; charset=utf-8";

// All measurements of the head, and what the kernel knows of this process. docs/telemetry.md describes them. Reads
// /proc, no disk.
std::string PrometheusText(const Telemetry& telemetry);

}  // namespace lanista

#endif  // LANISTA_SRC_TELEMETRY_EXPOSITION_H_

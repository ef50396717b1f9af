// The time, as messages carry it.
#ifndef LANISTA_SRC_BASE_CLOCK_H_
#define LANISTA_SRC_BASE_CLOCK_H_

#include "absl/time/time.h"
#include "google/protobuf/timestamp.pb.h"

namespace lanista {

// Now, to the nanosecond (protobuf's own TimeUtil::GetCurrentTime counts whole seconds). Thread-safe.
google::protobuf::Timestamp Now();

google::protobuf::Timestamp ToTimestamp(absl::Time time);

absl::Time ToTime(const google::protobuf::Timestamp& time);

}  // namespace lanista

#endif  // LANISTA_SRC_BASE_CLOCK_H_

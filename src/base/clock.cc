#include "src/base/clock.h"

#include "absl/time/clock.h"
#include "google/protobuf/util/time_util.h"

namespace lanista {

google::protobuf::Timestamp Now() { return ToTimestamp(absl::Now()); }

google::protobuf::Timestamp ToTimestamp(absl::Time time) {
  return google::protobuf::util::TimeUtil::NanosecondsToTimestamp(absl::ToUnixNanos(time));
}

absl::Time ToTime(const google::protobuf::Timestamp& time) {
  return absl::FromUnixSeconds(time.seconds()) + absl::Nanoseconds(time.nanos());
}

}  // namespace lanista

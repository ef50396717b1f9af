#include "src/base/clock.h"

#include "absl/time/clock.h"
#include "google/protobuf/util/time_util.h"

namespace lanista {

google::protobuf::Timestamp Now() {
  return google::protobuf::util::TimeUtil::NanosecondsToTimestamp(absl::GetCurrentTimeNanos());
}

}  // namespace lanista

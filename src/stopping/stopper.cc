#include "src/stopping/stopper.h"

#include "absl/strings/str_cat.h"
#include "src/goals/goals.h"

namespace lanista {

std::string StoppingContext::ValueText(double value) const { return absl::StrCat(Turned(value, objective)); }

}  // namespace lanista

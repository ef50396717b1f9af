// Events of an experiment, for tests of what is shown of them.
#ifndef LANISTA_TESTS_LAUNCHER_EVENTS_H_
#define LANISTA_TESTS_LAUNCHER_EVENTS_H_

#include <string>

#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "protos/messages.pb.h"

namespace lanista {

// An event of experiment digits-1, from protobuf text.
inline v1::ExperimentEvent Event(const std::string& text) {
  v1::ExperimentEvent event;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString("experiment: \"digits-1\" " + text, &event)) << text;
  return event;
}

inline v1::ExperimentEvent SpaceOfTwo() {
  return Event(
      "space { complete: true choices { label: \"p\" kind: VALUE_CHOICE n_chosen: 1 candidates { f: 0.25 } "
      "candidates { f: 0.5 } } }");
}

inline v1::ExperimentEvent Started(int model, int device = 0) {
  return Event("model { model: " + std::to_string(model) +
               " attempt: 1 started { device { kind: CPU index: " + std::to_string(device) + " } } }");
}

inline v1::ExperimentEvent Reported(int model, int step, const std::string& value) {
  return Event("model { model: " + std::to_string(model) + " attempt: 1 intermediate { step: " + std::to_string(step) +
               " metrics { values { key: \"default\" value: " + value + " } values { key: \"a\" value: 1 } } } }");
}

inline v1::ExperimentEvent Ended(int model) {
  return Event("model { model: " + std::to_string(model) + " attempt: 1 ended { } }");
}

// `rest`: outcome, metrics, failure.
inline v1::ExperimentEvent Outcome(int model, const std::string& rest) {
  return Event("outcome { model: " + std::to_string(model) +
               " attempt: 1 sample { decisions { label: \"p\" index: 0 value { f: 0.25 } } } " + rest + " }");
}

inline std::string Succeeded(const std::string& value) {
  return "outcome: SUCCEEDED metrics { values { key: \"default\" value: " + value + " } }";
}

}  // namespace lanista

#endif  // LANISTA_TESTS_LAUNCHER_EVENTS_H_

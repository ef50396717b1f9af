// Configurations as text, as JSON, and as a message that a client sends; fields that are set by --set.
// Input: a line that begins with 't' (text) or 'j' (JSON), with "path=value" behind that, perhaps; the configuration.
#include "src/config/config.h"

#include <string>

#include "src/config/fields.h"
#include "src/config/parse.h"
#include "tests/fuzz/fuzz.h"

namespace lanista {

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Input input(data, size);
  const bool text = input.Byte() != 'j';
  // The rest of the first line.
  const absl::string_view line = input.Until('\n');
  const std::string content(input.Rest());
  v1::ExperimentConfig config;
  google::protobuf::TextFormat::ParseInfoTree locations;
  const absl::Status parsed = text ? ParseTextConfig(content, config, locations) : ParseJsonConfig(content, config);
  if (!parsed.ok()) {
    fuzz::Require(!parsed.message().empty(), "an error says nothing");
    return 0;
  }
  const size_t equals = line.find('=');
  if (equals != absl::string_view::npos) {
    // Whether it takes the value or not.
    SetField(config, line.substr(0, equals), line.substr(equals + 1)).IgnoreError();
  }
  const absl::StatusOr<v1::ExperimentConfig> complete = CompleteConfig(config);
  if (!complete.ok()) {
    fuzz::Require(!complete.status().message().empty(), "an error says nothing");
    return 0;
  }
  // What is complete stays as it is.
  const absl::StatusOr<v1::ExperimentConfig> again = CompleteConfig(*complete);
  fuzz::Require(again.ok(), "a complete configuration is refused");
  fuzz::Require(again->SerializeAsString().size() == complete->SerializeAsString().size(),
                "a complete configuration is changed");
  return 0;
}

}  // namespace lanista

// Reads Prometheus' text format, as strictly as its description is.
#ifndef LANISTA_TESTS_TELEMETRY_PROMETHEUS_TEXT_H_
#define LANISTA_TESTS_TELEMETRY_PROMETHEUS_TEXT_H_

#include <map>
#include <string>

namespace lanista {

struct MetricFamilyText {
  std::string help;
  // "counter", "gauge" or "histogram".
  std::string type;
  // By name and labels as they stand there: "lanista_trials{state=\"queued\"}".
  std::map<std::string, double> samples;
};

// By name. Whatever breaks the format is a failure of the test: a sample without HELP and TYPE before it, or of another
// family, or twice; a name or a label that cannot be; a histogram whose buckets do not add up.
std::map<std::string, MetricFamilyText> ParsePrometheusText(const std::string& text);

// One sample of a text; a failed test, and -1, where it is not there.
double SampleOf(const std::string& text, const std::string& name_and_labels);

}  // namespace lanista

#endif  // LANISTA_TESTS_TELEMETRY_PROMETHEUS_TEXT_H_

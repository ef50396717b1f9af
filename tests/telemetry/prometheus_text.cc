#include "tests/telemetry/prometheus_text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <regex>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace lanista {
namespace {

// The family of a sample of that name.
std::string FamilyOf(const std::string& sample, const std::map<std::string, MetricFamilyText>& families) {
  if (families.count(sample) > 0) return sample;
  for (const char* const suffix : {"_bucket", "_sum", "_count"}) {
    if (!absl::EndsWith(sample, suffix)) continue;
    const std::string name = sample.substr(0, sample.size() - std::string(suffix).size());
    const auto family = families.find(name);
    if (family != families.end() && family->second.type == "histogram") return name;
  }
  return "";
}

double ToNumber(const std::string& text) {
  if (text == "+Inf") return HUGE_VAL;
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  EXPECT_EQ(*end, '\0') << text;
  return number;
}

// Of a histogram without other labels.
void CheckHistogram(const std::string& name, const std::map<std::string, double>& samples) {
  std::map<double, double> buckets;
  const std::string prefix = name + "_bucket{le=\"";
  for (const auto& [key, value] : samples) {
    if (absl::StartsWith(key, prefix))
      buckets[ToNumber(key.substr(prefix.size(), key.size() - prefix.size() - 2))] = value;
  }
  ASSERT_FALSE(buckets.empty()) << name;
  EXPECT_TRUE(std::isinf(buckets.rbegin()->first)) << name;
  double last = 0;
  for (const auto& [bound, count] : buckets) {
    EXPECT_GE(count, last) << name << " " << bound;
    last = count;
  }
  EXPECT_EQ(samples.count(name + "_count"), 1u);
  EXPECT_EQ(samples.count(name + "_sum"), 1u);
  if (samples.count(name + "_count") > 0) {
    EXPECT_EQ(samples.at(name + "_count"), last) << name;
  }
}

}  // namespace

std::map<std::string, MetricFamilyText> ParsePrometheusText(const std::string& text) {
  static const auto* const kSample = new std::regex(
      R"re(([a-zA-Z_:][a-zA-Z0-9_:]*)(\{[a-zA-Z_][a-zA-Z0-9_]*="[^"\\\n]*"(?:,[a-zA-Z_][a-zA-Z0-9_]*="[^"\\\n]*")*\})? (\S+))re");
  std::map<std::string, MetricFamilyText> families;
  EXPECT_TRUE(absl::EndsWith(text, "\n"));
  for (const std::string& line : std::vector<std::string>(absl::StrSplit(text, '\n', absl::SkipEmpty()))) {
    const std::vector<std::string> words = absl::StrSplit(line, absl::MaxSplits(' ', 3));
    if (words[0] == "#") {
      if (words.size() != 4) {
        ADD_FAILURE() << line;
        continue;
      }
      MetricFamilyText& family = families[words[2]];
      EXPECT_TRUE(family.samples.empty()) << "behind its samples: " << line;
      std::string& field = words[1] == "HELP" ? family.help : family.type;
      EXPECT_TRUE(words[1] == "HELP" || words[1] == "TYPE") << line;
      EXPECT_EQ(field, "") << "twice: " << line;
      field = words[3];
      continue;
    }
    std::smatch match;
    if (!std::regex_match(line, match, *kSample)) {
      ADD_FAILURE() << "no sample: " << line;
      continue;
    }
    const std::string family = FamilyOf(match[1], families);
    if (family.empty()) {
      ADD_FAILURE() << "of no family: " << line;
      continue;
    }
    EXPECT_TRUE(
        families[family].samples.emplace(absl::StrCat(match[1].str(), match[2].str()), ToNumber(match[3])).second)
        << "twice: " << line;
  }
  for (const auto& [name, family] : families) {
    EXPECT_NE(family.help, "") << name;
    EXPECT_TRUE(family.type == "counter" || family.type == "gauge" || family.type == "histogram") << name;
    EXPECT_FALSE(family.samples.empty()) << name;
    if (family.type == "histogram") CheckHistogram(name, family.samples);
  }
  return families;
}

double SampleOf(const std::string& text, const std::string& name_and_labels) {
  for (const auto& [name, family] : ParsePrometheusText(text)) {
    const auto sample = family.samples.find(name_and_labels);
    if (sample != family.samples.end()) return sample->second;
  }
  ADD_FAILURE() << name_and_labels << " is not there";
  return -1;
}

}  // namespace lanista

#include "src/web/curves.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

namespace lanista {
namespace {

static_assert(sizeof(float) == 4, "the format has floats of 32 bits");

constexpr uint32_t kHasSteps = 1;
constexpr uint32_t kHasWide = 2;

void AppendNumber(uint32_t number, std::string* bytes) {
  for (int shift = 0; shift < 32; shift += 8) bytes->push_back(static_cast<char>(number >> shift & 0xff));
}

void AppendNumbers(const std::vector<uint32_t>& numbers, std::string* bytes) {
  for (const uint32_t number : numbers) AppendNumber(number, bytes);
}

void AppendLong(uint64_t number, std::string* bytes) {
  AppendNumber(static_cast<uint32_t>(number), bytes);
  AppendNumber(static_cast<uint32_t>(number >> 32), bytes);
}

template <typename Bits, typename Value>
Bits BitsOf(Value value) {
  static_assert(sizeof(Bits) == sizeof(Value));
  Bits bits = 0;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

// Where the model's reports begin, in microseconds.
int64_t Begun(const TableModel& model) {
  const std::optional<absl::Time> begun = model.begun();
  return begun.has_value() ? absl::ToUnixMicros(*begun) : model.times.front();
}

}  // namespace

std::string EncodeCurves(const ExperimentTable& table, absl::string_view metric, bool times) {
  const std::vector<std::string>& names = table.metric_names();
  const size_t number = static_cast<size_t>(std::find(names.begin(), names.end(), metric) - names.begin());
  std::vector<uint32_t> models, counts, steps, values, wide_points;
  std::vector<double> wide_values;
  uint32_t flags = 0;
  for (const TableModel& model : table.models()) {
    if (number >= model.curves.size() || model.curves[number].values.empty()) continue;
    const TableCurve& curve = model.curves[number];
    models.push_back(static_cast<uint32_t>(model.model));
    counts.push_back(static_cast<uint32_t>(curve.values.size()));
    const int64_t start = times ? Begun(model) : 0;
    if (!times) {
      for (const auto& [place, value] : curve.beyond_float) {
        wide_points.push_back(static_cast<uint32_t>(values.size()) + place);
        wide_values.push_back(value);
      }
    }
    for (size_t i = 0; i < curve.values.size(); ++i) {
      const size_t at = curve.at.empty() ? i : curve.at[i];
      steps.push_back(static_cast<uint32_t>(model.steps[at]));
      if (steps.back() != i) flags |= kHasSteps;
      values.push_back(BitsOf<uint32_t>(times ? static_cast<float>(static_cast<double>(model.times[at] - start) / 1e6)
                                              : curve.values[i]));
    }
  }
  if (!wide_points.empty()) flags |= kHasWide;
  std::string bytes = "LNC2";
  bytes.reserve(24 + 4 * (models.size() + counts.size() + steps.size() + values.size()));
  AppendNumber(static_cast<uint32_t>(models.size()), &bytes);
  AppendNumber(static_cast<uint32_t>(values.size()), &bytes);
  AppendNumber(flags, &bytes);
  AppendLong(static_cast<uint64_t>(table.number()), &bytes);
  AppendNumbers(models, &bytes);
  AppendNumbers(counts, &bytes);
  if ((flags & kHasSteps) != 0) AppendNumbers(steps, &bytes);
  AppendNumbers(values, &bytes);
  if ((flags & kHasWide) != 0) {
    AppendNumber(static_cast<uint32_t>(wide_points.size()), &bytes);
    AppendNumbers(wide_points, &bytes);
    for (const double value : wide_values) AppendLong(BitsOf<uint64_t>(value), &bytes);
  }
  return bytes;
}

}  // namespace lanista

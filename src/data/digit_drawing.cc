#include "src/data/digit_drawing.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <vector>

#include "src/data/random.h"

namespace lanista::data {
namespace {

constexpr double kPi = 3.14159265358979323846;

struct Point {
  double x;
  double y;
};

// One stroke of the pen, as points.
using Stroke = std::vector<Point>;

// A part of an ellipse; angles in degrees, 0 to the right, 90 down.
Stroke Arc(Point centre, double radius_x, double radius_y, double from, double to) {
  const int segments = static_cast<int>(std::ceil(std::abs(to - from) / 25));
  Stroke stroke;
  for (int i = 0; i <= segments; ++i) {
    const double angle = (from + (to - from) * i / segments) * kPi / 180;
    stroke.push_back({centre.x + radius_x * std::cos(angle), centre.y + radius_y * std::sin(angle)});
  }
  return stroke;
}

Stroke Join(Stroke first, const Stroke& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

// The ten digits in the unit square, y downwards.
const std::array<std::vector<Stroke>, 10>& Digits() {
  static const auto* const digits = new std::array<std::vector<Stroke>, 10>{{
      {Arc({0.5, 0.5}, 0.27, 0.4, 0, 360)},
      {{{0.35, 0.25}, {0.52, 0.1}, {0.52, 0.9}}},
      {Join(Arc({0.5, 0.32}, 0.25, 0.22, 180, 400), {{0.25, 0.9}, {0.77, 0.9}})},
      {Arc({0.47, 0.3}, 0.24, 0.2, 200, 450), Arc({0.47, 0.7}, 0.27, 0.2, 270, 520)},
      {{{0.62, 0.9}, {0.62, 0.1}, {0.22, 0.65}, {0.8, 0.65}}},
      {Join({{0.74, 0.1}, {0.32, 0.1}, {0.29, 0.46}}, Arc({0.48, 0.64}, 0.27, 0.26, 225, 500))},
      {Join({{0.66, 0.1}, {0.42, 0.32}}, Arc({0.5, 0.67}, 0.24, 0.23, 190, 550))},
      {{{0.22, 0.1}, {0.78, 0.1}, {0.42, 0.9}}},
      {Arc({0.5, 0.3}, 0.2, 0.19, 0, 360), Arc({0.5, 0.7}, 0.25, 0.21, 0, 360)},
      {Join(Arc({0.5, 0.33}, 0.24, 0.23, 360, 0), {{0.7, 0.62}, {0.58, 0.9}})},
  }};
  return *digits;
}

// Draws the line from `a` to `b` (in pixels): full ink within `radius`, fading over one pixel.
void DrawLine(Point a, Point b, double radius, float* pixels) {
  const double reach = radius + 0.5;
  const int left = std::max(0, static_cast<int>(std::floor(std::min(a.x, b.x) - reach)));
  const int right = std::min(kDigitSize - 1, static_cast<int>(std::ceil(std::max(a.x, b.x) + reach)));
  const int top = std::max(0, static_cast<int>(std::floor(std::min(a.y, b.y) - reach)));
  const int bottom = std::min(kDigitSize - 1, static_cast<int>(std::ceil(std::max(a.y, b.y) + reach)));
  const double dx = b.x - a.x;
  const double dy = b.y - a.y;
  const double length_squared = std::max(dx * dx + dy * dy, 1e-12);
  for (int y = top; y <= bottom; ++y) {
    for (int x = left; x <= right; ++x) {
      const double along = std::clamp(((x - a.x) * dx + (y - a.y) * dy) / length_squared, 0.0, 1.0);
      const double off_x = x - a.x - along * dx;
      const double off_y = y - a.y - along * dy;
      const double ink = std::clamp(reach - std::sqrt(off_x * off_x + off_y * off_y), 0.0, 1.0);
      float& pixel = pixels[y * kDigitSize + x];
      pixel = std::max(pixel, static_cast<float>(ink));
    }
  }
}

// Nearly normal with mean 0 and standard deviation 1: the sum of four uniform 16-bit numbers from one draw.
double NearlyNormal(std::mt19937_64& random) {
  constexpr double kMean = 2.0 * 0xffff;
  constexpr double kDeviation = 0xffff * 0.57735026918962576;  // sqrt(4 / 12)
  const uint64_t bits = random();
  const uint64_t sum = (bits & 0xffff) + (bits >> 16 & 0xffff) + (bits >> 32 & 0xffff) + (bits >> 48);
  return (static_cast<double>(sum) - kMean) / kDeviation;
}

}  // namespace

void DrawDigit(int digit, uint64_t seed, double noise, float* pixels) {
  std::mt19937_64 random(seed);
  const double warp_x = UniformReal(random, -0.05, 0.05);
  const double warp_y = UniformReal(random, -0.05, 0.05);
  const double phase_x = UniformReal(random, 0, 2 * kPi);
  const double phase_y = UniformReal(random, 0, 2 * kPi);
  const double angle = UniformReal(random, -0.3, 0.3);
  const double shear = UniformReal(random, -0.25, 0.25);
  const double scale_x = 20 * UniformReal(random, 0.75, 1.1);
  const double scale_y = 20 * UniformReal(random, 0.8, 1.1);
  const double centre_x = kDigitSize / 2.0 + UniformReal(random, -2.5, 2.5);
  const double centre_y = kDigitSize / 2.0 + UniformReal(random, -2.5, 2.5);
  const double radius = UniformReal(random, 0.5, 1.5);
  const double ink = UniformReal(random, 0.7, 1.0);
  const double cosine = std::cos(angle);
  const double sine = std::sin(angle);

  const auto place = [&](const Point& point) {
    const double x = point.x - 0.5 + warp_x * std::sin(2 * kPi * point.y + phase_x);
    const double y = (point.y - 0.5 + warp_y * std::sin(2 * kPi * point.x + phase_y)) * scale_y;
    const double sheared = x * scale_x + shear * y;
    return Point{centre_x + cosine * sheared - sine * y, centre_y + sine * sheared + cosine * y};
  };

  std::fill_n(pixels, kDigitSize * kDigitSize, 0.0f);
  for (const Stroke& stroke : Digits()[digit]) {
    for (size_t i = 1; i < stroke.size(); ++i) DrawLine(place(stroke[i - 1]), place(stroke[i]), radius, pixels);
  }
  for (int i = 0; i < kDigitSize * kDigitSize; ++i) {
    const double value = ink * pixels[i] + (noise > 0 ? noise * NearlyNormal(random) : 0);
    pixels[i] = static_cast<float>(std::clamp(value, 0.0, 1.0));
  }
}

}  // namespace lanista::data

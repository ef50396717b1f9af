// Digits drawn by code: no file, no network.
#ifndef LANISTA_SRC_DATA_DIGIT_DRAWING_H_
#define LANISTA_SRC_DATA_DIGIT_DRAWING_H_

#include <cstdint>

namespace lanista::data {

// Rows and columns of a drawn digit.
constexpr int kDigitSize = 28;

// Draws `digit` (0 to 9) into `pixels`, kDigitSize rows of kDigitSize floats in [0, 1], ink bright on black as in
// MNIST. `seed` decides all that varies: a smooth warp of the strokes, an affine map (turn, scale, shear, shift), the
// pen's width and ink, and each pixel's noise, which is nearly normal with standard deviation `noise`. Takes some 10
// microseconds; thread-safe.
void DrawDigit(int digit, uint64_t seed, double noise, float* pixels);

}  // namespace lanista::data

#endif  // LANISTA_SRC_DATA_DIGIT_DRAWING_H_

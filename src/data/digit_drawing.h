// Digits drawn by code: no file, no network.
#ifndef LANISTA_SRC_DATA_DIGIT_DRAWING_H_
#define LANISTA_SRC_DATA_DIGIT_DRAWING_H_

#include <cstdint>

namespace lanista::data {

// Rows and columns of a drawn digit.
constexpr int kDigitSize = 28;

// Draws `digit` (0 to 9) into `pixels`, kDigitSize rows of kDigitSize floats in [0, 1], bright ink on black as in
// MNIST. `seed` decides everything that varies: a smooth warp of the strokes, an affine map (rotation, scale, shear,
// shift), the pen's width and ink, and the noise of each pixel, nearly normal with standard deviation `noise`. Takes
// about 10 microseconds. Thread-safe.
void DrawDigit(int digit, uint64_t seed, double noise, float* pixels);

}  // namespace lanista::data

#endif  // LANISTA_SRC_DATA_DIGIT_DRAWING_H_

// The functions of logistic-regression.wf.
#include <cmath>
#include <cstdint>

namespace {

// As in kmeans.cpp.
double random_number(uint64_t n) {
  uint64_t z = (n + 1) * 0x9E3779B97F4A7C15;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  z ^= z >> 31;
  return static_cast<double>(z >> 11) * 0x1p-53;
}

}  // namespace

// y is 1 where a weighted sum of x and of noise is above 0.
extern "C" void make_row(int64_t row, int64_t dimensions, double* x, double* y) {
  double sum = 0;
  for (int64_t j = 0; j < dimensions; ++j) {
    x[j] = 2 * random_number(static_cast<uint64_t>(row * (dimensions + 1) + j)) - 1;
    sum += x[j] * static_cast<double>(j % 2 == 0 ? j + 1 : -j);
  }
  sum += 4 * random_number(static_cast<uint64_t>(row * (dimensions + 1) + dimensions)) - 2;
  *y = sum > 0 ? 1 : 0;
}

extern "C" double mistake(const double* x, double y, const double* weights, int64_t dimensions) {
  double sum = 0;
  for (int64_t j = 0; j < dimensions; ++j) sum += x[j] * weights[j];
  return 1 / (1 + std::exp(-sum)) - y;
}

extern "C" void add_gradient(double* gradient, const double* x, double wrong, int64_t dimensions) {
  for (int64_t j = 0; j < dimensions; ++j) gradient[j] += wrong * x[j];
}

extern "C" double add(double a, double b) {
  return a + b;
}

extern "C" void step(double* weights, double* gradient, double* length, int64_t rows, int64_t dimensions, double rate) {
  double squares = 0;
  for (int64_t j = 0; j < dimensions; ++j) {
    const double slope = gradient[j] / static_cast<double>(rows);
    squares += slope * slope;
    weights[j] -= rate * slope;
    gradient[j] = 0;
  }
  *length = std::sqrt(squares);
}

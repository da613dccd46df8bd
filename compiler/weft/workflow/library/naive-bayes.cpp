// The functions of naive-bayes.wf.
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

extern "C" void make_row(int64_t row, int64_t dimensions, int64_t classes, double* x, int64_t* label) {
  *label = row % classes;
  for (int64_t j = 0; j < dimensions; ++j) {
    const uint64_t at = static_cast<uint64_t>((row * dimensions + j) * 2);
    x[j] = random_number(at) + random_number(at + 1) + 0.25 * static_cast<double>((*label + j) % classes);
  }
}

extern "C" int64_t count_row(int64_t count) {
  return count + 1;
}

extern "C" int64_t add_counts(int64_t a, int64_t b) {
  return a + b;
}

extern "C" double add(double a, double b) {
  return a + b;
}

extern "C" void add_values(double* sum, const double* x, int64_t dimensions) {
  for (int64_t j = 0; j < dimensions; ++j) sum[j] += x[j];
}

extern "C" void add_squares(double* sum, const double* x, int64_t dimensions) {
  for (int64_t j = 0; j < dimensions; ++j) sum[j] += x[j] * x[j];
}

extern "C" void learn(double* means, double* variances, double* priors, const int64_t* counts, const double* sums,
                      const double* squares, int64_t rows, int64_t classes, int64_t dimensions) {
  for (int64_t c = 0; c < classes; ++c) {
    const double count = static_cast<double>(counts[c]);
    priors[c] = std::log(count / static_cast<double>(rows));
    for (int64_t j = 0; j < dimensions; ++j) {
      const int64_t at = c * dimensions + j;
      means[at] = sums[at] / count;
      variances[at] = squares[at] / count - means[at] * means[at];
    }
  }
}

extern "C" int64_t classify(const double* x, const double* means, const double* variances, const double* priors,
                            int64_t classes, int64_t dimensions) {
  int64_t best = 0;
  double most = -INFINITY;
  for (int64_t c = 0; c < classes; ++c) {
    double likelihood = priors[c];
    for (int64_t j = 0; j < dimensions; ++j) {
      const int64_t at = c * dimensions + j;
      const double difference = x[j] - means[at];
      likelihood -= 0.5 * (std::log(variances[at]) + difference * difference / variances[at]);
    }
    if (likelihood > most) {
      most = likelihood;
      best = c;
    }
  }
  return best;
}

extern "C" bool is_right(int64_t guess, int64_t label) {
  return guess == label;
}

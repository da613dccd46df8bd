// The functions of kmeans.wf.
#include <cmath>
#include <cstdint>

namespace {

// The number `n` of a sequence without a pattern, from 0 to below 1 (Steele et al., "Fast splittable pseudorandom
// number generators", OOPSLA 2014).
double random_number(uint64_t n) {
  uint64_t z = (n + 1) * 0x9E3779B97F4A7C15;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  z ^= z >> 31;
  return static_cast<double>(z >> 11) * 0x1p-53;
}

void write_point(int64_t row, int64_t dimensions, int64_t clusters, double* p) {
  const int64_t place = row % clusters;
  for (int64_t j = 0; j < dimensions; ++j) {
    const double centre = 10 * random_number(static_cast<uint64_t>(1'000'000'007 + place * dimensions + j));
    p[j] = centre + random_number(static_cast<uint64_t>(row * dimensions + j));
  }
}

}  // namespace

extern "C" void make_point(int64_t row, int64_t dimensions, int64_t clusters, double* p) {
  write_point(row, dimensions, clusters, p);
}

extern "C" void first_centres(double* centres, int64_t dimensions, int64_t clusters) {
  for (int64_t c = 0; c < clusters; ++c) write_point(c, dimensions, clusters, centres + c * dimensions);
}

extern "C" int64_t nearest(const double* p, const double* centres, int64_t clusters, int64_t dimensions) {
  int64_t best = 0;
  double least = INFINITY;
  for (int64_t c = 0; c < clusters; ++c) {
    double distance = 0;
    for (int64_t j = 0; j < dimensions; ++j) {
      const double difference = p[j] - centres[c * dimensions + j];
      distance += difference * difference;
    }
    if (distance < least) {
      least = distance;
      best = c;
    }
  }
  return best;
}

extern "C" void add_point(double* sum, const double* p, int64_t dimensions) {
  for (int64_t j = 0; j < dimensions; ++j) sum[j] += p[j];
}

extern "C" int64_t count_point(int64_t count) {
  return count + 1;
}

extern "C" double add(double a, double b) {
  return a + b;
}

extern "C" int64_t add_counts(int64_t a, int64_t b) {
  return a + b;
}

// A centre without points stays where it is.
extern "C" void move_centres(double* centres, double* sums, int64_t* counts, double* shift, int64_t clusters,
                             int64_t dimensions) {
  double moved = 0;
  for (int64_t c = 0; c < clusters; ++c) {
    for (int64_t j = 0; j < dimensions; ++j) {
      const int64_t at = c * dimensions + j;
      if (counts[c] > 0) {
        const double place = sums[at] / static_cast<double>(counts[c]);
        moved += std::fabs(place - centres[at]);
        centres[at] = place;
      }
      sums[at] = 0;
    }
    counts[c] = 0;
  }
  *shift = moved;
}

extern "C" bool converged(double shift) {
  return shift == 0;
}

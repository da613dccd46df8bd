// The functions of pagerank.wf.
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

// The cube makes few vertices the targets of most edges.
extern "C" void make_edge(int64_t row, int64_t vertices, int64_t* source, int64_t* target) {
  const double number = random_number(static_cast<uint64_t>(2 * row));
  *source = static_cast<int64_t>(random_number(static_cast<uint64_t>(2 * row + 1)) * static_cast<double>(vertices));
  *target = static_cast<int64_t>(number * number * number * static_cast<double>(vertices));
}

extern "C" int64_t count_edge(int64_t count) {
  return count + 1;
}

extern "C" int64_t add_counts(int64_t a, int64_t b) {
  return a + b;
}

extern "C" double add(double a, double b) {
  return a + b;
}

extern "C" void first_ranks(double* ranks, int64_t vertices) {
  for (int64_t v = 0; v < vertices; ++v) ranks[v] = 1.0 / static_cast<double>(vertices);
}

extern "C" double share(int64_t source, const double* ranks, const int64_t* degrees) {
  return ranks[source] / static_cast<double>(degrees[source]);
}

extern "C" double add_part(double sum, double part) {
  return sum + part;
}

// A vertex without links gives its rank to all.
extern "C" void finish_ranks(double* ranks, double* incoming, double* change, const int64_t* degrees, int64_t vertices,
                             double damping) {
  const double count = static_cast<double>(vertices);
  double loose = 0;
  for (int64_t v = 0; v < vertices; ++v)
    if (degrees[v] == 0) loose += ranks[v];
  double moved = 0;
  for (int64_t v = 0; v < vertices; ++v) {
    const double rank = (1 - damping) / count + damping * (incoming[v] + loose / count);
    moved += std::fabs(rank - ranks[v]);
    ranks[v] = rank;
    incoming[v] = 0;
  }
  *change = moved;
}

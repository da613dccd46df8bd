// Exact bounds of a binomial share.
#pragma once

namespace tailor::query {

// The share that is surely exceeded where `hits` of `hits` + `misses` independent samples hit, with this
// confidence (0.95: one-sided). Clopper and Pearson, "The use of confidence or fiducial limits", 1934. It is
// never too high, however few samples there are. Both counts may have fractions. No hit: 0.
double least_share(double hits, double misses, double confidence);

}  // namespace tailor::query

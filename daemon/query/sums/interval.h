// Confidence intervals.
#pragma once

namespace tailor::query {

struct Interval {
  double low = 0, high = 1;  // shares, 0 to 1
};

// The 95 % interval of a share that was seen as `share` in `samples` independent samples: Wilson's score
// interval (Wilson, "Probable Inference", 1927), which also holds near 0 and 1 and for few samples. Samples
// of different weight count as (sum of weights)^2 / (sum of squared weights) samples. Samples of a timer are
// taken as independent: their periods are drawn at random (capture/select/jitter.h). No samples: [0, 1].
Interval wilson(double share, double samples);

// 97.5 % of Student's t distribution: the number of standard errors that the 95 % interval of a mean reaches
// to each side, where the error was found from `degrees` + 1 values. Below 1 counts as 1.
double student95(double degrees);

}  // namespace tailor::query

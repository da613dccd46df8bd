#include "proto/traffic/phase_needs.h"

#include <cstdlib>

#include "proto/traffic/shape.h"

namespace tailor::traffic {

Needs needs_of(const Phase& phase, std::span<const PatternTraffic> traffic, std::uint32_t line_bytes,
               double cycles) {
  if (traffic.size() != phase.patterns.size()) std::abort();
  Needs out{.cycles = cycles};
  for (std::size_t i = 0; i < traffic.size(); ++i) {
    const Shape shape(phase.patterns[i], line_bytes);
    const bool in_order = shape.is_ordered();
    (in_order ? out.read_bytes : out.random_read_bytes) += traffic[i].read * line_bytes;
    (in_order ? out.written_bytes : out.random_written_bytes) += traffic[i].written * line_bytes;
    out.accesses += shape.accesses();
  }
  return out;
}

}  // namespace tailor::traffic

#include "daemon/query/time/worked_time.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace tailor::query {
namespace {

// Cut to the time, and to what no other span of their thread has.
std::vector<WorkSpan> disjoint_of_threads(const std::vector<WorkSpan>& spans, TimeNs from, TimeNs to) {
  std::vector<std::size_t> order(spans.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
    if (spans[a].thread != spans[b].thread) return spans[a].thread < spans[b].thread;
    return spans[a].end != spans[b].end ? spans[a].end < spans[b].end : a < b;
  });
  std::vector<WorkSpan> cut = spans;
  const WorkSpan* before = nullptr;
  for (const std::size_t i : order) {
    const WorkSpan& span = spans[i];
    const bool follows = before != nullptr && before->thread == span.thread;
    const TimeNs earliest = follows ? std::max(from, before->end) : from;
    cut[i].begin = std::max(span.begin, earliest);
    cut[i].end = std::max(cut[i].begin, std::min(span.end, to));
    before = &span;
  }
  return cut;
}

struct Edge {
  TimeNs time = 0;
  std::size_t span = 0;
  bool begins = false;
};

}  // namespace

WorkedTime divide_elapsed(const std::vector<WorkSpan>& spans, TimeNs from, TimeNs to) {
  WorkedTime out;
  out.parts.assign(spans.size(), 0);
  out.worked.assign(spans.size(), 0);
  const std::vector<WorkSpan> cut = disjoint_of_threads(spans, from, to);
  std::vector<Edge> edges;
  for (std::size_t i = 0; i < cut.size(); ++i) {
    if (cut[i].begin >= cut[i].end) continue;
    out.worked[i] = cut[i].end - cut[i].begin;
    edges.push_back({cut[i].begin, i, true});
    edges.push_back({cut[i].end, i, false});
  }
  std::ranges::sort(edges, {}, &Edge::time);
  // What a thread that works from the begin to the end would have so far.
  double each = 0;
  std::size_t threads = 0;
  for (std::size_t i = 0; i < edges.size(); ++i) {
    const Edge& edge = edges[i];
    if (threads > 0) {
      const TimeNs passed = edge.time - edges[i - 1].time;
      each += static_cast<double>(passed) / static_cast<double>(threads);
      out.covered += passed;
    }
    out.parts[edge.span] += edge.begins ? -each : each;
    threads = edge.begins ? threads + 1 : threads - 1;
  }
  return out;
}

}  // namespace tailor::query

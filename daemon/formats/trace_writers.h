// Samples in the formats of other tools. Writers give bytes and open nothing. Every sample is in what they
// give, with its weight; sums of weights are those of the trace.
#pragma once

#include <string>

#include "daemon/formats/trace.h"

namespace tailor::formats {

// Each stack with its weight, "outermost;...;innermost 1234": for flamegraph.pl and kin. Of one source.
std::string write_folded(const Trace& trace, std::uint16_t source);

// profile.proto of google/pprof, not compressed. All sources: each has its number of samples and its weight.
std::string write_pprof(const Trace& trace);

// https://www.speedscope.app/file-format-schema.json: a profile per thread and source.
std::string write_speedscope(const Trace& trace);

// The Firefox Profiler's processed profile: a thread per thread, executions as markers. Of one source.
std::string write_firefox(const Trace& trace, std::uint16_t source);

// Perfetto's trace packets: executions and the innermost operators as slices, samples with call stacks.
std::string write_perfetto(const Trace& trace);

// ProfilesData of OTLP (opentelemetry.proto.profiles.v1development), not compressed: a profile per process
// and source. Samples have their times, unless the trace does not know the time of day: then each has the sum
// of those that are alike.
std::string write_otlp(const Trace& trace);

// A row per sample, RFC 4180, with a heading.
std::string write_csv(const Trace& trace);

}  // namespace tailor::formats

// A small profile with every kind of link, made by hand so that the right answer can be computed by hand.
#pragma once

#include <string>
#include <vector>

#include "daemon/profile/sink.h"

namespace tailor::test {

// Operators: 1 Group by > 2 Hash join > {3 Filter > 4 Table scan orders, 5 Table scan lineitem}.
// Tasks: 1 build (2), 2 filter (3), 3 scan orders (4), 4 scan lineitem (5), 5 probe (2), 6 aggregate (1).
// IR: 1 > task 3, 2 > 2, 3 > 1, 4 > 4, 5 > 5, 6 > 6, 7 > 6, 8 > {5, 6}, 9 > {1, 5}, 10 > none (set-up code).
// Link set 0 of the code object: IR {4, 6}.
v1::Plan sample_plan();
v1::CodeObject sample_code();

inline constexpr ProcessId kSampleProcess{4242, 777};
inline constexpr PlanId kSamplePlan = 1;
inline constexpr CodeId kSampleCode = 2;
inline constexpr ExecutionHandle kSampleExecution = 3;
inline constexpr std::size_t kSamplesOfRound = 16;  // as many as give_profile() makes
inline constexpr TimeNs kSampleStart = 1'000'000'000;

// A sample in generated code, of IR component `ir` (0: none).
profile::SampleRecord ir_sample(TimeNs time, std::uint32_t ir);
// One whose row names link set 0 of the code object.
profile::SampleRecord shared_sample(TimeNs time);
// One attributed to a task by its tag.
profile::SampleRecord tag_sample(TimeNs time, std::uint32_t task);
profile::SampleRecord component_sample(TimeNs time, std::uint32_t component);
profile::SampleRecord unattributed_sample(TimeNs time, profile::Reason reason);

// Everything but samples: recording, process, threads, components, plan, code, execution.
void give_context(profile::ProfileSink& sink);
// Context, `rounds` times each of the samples above, accounting, the execution's end, a watermark.
void give_profile(profile::ProfileSink& sink, int rounds);

}  // namespace tailor::test

// A profile of a plan with a listing, machine code that descends from it, and samples in both.
#pragma once

#include "daemon/profile/sink.h"

namespace tailor::test {

// Code object kSampleCode: seven instructions from line 3 on, two of them of no line, one of lines 4 and 6.
void give_native_listing(profile::ProfileSink& sink);

// A sample at that offset of the code, as attribution would have it.
profile::SampleRecord native_sample(TimeNs time, std::uint32_t offset);

}  // namespace tailor::test

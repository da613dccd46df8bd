// A pipeline with one ring, fed by a script. Times in microseconds: us(5).
#pragma once

#include <gtest/gtest.h>

#include "daemon/pipeline/pipeline.h"
#include "tests/support/collecting_sink.h"
#include "tests/support/engine_messages.h"
#include "tests/support/scripted_input.h"

namespace tailor::pipeline {

class PipelineTest : public testing::Test {
 protected:
  static constexpr TimeNs us(std::int64_t n) { return n * 1000; }
  static constexpr TimeNs ms(std::int64_t n) { return n * 1'000'000; }
  static constexpr ProcessId kProcess{42, 7}, kOther{43, 8};
  static constexpr std::uint64_t kCode = 0x10000;

  PipelineTest() { script.open(); }

  // Registered, with plan 1 and its code object 11 at kCode, since 1 us.
  void start_engine(ProcessId process = kProcess, std::uint64_t connection = 1) {
    script.hello(process, connection, us(1));
    script.load(process, us(1), test::small_plan(1));
    script.load(process, us(1), test::small_code(11, 1, kCode));
  }

  test::CollectingSink sink;
  Pipeline pipeline{sink};
  test::ScriptedInput script{pipeline};
};

}  // namespace tailor::pipeline

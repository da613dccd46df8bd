// A process with one plan in slot 1, one code object, and a thread, for the tests of the rules.
#pragma once

#include <gtest/gtest.h>

#include <span>
#include <vector>

#include "daemon/attribute/attribute.h"
#include "tailor/tag.h"
#include "tests/support/engine_messages.h"

namespace tailor::attribute {

class AttributeTest : public testing::Test {
 protected:
  static constexpr std::uint64_t kKey = 0x0123456789abcdef;
  static constexpr std::uint64_t kCode = 0x10000;
  static constexpr std::uint64_t kLibrary = 0x7f0000001000;  // registered by nobody
  static constexpr std::uint64_t kKernelIp = 0xffffffff81000000;
  static constexpr std::int32_t kThread = 77;

  AttributeTest() {
    state.start_agent(1, kKey, 100);
    EXPECT_TRUE(state.load_plan(test::small_plan(1, 1, 1), 110).ok());
    EXPECT_TRUE(state.load_code(test::small_code(11, 1, kCode), 120).ok());
  }

  // An address inside the code of IR instruction `ir`.
  static std::uint64_t ip_of(std::uint32_t ir) { return kCode + 16 + (ir - 1) * 8 + 3; }

  static capture::Event user_sample(std::uint64_t ip, TimeNs time = 1000) {
    capture::Event event;
    event.time = time;
    event.pid = 42;
    event.tid = kThread;
    event.ip = event.user_ip = ip;
    return event;
  }
  static capture::Event kernel_sample(std::uint64_t user_ip, TimeNs time = 1000) {
    capture::Event event = user_sample(user_ip, time);
    event.mode = profile::Mode::kKernel;
    event.ip = kKernelIp;
    return event;
  }
  static capture::Event tagged(capture::Event event, std::uint64_t tag) {
    event.has_tag = true;
    event.tag = tag;
    return event;
  }
  static std::uint64_t tag_of(std::uint32_t upper, std::uint32_t lower, std::uint32_t slot = 1,
                              std::uint32_t generation = 1) {
    return tailor_tag_make(kKey, slot, generation, upper, lower);
  }

  profile::Attribution run(const capture::Event& event, const std::vector<std::uint64_t>& chain = {}) const {
    return attribute(event, chain, &state);
  }
  void mark(tailor_log_kind kind, TimeNs time, std::uint32_t id, std::uint64_t a = 0, std::uint64_t b = 0,
            std::int32_t tid = kThread) {
    tailor_log_record record{};
    record.kind = static_cast<std::uint16_t>(kind);
    record.id = id;
    record.a = a;
    record.b = b;
    ASSERT_TRUE(state.add_activity(tid, record, time).ok());
  }

  process::ProcessState state{{42, 1}, {}};
};

}  // namespace tailor::attribute

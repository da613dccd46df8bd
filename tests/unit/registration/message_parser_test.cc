#include "daemon/registration/message_parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>

#include "daemon/registration/limits.h"
#include "daemon/registration/wire_budget.h"

namespace tailor::registration::testing {
namespace {

using ::testing::HasSubstr;

v1::AgentMessage good_plan() {
  v1::AgentMessage message;
  v1::Plan& plan = *message.mutable_plan_load();
  plan.set_id(7);
  plan.add_levels()->set_component_count(2);
  v1::Component& scan = *plan.mutable_levels(0)->add_components();
  scan.set_id(1);
  scan.set_name("scan");
  v1::Component& join = *plan.mutable_levels(0)->add_components();
  join.set_id(2);
  join.add_inputs(1);
  v1::Level& tasks = *plan.add_levels();
  tasks.set_component_count(3);
  tasks.add_links(1 << 1);
  tasks.add_links(2 << 1);
  tasks.add_links(0 << 1 | 1);
  v1::LinkSet& both = *tasks.add_link_sets();
  both.add_ids(1);
  both.add_ids(2);
  v1::Pipeline& pipeline = *plan.add_pipelines();
  pipeline.set_id(1);
  pipeline.set_task_level(1);
  pipeline.add_tasks(3);
  return message;
}

v1::AgentMessage good_code() {
  v1::AgentMessage message;
  v1::CodeObject& code = *message.mutable_code_load();
  code.set_id(3);
  code.set_base(0x7f0000001000);
  code.set_code(std::string(100, '\x90'));
  v1::RowTable& rows = *code.mutable_rows();
  for (int i = 0; i < 3; ++i) {
    rows.add_offset_delta(i == 0 ? 0 : 10);
    rows.add_link_delta(i == 0 ? 2 : 0);
    rows.mutable_flags()->push_back(static_cast<char>(v1::ROW_INFERRED));
  }
  v1::CodeSymbol& symbol = *code.add_symbols();
  symbol.set_size(100);
  return message;
}

std::string why(const v1::AgentMessage& message) {
  Status status = validate(message);
  return status.ok() ? "" : status.error().message;
}

std::string why_plan(const std::function<void(v1::Plan&)>& change) {
  v1::AgentMessage message = good_plan();
  change(*message.mutable_plan_load());
  return why(message);
}

std::string why_code(const std::function<void(v1::CodeObject&)>& change) {
  v1::AgentMessage message = good_code();
  change(*message.mutable_code_load());
  return why(message);
}

TEST(Parse, RoundTrip) {
  auto parsed = parse(good_plan().SerializeAsString());
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(parsed->plan_load().id(), 7u);
}

TEST(Parse, RefusesGarbage) {
  EXPECT_FALSE(parse("\xFF\xFF\xFF\xFF").ok());
  EXPECT_FALSE(parse("hello there").ok());
  std::string plan = good_plan().SerializeAsString();
  EXPECT_FALSE(parse(plan.substr(0, plan.size() - 1)).ok());
  EXPECT_TRUE(parse("").ok());  // an empty message: validate() finds that it has no body
  EXPECT_THAT(why(v1::AgentMessage()), HasSubstr("without a body"));
}

TEST(Parse, RefusesTextThatIsNotUtf8Quietly) {
  v1::AgentMessage message = good_plan();
  std::string bytes = message.SerializeAsString();
  bytes[bytes.find("scan")] = '\xFF';
  ::testing::internal::CaptureStderr();
  auto parsed = parse(bytes);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  ASSERT_FALSE(parsed.ok());
  EXPECT_THAT(parsed.error().message, HasSubstr("not UTF-8"));
}

TEST(Parse, BoundsTheMemoryThatBytesBecome) {
  // Two bytes an empty component: a hundred times that in memory.
  std::string components;
  for (std::size_t i = 0; i < 1000; ++i) components += std::string("\x1A\x00", 2);
  const auto& type = *v1::Level::descriptor();
  EXPECT_TRUE(check_wire_budget(components, type, 1000).ok());
  Status refused = check_wire_budget(components, type, 999);
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr("too many parts"));
}

TEST(WireBudget, KnowsTheWireFormat) {
  const auto& type = *v1::AgentMessage::descriptor();
  EXPECT_TRUE(check_wire_budget("", type, 0).ok());
  EXPECT_FALSE(check_wire_budget(std::string("\x08", 1), type, 9).ok());           // no value
  EXPECT_FALSE(check_wire_budget(std::string("\x0B", 1), type, 9).ok());           // a group
  EXPECT_FALSE(check_wire_budget(std::string("\x72\x05", 2), type, 9).ok());       // ends early
  EXPECT_FALSE(check_wire_budget(std::string("\x0D\x00\x00", 3), type, 9).ok());   // fixed32, cut
  EXPECT_FALSE(check_wire_budget(std::string(11, '\x80'), type, 9).ok());          // endless varint
  EXPECT_TRUE(check_wire_budget(std::string("\xFA\x3E\x02zz", 5), type, 1).ok());  // unknown field
  EXPECT_FALSE(check_wire_budget(std::string("\xFA\x3E\x02zz", 5), type, 0).ok());
}

TEST(Validate, AcceptsWhatFits) {
  EXPECT_EQ(why(good_plan()), "");
  EXPECT_EQ(why(good_code()), "");
}

TEST(Validate, PlansFitTogether) {
  EXPECT_THAT(why_plan([](auto& p) { p.set_id(0); }), HasSubstr("without an id"));
  EXPECT_THAT(why_plan([](auto& p) { p.set_slot(70000); }), HasSubstr("no tag can hold"));
  EXPECT_THAT(why_plan([](auto& p) { p.clear_levels(); }), HasSubstr("0 levels"));
  EXPECT_THAT(why_plan([](auto& p) { p.mutable_levels(1)->set_links(1, 3 << 1); }),
              HasSubstr("leads to none of 2"));
  EXPECT_THAT(why_plan([](auto& p) { p.mutable_levels(1)->set_links(1, 1 << 1 | 1); }),
              HasSubstr("leads to none"));
  EXPECT_THAT(why_plan([](auto& p) { p.mutable_levels(1)->add_links(0); }), HasSubstr("4 links for 3"));
  EXPECT_THAT(why_plan([](auto& p) { p.mutable_levels(1)->mutable_link_sets(0)->set_ids(0, 9); }),
              HasSubstr("component 9 of 2"));
  EXPECT_THAT(why_plan([](auto& p) { p.mutable_levels(0)->add_links(0); }), HasSubstr("is the top"));
  EXPECT_THAT(why_plan([](auto& p) { p.mutable_levels(0)->mutable_components(1)->set_inputs(0, 3); }),
              HasSubstr("consumes component 3"));
  EXPECT_THAT(why_plan([](auto& p) { p.mutable_levels(0)->mutable_components(0)->set_id(3); }),
              HasSubstr("describes component 3 of 2"));
  EXPECT_THAT(why_plan([](auto& p) { p.mutable_levels(0)->set_component_count(~0u); }),
              HasSubstr("too many"));
  EXPECT_THAT(why_plan([](auto& p) { p.mutable_pipelines(0)->set_task_level(2); }),
              HasSubstr("on level 2 of 2"));
  EXPECT_THAT(why_plan([](auto& p) { p.mutable_pipelines(0)->set_tasks(0, 4); }), HasSubstr("task 4 of 3"));
  EXPECT_THAT(why_plan([](auto& p) { p.set_tag_upper_level(2); }), HasSubstr("unknown levels"));
  EXPECT_THAT(why_plan([](auto& p) { p.add_attachments()->set_sha256("short"); }), HasSubstr("SHA-256"));
}

TEST(Validate, AccessesNameWhatThereIs) {
  const auto why_access = [](const std::function<void(v1::Access&)>& change) {
    return why_plan([&](v1::Plan& p) {
      v1::Access& access = *p.mutable_levels(1)->add_components()->add_accesses();
      p.mutable_levels(1)->mutable_components(0)->set_id(1);
      access.set_pattern(v1::ACCESS_RANDOM);
      access.set_region("join build");
      access.set_region_owner(2);
      access.set_pipeline(1);
      access.set_item_bytes(24);
      access.set_reads(true);
      access.mutable_accesses()->set_rows_of(1);
      change(access);
    });
  };
  EXPECT_EQ(why_access([](v1::Access&) {}), "");
  EXPECT_THAT(why_access([](auto& a) { a.set_region_owner(3); }), HasSubstr("region of component 3 of 2"));
  EXPECT_THAT(why_access([](auto& a) { a.set_region(std::string(kMaxNameBytes + 1, 'r')); }),
              HasSubstr("too long"));
  EXPECT_THAT(why_access([](auto& a) { a.set_pipeline(2); }), HasSubstr("pipeline 2"));
  EXPECT_THAT(why_access([](auto& a) { a.set_used_bytes(25); }), HasSubstr("25 used bytes"));
  EXPECT_THAT(why_access([](auto& a) { a.mutable_accesses()->set_rows_of(0); }),
              HasSubstr("rows of component 0"));
  EXPECT_THAT(why_access([](auto& a) { a.mutable_items()->set_rows_into(3); }),
              HasSubstr("rows of component 3"));
  for (const double factor : {-1.0, std::nan(""), static_cast<double>(INFINITY)})
    EXPECT_THAT(why_access([&](auto& a) { a.mutable_times()->set_factor(factor); }), HasSubstr("factor"));
  EXPECT_EQ(why_access([](auto& a) { a.set_pattern(static_cast<v1::AccessPattern>(77)); }), "")
      << "a later version knows it";

  const auto why_component = [](const std::function<void(v1::Component&)>& change) {
    return why_plan([&](v1::Plan& p) { change(*p.mutable_levels(0)->mutable_components(0)); });
  };
  EXPECT_THAT(why_component([](v1::Component& c) {
                for (int i = 0; i <= kMaxAccesses; ++i) c.add_accesses();
              }),
              HasSubstr("4097 accesses"));
  EXPECT_THAT(
      why_component([](v1::Component& c) { c.mutable_computation()->set_cycles_per_row(std::nan("")); }),
      HasSubstr("cycles"));
  EXPECT_THAT(why_component([](v1::Component& c) {
                c.mutable_computation()->set_source(std::string(kMaxNameBytes + 1, 's'));
              }),
              HasSubstr("source"));
  EXPECT_THAT(
      why_component([](v1::Component& c) { c.mutable_computation()->mutable_rows()->set_rows_of(9); }),
      HasSubstr("rows of component 9"));
}

TEST(Validate, CodeFitsTogether) {
  EXPECT_THAT(why_code([](auto& c) { c.set_id(0); }), HasSubstr("without an id"));
  EXPECT_THAT(why_code([](auto& c) { c.clear_code(); }), HasSubstr("has no code"));
  EXPECT_THAT(why_code([](auto& c) { c.set_size(99); }), HasSubstr("brings 100 bytes for a range of 99"));
  EXPECT_EQ(why_code([](auto& c) {
              c.clear_code();
              c.set_size(100);
            }),
            "");
  EXPECT_THAT(why_code([](auto& c) {
                c.clear_code();
                c.set_size(~std::uint64_t{0});
              }),
              HasSubstr("no user address"));
  EXPECT_THAT(why_code([](auto& c) { c.set_base(~std::uint64_t{0} - 10); }), HasSubstr("no user address"));
  EXPECT_THAT(why_code([](auto& c) { c.mutable_rows()->add_offset_delta(1); }),
              HasSubstr("columns of 4, 3 and 3"));
  EXPECT_THAT(why_code([](auto& c) { c.mutable_rows()->set_offset_delta(2, 0); }),
              HasSubstr("row 2 begins at 10"));
  EXPECT_THAT(why_code([](auto& c) { c.mutable_rows()->set_offset_delta(2, 90); }),
              HasSubstr("row 2 begins at 100"));
  EXPECT_THAT(why_code([](auto& c) { c.mutable_rows()->set_link_delta(1, -3); }),
              HasSubstr("link to nothing"));
  EXPECT_THAT(why_code([](auto& c) { c.mutable_rows()->set_link_delta(1, 1); }),
              HasSubstr("link to nothing"));
  EXPECT_THAT(why_code([](auto& c) { c.mutable_rows()->mutable_flags()->at(0) = '\x7F'; }),
              HasSubstr("unknown flag"));
  EXPECT_THAT(why_code([](auto& c) { c.mutable_symbols(0)->set_offset(1); }), HasSubstr("outside of 100"));
}

TEST(Validate, EverythingElse) {
  auto refusal = [](auto fill) {
    v1::AgentMessage message;
    fill(message);
    return why(message);
  };
  EXPECT_THAT(refusal([](auto& m) { m.mutable_hello()->set_protocol(2); }), HasSubstr("protocol 2"));
  EXPECT_THAT(refusal([](auto& m) { m.mutable_execution_begin()->set_handle(1); }),
              HasSubstr("not 16 bytes"));
  EXPECT_THAT(refusal([](auto& m) {
                m.mutable_execution_begin()->set_handle(1);
                m.mutable_execution_begin()->set_id(std::string(16, 'x'));
                m.mutable_execution_begin()->add_labels()->set_key(std::string(kMaxNameBytes + 1, 'k'));
              }),
              HasSubstr("label is too long"));
  const auto of_set = [&](std::uint32_t set, std::size_t bytes) {
    return refusal([&](auto& m) {
      v1::ExecutionBegin& begin = *m.mutable_execution_begin();
      begin.set_handle(1);
      begin.set_id(std::string(16, 'x'));
      begin.set_label_set(set);
      if (bytes > 0) begin.add_set_labels()->set_value(std::string(bytes, 'v'));
    });
  };
  EXPECT_EQ(of_set(kMaxLabelSets, kMaxLabelSetBytes), "");
  EXPECT_THAT(of_set(kMaxLabelSets, kMaxLabelSetBytes + 1), HasSubstr("a set of labels has 16385 bytes"));
  EXPECT_THAT(of_set(kMaxLabelSets + 1, 0), HasSubstr("no set of labels can have number 65"));
  EXPECT_THAT(of_set(0, 1), HasSubstr("no set of labels can have number 0"));
  EXPECT_THAT(refusal([](auto& m) { m.mutable_thread_add()->set_arena(kMaxArenas); }),
              HasSubstr("area that does not exist"));
  EXPECT_THAT(refusal([](auto& m) { m.mutable_thread_add(); }), HasSubstr("without a thread id"));
  EXPECT_THAT(refusal([](auto& m) { m.mutable_component_code()->set_begin(5); }), HasSubstr("ends before"));
  EXPECT_THAT(refusal([](auto& m) { m.mutable_region_kind()->set_level(99); }), HasSubstr("cannot be"));
  EXPECT_THAT(refusal([](auto& m) { m.mutable_wait_names()->add_names()->set_name("IO:x"); }),
              HasSubstr("without a number"));
  EXPECT_THAT(refusal([](auto& m) {
                auto& wait = *m.mutable_wait_names()->add_names();
                wait.set_number(7);
                wait.set_name(std::string(64, 'x'));
              }),
              HasSubstr("too long"));
  EXPECT_THAT(refusal([](auto& m) { m.mutable_blocked()->add_holders(7); }), HasSubstr("of no process"));
  EXPECT_THAT(refusal([](auto& m) {
                m.mutable_blocked()->set_pid(8);
                m.mutable_blocked()->set_since_tsc(9);
                for (std::uint32_t i = 1; i <= kMaxHolders + 1u; ++i) m.mutable_blocked()->add_holders(i);
              }),
              HasSubstr("too many"));
  EXPECT_THAT(refusal([](auto& m) { m.mutable_notice()->set_text("no kind"); }), HasSubstr("cannot be"));
  EXPECT_THAT(refusal([](auto& m) { m.mutable_notice()->set_kind(kMaxNotices + 1); }),
              HasSubstr("cannot be"));
  EXPECT_THAT(refusal([](auto& m) {
                m.mutable_notice()->set_kind(1);
                m.mutable_notice()->set_text(std::string(kMaxNoticeBytes + 1, 'x'));
              }),
              HasSubstr("too long"));
  EXPECT_THAT(refusal([](auto& m) {
                m.mutable_barrier();
                m.set_payload_bytes(5);
              }),
              HasSubstr("announcement"));
  EXPECT_EQ(refusal([](auto& m) { m.mutable_barrier(); }), "");
}

}  // namespace
}  // namespace tailor::registration::testing

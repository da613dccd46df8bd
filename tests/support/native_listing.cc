#include "tests/support/native_listing.h"

#include <array>
#include <string>
#include <vector>

#include "tests/support/sample_profile.h"

namespace tailor::test {
namespace {

constexpr std::uint64_t kBase = 0x7f00'0000'1000;

constexpr const char* kListing =
    "define void @main(ptr %state) {\n"
    "loop:                        ; preds = %entry, %loop\n"
    "  %1 = load i64, ptr %state\n"
    "  %2 = add i64 %1, 1\n"
    "done:                        ; preds = %loop\n"
    "  %3 = icmp eq i64 %2, 0\n"
    "  ret void\n"
    "}\n";

struct Row {
  std::uint32_t offset, link;
  v1::RowFlag flag;
};

// push rbp | mov rbp, rsp | mov rax, [rdi] | add rax, 1 | test rax, rax | jnz +4 | ret
constexpr std::string_view kCode = "\x55\x48\x89\xe5\x48\x8b\x07\x48\x83\xc0\x01\x48\x85\xc0\x75\xf4\xc3";
constexpr std::array<Row, 6> kRows = {{{0, 0, v1::ROW_PROLOGUE},
                                       {4, 3 << 1, v1::ROW_EXACT},
                                       {7, 0 << 1 | 1, v1::ROW_SHARED},
                                       {11, 6 << 1, v1::ROW_EXACT},
                                       {14, 6 << 1, v1::ROW_INFERRED},
                                       {16, 7 << 1, v1::ROW_EXACT}}};

v1::CodeObject code() {
  v1::CodeObject code = sample_code();
  code.set_base(kBase);
  code.set_code(std::string(kCode));
  code.mutable_rows()->clear_offset_delta();
  std::uint32_t offset = 0, link = 0;
  for (const Row& row : kRows) {
    code.mutable_rows()->add_offset_delta(row.offset - offset);
    code.mutable_rows()->add_link_delta(static_cast<std::int32_t>(row.link - link));
    code.mutable_rows()->mutable_flags()->push_back(static_cast<char>(row.flag));
    offset = row.offset;
    link = row.link;
  }
  v1::CodeSymbol& symbol = *code.add_symbols();
  symbol.set_size(static_cast<std::uint32_t>(kCode.size()));
  symbol.set_name("main");
  return code;
}

}  // namespace

profile::SampleRecord native_sample(TimeNs time, std::uint32_t offset) {
  profile::SampleRecord sample = ir_sample(time, 0);
  sample.ip = sample.user_ip = kBase + offset;
  for (const Row& row : kRows) {
    if (row.offset > offset) break;
    sample.attribution.link = row.link;
    sample.attribution.quality = static_cast<profile::Quality>(row.flag);
  }
  return sample;
}

void give_native_listing(profile::ProfileSink& sink) {
  give_context(sink);
  v1::Plan plan = sample_plan();
  v1::Attachment& ir = *plan.add_attachments();
  ir.set_kind("ir");
  ir.set_sha256(std::string(32, 'i'));
  ir.set_content(kListing);
  sink.on_plan(kSampleProcess, kSampleStart, plan);
  sink.on_code(kSampleProcess, kSampleStart, code());
  // By offset: how many.
  constexpr std::array<std::pair<std::uint32_t, int>, 6> kSamples = {
      {{1, 2}, {4, 60}, {7, 20}, {11, 10}, {14, 6}, {16, 2}}};
  std::vector<profile::SampleRecord> samples;
  for (const auto& [offset, count] : kSamples) {
    for (int i = 0; i < count; ++i)
      samples.push_back(
          native_sample(kSampleStart + static_cast<TimeNs>(samples.size()) * 1'000'000, offset));
  }
  sink.on_samples(samples);
}

}  // namespace tailor::test

// The listing with its machine code, as it is on terminals of 80 and 200 columns.
#include <gtest/gtest.h>

#include "tests/support/native_listing.h"
#include "tests/support/profile_bytes.h"
#include "tests/unit/cli/plain_terminal.h"
#include "viewer/cli/render.h"

namespace tailor::cli {
namespace {

std::string listing(std::size_t width, bool ascii, const AnnotateOptions& view = {}) {
  query::LoadOptions options;
  options.code = true;
  const query::Profile profile = test::load(test::profile_bytes(test::give_native_listing), options);
  const auto report = query::annotate_report(profile, {}, 0);
  EXPECT_TRUE(report);
  const std::string text = render(profile, *report, plain(width, ascii), view).text;
  return "\n" + text.substr(0, text.find("\nEverything in this report"));
}

TEST(AnnotateGolden, EightyColumns) {
  EXPECT_EQ(listing(80, false), R"(
figure-9 · weft 0.1.0 (pid 4242) · 1 execution · own time 100 ms CPU time in 100
samples
select l_orderkey, avg(l_discount) from lineitem, orders group by 1
Machine code: code object 2 main (O2) at 0x7f0000001000: 100.0 %.

line   share  hot block
   2  70.0 %  loop: (Hash join 60.0 %, Table scan 10.0 %)
   5  28.0 %  done: (Group by 28.0 %)

line   share  ir                                           owner
   1          define void @main(ptr… (Hash join 60.0 %, Group by 28.0 %, Table…
   2     hot  loop:                     … (Hash join 60.0 %, Table scan 10.0 %)
   3  60.0 %    %1 = load i64, ptr %state                  Hash join · build
      60.0 %       +4  mov rax, [rdi]
   4  10.0 %    %2 = add i64 %1, 1                         Table scan · scan li…
      20.0 %       +7  add rax, 0x1                        lines 4, 6: Table sc…
   5     hot  done:                        ; preds = %loop (Group by 28.0 %)
   6  26.0 %    %3 = icmp eq i64 %2, 0                     Group by · aggregate
      10.0 %       +b  test rax, rax
       6.0 %       +e  jnz +0x4                            inferred
   7   2.0 %    ret void                                   Group by · aggregate
       2.0 %      +10  ret
   8          }                                            Group by + Hash join…

Machine code that descends from no line
       2.0 %       +1  mov rbp, rsp

Of this query, but on no line above
   2.0 %  set-up code of generated functions
)");
}

TEST(AnnotateGolden, TwoHundredColumns) {
  EXPECT_EQ(listing(200, false), R"(
figure-9 · weft 0.1.0 (pid 4242) · 1 execution · own time 100 ms CPU time in 100 samples
select l_orderkey, avg(l_discount) from lineitem, orders group by 1
Machine code: code object 2 main (O2) at 0x7f0000001000: 100.0 %.

line   share  hot block
   2  70.0 %  loop: (Hash join 60.0 %, Table scan 10.0 %)
   5  28.0 %  done: (Group by 28.0 %)

line   share  ir                                                                                                                                                owner
   1          define void @main(ptr %state) { (Hash join 60.0 %, Group by 28.0 %, Table scan 10.0 %)
   2     hot  loop:                        ; preds = %entry, %loop (Hash join 60.0 %, Table scan 10.0 %)
   3  60.0 %    %1 = load i64, ptr %state                                                                                                                       Hash join · build
      60.0 %       +4  mov rax, [rdi]
   4  10.0 %    %2 = add i64 %1, 1                                                                                                                              Table scan · scan lineitem
      20.0 %       +7  add rax, 0x1                                                                                                                             lines 4, 6: Table scan + Group by
   5     hot  done:                        ; preds = %loop (Group by 28.0 %)
   6  26.0 %    %3 = icmp eq i64 %2, 0                                                                                                                          Group by · aggregate
      10.0 %       +b  test rax, rax
       6.0 %       +e  jnz +0x4                                                                                                                                 inferred
   7   2.0 %    ret void                                                                                                                                        Group by · aggregate
       2.0 %      +10  ret
   8          }                                                                                                                                                 Group by + Hash join · probe + aggregate

Machine code that descends from no line
       2.0 %       +1  mov rbp, rsp

Of this query, but on no line above
   2.0 %  set-up code of generated functions
)");
}

TEST(AnnotateGolden, EverythingInAscii) {
  EXPECT_EQ(listing(80, true, {.all = true}), R"(
figure-9 | weft 0.1.0 (pid 4242) | 1 execution | own time 100 ms CPU time in 100
samples
select l_orderkey, avg(l_discount) from lineitem, orders group by 1
Machine code: code object 2 main (O2) at 0x7f0000001000: 100.0 %.

line   share  hot block
   2  70.0 %  loop: (Hash join 60.0 %, Table scan 10.0 %)
   5  28.0 %  done: (Group by 28.0 %)

line   share  ir                                           owner
   1          define void @main(p... (Hash join 60.0 %, Group by 28.0 %, Tab...
   2     hot  loop:                   ... (Hash join 60.0 %, Table scan 10.0 %)
   3  60.0 %    %1 = load i64, ptr %state                  Hash join | build
      60.0 %       +4  mov rax, [rdi]
   4  10.0 %    %2 = add i64 %1, 1                         Table scan | scan ...
      20.0 %       +7  add rax, 0x1                        lines 4, 6: Table ...
   5     hot  done:                        ; preds = %loop (Group by 28.0 %)
   6  26.0 %    %3 = icmp eq i64 %2, 0                     Group by | aggregate
      10.0 %       +b  test rax, rax
       6.0 %       +e  jnz +0x4                            inferred
   7   2.0 %    ret void                                   Group by | aggregate
       2.0 %      +10  ret
   8          }                                            Group by + Hash jo...

Machine code that descends from no line
                   +0  push rbp
       2.0 %       +1  mov rbp, rsp

Of this query, but on no line above
   2.0 %  set-up code of generated functions
)");
}

}  // namespace
}  // namespace tailor::cli

// The names are rustc 1.95's, and what is expected of them is what rustc-demangle 0.1.28 says of them.
#include <gtest/gtest.h>

#include <string>

#include "daemon/query/symbols/readable_name.h"
#include "daemon/query/symbols/rust_legacy_name.h"

namespace tailor::query {
namespace {

// "" where it is none.
std::string legacy(const std::string& mangled) {
  const auto name = rust_legacy_name(mangled);
  return name ? name->name : "";
}

TEST(RustLegacyName, IsAsRustShowsIt) {
  EXPECT_EQ(legacy("_ZN3lib3all17ha90de5f61388fd44E"), "lib::all");
  EXPECT_EQ(legacy("_ZN3lib3all28_$u7b$$u7b$closure$u7d$$u7d$17hfda65168816aaf1bE"), "lib::all::{{closure}}");
  EXPECT_EQ(legacy("_ZN49_$LT$$BP$mut$u20$u32$u20$as$u20$lib..Operator$GT$3run17hfcdca35699e26833E"),
            "<*mut u32 as lib::Operator>::run");
  EXPECT_EQ(legacy("_ZN54_$LT$lib..Filter$LT$T$GT$$u20$as$u20$lib..Operator$GT$3run17he3f7e7ccdcce7ebeE"),
            "<lib::Filter<T> as lib::Operator>::run");
  EXPECT_EQ(legacy("_ZN57_$LT$$u5b$u8$u3b$$u20$4$u5d$$u20$as$u20$lib..Operator$GT$3run17ha0d5492834227f65E"),
            "<[u8; 4] as lib::Operator>::run");
  EXPECT_EQ(legacy("_ZN64_$LT$$LP$u8$C$$RF$$u5b$i32$u5d$$RP$$u20$as$u20$lib..Operator$GT$3run"
                   "17hbd1f7eb45cb38d4eE"),
            "<(u8,&[i32]) as lib::Operator>::run");
  EXPECT_EQ(legacy("_ZN70_$LT$fn$LP$i32$C$u8$RP$$u20$.$GT$$u20$u64$u20$as$u20$lib..Operator$GT$3run"
                   "17hb35b69a0bfd5e43cE"),
            "<fn(i32,u8) .> u64 as lib::Operator>::run");
  EXPECT_EQ(legacy("_ZN4core3ptr42drop_in_place$LT$dyn$u20$lib..Operator$GT$17h8bb70aaa184f069aE"),
            "core::ptr::drop_in_place<dyn lib::Operator>");
  EXPECT_EQ(legacy("_ZN4core3ptr46drop_in_place$LT$alloc..vec..Vec$LT$u8$GT$$GT$17h0123456789abcdefE"),
            "core::ptr::drop_in_place<alloc::vec::Vec<u8>>");
  EXPECT_EQ(
      legacy("_ZN4core3ptr145drop_in_place$LT$std..thread..lifecycle..spawn_unchecked$LT$lib..all..$u7b$"
             "$u7b$closure$u7d$$u7d$$C$$LP$$RP$$GT$..$u7b$$u7b$closure$u7d$$u7d$$GT$"
             "17h0c582896cac34741E"),
      "core::ptr::drop_in_place<std::thread::lifecycle::spawn_unchecked<lib::all::{{closure}},()>::"
      "{{closure}}>");
}

TEST(RustLegacyName, HasLettersOfEveryAlphabet) {
  EXPECT_EQ(legacy("_ZN3lib7_$u3bb$28_$u7b$$u7b$closure$u7d$$u7d$17h50eb81be7875fc88E"),
            "lib::λ::{{closure}}");
  EXPECT_EQ(legacy("_ZN3lib10m$uf3$dulo13gr$uf6$$udf$e17h296b607a032a14aeE"), "lib::módulo::größe");
  EXPECT_EQ(legacy("_ZN1m15$u8868$$u20bb7$17h296b607a032a14aeE"), "m::表𠮷");
}

TEST(RustLegacyName, WhatIsNoEscapeIsText) {
  const std::string end = "17h296b607a032a14aeE";
  EXPECT_EQ(legacy("_ZN1m5a$x.b" + end), "m::a$x.b");
  EXPECT_EQ(legacy("_ZN1m11a$xy$b$LT$c" + end), "m::a$xy$b$LT$c");
  EXPECT_EQ(legacy("_ZN1m2$$" + end), "m::$$");
  EXPECT_EQ(legacy("_ZN1m3$u$" + end), "m::$u$");
  EXPECT_EQ(legacy("_ZN1m4$u7$" + end), "m::$u7$") << "a control character";
  EXPECT_EQ(legacy("_ZN1m5$u9b$" + end), "m::$u9b$") << "another one";
  EXPECT_EQ(legacy("_ZN1m5$u7B$" + end), "m::$u7B$") << "digits are small";
  EXPECT_EQ(legacy("_ZN1m7$ud800$" + end), "m::$ud800$") << "half of a character";
  EXPECT_EQ(legacy("_ZN1m9$u110000$" + end), "m::$u110000$");
  EXPECT_EQ(legacy("_ZN1m14$u100000041$aa" + end), "m::$u100000041$aa");
  EXPECT_EQ(legacy("_ZN1m7a.b...c" + end), "m::a.b::.c");
}

TEST(RustLegacyName, NeedsItsHash) {
  EXPECT_EQ(legacy("_ZN1m5apply17h0123400000000000E"), "m::apply") << "five different digits";
  for (const char* cpp : {
           "_ZN1m5apply17h0123000000000000E",    // four
           "_ZN1m5apply17h0123456789ABCDEFE",    // large ones
           "_ZN1m5apply17g0123456789abcdefE",    // no h
           "_ZN1m5apply17h0123456789abcdegE",    // no digit
           "_ZN1m5apply16h0123456789abcdeE",     // fifteen
           "_ZN1m5apply18h0123456789abcdef0E",   // seventeen
           "_ZN1m5apply17h0123456789abcdefEv",   // a function of C++ has parameters
           "_ZN1m5apply17h0123456789abcdef",     // no end
           "_ZN1m5apply17h0123456789abcdef1xE",  // it is not the last
           "_ZNK1m5apply17h0123456789abcdefE",   // a method of a constant
           "_ZN1mIiE17h0123456789abcdefE",       // a template
           "_ZN17h0123456789abcdefE",            // of nothing
           "_ZN01m17h0123456789abcdefE",
           "_ZN1-17h0123456789abcdefE",
           "_ZN1m0E",
           "_ZN1m",
           "_ZNE",
           "_ZN",
           "_ZN99999999999999999999999m17h0123456789abcdefE",
           "_Z1m17h0123456789abcdefE",
           "m",
           "",
           // The length of its third element is not that of what follows.
           "_ZN4core3ptr49drop_in_place$LT$alloc..vec..Vec$LT$u8$GT$$GT$17h0123456789abcdefE",
       })
    EXPECT_EQ(legacy(cpp), "") << cpp;
}

TEST(RustLegacyName, IsShownWithoutItsHashAndWithItsClone) {
  EXPECT_EQ(readable_name("_ZN3lib3all17ha90de5f61388fd44E"), "lib::all");
  EXPECT_EQ(readable_name("_ZN3lib7_$u3bb$17h64515baf72f22df2E.cold"), "lib::λ [clone .cold]");
  EXPECT_EQ(readable_name("_ZN3lib3all17ha90de5f61388fd44E.llvm.1E2F"), "lib::all [clone .llvm.1E2F]");
  EXPECT_EQ(readable_name("_ZN3lib3all17ha90de5f61388fd44E@plt"), "lib::all@plt");
  // The third element has 46 letters. With a length of 49 it runs into the hash, and it is no name of Rust.
  const std::string path = "drop_in_place$LT$alloc..vec..Vec$LT$u8$GT$$GT$17h0123456789abcdefE";
  EXPECT_EQ(readable_name("_ZN4core3ptr46" + path), "core::ptr::drop_in_place<alloc::vec::Vec<u8>>");
  EXPECT_EQ(readable_name("_ZN4core3ptr49" + path), "_ZN4core3ptr49" + path);
  // C++.
  EXPECT_EQ(readable_name("_ZN1m5apply17h0123456789abcdefEi"), "m::apply::h0123456789abcdef");
  EXPECT_EQ(readable_name("_ZN1m5apply17h0123000000000000Ev"), "m::apply::h0123000000000000");
}

TEST(RustLegacyName, OfALongOneOnlyTheBeginIsShown) {
  std::string name = "_ZN";
  while (name.size() < 4070) name += "1a";
  EXPECT_EQ(readable_name(name + "17ha90de5f61388fd44E").size(), 4096u);
  name += name.substr(3);
  EXPECT_EQ(readable_name(name + "17ha90de5f61388fd44E"), name + "17ha90de5f61388fd44E");
}

}  // namespace
}  // namespace tailor::query

#include "compiler/weft/runtime/symbols.h"

#include "compiler/weft/runtime/group_table.h"
#include "compiler/weft/runtime/join_table.h"
#include "compiler/weft/runtime/scalar.h"
#include "compiler/weft/runtime/sort.h"
#include "compiler/weft/runtime/tuple_buffer.h"

namespace tailor::weft {

std::span<const RuntimeSymbol> runtime_symbols() {
#define WEFT_SYMBOL(name)                         \
  RuntimeSymbol {                                 \
    #name, reinterpret_cast<const void*>(&(name)) \
  }
  static const RuntimeSymbol symbols[] = {
      WEFT_SYMBOL(weft_rt_grow),          WEFT_SYMBOL(weft_rt_join_piece),
      WEFT_SYMBOL(weft_rt_fail_single),   WEFT_SYMBOL(weft_rt_group_add),
      WEFT_SYMBOL(weft_rt_group_open),    WEFT_SYMBOL(weft_rt_group_rewind),
      WEFT_SYMBOL(weft_rt_group_next),    WEFT_SYMBOL(weft_rt_top_offer),
      WEFT_SYMBOL(weft_rt_sorted_rows),   WEFT_SYMBOL(weft_rt_text_compare),
      WEFT_SYMBOL(weft_rt_text_equal),    WEFT_SYMBOL(weft_rt_text_hash),
      WEFT_SYMBOL(weft_rt_like),          WEFT_SYMBOL(weft_rt_divide128),
      WEFT_SYMBOL(weft_rt_multiply128),   WEFT_SYMBOL(weft_rt_burn),
      WEFT_SYMBOL(weft_rt_fail_overflow),
  };
#undef WEFT_SYMBOL
  return symbols;
}

}  // namespace tailor::weft

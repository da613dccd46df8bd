#include "daemon/registration/validate_code.h"

#include <fmt/format.h>

#include "daemon/registration/limits.h"
#include "daemon/registration/validate_link.h"
#include "proto/base/errors.h"

namespace tailor::registration {

namespace {

// User addresses end here, also with five-level page tables.
constexpr std::uint64_t kUserEnd = std::uint64_t{1} << 56;

Status validate_rows(const v1::RowTable& rows, std::uint64_t code_size) {
  auto count = static_cast<std::size_t>(rows.offset_delta_size());
  if (static_cast<std::size_t>(rows.link_delta_size()) != count || rows.flags().size() != count) {
    return invalid(fmt::format("row table with columns of {}, {} and {} rows", count, rows.link_delta_size(),
                               rows.flags().size()));
  }
  Status sets = validate_link_sets(rows.link_sets(), kMaxComponents);
  if (!sets) return in_context("row table ", sets.error());
  std::uint64_t offset = 0;
  std::int64_t link = 0;
  for (std::size_t i = 0; i < count; ++i) {
    std::uint32_t step = rows.offset_delta(static_cast<int>(i));
    offset += step;
    link += rows.link_delta(static_cast<int>(i));
    if (offset >= code_size || (i > 0 && step == 0)) {
      return invalid(fmt::format("row {} begins at {} of {} bytes", i, offset, code_size));
    }
    if (link < 0 || !link_in_range(static_cast<std::uint64_t>(link), kMaxComponents, rows.link_sets_size())) {
      return invalid(fmt::format("row {} has a link to nothing", i));
    }
    if (!v1::RowFlag_IsValid(rows.flags()[i])) return invalid(fmt::format("row {} has an unknown flag", i));
  }
  return Ok{};
}

// Of the range: the bytes themselves may have been left out.
std::uint64_t size_of(const v1::CodeObject& code) {
  return code.size() != 0 ? code.size() : code.code().size();
}

Status validate_symbols(const v1::CodeObject& code) {
  for (const v1::CodeSymbol& symbol : code.symbols()) {
    if (std::uint64_t{symbol.offset()} + symbol.size() > size_of(code)) {
      return invalid(fmt::format("symbol at {}+{} is outside of {} bytes", symbol.offset(), symbol.size(),
                                 size_of(code)));
    }
    if (symbol.name().size() > kMaxTextBytes) return invalid("symbol with a name that is too long");
  }
  return Ok{};
}

}  // namespace

Status validate_code(const v1::CodeObject& code) {
  if (code.id() == 0) return invalid("code object without an id");
  auto wrong = [&](const std::string& what) {
    return invalid(fmt::format("code object {}: {}", code.id(), what));
  };
  const std::uint64_t size = size_of(code);
  if (size == 0) return wrong("has no code");
  if (!code.code().empty() && code.code().size() != size)
    return wrong(fmt::format("brings {} bytes for a range of {}", code.code().size(), size));
  if (code.base() == 0 || code.base() >= kUserEnd || size > kUserEnd - code.base())
    return wrong(fmt::format("lies at {:#x}+{}, which is no user address", code.base(), size));
  if (code.name().size() > kMaxTextBytes || code.tier().size() > kMaxNameBytes)
    return wrong("its name is too long");
  Status rows = validate_rows(code.rows(), size);
  if (!rows) return wrong(rows.error().message);
  Status symbols = validate_symbols(code);
  if (!symbols) return wrong(symbols.error().message);
  for (const v1::Attachment& attachment : code.attachments()) {
    if (attachment.kind().size() > kMaxNameBytes || attachment.sha256().size() != 32) {
      return wrong("attachment with too long a kind or without a SHA-256");
    }
  }
  return Ok{};
}

}  // namespace tailor::registration

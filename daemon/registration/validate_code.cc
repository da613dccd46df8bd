#include "daemon/registration/validate_code.h"

#include <fmt/format.h>

#include "daemon/registration/limits.h"
#include "daemon/registration/validate_link.h"

namespace tailor::registration {

namespace {

// User addresses end here, also with five-level page tables.
constexpr std::uint64_t kUserEnd = std::uint64_t{1} << 56;

Status ValidateRows(const v1::RowTable& rows, std::uint64_t code_size) {
  auto count = static_cast<std::size_t>(rows.offset_delta_size());
  if (static_cast<std::size_t>(rows.link_delta_size()) != count || rows.flags().size() != count) {
    return Error{fmt::format("row table with columns of {}, {} and {} rows", count, rows.link_delta_size(),
                             rows.flags().size())};
  }
  Status sets = ValidateLinkSets(rows.link_sets(), kMaxComponents);
  if (!sets) return Error{"row table " + sets.error().message};
  std::uint64_t offset = 0;
  std::int64_t link = 0;
  for (std::size_t i = 0; i < count; ++i) {
    std::uint32_t step = rows.offset_delta(static_cast<int>(i));
    offset += step;
    link += rows.link_delta(static_cast<int>(i));
    if (offset >= code_size || (i > 0 && step == 0)) {
      return Error{fmt::format("row {} begins at {} of {} bytes", i, offset, code_size)};
    }
    if (link < 0 || !LinkInRange(static_cast<std::uint64_t>(link), kMaxComponents, rows.link_sets_size())) {
      return Error{fmt::format("row {} has a link to nothing", i)};
    }
    if (!v1::RowFlag_IsValid(rows.flags()[i])) return Error{fmt::format("row {} has an unknown flag", i)};
  }
  return Ok{};
}

// Of the range: the bytes themselves may have been left out.
std::uint64_t SizeOf(const v1::CodeObject& code) {
  return code.size() != 0 ? code.size() : code.code().size();
}

Status ValidateSymbols(const v1::CodeObject& code) {
  for (const v1::CodeSymbol& symbol : code.symbols()) {
    if (std::uint64_t{symbol.offset()} + symbol.size() > SizeOf(code)) {
      return Error{fmt::format("symbol at {}+{} is outside of {} bytes", symbol.offset(), symbol.size(),
                               SizeOf(code))};
    }
    if (symbol.name().size() > kMaxTextBytes) return Error{"symbol with a name that is too long"};
  }
  return Ok{};
}

}  // namespace

Status ValidateCode(const v1::CodeObject& code) {
  if (code.id() == 0) return Error{"code object without an id"};
  auto wrong = [&](const std::string& what) {
    return Error{fmt::format("code object {}: {}", code.id(), what)};
  };
  const std::uint64_t size = SizeOf(code);
  if (size == 0) return wrong("has no code");
  if (!code.code().empty() && code.code().size() != size)
    return wrong(fmt::format("brings {} bytes for a range of {}", code.code().size(), size));
  if (code.base() == 0 || code.base() >= kUserEnd || size > kUserEnd - code.base())
    return wrong(fmt::format("lies at {:#x}+{}, which is no user address", code.base(), size));
  if (code.name().size() > kMaxTextBytes || code.tier().size() > kMaxNameBytes)
    return wrong("its name is too long");
  Status rows = ValidateRows(code.rows(), size);
  if (!rows) return wrong(rows.error().message);
  Status symbols = ValidateSymbols(code);
  if (!symbols) return wrong(symbols.error().message);
  for (const v1::Attachment& attachment : code.attachments()) {
    if (attachment.kind().size() > kMaxNameBytes || attachment.sha256().size() != 32) {
      return wrong("attachment with too long a kind or without a SHA-256");
    }
  }
  return Ok{};
}

}  // namespace tailor::registration

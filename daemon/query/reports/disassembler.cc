#include "daemon/query/reports/disassembler.h"

#include <Zydis/Zydis.h>
#include <fmt/format.h>

#include <array>
#include <optional>

namespace tailor::query {

struct Disassembler::Decoder {
  ZydisDecoder decoder;
  ZydisFormatter formatter;
  ZydisDecodedInstruction instruction;
  std::array<ZydisDecodedOperand, ZYDIS_MAX_OPERAND_COUNT> operands;

  Decoder() {
    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    ZydisFormatterInit(&formatter, ZYDIS_FORMATTER_STYLE_INTEL);
    ZydisFormatterSetProperty(&formatter, ZYDIS_FORMATTER_PROP_HEX_UPPERCASE, ZYAN_FALSE);
    for (const auto padding : {ZYDIS_FORMATTER_PROP_ADDR_PADDING_ABSOLUTE, ZYDIS_FORMATTER_PROP_DISP_PADDING,
                               ZYDIS_FORMATTER_PROP_IMM_PADDING})
      ZydisFormatterSetProperty(&formatter, padding, ZYDIS_PADDING_DISABLED);
  }

  bool decode(std::string_view code, std::size_t offset) {
    return ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, code.data() + offset, code.size() - offset,
                                               &instruction, operands.data()));
  }

  // The address that an operand names relative to the instruction.
  std::optional<std::uint64_t> named_address(std::uint64_t at) const {
    for (std::size_t i = 0; i < instruction.operand_count_visible; ++i) {
      const ZydisDecodedOperand& operand = operands[i];
      const bool relative =
          (operand.type == ZYDIS_OPERAND_TYPE_IMMEDIATE && operand.imm.is_relative) ||
          (operand.type == ZYDIS_OPERAND_TYPE_MEMORY && operand.mem.base == ZYDIS_REGISTER_RIP);
      ZyanU64 address = 0;
      if (relative && ZYAN_SUCCESS(ZydisCalcAbsoluteAddress(&instruction, &operand, at, &address)))
        return address;
    }
    return std::nullopt;
  }
};

Disassembler::Disassembler(std::string_view code, std::uint64_t base)
    : code_(code), base_(base), decoder_(std::make_unique<Decoder>()) {}

Disassembler::~Disassembler() = default;

std::size_t Disassembler::length_at(std::size_t offset) {
  return decoder_->decode(code_, offset) ? decoder_->instruction.length : 1;
}

std::string Disassembler::text_at(std::size_t offset) {
  Decoder& d = *decoder_;
  std::array<char, 256> buffer{};
  const std::uint64_t at = base_ + offset;
  const bool known = d.decode(code_, offset) &&
                     ZYAN_SUCCESS(ZydisFormatterFormatInstruction(
                         &d.formatter, &d.instruction, d.operands.data(), d.instruction.operand_count_visible,
                         buffer.data(), buffer.size(), at, nullptr));
  if (!known) return fmt::format(".byte 0x{:02x}", static_cast<unsigned char>(code_[offset]));
  std::string text = buffer.data();
  const auto address = d.named_address(at);
  if (address && *address >= base_ && *address - base_ < code_.size()) {
    const std::string absolute = fmt::format("0x{:x}", *address);
    if (const std::size_t found = text.find(absolute); found != std::string::npos)
      text.replace(found, absolute.size(), fmt::format("+0x{:x}", *address - base_));
  }
  return text;
}

}  // namespace tailor::query

// Code objects and row tables for engines without protobuf (tailor/dictionary.h). Field numbers are those of
// proto/tailor/v1/dictionary.proto.
#include <tailor/agent.h>
#include <tailor/dictionary.h>

#include "agent/builder_parts.h"

using namespace tailor::agent;

namespace {

constexpr std::uint32_t kMostComponents = 1u << 24;

struct Row {
  std::uint32_t offset, link;
  std::uint8_t flag;
};

struct Symbol {
  std::uint32_t offset, size;
  std::string name;
};

}  // namespace

struct tailor_code_builder {
  int error = 0;
  std::uint64_t plan_id = 0;
  const void* base = nullptr;
  std::size_t size = 0;
  std::string name, tier, code, eh_frame;
  std::uint64_t eh_frame_address = 0;
  bool without_code = false;
  std::vector<Row> rows;
  LinkSets sets;
  std::vector<Symbol> symbols;
  std::vector<AttachedDocument> documents;
};

namespace {

void write_rows(GrowingWire& wire, const tailor_code_builder& code) {
  std::size_t begin = wire.begin(8);
  const std::vector<Row>& rows = code.rows;
  wire.packed(1, rows.size(), [&](std::size_t i) { return rows[i].offset - (i ? rows[i - 1].offset : 0); });
  wire.packed(2, rows.size(), [&](std::size_t i) {
    std::int64_t before = i ? rows[i - 1].link : 0;
    return GrowingWire::zig_zag(std::int64_t{rows[i].link} - before);
  });
  std::string flags;
  for (const Row& row : rows) flags += static_cast<char>(row.flag);
  wire.bytes(3, flags);
  code.sets.write(wire, 4);
  wire.end(begin);
}

std::string write(const tailor_code_builder& code) {
  GrowingWire wire{GrowingMemory()};
  wire.number(2, code.plan_id);
  wire.number(3, reinterpret_cast<std::uintptr_t>(code.base));
  if (code.without_code) {
    wire.number(13, code.size);
  } else {
    wire.bytes(4, code.code.empty() ? std::string_view(static_cast<const char*>(code.base), code.size)
                                    : std::string_view(code.code));
  }
  wire.text(6, code.name);
  wire.text(7, code.tier);
  if (!code.rows.empty()) write_rows(wire, code);
  for (const Symbol& symbol : code.symbols) {
    std::size_t begin = wire.begin(9);
    wire.number(1, symbol.offset);
    wire.number(2, symbol.size);
    wire.text(3, symbol.name);
    wire.end(begin);
  }
  wire.bytes(10, code.eh_frame);
  wire.number(11, code.eh_frame_address);
  for (const AttachedDocument& document : code.documents) write_attachment(wire, 12, document);
  return wire.memory().take();
}

int build(tailor_code_builder* builder, std::string& bytes) {
  return guarded(builder, [&](tailor_code_builder& code) {
    bytes = write(code);
    return bytes.size() > kMostMessageBytes ? -E2BIG : 0;
  });
}

// Neighbouring rows that say the same are one.
void add_row(std::vector<Row>& rows, Row row) {
  if (!rows.empty() && rows.back().offset == row.offset) rows.pop_back();
  if (!rows.empty() && rows.back().link == row.link && rows.back().flag == row.flag) return;
  rows.push_back(row);
}

}  // namespace

tailor_code_builder* tailor_code_builder_new(uint64_t plan_id, const void* base, size_t size) {
  auto* builder = new (std::nothrow) tailor_code_builder;
  guarded(builder, [&](tailor_code_builder& code) {
    code.plan_id = plan_id;
    code.base = base;
    code.size = size;
    if (!base || size == 0) return -EINVAL;
    return size >= kMostMessageBytes ? -E2BIG : 0;
  });
  return builder;
}

void tailor_code_builder_free(tailor_code_builder* builder) {
  delete builder;
}

int tailor_code_builder_error(const tailor_code_builder* builder) {
  return builder ? builder->error : -EINVAL;
}

int tailor_code_builder_set_name(tailor_code_builder* builder, const char* name) {
  return guarded(builder, [&](tailor_code_builder& code) {
    code.name = cut_text(name, kMostTextBytes);
    return 0;
  });
}

int tailor_code_builder_set_tier(tailor_code_builder* builder, const char* tier) {
  return guarded(builder, [&](tailor_code_builder& code) {
    code.tier = cut_text(tier, kMostNameBytes);
    return 0;
  });
}

int tailor_code_builder_set_code(tailor_code_builder* builder, const void* code, size_t size) {
  return guarded(builder, [&](tailor_code_builder& to) {
    if (!code || size != to.size) return -EINVAL;
    to.code.assign(static_cast<const char*>(code), size);
    return 0;
  });
}

int tailor_code_builder_leave_code_out(tailor_code_builder* builder) {
  return guarded(builder, [](tailor_code_builder& code) {
    code.without_code = true;
    return 0;
  });
}

int tailor_code_builder_add_row(tailor_code_builder* builder, uint32_t offset, const uint32_t* components,
                                size_t count, uint32_t flag) {
  return guarded(builder, [&](tailor_code_builder& code) {
    if (offset >= code.size || flag > TAILOR_ROW_UNMAPPED || (count != 0 && !components)) return -EINVAL;
    if (!code.rows.empty() && offset < code.rows.back().offset) return -EINVAL;
    for (size_t i = 0; i < count; ++i) {
      if (components[i] > kMostComponents) return -EINVAL;
    }
    std::uint32_t link = 0;
    if (flag < TAILOR_ROW_PROLOGUE) link = code.sets.link_to({components, count});
    if (flag < TAILOR_ROW_PROLOGUE && link == 0) flag = TAILOR_ROW_UNMAPPED;
    if (flag == TAILOR_ROW_EXACT && (link & 1) != 0) flag = TAILOR_ROW_SHARED;
    add_row(code.rows, {offset, link, static_cast<std::uint8_t>(flag)});
    return 0;
  });
}

int tailor_code_builder_add_symbol(tailor_code_builder* builder, uint32_t offset, uint32_t size,
                                   const char* name) {
  return guarded(builder, [&](tailor_code_builder& code) {
    if (std::uint64_t{offset} + size > code.size) return -EINVAL;
    code.symbols.push_back({offset, size, cut_text(name, kMostTextBytes)});
    return 0;
  });
}

int tailor_code_builder_set_eh_frame(tailor_code_builder* builder, const void* bytes, size_t size,
                                     const void* address) {
  return guarded(builder, [&](tailor_code_builder& code) {
    if (size != 0 && !bytes) return -EINVAL;
    if (size > kMostMessageBytes) return -E2BIG;
    code.eh_frame.assign(static_cast<const char*>(bytes), size);
    code.eh_frame_address = reinterpret_cast<std::uintptr_t>(address);
    return 0;
  });
}

int tailor_code_builder_attach(tailor_code_builder* builder, const char* kind, const void* content,
                               size_t size) {
  return guarded(builder, [&](tailor_code_builder& code) {
    if (!kind || (size != 0 && !content)) return -EINVAL;
    if (size > kMostMessageBytes) return -E2BIG;
    attach(code.documents, kind, content, size);
    return 0;
  });
}

int tailor_code_builder_load(tailor_code_builder* builder, uint64_t code_id) {
  return tailor_code_builder_load_since(builder, code_id, UINT64_MAX);
}

int tailor_code_builder_load_since(tailor_code_builder* builder, uint64_t code_id, uint64_t since) {
  std::string bytes;
  int error = build(builder, bytes);
  return error ? error : tailor_code_load_since(code_id, bytes.data(), bytes.size(), since);
}

size_t tailor_code_builder_serialise(tailor_code_builder* builder, void* out, size_t capacity) {
  std::string bytes;
  if (build(builder, bytes) != 0) return 0;
  if (out && bytes.size() <= capacity) std::memcpy(out, bytes.data(), bytes.size());
  return bytes.size();
}

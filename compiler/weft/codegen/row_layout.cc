#include "compiler/weft/codegen/row_layout.h"

#include <algorithm>

namespace tailor::weft {

std::uint32_t width_bytes(Width width) {
  switch (width) {
    case Width::k1:
    case Width::k8:
      return 1;
    case Width::k32:
      return 4;
    case Width::k64:
      return 8;
    case Width::k128:
    case Width::kString:
      return 16;
  }
  return 0;
}

std::uint32_t RowLayout::add_bytes(std::uint32_t bytes, std::uint32_t alignment) {
  std::uint32_t offset = (size_ + alignment - 1) / alignment * alignment;
  size_ = offset + bytes;
  return offset;
}

RowField RowLayout::add_field(const Iu* iu, bool with_null) {
  RowField field;
  field.iu = iu;
  std::uint32_t bytes = width_bytes(iu->width());
  field.offset = add_bytes(bytes, std::min(bytes, 8u));
  if (with_null) field.null_offset = add_bytes(1, 1);
  return field;
}

const RowField& RowLayout::add(const Iu* iu) {
  for (const RowField& field : fields_) {
    if (field.iu == iu) return field;
  }
  fields_.push_back(add_field(iu, iu->type.nullable));
  return fields_.back();
}

const RowField* RowLayout::find(const Iu* iu) const {
  for (const RowField& field : fields_) {
    if (field.iu == iu) return &field;
  }
  return nullptr;
}

}  // namespace tailor::weft

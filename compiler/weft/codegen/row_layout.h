// Where the values of a materialised row lie.
#pragma once

#include <span>
#include <vector>

#include "compiler/weft/codegen/program.h"

namespace tailor::weft {

class RowLayout {
 public:
  explicit RowLayout(std::uint32_t header_bytes) : size_(header_bytes) {}

  // A place for the unit; the same one if it has one already.
  const RowField& add(const Iu* iu);
  // A place of its own, e.g. for an aggregate that is being computed.
  RowField add_field(const Iu* iu, bool with_null);
  std::uint32_t add_bytes(std::uint32_t bytes, std::uint32_t alignment);
  const RowField* find(const Iu* iu) const;
  const std::vector<RowField>& fields() const { return fields_; }
  // Bytes of a row, a multiple of 8.
  std::uint32_t size() const { return (size_ + 7) / 8 * 8; }

 private:
  std::uint32_t size_;
  std::vector<RowField> fields_;
};

std::uint32_t width_bytes(Width width);

}  // namespace tailor::weft

// Files of numbers and shapes, and of nothing that could be run: the layout of safetensors.
//
//   std::string bytes = tensor_file({{"kind", "example"}},
//                                   {{"weight", NumberType::kFloat32, {2, 3}, six_floats}});
//   TensorFile file(std::as_bytes(std::span(bytes)), "example.safetensors");
//   file.find("weight")->bytes;   // 24 of them, inside `bytes`
//
//   >>> safetensors.torch.load_file("example.safetensors")["weight"]
//
// The file: the size of the header (64 bits, least significant byte first), the header as JSON, the
// numbers of one tensor after the other. The header:
//
//   {"__metadata__":{"format":"obol-tensors-1","kind":"example","sha256":"64 digits"},
//    "weight":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}}
//
// without a line break and followed by spaces, so that the numbers begin at a multiple of 8. The
// checksum is that of the whole file with zeros in the place of its 64 digits.
//
// One content has one file, and the reader takes that alone: not every JSON, but what tensor_file
// writes, so that nothing in the header can be nested, escaped or said twice.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace obol {

enum class NumberType { kFloat32, kFloat64, kInt64 };

std::string_view name_of(NumberType type);  // "F32", "F64", "I64"
std::size_t size_of(NumberType type);       // bytes of one number

struct NamedTensor {
  std::string name;
  NumberType type = NumberType::kFloat32;
  std::vector<std::int64_t> shape;     // none: one number
  std::span<const std::byte> bytes{};  // the last index runs fastest; not ours
};

std::string in_words(NumberType type, const std::vector<std::int64_t>& shape);  // "F32 [2, 3]"

// Names are letters, digits, '.', '_', '-', '/'; texts are printable ASCII without quotation marks
// and backslashes.
using TensorTexts = std::map<std::string, std::string>;

// Where the checksum is. Elsewhere: the file is part of another that has one of its own, and the 64
// digits are zeros.
enum class TensorSum { kInside, kElsewhere };

// Those of 8 bytes a number come first, so that each tensor is aligned; else in the order given.
// InvalidArgument on what a file cannot hold.
std::string tensor_file(const TensorTexts& texts, const std::vector<NamedTensor>& tensors,
                        TensorSum sum = TensorSum::kInside);

class TensorFile {
 public:
  // `bytes` is the whole file and must outlive this; `where` names it in messages. DataError on
  // anything that tensor_file would not have written, and on a wrong checksum.
  TensorFile(std::span<const std::byte> bytes, const std::string& where,
             TensorSum sum = TensorSum::kInside);

  // Without the format and the checksum.
  [[nodiscard]] const TensorTexts& texts() const noexcept { return texts_; }
  [[nodiscard]] const std::vector<NamedTensor>& tensors() const noexcept { return tensors_; }
  [[nodiscard]] const NamedTensor* find(const std::string& name) const;
  [[nodiscard]] const std::string& where() const noexcept { return where_; }

 private:
  std::string where_;
  TensorTexts texts_;
  std::vector<NamedTensor> tensors_;
  std::map<std::string, std::size_t> by_name_;
};

// Whether every number is finite.
bool is_finite(const NamedTensor& tensor);

}  // namespace obol

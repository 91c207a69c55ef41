// NumPy's array file: reading into the type that is wanted, writing what NumPy opens.
//
//   NpyHeader header = read_npy_header(*stream);
//   std::vector<float> values = read_npy_values<float>(*stream, header, limits);
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "obol/base/file.h"
#include "obol/data/stream.h"

namespace obol::data {

struct NpyHeader {
  char kind = 'u';  // b: truth values, i: signed, u: unsigned, f: real
  std::uint64_t item_size = 1;
  bool is_big_endian = false;
  bool is_fortran_order = false;
  std::vector<std::uint64_t> shape;

  [[nodiscard]] std::string type_name() const;  // "<f4"
};

NpyHeader read_npy_header(Stream& stream);

// All values, in C order, as T in {uint8_t, int32_t, int64_t, float, double}. A value that T cannot
// hold (a fraction or an overflow for whole numbers) is a DataError with its offset.
template <class T>
std::vector<T> read_npy_values(Stream& stream, const NpyHeader& header, const ReadLimits& limits);

// The next out.size() values, in the order in which they are stored.
template <class T>
void read_npy_part(Stream& stream, const NpyHeader& header, std::span<T> out);

// The header of a C-order array of T, ready to be followed by the values.
template <class T>
std::string npy_header(const std::vector<std::int64_t>& shape);

}  // namespace obol::data

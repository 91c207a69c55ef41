#include "obol/data/npy.h"

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "obol/data/testing.h"

namespace obol::data {
namespace {

using testing::in_memory;
using testing::npy;
using testing::npy_with_header;
using testing::raw;
using testing::refusal;
using testing::says;

template <class T>
std::vector<T> values_of(const std::string& file, const ReadLimits& limits = {}) {
  const MemoryBytes bytes = in_memory(file);
  const auto stream = open_stream(bytes, limits);
  const NpyHeader header = read_npy_header(*stream);
  return read_npy_values<T>(*stream, header, limits);
}

template <class T = std::int64_t>
std::string npy_refusal(const std::string& file, const ReadLimits& limits = {}) {
  return refusal([&] { (void)values_of<T>(file, limits); });
}

template <class T>
std::string swapped(const std::vector<T>& values) {
  std::string text;
  for (const T& value : values) {
    std::string one = raw(std::vector<T>{value});
    std::reverse(one.begin(), one.end());
    text += one;
  }
  return text;
}

template <class Raw>
void expect_read(const std::string& type, const std::vector<Raw>& stored) {
  const std::string shape = "(" + std::to_string(stored.size()) + ",)";
  const std::vector<double> expected(stored.begin(), stored.end());
  EXPECT_EQ(values_of<double>(npy("<" + type, shape, raw(stored))), expected) << type;
  EXPECT_EQ(values_of<double>(npy("=" + type, shape, raw(stored))), expected) << type;
  EXPECT_EQ(values_of<double>(npy(">" + type, shape, swapped(stored))), expected) << type;
}

TEST(Npy, ReadsEveryElementTypeInEitherByteOrder) {
  expect_read<std::uint8_t>("u1", {0, 1, 255});
  expect_read<std::int8_t>("i1", {0, -128, 127});
  expect_read<std::uint16_t>("u2", {0, 258, 65535});
  expect_read<std::int16_t>("i2", {0, -32768, 258});
  expect_read<std::uint32_t>("u4", {0, 0x01020304, 0xffffffff});
  expect_read<std::int32_t>("i4", {0, -2, 0x01020304});
  expect_read<std::uint64_t>("u8", {0, 0x0102030405060708, std::uint64_t{1} << 63});
  expect_read<std::int64_t>("i8", {0, -2, std::numeric_limits<std::int64_t>::min()});
  expect_read<float>("f4", {0.0F, -1.5F, 1e30F});
  expect_read<double>("f8", {0.0, -1.5, 1e300});
  expect_read<std::uint8_t>("b1", {0, 1, 1});
}

TEST(Npy, ReadsIntoEveryTypeThatCanHoldTheValues) {
  const std::string file = npy("<f8", "(3,)", raw<double>({0, 7, 255}));
  EXPECT_EQ(values_of<std::uint8_t>(file), (std::vector<std::uint8_t>{0, 7, 255}));
  EXPECT_EQ(values_of<std::int32_t>(file), (std::vector<std::int32_t>{0, 7, 255}));
  EXPECT_EQ(values_of<std::int64_t>(file), (std::vector<std::int64_t>{0, 7, 255}));
  EXPECT_EQ(values_of<float>(file), (std::vector<float>{0, 7, 255}));
  EXPECT_EQ(values_of<std::uint8_t>(npy("|u1", "(2,)", raw<std::uint8_t>({3, 4}))),
            (std::vector<std::uint8_t>{3, 4}));
}

TEST(Npy, RefusesValuesThatTheWantedTypeCannotHold) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const double bad : {0.5, -1.0, 256.0, kNan, kInfinity, -kInfinity, 1e300})
    EXPECT_TRUE(says(npy_refusal<std::uint8_t>(npy("<f8", "(2,)", raw<double>({1, bad}))),
                     {"test.bin, offset 136", "value 1", "whole number"}));
  // 2^63 is the first double that int64 cannot hold, and its conversion would be undefined.
  for (const double bad : {0x1p63, -0x1.0000000000001p63})
    EXPECT_TRUE(says(npy_refusal(npy("<f8", "(1,)", raw<double>({bad}))), {"value 0"}));
  EXPECT_EQ(values_of<std::int64_t>(npy("<f8", "(1,)", raw<double>({-0x1p63}))),
            std::vector<std::int64_t>{std::numeric_limits<std::int64_t>::min()});
  EXPECT_TRUE(says(
      npy_refusal<std::int32_t>(npy("<i8", "(1,)", raw<std::int64_t>({std::int64_t{1} << 31}))),
      {"value 0", "2147483648"}));
  EXPECT_TRUE(says(npy_refusal(npy("<u8", "(1,)", raw<std::uint64_t>({std::uint64_t{1} << 63}))),
                   {"value 0"}));
  EXPECT_TRUE(
      says(npy_refusal<std::uint8_t>(npy("|i1", "(1,)", raw<std::int8_t>({-1}))), {"value 0"}));
}

TEST(Npy, NamesTheValueBeyondTheFirstChunk) {
  std::vector<std::int64_t> many(5000, 1);
  many[4321] = -1;
  EXPECT_TRUE(says(npy_refusal<std::uint8_t>(npy("<i8", "(5000,)", raw(many))),
                   {"value 4321", "offset " + std::to_string(128 + 8 * 4321)}));
}

TEST(Npy, TurnsFortranOrderIntoCOrder) {
  // The array [[0, 1, 2], [3, 4, 5]], column by column.
  EXPECT_EQ(
      values_of<std::int64_t>(npy("|u1", "(2, 3)", raw<std::uint8_t>({0, 3, 1, 4, 2, 5}), true)),
      (std::vector<std::int64_t>{0, 1, 2, 3, 4, 5}));
  std::string stored;
  for (int k = 0; k < 4; ++k)
    for (int j = 0; j < 3; ++j)
      for (int i = 0; i < 2; ++i) stored += static_cast<char>(i * 12 + j * 4 + k);
  const auto values = values_of<std::uint8_t>(npy("|u1", "(2, 3, 4)", stored, true));
  for (std::size_t i = 0; i < values.size(); ++i) EXPECT_EQ(values[i], i);
  EXPECT_EQ(values_of<std::int64_t>(npy("|u1", "(3,)", raw<std::uint8_t>({5, 6, 7}), true)),
            (std::vector<std::int64_t>{5, 6, 7}));
}

TEST(Npy, ReadsVersionsOneToThree) {
  const std::string dict = "{'descr': '<i4', 'fortran_order': False, 'shape': (2,), }";
  for (const int version : {1, 2, 3})
    EXPECT_EQ(values_of<std::int64_t>(npy_with_header(dict, raw<std::int32_t>({-1, 9}), version)),
              (std::vector<std::int64_t>{-1, 9}));
  for (const int version : {0, 4, 255})
    EXPECT_TRUE(says(npy_refusal(npy_with_header(dict, raw<std::int32_t>({-1, 9}), version)),
                     {"test.bin", "version", std::to_string(version)}));
}

TEST(Npy, ReadsHeadersThatAreWrittenDifferently) {
  for (const std::string dict :
       {"{'shape':(2,),'fortran_order':False,'descr':'|u1'}",
        "{\"descr\": \"|u1\", \"fortran_order\": False, \"shape\": (2,)}",
        "  {  'descr' : '|u1' , 'fortran_order' : False , 'shape' : ( 2 , ) , }\n\n",
        "{'descr': '|u1', 'fortran_order': False, 'shape': (2, 1)}"})
    EXPECT_EQ(values_of<std::int64_t>(npy_with_header(dict, raw<std::uint8_t>({8, 9}))),
              (std::vector<std::int64_t>{8, 9}))
        << dict;
}

TEST(Npy, ReadsASingleNumberAndAnEmptyArray) {
  EXPECT_EQ(values_of<std::int64_t>(npy("|u1", "()", "\x07")), std::vector<std::int64_t>{7});
  EXPECT_TRUE(values_of<std::int64_t>(npy("|u1", "(0,)", "")).empty());
  EXPECT_TRUE(values_of<std::int64_t>(npy("<f8", "(3, 0)", "", true)).empty());
}

TEST(Npy, RefusesOddHeaders) {
  for (const std::string dict : {
           "",
           "{",
           "{}",
           "[]",
           "{'descr': '|u1', 'fortran_order': False}",
           "{'descr': '|u1', 'shape': (2,)}",
           "{'fortran_order': False, 'shape': (2,)}",
           "{'descr': '|u1', 'descr': '|u1', 'fortran_order': False, 'shape': (2,)}",
           "{'descr': '|u1', 'fortran_order': False, 'shape': (2,), 'shape': (3,)}",
           "{'descr': '|u1', 'fortran_order': False, 'shape': (2,), 'other': 1}",
           "{'descr': '|u1', 'fortran_order': Maybe, 'shape': (2,)}",
           "{'descr': '|u1', 'fortran_order': False, 'shape': (-2,)}",
           "{'descr': '|u1', 'fortran_order': False, 'shape': (2.5,)}",
           "{'descr': '|u1', 'fortran_order': False, 'shape': (2 3)}",
           "{'descr': '|u1', 'fortran_order': False, 'shape': (,)}",
           "{'descr': '|u1', 'fortran_order': False, 'shape': 2}",
           "{'descr': '|u1', 'fortran_order': False, 'shape': (2,",
           "{'descr': '|u1', 'fortran_order': False, 'shape': (99999999999999999999999,)}",
           "{'descr': '|u1', 'fortran_order': False, 'shape': (2,)",
           "{'descr': '|u1, fortran_order: False, shape: (2,)}",
           "{'descr",
           "{'descr':",
           "{descr: '|u1', 'fortran_order': False, 'shape': (2,)}",
           "{'descr': [('a', '|u1')], 'fortran_order': False, 'shape': (2,)}",
       })
    EXPECT_TRUE(
        says(npy_refusal(npy_with_header(dict, "12")), {"NPY header", "test.bin", "offset"}))
        << dict;
}

TEST(Npy, RefusesMoreThan32Dimensions) {
  std::string ones = "(1";
  for (int i = 1; i < 32; ++i) ones += ", 1";
  EXPECT_EQ(values_of<std::int64_t>(npy("|u1", ones + ")", "\x05")), std::vector<std::int64_t>{5});
  EXPECT_TRUE(says(npy_refusal(npy("|u1", ones + ", 1)", "\x05")), {"32 dimensions", "test.bin"}));
}

TEST(Npy, RefusesOtherElementTypes) {
  for (const std::string type :
       {"<f2", "<f16", "<c8", "|S1", "|O", "<U4", "<M8", "|V1", "u1", "<", "", "<b2", "<i3", "!u1"})
    EXPECT_TRUE(says(npy_refusal(npy(type, "(1,)", "1")), {"element type", "test.bin"})) << type;
}

TEST(Npy, RefusesSizesThatOverflowOrAreNotThere) {
  EXPECT_TRUE(says(npy_refusal(npy("<f8", "(4611686018427387904, 4)", "12345678")),
                   {"test.bin", "4611686018427387904 x 4 x 8"}));
  EXPECT_TRUE(says(npy_refusal(npy("<f8", "(2,)", "12345678")), {"test.bin", "2 x 8"}));
  EXPECT_TRUE(says(npy_refusal(npy("|u1", "(2,)", "123")), {"test.bin", "longer"}));
}

TEST(Npy, CountsTheLimitInTheTypeThatIsMade) {
  const std::string file = npy("|u1", "(100,)", std::string(100, '1'));
  EXPECT_EQ(values_of<std::int64_t>(file, {.max_bytes = 800}).size(), 100U);
  EXPECT_TRUE(says(npy_refusal(file, {.max_bytes = 799}), {"799 bytes", "100 x 8"}));
}

TEST(Npy, RefusesAHeaderOfUnlikelyLength) {
  const std::string dict = "{'descr': '|u1', 'fortran_order': False, 'shape': (1,), }";
  EXPECT_TRUE(says(npy_refusal(npy_with_header(dict + std::string(1 << 16, ' '), "1", 2)),
                   {"NPY header", "65536", "test.bin"}));
}

TEST(Npy, RefusesAFileCutOffAnywhere) {
  const std::string whole = npy("<i4", "(2,)", raw<std::int32_t>({1, 2}));
  for (std::size_t length = 0; length < whole.size(); ++length)
    EXPECT_TRUE(says(npy_refusal(whole.substr(0, length)), {"test.bin"})) << length;
}

TEST(Npy, RefusesAnotherMagic) {
  std::string file = npy("|u1", "(1,)", "1");
  file[0] = '\x92';
  EXPECT_TRUE(says(npy_refusal(file), {"NUMPY", "test.bin"}));
}

TEST(NpyHeader, IsWrittenAlignedAndReadsBack) {
  for (const std::vector<std::int64_t>& shape :
       std::vector<std::vector<std::int64_t>>{{3}, {2, 28, 28}, {1000000, 32, 32, 3}, {}}) {
    const std::string text = npy_header<float>(shape);
    EXPECT_EQ(text.size() % 64, 0U);
    EXPECT_EQ(text.back(), '\n');
    const MemoryBytes bytes = in_memory(text);
    const NpyHeader header = read_npy_header(*open_stream(bytes, {}));
    EXPECT_EQ(header.type_name(), "<f4");
    EXPECT_FALSE(header.is_fortran_order);
    EXPECT_EQ(header.shape, (std::vector<std::uint64_t>(shape.begin(), shape.end())));
  }
  const std::string text = npy_header<std::uint8_t>({1});
  EXPECT_EQ(read_npy_header(*open_stream(in_memory(text), {})).type_name(), "|u1");
}

}  // namespace
}  // namespace obol::data

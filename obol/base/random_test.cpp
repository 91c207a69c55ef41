#include "obol/base/random.h"

#include <algorithm>
#include <array>
#include <concepts>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <random>
#include <set>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "obol/base/error.h"
#include "obol/testing/bits.h"

namespace obol {
namespace {

using test::ScriptedBits;

constexpr std::uint64_t kTop = std::uint64_t{1} << 63;

std::vector<std::uint64_t> draw(RandomBits& bits, std::size_t count) {
  std::vector<std::uint64_t> words(count);
  for (std::uint64_t& word : words) word = bits();
  return words;
}

double chi_square(const std::vector<std::int64_t>& counts, double expected) {
  double sum = 0;
  for (const std::int64_t count : counts)
    sum += (static_cast<double>(count) - expected) * (static_cast<double>(count) - expected);
  return sum / expected;
}

// Each of the 64 places of 20,000 words must hold about as many ones as zeros, and differ from the
// word before about as often as not. Off by 540 of 20,000 has a chance of at most
// 2 exp(-2 540^2 / 20000) = 4.3e-13 (Hoeffding); 128 such counts raise a false alarm with less
// than 6e-11.
void expect_balanced(const std::vector<std::uint64_t>& words) {
  ASSERT_EQ(words.size(), 20'001U);
  for (int place = 0; place < 64; ++place) {
    std::int64_t ones = 0;
    std::int64_t changes = 0;
    for (std::size_t i = 1; i < words.size(); ++i) {
      ones += static_cast<std::int64_t>(words[i] >> place & 1);
      changes += static_cast<std::int64_t>((words[i] ^ words[i - 1]) >> place & 1);
    }
    EXPECT_LT(std::abs(ones - 10'000), 540) << "place " << place;
    EXPECT_LT(std::abs(changes - 10'000), 540) << "place " << place;
  }
}

// Words of a child process that draws from its copy of `bits`.
std::vector<std::uint64_t> draw_in_child(RandomBits& bits, std::size_t count) {
  std::array<int, 2> ends{};
  EXPECT_EQ(pipe(ends.data()), 0);
  const pid_t child = fork();
  if (child == 0) {
    const auto words = draw(bits, count);
    const auto size = static_cast<ssize_t>(count * sizeof(std::uint64_t));
    _exit(write(ends[1], words.data(), static_cast<std::size_t>(size)) == size ? 0 : 1);
  }
  close(ends[1]);
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  std::vector<std::uint64_t> words(count);
  EXPECT_EQ(read(ends[0], words.data(), count * sizeof(std::uint64_t)),
            static_cast<ssize_t>(count * sizeof(std::uint64_t)));
  close(ends[0]);
  return words;
}

bool have_common_word(std::vector<std::uint64_t> a, std::vector<std::uint64_t> b) {
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  std::vector<std::uint64_t> common;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(common));
  return !common.empty();
}

static_assert(std::uniform_random_bit_generator<SecureBits>);
static_assert(std::uniform_random_bit_generator<SeededBits>);
// A copy would hand out the same words twice.
static_assert(!std::is_copy_constructible_v<SecureBits> && !std::is_copy_assignable_v<SecureBits>);
static_assert(!std::is_copy_constructible_v<SeededBits> && !std::is_copy_assignable_v<SeededBits>);

// Computed by a separate program in Python, which was checked against the published outputs of
// xoshiro256++ from the state 1, 2, 3, 4 and of SplitMix64 from 1234567.
TEST(SeededBits, AreThoseOfXoshiro256PlusPlusSeededBySplitMix64) {
  struct Example {
    std::uint64_t seed;
    std::array<std::uint64_t, 4> first;
    std::uint64_t thousandth;
  };
  const std::array<Example, 4> examples = {{
      {0,
       {0x53175d61490b23df, 0x61da6f3dc380d507, 0x5c0fdf91ec9a7bfc, 0x02eebf8c3bbe5e1a},
       0x376300fa032f6483},
      {1,
       {0xcfc5d07f6f03c29b, 0xbf424132963fe08d, 0x19a37d5757aaf520, 0xbf08119f05cd56d6},
       0x92d52100f9e1da0d},
      {7,
       {0x0e2c1a002aae913d, 0x2c0fc8ddfa4e9e14, 0xb7b311b3b0d45872, 0x6d5d9f6a6318013c},
       0x0e99781d434a21d9},
      {0xffffffffffffffff,
       {0x56ccf8ce948e27b2, 0xe68588432e5a5b90, 0xe3e9b5a48119ca8b, 0x460f19495532ae73},
       0x6e67f58f11f35060},
  }};
  for (const Example& example : examples) {
    SeededBits bits(example.seed);
    const auto words = draw(bits, 1000);
    EXPECT_TRUE(std::equal(example.first.begin(), example.first.end(), words.begin()))
        << "seed " << example.seed;
    EXPECT_EQ(words.back(), example.thousandth) << "seed " << example.seed;
  }
}

TEST(SeededBits, RepeatWithTheSeed) {
  SeededBits a(7);
  SeededBits b(7);
  EXPECT_EQ(draw(a, 1000), draw(b, 1000));
}

TEST(SeededBits, DifferBetweenSeeds) {
  std::set<std::uint64_t> first_words;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) first_words.insert(SeededBits(seed)());
  EXPECT_EQ(first_words.size(), 1000U);
}

TEST(SeededBits, FillWithTheWordsTheyWouldHandOut) {
  SeededBits a(7);
  SeededBits b(7);
  std::vector<std::uint64_t> words(100);
  a.fill(words);
  EXPECT_EQ(words, draw(b, 100));
  EXPECT_EQ(a(), b());
}

TEST(SeededBits, SayThatTheyAreNotPrivate) {
  const SeededBits bits(7);
  EXPECT_FALSE(bits.is_private());
  EXPECT_EQ(bits.provenance(), "not private: fixed seed 7");
}

TEST(SeededBits, AreBalanced) {
  SeededBits bits(3);
  expect_balanced(draw(bits, 20'001));
}

TEST(SecureBits, SayThatTheyArePrivateAndWhereFrom) {
  const SecureBits bits;
  EXPECT_TRUE(bits.is_private());
  EXPECT_EQ(bits.provenance(), "secure (OpenSSL)");
}

// That any two of 4,000 random words are equal has a chance below 4000^2 / 2^65 = 5e-13.
TEST(SecureBits, NeverRepeat) {
  SecureBits a;
  SecureBits b;
  const auto of_a = draw(a, 2000);
  const auto of_b = draw(b, 2000);
  std::set<std::uint64_t> words(of_a.begin(), of_a.end());
  words.insert(of_b.begin(), of_b.end());
  EXPECT_EQ(words.size(), 4000U);
}

TEST(SecureBits, FillEveryWord) {
  SecureBits bits;
  for (const std::size_t size : {0, 1, 511, 512, 513, 2000}) {
    std::vector<std::uint64_t> words(size + 1);
    bits.fill(std::span(words).first(size));
    const std::set<std::uint64_t> distinct(words.begin(), words.end());
    EXPECT_EQ(words.back(), 0U) << "wrote past the end";
    EXPECT_EQ(distinct.size(), size + 1) << "left zeros or repeated itself";
  }
}

TEST(SecureBits, AreBalanced) {
  SecureBits bits;
  expect_balanced(draw(bits, 20'001));
}

TEST(SecureBits, AreBalancedWhenFilled) {
  SecureBits bits;
  std::vector<std::uint64_t> words(20'001);
  bits.fill(words);
  expect_balanced(words);
}

TEST(SecureBits, OfAForkedChildAreNotItsParents) {
  SecureBits bits;
  bits();  // so that there is a buffer to inherit
  const auto of_first = draw_in_child(bits, 600);
  const auto of_second = draw_in_child(bits, 600);
  const auto of_parent = draw(bits, 600);
  EXPECT_FALSE(have_common_word(of_first, of_parent));
  EXPECT_FALSE(have_common_word(of_second, of_parent));
  EXPECT_FALSE(have_common_word(of_first, of_second));
}

// Without this, the two tests around it would pass for a pipe that carries anything.
TEST(SeededBits, OfAForkedChildAreItsParents) {
  SeededBits bits(5);
  const auto of_child = draw_in_child(bits, 10);
  EXPECT_EQ(of_child, draw(bits, 10));
}

TEST(SecureBits, OfAGrandchildAreNotItsParents) {
  SecureBits bits;
  bits();
  const pid_t child = fork();
  if (child == 0) {
    bits();  // the child has a buffer of its own, which its child inherits
    const auto of_grandchild = draw_in_child(bits, 100);
    _exit(have_common_word(of_grandchild, draw(bits, 100)) ? 1 : 0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(SecureBits, KeepNoCopyOfAWordThatTheyHandedOut) {
  SecureBits bits;
  for (int i = 0; i < 3; ++i) {
    const std::uint64_t word = bits();
    std::array<std::byte, sizeof word> image{};
    std::memcpy(image.data(), &word, sizeof word);
    const auto* memory = reinterpret_cast<const std::byte*>(&bits);
    const auto* end = memory + sizeof bits;
    EXPECT_EQ(std::search(memory, end, image.begin(), image.end()), end);
  }
}

TEST(Wipe, LeavesZeros) {
  std::array<std::uint64_t, 5> words = {1, 2, 3, 4, 5};
  wipe(std::as_writable_bytes(std::span(words).subspan(1, 3)));
  EXPECT_EQ(words, (std::array<std::uint64_t, 5>{1, 0, 0, 0, 5}));
}

TEST(Below, StaysBelowTheBound) {
  SecureBits bits;
  for (const std::uint64_t bound :
       {std::uint64_t{1}, std::uint64_t{2}, std::uint64_t{3}, std::uint64_t{1} << 32, kTop - 1,
        kTop, kTop + 1, 3 * (kTop / 2), ~std::uint64_t{0}})
    for (int i = 0; i < 1000; ++i) ASSERT_LT(bits.below(bound), bound);
}

TEST(Below, RefusesABoundOfZero) {
  SeededBits bits(1);
  EXPECT_THROW((void)bits.below(0), InvalidArgument);
}

TEST(Below, IsAlwaysZeroForOne) {
  SeededBits bits(1);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(bits.below(1), 0U);
}

TEST(Below, ThrowsExactlyTheUnevenWordsAway) {
  // 2^64 mod (2^63 + 1) = 2^63 - 1 words are too many.
  ScriptedBits half({0, kTop - 2, kTop - 1});
  EXPECT_EQ(half.below(kTop + 1), kTop - 1);
  EXPECT_EQ(half.taken(), 3U);
  ScriptedBits highest({~std::uint64_t{0}});
  EXPECT_EQ(highest.below(kTop + 1), kTop - 2);
  // 2^64 mod 3 = 1, and a power of two divides 2^64.
  ScriptedBits three({0, 1});
  EXPECT_EQ(three.below(3), 1U);
  EXPECT_EQ(three.taken(), 2U);
  ScriptedBits power({0});
  EXPECT_EQ(power.below(1024), 0U);
}

// Six degrees of freedom: the chance of more than 60 is exp(-30) (1 + 30 + 30^2 / 2) = 4.5e-11.
TEST(Below, IsUniformForASmallBound) {
  SecureBits bits;
  std::vector<std::int64_t> counts(7);
  for (int i = 0; i < 70'000; ++i) ++counts[bits.below(7)];
  EXPECT_LT(chi_square(counts, 10'000), 60);
}

// A remainder alone would fall into the first third of this bound half of the time. Two degrees of
// freedom: the chance of more than 46 is exp(-23) = 1.1e-10.
TEST(Below, IsUniformWhereARemainderWouldNotBe) {
  SecureBits bits;
  constexpr std::uint64_t kThird = kTop / 2;
  std::vector<std::int64_t> counts(3);
  for (int i = 0; i < 30'000; ++i) ++counts[bits.below(3 * kThird) / kThird];
  EXPECT_LT(chi_square(counts, 10'000), 46);
}

}  // namespace
}  // namespace obol

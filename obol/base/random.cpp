#include "obol/base/random.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <utility>

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/rand.h>
#include <pthread.h>

#include "obol/base/error.h"

namespace obol {
namespace {

// Counts the forks above this process, so that a child throws its copy of the buffer away.
std::atomic<std::uint64_t> fork_generation{0};

void count_forks() {
  static const int kRegistered =
      pthread_atfork(nullptr, nullptr, [] { fork_generation.fetch_add(1); });
  if (kRegistered != 0) throw Error("pthread_atfork must succeed, but ran out of memory");
}

void secure_fill(std::span<std::byte> bytes) {
  constexpr std::size_t kMostAtOnce = std::size_t{1} << 30;  // RAND_priv_bytes counts in int
  while (!bytes.empty()) {
    const std::size_t count = std::min(bytes.size(), kMostAtOnce);
    if (RAND_priv_bytes(reinterpret_cast<unsigned char*>(bytes.data()), static_cast<int>(count)) !=
        1)
      throw Error("the secure random source must deliver bits, but OpenSSL reported a failure");
    bytes = bytes.subspan(count);
  }
}

}  // namespace

void wipe(std::span<std::byte> memory) noexcept { OPENSSL_cleanse(memory.data(), memory.size()); }

std::uint64_t RandomBits::below(std::uint64_t bound) {
  if (bound == 0) throw InvalidArgument(violation("the bound of a draw", "positive", bound));
  // Words under `threshold` (2^64 mod bound of them) would make small remainders more likely.
  const std::uint64_t threshold = -bound % bound;
  while (true) {
    const std::uint64_t word = (*this)();
    if (word >= threshold) return word % bound;
  }
}

SecureBits::SecureBits() { count_forks(); }

SecureBits::~SecureBits() { wipe(std::as_writable_bytes(std::span(buffer_))); }

void SecureBits::refill() {
  fork_count_ = fork_generation.load(std::memory_order_relaxed);
  secure_fill(std::as_writable_bytes(std::span(buffer_)));
  used_ = 0;
}

SecureBits::result_type SecureBits::operator()() {
  if (used_ == buffer_.size() || fork_count_ != fork_generation.load(std::memory_order_relaxed))
    refill();
  return std::exchange(buffer_[used_++], 0);
}

void SecureBits::fill(std::span<std::uint64_t> words) {
  secure_fill(std::as_writable_bytes(words));
}

std::string SecureBits::provenance() const { return "secure (OpenSSL)"; }

SeededBits::SeededBits(std::uint64_t seed) : seed_(seed) {
  for (std::uint64_t& word : state_) {
    seed += 0x9e3779b97f4a7c15;
    std::uint64_t z = seed;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    word = z ^ (z >> 31);
  }
}

SeededBits::result_type SeededBits::operator()() {
  auto& s = state_;
  const std::uint64_t result = std::rotl(s[0] + s[3], 23) + s[0];
  const std::uint64_t shifted = s[1] << 17;
  s[2] ^= s[0];
  s[3] ^= s[1];
  s[1] ^= s[2];
  s[0] ^= s[3];
  s[2] ^= shifted;
  s[3] = std::rotl(s[3], 45);
  return result;
}

void SeededBits::fill(std::span<std::uint64_t> words) {
  for (std::uint64_t& word : words) word = (*this)();
}

std::string SeededBits::provenance() const {
  return fmt::format("not private: fixed seed {}", seed_);
}

}  // namespace obol

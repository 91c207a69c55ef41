// Uniform random bits: secure ones for anything that protects a person, seeded ones for tests and
// experiments. Both are standard uniform random bit generators of 64-bit words.
//
//   SecureBits bits;
//   std::uint64_t word = bits();
//
// A SeededBits says of itself that it is not private; whatever uses it must pass that on.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>

namespace obol {

// Overwrites memory in a way that no optimiser removes: for random words, and what was made of
// them.
void wipe(std::span<std::byte> memory) noexcept;

class RandomBits {
 public:
  using result_type = std::uint64_t;
  static constexpr result_type min() { return 0; }
  static constexpr result_type max() { return std::numeric_limits<result_type>::max(); }

  virtual ~RandomBits() = default;
  RandomBits(const RandomBits&) = delete;
  RandomBits& operator=(const RandomBits&) = delete;

  virtual result_type operator()() = 0;
  virtual void fill(std::span<std::uint64_t> words) = 0;

  // Whether noise and sampling drawn from here may support a privacy guarantee.
  [[nodiscard]] virtual bool is_private() const noexcept = 0;
  // "secure (OpenSSL)", "not private: fixed seed 7"; goes into every artefact of a run.
  [[nodiscard]] virtual std::string provenance() const = 0;

  // Uniform in {0, ..., bound - 1}, without modulo bias. `bound` > 0.
  std::uint64_t below(std::uint64_t bound);

 protected:
  RandomBits() = default;
};

// OpenSSL's generator. Words are wiped as they are handed out, and a forked child never repeats its
// parent's. Not thread-safe: one object per thread.
class SecureBits final : public RandomBits {
 public:
  SecureBits();
  ~SecureBits() override;
  result_type operator()() override;
  void fill(std::span<std::uint64_t> words) override;
  [[nodiscard]] bool is_private() const noexcept override { return true; }
  [[nodiscard]] std::string provenance() const override;

 private:
  void refill();

  std::array<std::uint64_t, 512> buffer_{};
  std::size_t used_ = buffer_.size();
  std::uint64_t fork_count_ = 0;
};

// xoshiro256++ (Blackman and Vigna 2021), its state spread from the seed by SplitMix64.
class SeededBits final : public RandomBits {
 public:
  explicit SeededBits(std::uint64_t seed);
  result_type operator()() override;
  void fill(std::span<std::uint64_t> words) override;
  [[nodiscard]] bool is_private() const noexcept override { return false; }
  [[nodiscard]] std::string provenance() const override;

 private:
  std::uint64_t seed_;
  std::array<std::uint64_t, 4> state_{};
};

}  // namespace obol

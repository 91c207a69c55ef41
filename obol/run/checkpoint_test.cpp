#include "obol/run/checkpoint.h"

#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "obol/base/random.h"
#include "obol/base/sha256.h"
#include "obol/run/testing.h"

namespace obol::run {
namespace {

constexpr std::uint64_t kLimit = 1 << 24;
constexpr std::size_t kHashBytes = 32;
constexpr std::size_t kPreamble = 16;

Checkpoint some() {
  return {.step = 120,
          .seconds = 3.5,
          .recipe = std::string(64, 'a'),
          .ledger = privacy::LedgerHead{.hash = std::string(64, 'b'), .entries = 9},
          .sections = {{"generator", std::string("\0\n\xff", 3)}, {"empty", ""}}};
}

Checkpoint read_text_of(std::string_view text) {
  return read_checkpoint(MemoryBytes("memory", std::as_bytes(std::span(text))));
}

std::string rehashed(std::string text) {
  Sha256 hash;
  hash.update(std::string_view(text).substr(0, text.size() - kHashBytes));
  const auto digest = hash.digest();
  std::memcpy(text.data() + text.size() - kHashBytes, digest.data(), kHashBytes);
  return text;
}

// With another header, its size and the hash in order.
std::string with_header(const std::string& text, const std::function<void(std::string&)>& change) {
  std::uint32_t size = 0;
  std::memcpy(&size, text.data() + 12, sizeof(size));
  std::string header = text.substr(kPreamble, size);
  change(header);
  const auto changed = static_cast<std::uint32_t>(header.size());
  std::string result = text.substr(0, kPreamble) + header + text.substr(kPreamble + size);
  std::memcpy(result.data() + 12, &changed, sizeof(changed));
  return rehashed(result);
}

void replace(std::string& text, std::string_view from, std::string_view to) {
  const std::size_t at = text.find(from);
  ASSERT_NE(at, std::string::npos) << from;
  text.replace(at, from.size(), to);
}

class CheckpointFile : public testing::Test {
 protected:
  [[nodiscard]] Path path() const { return folder_.path() / "checkpoint.pt"; }
  [[nodiscard]] std::string written(const Checkpoint& checkpoint = some()) const {
    write_checkpoint(path(), checkpoint);
    return read_text(path(), kLimit);
  }

 private:
  TemporaryFolder folder_;
};

TEST_F(CheckpointFile, GivesBackWhatWasWritten) {
  Checkpoint checkpoint = some();
  write_checkpoint(path(), checkpoint);
  Checkpoint again = read_checkpoint(path());
  EXPECT_EQ(again.step, 120);
  EXPECT_EQ(again.seconds, 3.5);
  EXPECT_EQ(again.recipe, checkpoint.recipe);
  EXPECT_EQ(again.ledger, checkpoint.ledger);
  EXPECT_EQ(again.sections, checkpoint.sections);
  checkpoint.ledger.reset();
  checkpoint.sections["large"] = std::string(1 << 20, 'x');
  write_checkpoint(path(), checkpoint);
  again = read_checkpoint(path());
  EXPECT_FALSE(again.ledger);
  EXPECT_EQ(again.sections, checkpoint.sections);
}

TEST_F(CheckpointFile, WithAnyBitFlippedIsRefused) {
  const std::string whole = written();
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(damaged[at] ^ (1 << bit));
      EXPECT_THROW(read_text_of(damaged), DataError) << at;
    }
  }
}

TEST_F(CheckpointFile, OfAnyOtherLengthIsRefusedWithTheOffset) {
  const std::string whole = written();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_THROW(read_text_of(whole.substr(0, size)), DataError) << size;
    if (size < kPreamble + kHashBytes) continue;
    const std::string cut = rehashed(whole.substr(0, size));
    EXPECT_TRUE(says(refusal([&] { read_text_of(cut); }), "offset")) << size;
  }
  EXPECT_TRUE(says(refusal([&] { read_text_of(rehashed(whole + "x")); }), "1 bytes longer"));
}

TEST_F(CheckpointFile, ThatLiesIsRefusedEvenIfItsHashIsRight) {
  const std::string whole = written();
  EXPECT_NO_THROW(read_text_of(with_header(whole, [](std::string&) {})));
  const std::vector<std::pair<std::string, std::string>> lies = {
      {R"("bytes":3)", R"("bytes":9000000000000000000)"},
      {R"("bytes":3)", R"("bytes":-1)"},
      {R"("bytes":3)", R"("bytes":18446744073709551615)"},
      {R"("bytes":3)", R"("bytes":2)"},
      {R"("bytes":3)", R"("bytes":3.0)"},
      {R"("step":120)", R"("step":-1)"},
      {R"("step":120)", R"("step":120,"extra":1)"},
      {R"("seconds":3.5)", R"("seconds":-3.5)"},
      {R"("seconds":3.5)", R"("seconds":1e999)"},
      {R"("mark":"releasable")", R"("mark":"private")"},
      {R"("name":"empty")", R"("name":"generator")"},
      {R"("entries":9)", R"("entries":"9")"},
      {std::string(64, 'a'), "../../etc"},
      {R"("sections":[)", R"("sections":[7,)"},
      {"{", std::string(100'000, '[')},
  };
  for (const auto& [from, to] : lies) {
    const std::string lie =
        with_header(whole, [&](std::string& header) { replace(header, from, to); });
    EXPECT_TRUE(says(refusal([&] { read_text_of(lie); }), "offset")) << to.substr(0, 60);
    EXPECT_THROW(read_text_of(lie), DataError);
  }
}

TEST_F(CheckpointFile, OfAnotherVersionOrKindIsRefused) {
  std::string text = written();
  text[8] = 3;
  EXPECT_TRUE(says(refusal([&] { read_text_of(rehashed(text)); }), "version"));
  text[8] = 1;
  EXPECT_TRUE(says(refusal([&] { read_text_of(rehashed(text)); }),
                   "let the earlier Obol that wrote it finish the run"));
  EXPECT_TRUE(says(refusal([&] { read_text_of(std::string(500, 'P')); }), "a checkpoint of Obol"));
}

TEST_F(CheckpointFile, MutatedAtRandomIsReadOrRefusedAndNothingElse) {
  const std::string whole = written();
  SeededBits bits(3);
  constexpr int kTries = 5000;
  for (int i = 0; i < kTries; ++i) {
    std::string text = whole;
    for (std::uint64_t n = 1 + bits.below(4); n > 0; --n)
      text[bits.below(text.size())] = static_cast<char>(bits.below(256));
    try {
      read_text_of(rehashed(text));
    } catch (const DataError&) {  // anything else ends the test
    }
  }
}

// A process may write files of so many bytes only: as on a full disk, the write fails halfway.
class SmallDisk {
 public:
  explicit SmallDisk(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit now{.rlim_cur = bytes, .rlim_max = before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &now);
  }
  ~SmallDisk() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

 private:
  rlimit before_{};
  void (*handler_)(int);
};

TEST_F(CheckpointFile, OnAFullDiskLeavesTheOneBefore) {
  const std::string before = written();
  Checkpoint next = some();
  next.step = 240;
  next.sections["generator"] = std::string(1 << 20, 'x');
  for (const rlim_t bytes : {0, 1000, 1 << 19}) {
    const SmallDisk full(bytes);
    EXPECT_THROW(write_checkpoint(path(), next), DataError);
  }
  EXPECT_EQ(read_text(path(), kLimit), before);
  for (const auto& entry : std::filesystem::directory_iterator(path().parent_path()))
    EXPECT_EQ(entry.path(), path()) << "nothing is left beside it";
  write_checkpoint(path(), next);
  EXPECT_EQ(read_checkpoint(path()).step, 240);
}

}  // namespace
}  // namespace obol::run

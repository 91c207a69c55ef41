#include "obol/data/pixel_bytes.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "obol/data/dataset.h"
#include "obol/data/npz.h"
#include "obol/data/reader.h"
#include "obol/data/testing.h"

namespace obol::data {
namespace {

using testing::bytes_of;
using testing::counting_bytes;
using testing::gzip;
using testing::idx;
using testing::put;
using testing::refusal;
using testing::says;

const ReadOptions kMapAll{.limits = {.map_from = 1}};

bool is_mapped(const Dataset& data) { return std::get<PixelBytes>(data.pixels).is_mapped(); }

TEST(PixelBytes, AreSharedByTheirCopies) {
  const PixelBytes held = std::vector<std::uint8_t>{1, 2, 3};
  const PixelBytes copy = held;  // NOLINT(performance-unnecessary-copy-initialization): that is it
  EXPECT_EQ(copy.data(), held.data());
  EXPECT_FALSE(held.is_mapped());
  EXPECT_EQ(held, (std::vector<std::uint8_t>{1, 2, 3}));
  EXPECT_FALSE(held == PixelBytes(std::vector<std::uint8_t>{1, 2}));
}

TEST(PixelBytes, OfALargeFileStayThere) {
  const TemporaryFolder folder;
  const Dataset data = counting_bytes(7, {.channels = 1, .height = 2, .width = 3}, 2);
  write_npz(data, folder.path() / "data.npz");
  put(folder.path(), "images.idx", idx({7, 2, 3}, bytes_of(data)));
  for (const char* name : {"data.npz", "images.idx"}) {
    const std::string path = (folder.path() / name).string();
    Dataset mapped = read(path, kMapAll);
    EXPECT_TRUE(is_mapped(mapped)) << name;
    EXPECT_FALSE(is_mapped(read(path))) << name;
    EXPECT_EQ(bytes_of(mapped), bytes_of(data)) << name;
    // Also when its name is gone.
    std::filesystem::remove(path);
    EXPECT_EQ(bytes_of(select(mapped, {6, 0})), bytes_of(select(data, {6, 0}))) << name;
  }
}

TEST(PixelBytes, ThatMustBeUnpackedOrTurnedAreHeld) {
  const TemporaryFolder folder;
  const Dataset data = counting_bytes(3, {.channels = 3, .height = 4, .width = 4}, 2);
  write_npz(data, folder.path() / "colours.npz");  // channels last
  put(folder.path(), "images.idx.gz", gzip(idx({2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8})));
  const Dataset colours = read((folder.path() / "colours.npz").string(), kMapAll);
  EXPECT_EQ(bytes_of(colours), bytes_of(data));
  EXPECT_FALSE(is_mapped(colours));
  EXPECT_FALSE(is_mapped(read((folder.path() / "images.idx.gz").string(), kMapAll)));
}

TEST(PixelBytes, MayBeMoreThanMemoryIsAllowedFor) {
  const TemporaryFolder folder;
  const auto path = put(folder.path(), "images.idx", idx({2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8}));
  EXPECT_TRUE(is_mapped(read(path.string(), {.limits = {.max_bytes = 7, .map_from = 8}})));
  EXPECT_TRUE(
      says(refusal([&] { (void)read(path.string(), {.limits = {.max_bytes = 7, .map_from = 9}}); }),
           {"at most the 7 bytes"}));
}

TEST(PixelBytes, AreCheckedThoughNobodyHoldsThem) {
  const TemporaryFolder folder;
  const Path path = folder.path() / "data.npz";
  write_npz(counting_bytes(7, {.channels = 1, .height = 2, .width = 3}, 2), path);
  std::string content = read_text(path, 1 << 20);
  content[content.find("\x01\x02\x03\x04")] = '\x07';
  put(folder.path(), "data.npz", content);
  EXPECT_TRUE(says(refusal([&] { (void)read(path.string(), kMapAll); }), {"checksum"}));
  const std::string whole = idx({2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  for (const std::string& wrong : {whole + "x", whole.substr(0, whole.size() - 1)}) {
    const Path other = put(folder.path(), "images.idx", wrong);
    EXPECT_FALSE(refusal([&] { (void)read(other.string(), kMapAll); }).empty());
  }
}

}  // namespace
}  // namespace obol::data

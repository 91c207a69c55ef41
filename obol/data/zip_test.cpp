#include "obol/data/zip.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "obol/data/testing.h"

namespace obol::data {
namespace {

using testing::in_memory;
using testing::little_endian;
using testing::refusal;
using testing::says;
using testing::zip;
using testing::ZipPart;

const std::string kContent = "forty-two bytes of content, content, more.";

std::string text_of_entry(Stream& stream) {
  std::string text;
  std::string chunk(11, '\0');
  while (const std::size_t count = stream.read(std::as_writable_bytes(std::span(chunk))))
    text.append(chunk, 0, count);
  return text;
}

// Reads everything, so that everything is checked.
std::vector<std::string> contents(const std::string& file, const ReadLimits& limits = {}) {
  const MemoryBytes bytes = in_memory(file);
  std::vector<std::string> all;
  for (const ZipEntry& entry : read_zip_directory(bytes))
    all.push_back(text_of_entry(*open_zip_entry(bytes, entry, limits)));
  return all;
}

std::string zip_refusal(const std::string& file, const ReadLimits& limits = {}) {
  return refusal([&] { (void)contents(file, limits); });
}

TEST(Zip, ReadsStoredAndDeflatedEntries) {
  const std::string file = zip({{.name = "a", .content = kContent},
                                {.name = "b/c", .content = kContent + "b", .is_deflated = true},
                                {.name = "empty", .content = ""}});
  EXPECT_EQ(contents(file), (std::vector<std::string>{kContent, kContent + "b", ""}));
}

TEST(Zip, ReadsBehindAComment) {
  EXPECT_EQ(contents(zip({{.name = "a", .content = kContent}}, {.comment = "a remark"})),
            std::vector<std::string>{kContent});
  EXPECT_EQ(
      contents(zip({{.name = "a", .content = kContent}}, {.comment = std::string(65535, '.')})),
      std::vector<std::string>{kContent});
}

TEST(Zip, IsNotMisledByAnEndRecordInsideTheComment) {
  const std::string comment = "PK\x05\x06" + std::string(30, '\0');
  EXPECT_EQ(contents(zip({{.name = "a", .content = kContent}}, {.comment = comment})),
            std::vector<std::string>{kContent});
}

TEST(Zip, Reads64BitFields) {
  const std::vector<ZipPart> parts = {
      {.name = "a", .content = "first"},
      {.name = "b", .content = kContent, .is_deflated = true, .is_in64 = true}};
  EXPECT_EQ(contents(zip(parts)), (std::vector<std::string>{"first", kContent}));
  EXPECT_EQ(contents(zip(parts, {.is_in64 = true})), (std::vector<std::string>{"first", kContent}));
}

TEST(Zip, SkipsOtherExtraFields) {
  const std::string extra = little_endian(0x5455, 2) + little_endian(5, 2) + "12345";
  EXPECT_EQ(contents(zip({{.name = "a", .content = kContent, .extra = extra}})),
            std::vector<std::string>{kContent});
}

TEST(Zip, RefusesExtraFieldsThatEndEarly) {
  EXPECT_TRUE(says(zip_refusal(zip({{.name = "a", .content = kContent, .extra = "123"}})),
                   {"ZIP header", "cut off"}));
  const std::string lying = little_endian(0x5455, 2) + little_endian(6, 2) + "12345";
  EXPECT_TRUE(says(zip_refusal(zip({{.name = "a", .content = kContent, .extra = lying}})),
                   {"ZIP header", "cut off"}));
  // The sizes are said to be in a 64-bit field that is not there, or is too short.
  const std::string short64 = little_endian(1, 2) + little_endian(4, 2) + "1234";
  EXPECT_TRUE(says(zip_refusal(zip({{.name = "a",
                                     .content = kContent,
                                     .size = 0xffffffff,
                                     .packed_size = 0xffffffff,
                                     .extra = short64}})),
                   {"ZIP header", "cut off"}));
  EXPECT_TRUE(says(
      zip_refusal(
          zip({{.name = "a", .content = kContent, .size = 0xffffffff, .packed_size = 0xffffffff}})),
      {"test.bin", "inside the file"}));
}

TEST(Zip, RefusesNamesThatLeaveTheArchive) {
  for (const std::string name : {"../a", "a/../../b", "..", "/etc/passwd", "a\\b", "..\\a", ""})
    EXPECT_TRUE(says(zip_refusal(zip({{.name = name, .content = "x"}})),
                     {"test.bin", "inside the archive", name}));
  EXPECT_TRUE(says(zip_refusal(zip({{.name = std::string("a\0.npy", 6), .content = "x"}})),
                   {"inside the archive"}));
  EXPECT_EQ(contents(zip({{.name = "..a/b..", .content = "x"}})), std::vector<std::string>{"x"});
}

TEST(Zip, RefusesANameUsedTwice) {
  EXPECT_TRUE(says(zip_refusal(zip({{.name = "a", .content = "x"}, {.name = "a", .content = "y"}})),
                   {"test.bin:a", "used twice"}));
}

TEST(Zip, RefusesEncryptionAndOtherMethods) {
  EXPECT_TRUE(says(zip_refusal(zip({{.name = "a", .content = "x", .flags = 1}})),
                   {"test.bin:a", "encrypted"}));
  for (const int method : {1, 9, 12, 14, 93})
    EXPECT_TRUE(says(zip_refusal(zip({{.name = "a", .content = "x", .method = method}})),
                     {"test.bin:a", "method", std::to_string(method)}));
}

TEST(Zip, RefusesAWrongChecksum) {
  for (const bool is_deflated : {false, true})
    EXPECT_TRUE(says(
        zip_refusal(zip(
            {{.name = "a", .content = kContent, .is_deflated = is_deflated, .crc = 0x12345678}})),
        {"test.bin:a", "checksum", "12345678"}));
}

TEST(Zip, RefusesContentWithAFlippedBit) {
  for (const bool is_deflated : {false, true}) {
    const std::string file = zip({{.name = "a", .content = kContent, .is_deflated = is_deflated}});
    const std::size_t begin = 30 + 1;
    const std::size_t end = file.find("PK\x01\x02");
    for (std::size_t at = begin; at < end; ++at)
      for (int bit = 0; bit < 8; ++bit) {
        std::string damaged = file;
        damaged[at] = static_cast<char>(damaged[at] ^ (1 << bit));
        // Bits after the last deflate block are padding and say nothing.
        if (is_deflated && at + 1 == end) continue;
        EXPECT_TRUE(says(zip_refusal(damaged), {"test.bin:a"})) << at << "/" << bit;
      }
  }
}

TEST(Zip, RefusesSizesThatDoNotFit) {
  const auto with = [](bool is_deflated, std::optional<std::uint64_t> size,
                       std::optional<std::uint64_t> packed_size) {
    return zip_refusal(zip({{.name = "a",
                             .content = kContent,
                             .is_deflated = is_deflated,
                             .size = size,
                             .packed_size = packed_size}}));
  };
  EXPECT_TRUE(says(with(false, 41, {}), {"test.bin:a", "42", "41"}));
  EXPECT_TRUE(says(with(false, 1000, 1000), {"test.bin:a", "inside the file"}));
  EXPECT_TRUE(says(with(true, 41, {}), {"test.bin:a"}));
  EXPECT_TRUE(says(with(true, 43, {}), {"test.bin:a", "43", "42"}));
  EXPECT_TRUE(says(with(true, {}, 10), {"test.bin:a", "cut off"}));
  EXPECT_TRUE(says(with(true, {}, 100000), {"test.bin:a", "inside the file"}));
}

TEST(Zip, RefusesAnEntryThatEndsBeforeItsSizeEvenForAReaderThatStopsThere) {
  const std::string file =
      zip({{.name = "a", .content = kContent, .is_deflated = true, .size = 50}});
  const MemoryBytes bytes = in_memory(file);
  const auto stream = open_zip_entry(bytes, read_zip_directory(bytes).at(0), {});
  std::vector<std::byte> all(kContent.size());
  EXPECT_TRUE(says(refusal([&] {
                     stream->read_exactly(all, "the content");
                     stream->expect_end();
                   }),
                   {"test.bin:a"}));
}

TEST(Zip, RefusesEntriesThatAreNotWhereTheDirectorySays) {
  EXPECT_TRUE(says(zip_refusal(zip({{.name = "a", .content = kContent, .local_header = 5}})),
                   {"test.bin:a, offset 5", "PK"}));
  EXPECT_TRUE(
      says(zip_refusal(zip({{.name = "a", .content = kContent, .local_header = 0xfffffff0}})),
           {"test.bin:a", "inside the file"}));
  EXPECT_TRUE(says(zip_refusal(zip({{.name = "a",
                                     .content = "",
                                     .is_in64 = true,
                                     .packed_size = ~std::uint64_t{0},
                                     .local_header = 10}})),
                   {"test.bin:a"}));
}

TEST(Zip, RefusesADirectoryThatIsNotInsideTheFile) {
  const std::vector<ZipPart> parts = {{.name = "a", .content = kContent}};
  EXPECT_TRUE(says(zip_refusal(zip(parts, {.directory_offset = 100000})), {"ZIP directory"}));
  EXPECT_TRUE(says(zip_refusal(zip(parts, {.directory_size = 100000})), {"ZIP directory"}));
  EXPECT_TRUE(says(zip_refusal(zip(parts, {.directory_size = 20})), {"test.bin", "cut off"}));
  EXPECT_TRUE(says(zip_refusal(zip(parts, {.directory_offset = 1})), {"test.bin", "PK"}));
  EXPECT_TRUE(
      says(zip_refusal(zip(parts, {.is_in64 = true, .directory_offset = ~std::uint64_t{0}})),
           {"ZIP directory"}));
  EXPECT_TRUE(
      says(zip_refusal(zip(parts, {.is_in64 = true, .entries = ~std::uint64_t{0}})), {"test.bin"}));
  EXPECT_TRUE(says(zip_refusal(zip(parts, {.entries = 2})), {"test.bin", "cut off"}));
}

TEST(Zip, RefusesABombByTheLimit) {
  const std::string file =
      zip({{.name = "a", .content = std::string(100000, 'x'), .is_deflated = true}});
  ASSERT_LT(file.size(), 1000U);
  EXPECT_TRUE(says(zip_refusal(file, {.max_bytes = 99999}), {"test.bin:a", "99999 bytes"}));
  EXPECT_EQ(contents(file, {.max_bytes = 100000}).at(0).size(), 100000U);
}

TEST(Zip, RefusesAFileCutOffAnywhere) {
  for (const bool is_in64 : {false, true}) {
    const std::string whole =
        zip({{.name = "a", .content = kContent, .is_in64 = is_in64},
             {.name = "b", .content = kContent, .is_deflated = true, .is_in64 = is_in64}},
            {.comment = "remark", .is_in64 = is_in64});
    EXPECT_EQ(contents(whole).size(), 2U);
    for (std::size_t length = 0; length < whole.size(); ++length)
      EXPECT_TRUE(says(zip_refusal(whole.substr(0, length)), {"test.bin"})) << length;
  }
}

TEST(Zip, NeverCrashesOnAChangedByte) {
  const std::string whole =
      zip({{.name = "a", .content = kContent, .is_deflated = true, .is_in64 = true}},
          {.is_in64 = true});
  int num_accepted = 0;
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (const int value : {0x00, 0x01, 0x7f, 0x80, 0xff}) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(value);
      try {
        for (const std::string& content : contents(damaged)) EXPECT_EQ(content, kContent);
        ++num_accepted;
      } catch (const DataError& error) {
        EXPECT_TRUE(says(error.what(), {"ZIP"}) || says(error.what(), {"test.bin"}));
      }
    }
  }
  EXPECT_LT(num_accepted, static_cast<int>(whole.size() * 5));
}

TEST(ZipWriter, WritesWhatIsReadBackTheSameEveryTime) {
  const TemporaryFolder folder;
  const auto write = [&](const std::string& name) {
    AtomicFile file(folder.path() / name);
    ZipWriter writer(file);
    writer.add("a.npy", [](const ZipWriter::Sink& sink) {
      sink(std::as_bytes(std::span(kContent).first(10)));
      sink(std::as_bytes(std::span(kContent).subspan(10)));
    });
    writer.add("none", [](const ZipWriter::Sink&) {});
    writer.finish();
    file.commit();
    return read_text(folder.path() / name, 1 << 20);
  };
  const std::string once = write("once.npz");
  EXPECT_EQ(contents(once), (std::vector<std::string>{kContent, ""}));
  EXPECT_EQ(write("twice.npz"), once);
}

TEST(ZipWriter, TakesContentThatCanBeHadOnlyOnce) {
  const TemporaryFolder folder;
  AtomicFile file(folder.path() / "a.npz");
  ZipWriter writer(file);
  writer.start("a", kContent.size());
  writer.append(std::string_view(kContent).substr(0, 10));
  EXPECT_THROW(writer.end(), Error);
  EXPECT_THROW(writer.append(kContent), Error);
  writer.append(std::string_view(kContent).substr(10));
  writer.end();
  writer.start("none", 0);
  writer.end();
  writer.finish();
  file.commit();
  const std::string written = read_text(folder.path() / "a.npz", 1 << 20);
  EXPECT_EQ(contents(written), (std::vector<std::string>{kContent, ""}));
  // The checksum before the content, put in afterwards, is that of the directory.
  EXPECT_EQ(written.substr(14, 4), written.substr(written.find("PK\1\2") + 16, 4));
}

TEST(ZipWriter, IsNotDisturbedByEmptyPieces) {
  const TemporaryFolder folder;
  AtomicFile file(folder.path() / "a.npz");
  ZipWriter writer(file);
  writer.add("a", [](const ZipWriter::Sink& sink) {
    sink(std::as_bytes(std::span(kContent)));
    sink({});
  });
  writer.finish();
  file.commit();
  EXPECT_EQ(contents(read_text(folder.path() / "a.npz", 1 << 20)),
            std::vector<std::string>{kContent});
}

}  // namespace
}  // namespace obol::data

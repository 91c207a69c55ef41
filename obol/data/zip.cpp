#include "obol/data/zip.h"

#include <algorithm>
#include <array>
#include <limits>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <zlib.h>

#include "obol/base/text.h"

namespace obol::data {
namespace {

constexpr std::uint32_t kLocalMagic = 0x04034b50;
constexpr std::uint32_t kEntryMagic = 0x02014b50;
constexpr std::uint32_t kEndMagic = 0x06054b50;
constexpr std::uint32_t kEnd64Magic = 0x06064b50;
constexpr std::uint32_t kLocator64Magic = 0x07064b50;
constexpr std::uint32_t kIn64 = 0xffffffff;  // "look into the 64-bit field"
constexpr std::size_t kEndSize = 22;
constexpr std::uint64_t kLargestDirectory = std::uint64_t{1} << 24;

// Little-endian fields of a header that was read whole.
class FieldReader {
 public:
  FieldReader(std::span<const std::byte> bytes, std::string where)
      : bytes_(bytes), where_(std::move(where)) {}
  std::uint64_t take(std::size_t size) {
    if (size > bytes_.size())
      throw DataError(violation("a ZIP header", "whole", "cut off", where_));
    std::uint64_t value = 0;
    for (std::size_t i = size; i-- > 0;)
      value = value << 8 | std::to_integer<std::uint64_t>(bytes_[i]);
    bytes_ = bytes_.subspan(size);
    return value;
  }
  std::span<const std::byte> take_bytes(std::size_t size) {
    if (size > bytes_.size())
      throw DataError(violation("a ZIP header", "whole", "cut off", where_));
    const auto taken = bytes_.first(size);
    bytes_ = bytes_.subspan(size);
    return taken;
  }
  [[nodiscard]] bool is_empty() const { return bytes_.empty(); }

 private:
  std::span<const std::byte> bytes_;
  std::string where_;
};

struct Directory {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  std::uint64_t entries = 0;
};

Directory find_directory(const Bytes& bytes) {
  // The end record is the last thing but for a comment of at most 65535 bytes.
  const std::uint64_t tail_size = std::min<std::uint64_t>(bytes.size(), kEndSize + 0xffff);
  std::vector<std::byte> tail(static_cast<std::size_t>(tail_size));
  const std::uint64_t tail_start = bytes.size() - tail_size;
  bytes.read_exactly(tail_start, tail, "the end of a ZIP file");
  if (tail.size() < kEndSize)
    throw DataError(violation("a ZIP file", "at least 22 bytes", tail.size(), bytes.name()));
  for (std::size_t at = tail.size() - kEndSize + 1; at-- > 0;) {
    FieldReader field(std::span<const std::byte>(tail).subspan(at), bytes.name());
    if (field.take(4) != kEndMagic) continue;
    field.take(2 + 2 + 2);  // disk numbers
    Directory directory{.entries = field.take(2)};
    directory.size = field.take(4);
    directory.offset = field.take(4);
    // The comment reaches to the end, or these four bytes only look like the end record.
    if (field.take(2) != tail.size() - at - kEndSize) continue;
    constexpr std::size_t kLocatorSize = 20;
    const bool is_in64 =
        directory.entries == 0xffff || directory.size == kIn64 || directory.offset == kIn64;
    if (!is_in64 || tail_start + at < kLocatorSize) return directory;
    std::array<std::byte, kLocatorSize> locator{};
    bytes.read_exactly(tail_start + at - kLocatorSize, locator, "the ZIP64 locator");
    FieldReader locator_field(locator, bytes.name());
    if (locator_field.take(4) != kLocator64Magic) return directory;
    locator_field.take(4);
    const std::uint64_t end64_at = locator_field.take(8);
    std::array<std::byte, 56> end64{};
    bytes.read_exactly(end64_at, end64, "the ZIP64 end record");
    FieldReader end64_field(end64, bytes.name());
    if (end64_field.take(4) != kEnd64Magic)
      throw DataError(violation("the ZIP64 end record", "where its locator points", "not there",
                                fmt::format("{}, offset {}", bytes.name(), end64_at)));
    end64_field.take_bytes(8 + 2 + 2 + 4 + 4 + 8);
    directory.entries = end64_field.take(8);
    directory.size = end64_field.take(8);
    directory.offset = end64_field.take(8);
    return directory;
  }
  throw DataError(violation("an NPZ file", "a ZIP archive", "something else", bytes.name()));
}

void read_sizes64(FieldReader extra, ZipEntry& entry) {
  while (!extra.is_empty()) {
    const std::uint64_t id = extra.take(2);
    const std::uint64_t size = extra.take(2);
    FieldReader content(extra.take_bytes(static_cast<std::size_t>(size)), entry.name);
    if (id != 1) continue;
    if (entry.size == kIn64) entry.size = content.take(8);
    if (entry.packed_size == kIn64) entry.packed_size = content.take(8);
    if (entry.local_header == kIn64) entry.local_header = content.take(8);
  }
}

void check_entry(const ZipEntry& entry, std::uint64_t flags, std::uint64_t method,
                 const Bytes& bytes) {
  const std::string where = fmt::format("{}:{}", bytes.name(), entry.name);
  const std::vector<std::string> parts = split(entry.name, '/');
  const bool leaves = entry.name.empty() || entry.name[0] == '/' ||
                      entry.name.find('\\') != std::string::npos ||
                      entry.name.find('\0') != std::string::npos ||
                      std::find(parts.begin(), parts.end(), "..") != parts.end();
  if (leaves)
    throw DataError(
        violation("a ZIP entry's name", "inside the archive", entry.name, bytes.name()));
  if ((flags & 1) != 0)
    throw DataError(violation("a ZIP entry", "unencrypted", "encrypted", where));
  if (method != 0 && method != 8)
    throw DataError(violation("a ZIP entry's method", "0 (stored) or 8 (deflated)", method, where));
  if (entry.local_header > bytes.size() || entry.packed_size > bytes.size() - entry.local_header)
    throw DataError(violation(
        "a ZIP entry", "inside the file",
        fmt::format("{} bytes at offset {}", entry.packed_size, entry.local_header), where));
  if (!entry.is_deflated && entry.size != entry.packed_size)
    throw DataError(violation("a stored ZIP entry's size", fmt::format("{}", entry.packed_size),
                              entry.size, where));
}

// Passes an entry's content on and checks length and checksum at its end.
class EntryStream final : public Stream {
 public:
  EntryStream(std::unique_ptr<Stream> content, const ZipEntry& entry)
      : Stream(content->name()), content_(std::move(content)), entry_(entry) {}
  [[nodiscard]] std::uint64_t most_left() const override {
    return std::min(entry_.size - done_, content_->most_left());
  }
  [[nodiscard]] Place place() const override { return content_->place(); }

 private:
  std::size_t next(std::span<std::byte> out) override {
    const std::size_t wanted =
        static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), entry_.size - done_));
    const std::size_t count = content_->read(out.first(wanted));
    crc_ = crc32_z(crc_, reinterpret_cast<const Bytef*>(out.data()), count);
    done_ += count;
    if (count < wanted)
      throw DataError(violation("a ZIP entry", fmt::format("{} bytes long", entry_.size),
                                fmt::format("{} bytes long", done_), content_->where()));
    if (wanted > 0 && done_ == entry_.size && crc_ != entry_.crc)
      throw DataError(violation("the checksum of a ZIP entry", fmt::format("{:08x}", entry_.crc),
                                fmt::format("{:08x}", crc_), content_->where()));
    if (done_ == entry_.size) content_->expect_end();
    return count;
  }

  std::unique_ptr<Stream> content_;
  ZipEntry entry_;
  std::uint64_t done_ = 0;
  uLong crc_ = 0;
};

class FieldWriter {
 public:
  FieldWriter& put(std::uint64_t value, int size) {
    for (int i = 0; i < size; ++i) text_ += static_cast<char>(value >> (8 * i));
    return *this;
  }
  FieldWriter& put(const std::string& text) {
    text_ += text;
    return *this;
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
};

std::uint64_t low_part(std::uint64_t value) { return std::min<std::uint64_t>(value, kIn64); }

// Sizes and offset in 64 bits, only where 32 do not hold them: older readers know no others.
std::string sizes64(const ZipEntry& entry, bool with_offset) {
  if (entry.size < kIn64 && entry.local_header < kIn64) return {};
  FieldWriter content;
  content.put(entry.size, 8).put(entry.packed_size, 8);
  if (with_offset) content.put(entry.local_header, 8);
  return FieldWriter().put(1, 2).put(content.text().size(), 2).put(content.text()).text();
}

// The field that is in force: 32 bits, or "look into the 64-bit field".
std::uint64_t field32(const ZipEntry& entry, std::uint64_t value) {
  return entry.size < kIn64 && entry.local_header < kIn64 ? value : kIn64;
}

// Version, flags, method, time, date (1980-01-01: the same content gives the same file), CRC.
void put_common(FieldWriter& out, const ZipEntry& entry) {
  out.put(45, 2).put(0, 2).put(0, 2).put(0, 2).put(0x21, 2).put(entry.crc, 4);
}

}  // namespace

std::vector<ZipEntry> read_zip_directory(const Bytes& bytes) {
  const Directory directory = find_directory(bytes);
  if (directory.size > kLargestDirectory || directory.offset > bytes.size() ||
      directory.size > bytes.size() - directory.offset)
    throw DataError(violation(
        "the ZIP directory", "inside the file and at most 16 MiB",
        fmt::format("{} bytes at offset {}", directory.size, directory.offset), bytes.name()));
  std::vector<std::byte> content(static_cast<std::size_t>(directory.size));
  bytes.read_exactly(directory.offset, content, "the ZIP directory");
  FieldReader field(content, bytes.name());
  std::vector<ZipEntry> entries;
  std::set<std::string> names;
  for (std::uint64_t i = 0; i < directory.entries; ++i) {
    if (field.take(4) != kEntryMagic)
      throw DataError(
          violation("a ZIP directory entry", "begun by PK\\1\\2", "begun otherwise", bytes.name()));
    field.take(2 + 2);
    const std::uint64_t flags = field.take(2);
    const std::uint64_t method = field.take(2);
    field.take(4);  // time, date
    ZipEntry entry;
    entry.crc = static_cast<std::uint32_t>(field.take(4));
    entry.packed_size = field.take(4);
    entry.size = field.take(4);
    const std::uint64_t name_size = field.take(2);
    const std::uint64_t extra_size = field.take(2);
    const std::uint64_t comment_size = field.take(2);
    field.take(2 + 2 + 4);
    entry.local_header = field.take(4);
    const auto name = field.take_bytes(static_cast<std::size_t>(name_size));
    entry.name.assign(reinterpret_cast<const char*>(name.data()), name.size());
    entry.is_deflated = method == 8;
    read_sizes64(FieldReader(field.take_bytes(static_cast<std::size_t>(extra_size)), bytes.name()),
                 entry);
    field.take_bytes(static_cast<std::size_t>(comment_size));
    check_entry(entry, flags, method, bytes);
    if (!names.insert(entry.name).second)
      throw DataError(violation("a ZIP entry's name", "used once", "used twice",
                                fmt::format("{}:{}", bytes.name(), entry.name)));
    entries.push_back(std::move(entry));
  }
  return entries;
}

std::unique_ptr<Stream> open_zip_entry(const Bytes& bytes, const ZipEntry& entry,
                                       const ReadLimits& limits) {
  const std::string name = fmt::format("{}:{}", bytes.name(), entry.name);
  std::array<std::byte, 30> header{};
  bytes.read_exactly(entry.local_header, header, "a ZIP entry's header");
  FieldReader field(header, name);
  if (field.take(4) != kLocalMagic)
    throw DataError(violation("a ZIP entry", "begun by PK\\3\\4", "begun otherwise",
                              fmt::format("{}, offset {}", name, entry.local_header)));
  field.take_bytes(22);
  const std::uint64_t name_size = field.take(2);
  const std::uint64_t start = entry.local_header + header.size() + name_size + field.take(2);
  if (start > bytes.size() || entry.packed_size > bytes.size() - start)
    throw DataError(violation("a ZIP entry", "inside the file",
                              fmt::format("{} bytes at offset {}", entry.packed_size, start),
                              name));
  auto content = entry.is_deflated
                     ? inflate_stream(bytes, start, entry.packed_size, Wrapping::kRaw, limits, name)
                     : plain_stream(bytes, start, entry.packed_size, name);
  return std::make_unique<EntryStream>(std::move(content), entry);
}

void ZipWriter::add(const std::string& name, const std::function<void(const Sink&)>& content) {
  std::uint64_t size = 0;
  content([&](std::span<const std::byte> bytes) { size += bytes.size(); });
  start(name, size);
  content([&](std::span<const std::byte> bytes) { append(bytes); });
  end();
}

void ZipWriter::start(const std::string& name, std::uint64_t size) {
  const ZipEntry& entry = entries_.emplace_back(
      ZipEntry{.name = name, .packed_size = size, .size = size, .local_header = file_.written()});
  left_ = size;
  FieldWriter header;
  header.put(kLocalMagic, 4);
  put_common(header, entry);  // the checksum follows in end()
  const std::string extra = sizes64(entry, false);
  header.put(field32(entry, entry.packed_size), 4).put(field32(entry, entry.size), 4);
  header.put(name.size(), 2).put(extra.size(), 2).put(name).put(extra);
  file_.write(header.text());
}

void ZipWriter::append(std::span<const std::byte> bytes) {
  if (bytes.empty()) return;  // zlib takes a null pointer as a wish to start again
  ZipEntry& entry = entries_.back();
  if (bytes.size() > left_)
    throw Error(violation("the content of a ZIP entry", fmt::format("{} bytes", entry.size),
                          "longer", entry.name));
  left_ -= bytes.size();
  entry.crc = static_cast<std::uint32_t>(
      crc32_z(entry.crc, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
  file_.write(bytes);
}

void ZipWriter::end() {
  const ZipEntry& entry = entries_.back();
  if (left_ != 0)
    throw Error(violation("the content of a ZIP entry", fmt::format("{} bytes", entry.size),
                          fmt::format("{} bytes short", left_), entry.name));
  constexpr std::uint64_t kChecksumAt = 14;
  file_.rewrite(entry.local_header + kChecksumAt, FieldWriter().put(entry.crc, 4).text());
}

void ZipWriter::finish() {
  const std::uint64_t start = file_.written();
  for (const ZipEntry& entry : entries_) {
    FieldWriter header;
    header.put(kEntryMagic, 4).put(45, 2);
    put_common(header, entry);
    const std::string extra = sizes64(entry, true);
    header.put(field32(entry, entry.packed_size), 4).put(field32(entry, entry.size), 4);
    header.put(entry.name.size(), 2).put(extra.size(), 2).put(0, 2).put(0, 2).put(0, 2).put(0, 4);
    header.put(field32(entry, entry.local_header), 4).put(entry.name).put(extra);
    file_.write(header.text());
  }
  const std::uint64_t size = file_.written() - start;
  const std::uint64_t end64 = file_.written();
  FieldWriter end;
  if (start >= kIn64) {
    end.put(kEnd64Magic, 4).put(44, 8).put(45, 2).put(45, 2).put(0, 4).put(0, 4);
    end.put(entries_.size(), 8).put(entries_.size(), 8).put(size, 8).put(start, 8);
    end.put(kLocator64Magic, 4).put(0, 4).put(end64, 8).put(1, 4);
  }
  end.put(kEndMagic, 4).put(0, 2).put(0, 2).put(entries_.size(), 2).put(entries_.size(), 2);
  end.put(size, 4).put(low_part(start), 4).put(0, 2);
  file_.write(end.text());
}

}  // namespace obol::data

// Just enough ZIP for NPZ files: reading stored and deflated entries, writing stored ones.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "obol/base/file.h"
#include "obol/data/stream.h"

namespace obol::data {

struct ZipEntry {
  std::string name;
  std::uint64_t packed_size = 0;
  std::uint64_t size = 0;
  std::uint64_t local_header = 0;
  std::uint32_t crc = 0;
  bool is_deflated = false;
};

// Lists the entries. Names that leave the archive ("..", absolute), encryption, other methods and
// sizes that do not fit the file are DataErrors.
std::vector<ZipEntry> read_zip_directory(const Bytes& bytes);

// The entry's content; its checksum is verified when the last byte is read.
std::unique_ptr<Stream> open_zip_entry(const Bytes& bytes, const ZipEntry& entry,
                                       const ReadLimits& limits);

// Writes entries one after the other, uncompressed, with 64-bit sizes where they are needed.
class ZipWriter {
 public:
  explicit ZipWriter(AtomicFile& file) : file_(file) {}
  // `content` is called twice with a sink: once to measure, once to write.
  using Sink = std::function<void(std::span<const std::byte>)>;
  void add(const std::string& name, const std::function<void(const Sink&)>& content);
  // Or, where content can be had only once: its size first, then the content in pieces. Error
  // where they are not of that size.
  void start(const std::string& name, std::uint64_t size);
  void append(std::span<const std::byte> bytes);
  void append(std::string_view text) { append(std::as_bytes(std::span(text))); }
  void end();
  void finish();

 private:
  AtomicFile& file_;
  std::vector<ZipEntry> entries_;
  std::uint64_t left_ = 0;  // of the entry that was started
};

}  // namespace obol::data

// A file that only grows: each append is one write, so that a killed process leaves whole pieces
// but for the last.
//
//   AppendFile file("metrics.jsonl");
//   file.append(R"({"step":100})" "\n");   // with the kernel: survives the process
//   file.synchronise();                    // on disk: survives the power
#pragma once

#include <string_view>

#include "obol/base/file.h"

namespace obol::run {

class AppendFile {
 public:
  // Made where it is not there yet.
  explicit AppendFile(const Path& path);
  ~AppendFile();
  AppendFile(AppendFile&& other) noexcept;
  AppendFile& operator=(AppendFile&& other) = delete;

  // DataError where the disk is full.
  void append(std::string_view bytes);
  void synchronise();

 private:
  Path path_;
  int descriptor_;
};

}  // namespace obol::run

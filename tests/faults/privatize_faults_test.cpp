// Disks that fail while records are privatised: what is out has its certificate.
#include <cstdint>
#include <filesystem>

#include <gtest/gtest.h>

#include "obol/base/error.h"
#include "obol/data/reader.h"
#include "obol/data/writer.h"
#include "obol/local/privatize.h"
#include "tests/faults/calls.h"

namespace obol::local {
namespace {

TEST(Privatize, KeepsTheCertificateOfRecordsThatAreOut) {
  const TemporaryFolder folder;
  const std::string source = (folder.path() / "data.npz").string();
  data::write({.shape = {1, 2, 2}, .pixels = std::vector<std::uint8_t>(40, 9), .declared_size = 10},
              source, data::Format::kNpz);
  const PrivatizeOptions options{
      .mechanism = Mechanism::kGaussian, .epsilon = 5, .delta = 1e-5, .radius = 1};
  int failures = 0;
  int left_records = 0;
  bool is_done = false;
  for (std::int64_t call = 0; !is_done && call < 1000; ++call) {
    const Path out = folder.path() / std::to_string(call) / "private.npz";
    std::filesystem::create_directory(out.parent_path());
    const auto records = data::stream(source);
    faults::plan() = {.call = call, .fault = faults::Fault::kFail};
    try {
      privatize(*records, options, {.path = out});
      is_done = faults::plan().call >= 0;  // it came to its end before the fault
    } catch (const DataError&) {
      ++failures;
    }
    faults::plan() = {};
    if (!std::filesystem::exists(out)) continue;
    left_records += is_done ? 0 : 1;
    EXPECT_TRUE(check_certificate(read_privatized(out), certificate_folder_of(out)))
        << "call " << call;
  }
  EXPECT_TRUE(is_done);
  EXPECT_GT(failures, 5);
  EXPECT_GE(left_records, 1);  // renamed, and then not synchronised
}

}  // namespace
}  // namespace obol::local

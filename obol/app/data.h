// Data sets of people who have them: what they hold, what of it is public, pictures of them, and
// other formats.
//
//   DataInfo info = describe_data({.path = "mnist"}, DataCheck::kHeaders);
//   convert_data({.source = {.path = "images/"}, .out = "images.npz"});
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "obol/base/file.h"
#include "obol/base/reporter.h"
#include "obol/data/picture.h"
#include "obol/data/reader.h"
#include "obol/data/writer.h"

namespace obol::app {

// Which data, and how to read them. What is given here stands over what a recipe says.
struct DataRequest {
  std::string path;                    // a known name, a file, a folder, or a recipe
  std::vector<std::string> overrides;  // of a recipe
  std::optional<std::string> split;
  data::RecipeData described;
};

enum class DataCheck { kHeaders, kEveryRecord };

struct DataInfo {
  std::string path;
  data::Description description;
  data::Proposal proposal;
  std::int64_t not_finite = 0;  // records with such a number, where every record was read
};

DataInfo describe_data(const DataRequest& request, DataCheck check);
// Every file or folder below the path is one user's, and `path` of the result their name.
std::vector<DataInfo> describe_users(const DataRequest& request);

enum class Existing { kKept, kReplaced };

struct DeclaredFile {
  Path path;
  std::vector<std::string> looked_up;  // at the data: for a person to check
};

// Writes what is public of a data set beside it. InvalidArgument where that is there and is kept.
DeclaredFile declare_data(const std::string& path, const data::RecipeData& described,
                          Existing existing);

struct GridRequest {
  DataRequest source;
  data::GridOptions grid;
  std::optional<std::uint64_t> seed;
  std::string out;
};

struct DrawnGrid {
  std::string path;    // of the data
  bool shows_records;  // rather than privatised ones
};

DrawnGrid draw_grid(const GridRequest& request);

struct ConvertRequest {
  DataRequest source;
  std::string out;
  std::optional<data::Format> format;  // else by the name of `out`
  std::int64_t shards = 0;             // a folder of disjoint shards
  std::uint64_t seed = 0;
  Reporter* reporter = nullptr;  // null: the one in use
};

void convert_data(const ConvertRequest& request);

}  // namespace obol::app

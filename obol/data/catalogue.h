// Data sets known by name: where they come from, what they must hash to, where they are kept.
//
//   fetch("fashion-mnist");                    // from Debian's package, checked, into the cache
//   data::read("fashion-mnist");
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "obol/base/file.h"
#include "obol/data/declaration.h"

namespace obol::data {

struct KnownFile {
  std::string name;
  std::string sha256;  // of the unpacked file
};

struct KnownDataset {
  std::string name;
  std::string summary;
  Declaration declared;            // beyond what the headers of its files say
  std::vector<KnownFile> files;    // none: cannot be fetched
  std::vector<KnownFile> made_of;  // where `files` are converted from others: what is fetched
  std::string by_hand;             // how to place the files without fetching
};

const std::vector<KnownDataset>& catalogue();
const KnownDataset* find_known(const std::string& name);
// Whether reading `source` reads what everyone has: a name of the catalogue, and nothing of that
// name in the working folder, which would go before it.
bool is_public(const std::string& source);

// $OBOL_DATA, or ~/.cache/obol.
Path data_folder();
// Where a known data set is kept; the folder need not exist.
Path folder_of(const KnownDataset& known);
bool is_present(const KnownDataset& known);

// Brings a known data set into the cache, checks every sum, and returns its folder. Does nothing
// when it is there already. Throws DataError with the way to place the files by hand.
Path fetch(const std::string& name);

}  // namespace obol::data

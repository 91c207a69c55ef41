// What releases cost: of a recipe before anything is paid, of runs as they were planned, or of one
// event.
//
//   Account price = account({.what = {"dp_sinkhorn/mnist_record_eps10"}});
//   std::cout << to_text(price);
//
//   DataCost cost = account_data("patients.npz");     // in all runs on this machine
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "obol/base/types.h"
#include "obol/data/reader.h"
#include "obol/privacy/accountant.h"
#include "obol/privacy/plan.h"
#include "obol/privacy/published.h"
#include "obol/privacy/registry.h"
#include "obol/privacy/stages.h"

namespace obol::app {

// A point of the Renyi curve, under the name that was asked for.
struct RenyiOrder {
  std::string name;
  double order;
};

struct AccountRequest {
  std::vector<std::string> what;           // a recipe, or runs on the same data, or folders of them
  std::optional<privacy::Event> event;     // in place of these
  std::vector<std::string> overrides;      // of a recipe
  std::optional<Delta> delta;              // else that of the recipe, or the largest of the runs
  std::optional<std::int64_t> group_size;  // else that of the certificates
  std::vector<RenyiOrder> orders;
  privacy::Accounting how;
};

// What is to be accounted for, wherever it was described.
struct Bill {
  std::string title;
  std::vector<privacy::PlannedEvent> items;
  std::vector<std::string> runs = {};       // where it is of several; items have their names
  std::vector<privacy::Stage> stages = {};  // of runs, in the order in which they were planned
  std::optional<Delta> delta = std::nullopt;
  std::optional<double> budget = std::nullopt;
  std::optional<privacy::PublishedCount> published = std::nullopt;
  std::vector<privacy::PlannedEvent> released = {};  // by purpose, where there is a published count
  std::int64_t steps = 0;                            // of a recipe
  int group_size = 1;                                // that certificates of runs speak of
  std::vector<std::string> remarks = {};
  privacy::Neighbours neighbours = privacy::Neighbours::kAsStated;
};

struct RunCost {
  std::string run;
  double epsilon;  // were the others never released
};

struct RenyiPoint {
  std::string order;
  double value;
};

struct Account {
  Bill bill;
  Delta delta;
  privacy::Accounting how;
  privacy::Guarantee guarantee;  // whoever chose what
  double if_fixed = 0;           // epsilon where everything was chosen before the first release
  std::vector<RunCost> alone;
  std::optional<privacy::PublishedEpsilon> published;
  std::vector<RenyiPoint> curve;
  double seconds = 0;
};

// InvalidArgument where no delta is known; DataError where there is neither recipe nor run.
Account account(const AccountRequest& request);

std::string to_text(const Account& account);
std::string to_json(const Account& account);
// Epsilon when a share of everything has been released.
std::string to_svg(const Account& account);

struct UseCost {
  privacy::Use use;
  double epsilon;
};

// What private data have cost on this machine.
struct DataCost {
  std::vector<UseCost> uses;
  std::vector<privacy::UseTotal> totals;
};

// DataError where this machine does not keep it.
DataCost account_data(const std::string& source, data::Split split = data::Split::kTrain);
std::string to_text(const DataCost& cost);
std::string to_json(const DataCost& cost);

}  // namespace obol::app

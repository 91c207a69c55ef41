// One question, whatever the accountant: what do these events cost?
//
//   account({SampledGaussian{0.01, 0.8, 2000}}, Delta{1e-5}).epsilon    // 4.2934, an upper bound
//
// A number called epsilon comes from here, and nowhere else.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "obol/base/types.h"
#include "obol/privacy/event.h"
#include "obol/privacy/rdp.h"

namespace obol::privacy {

enum class AccountantKind {
  kTightest,  // kPld, except where it does not compose the events: then kRdp
  kPld,
  kRdp,
};

std::string_view name_of(AccountantKind kind);  // "tightest", "pld", "rdp"
AccountantKind accountant_from(std::string_view name);

struct Accounting {
  AccountantKind kind = AccountantKind::kTightest;
  Conversion conversion = Conversion::kTight;  // of Renyi divergences
  int group_size = 1;                          // records that one person may have given
};

struct Guarantee {
  double epsilon;        // what holds
  double epsilon_lower;  // no accountant can give less than this; 0 where unknown
  double delta;
  Neighbours neighbours;
  AccountantKind accountant;    // kPld or kRdp
  std::optional<double> order;  // the best one, of kRdp
  int group_size;
};

// Events of several ledgers on the same data may be given together.
Guarantee account(const std::vector<Event>& events, Delta delta, const Accounting& how = {});

// "No event" is as good as any neighbours.
Neighbours neighbours_of(const std::vector<Event>& events);

}  // namespace obol::privacy
